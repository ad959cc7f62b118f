/** What a protected kernel needs in its layout besides what the program has there. */
import { schemeOf } from "../../codes/scheme.ts";
import type { BindingPoint } from "../../compiler/contract.ts";
import type { Kernel } from "./kernels.ts";

/** A buffer that is added to a pipeline layout. */
export interface AddedPoint extends BindingPoint {
  readonly type: GPUBufferBindingType;
}

/**
 * What a protected kernel binds that the program does not know of: its report, shadows of buffers,
 * and check words.
 */
export function addedPoints({ protection, interGroup, memory }: Kernel): readonly AddedPoint[] {
  const { group, binding } = protection.layout!;
  const checks = memory?.checks;
  return [
    { group, binding, type: "storage" },
    ...(interGroup?.shadows ?? []).map(({ at }) => ({ ...at, type: "storage" as const })),
    ...(checks
      ? [{ ...checks.arena, type: checks.storesChecks ? "storage" : "read-only-storage" } as const]
      : []),
    ...(checks ? [{ ...checks.table, type: "uniform" } as const] : []),
  ];
}

/** The bytes of granules, by bind group and binding. */
export type GranulesByGroup = ReadonlyMap<number, ReadonlyMap<number, number>>;

/** The granules of the program's bindings that a kernel checks itself. */
export function checkedGranules({ memory }: Kernel): GranulesByGroup {
  const groups = new Map<number, Map<number, number>>();
  for (const { of, mode, scheme } of memory?.bindings ?? []) {
    if (mode !== "checked") continue;
    const bindings = groups.get(of.group) ?? new Map();
    groups.set(of.group, bindings.set(of.binding, schemeOf(scheme).granuleBytes));
  }
  return groups;
}
