/**
 * The published codes for memory, to compare with those of the product, and devices that have all
 * of them.
 */

import type { CompilerOptions } from "belay-gpu/internal/compiler/contract";
import { protectInPasses } from "belay-gpu/internal/compiler/protect";
import { type MemoryCode, type MemoryScheme, memoryScheme, schemes } from "belay-gpu/internal/ecc/scheme";
import type { Policy } from "belay-gpu/internal/runtime/context/policy";
import { type HardenedDevice, hardenWith } from "belay-gpu/internal/runtime/hardenedDevice";
import { hamming } from "./hamming.ts";
import { hsiao } from "./hsiao.ts";
import { packed } from "./packed.ts";
import { separable } from "./separable.ts";

const published = {
  hamming32: hamming(1),
  hamming64: hamming(2),
  hsiao32: hsiao(1),
  hsiao64: hsiao(2),
  separable128: separable(),
  packed32: packed(hsiao(1), 4),
  packed64: packed(hsiao(2), 2),
  packed64x4: packed(hsiao(2), 4),
};

/** The name of a code with check words: one of the product's, or a published one. */
export type ComparedScheme = Exclude<MemoryCode, "checksum"> | keyof typeof published;

/** The name of anything that protects memory, checksums included. */
export type ComparedCode = ComparedScheme | "checksum";

/** All schemes, those of the product first. */
export const comparedSchemes = Object.fromEntries([
  ...Object.entries(schemes),
  ...Object.entries(published).map(([name, code]) => [name, memoryScheme(name, code)] as const),
]) as Readonly<Record<ComparedScheme, MemoryScheme>>;

/** The names of all codes and of the checksum. */
export const comparedCodes: readonly ComparedCode[] = [
  ...(Object.keys(comparedSchemes) as ComparedScheme[]),
  "checksum",
];

/** A policy whose memory may also have a published code. */
export type ComparedPolicy = Omit<Policy, "memory"> & { readonly memory?: Policy["memory"] | ComparedCode };

/** Hardens a device whose memory may also have a published code. */
export function hardenWithCodes(device: GPUDevice, policy: ComparedPolicy): HardenedDevice {
  const protect = (wgsl: string, options?: CompilerOptions) =>
    protectInPasses(wgsl, options, { codes: comparedSchemes }).result;
  // The codes of the device define the names; the type of a policy has those of the product.
  return hardenWith(protect, device, policy as Policy, comparedSchemes);
}
