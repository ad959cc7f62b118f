/**
 * The measurements of Maruyama, Nukada and Matsuoka, "Software-based ECC for GPUs" (SAAHPC 2009)
 * and "A high-performance fault-tolerant software framework for memory on commodity GPUs" (IPDPS
 * 2010), and those that they left open: transfers, memory, and other codes.
 */
import { storageOf } from "belay-gpu/internal/codes/scheme";
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import { type ComparedCode, comparedSchemes, hardenWithCodes } from "../../codes/index.ts";
import { type CeilingSize, type Ceilings, measureCeilings } from "../measuring/ceilings.ts";
import { type EccProgram, type EccProgramOptions, isSound, measureEccProgram } from "./program.ts";
import { type HostRates, measureHostRates, measureTransfers, type TransferTimes } from "./transfers.ts";

export interface EccOptions extends EccProgramOptions {
  readonly size: CeilingSize;
  readonly programs: readonly { readonly name: string; readonly create: () => VerifiableProgram }[];
  /**
   * Called after each program with all that is there, so that a run that is cut short leaves
   * something.
   */
  readonly save: (sofar: EccResult) => Promise<void>;
}

export interface SchemeRates extends HostRates {
  readonly scheme: ComparedCode;
  /** Bytes of check words to bytes of data. */
  readonly storage: number;
}

export interface SchemeTransfers extends TransferTimes {
  readonly scheme: ComparedCode | "none";
}

export interface EccResult {
  readonly ok: boolean;
  readonly ceilings?: Ceilings;
  readonly programs: readonly EccProgram[];
  /** On one core. */
  readonly host: readonly SchemeRates[];
  /** Of a buffer of `transferBytes`. */
  readonly transfers: readonly SchemeTransfers[];
  readonly transferBytes: number;
}

/** Bytes of a transfer, and of what the host encodes. */
const transferSizes = { small: 2 ** 16, full: 2 ** 26 } as const;

/** Runs of either: they take tens of milliseconds, and vary little. */
const mostHostRuns = 7;

/**
 * Measures every program. A step that fails is in the result; only without a device does it reject.
 */
export async function measureEcc(options: EccOptions): Promise<EccResult> {
  const { newDevice, size, schemes: chosen, runs, progress } = options;
  const transferBytes = transferSizes[size];
  const hostRuns = Math.min(runs, mostHostRuns);
  progress("ceilings");
  const probe = await newDevice();
  const ceilings = await measureCeilings(probe, size, hostRuns);
  probe.destroy();
  const programs: EccProgram[] = [];
  const host: SchemeRates[] = [];
  const transfers: SchemeTransfers[] = [];
  const result = (): EccResult => ({
    ok: programs.every(isSound),
    ceilings,
    programs,
    host,
    transfers,
    transferBytes,
  });
  for (const { name, create } of options.programs) {
    programs.push(await measureEccProgram(name, create, options, ceilings));
    await options.save(result());
  }
  progress("the host");
  for (const scheme of chosen) {
    const storage = storageOf(scheme, comparedSchemes);
    host.push({ scheme, storage, ...measureHostRates(scheme, transferBytes, hostRuns) });
  }
  await options.save(result());
  progress("transfers");
  transfers.push(...(await measureEveryTransfer({ ...options, runs: hostRuns }, transferBytes)));
  return result();
}

async function measureEveryTransfer(
  { newDevice, schemes: chosen, runs }: EccOptions,
  bytes: number,
): Promise<SchemeTransfers[]> {
  const devices = [await newDevice()];
  for (const memory of chosen) {
    devices.push(hardenWithCodes(await newDevice(), { redundancy: "none", memory, onFault: "throw" }));
  }
  const times = await measureTransfers(devices, bytes, runs);
  for (const device of devices) device.destroy();
  return times.map((each, i) => ({ scheme: i === 0 ? "none" : chosen[i - 1]!, ...each }));
}
