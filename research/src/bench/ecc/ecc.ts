/**
 * The measurements of Maruyama, Nukada and Matsuoka, and those that they left open: transfers,
 * memory, and other codes.
 *
 * Sources: "Software-based ECC for GPUs" (SAAHPC 2009) and "A high-performance fault-tolerant
 * software framework for memory on commodity GPUs" (IPDPS 2010).
 */
import { storageOf } from "belay-gpu/internal/ecc/scheme";
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import { type ComparedCode, comparedSchemes, hardenWithCodes } from "../../ecc/index.ts";
import { type CeilingSize, type Ceilings, measureCeilings } from "../measuring/ceilings.ts";
import { type EccProgram, type EccProgramOptions, isSound, measureEccProgram } from "./program.ts";
import { type HostRates, measureHostRates, measureTransfers, type TransferTimes } from "./transfers.ts";

export interface EccOptions extends EccProgramOptions {
  readonly size: CeilingSize;
  readonly programs: readonly { readonly name: string; readonly create: () => VerifiableProgram }[];
  /** Saves the result so far after each program, so that an interrupted run leaves a result. */
  readonly save: (sofar: EccResult) => Promise<void>;
}

export interface SchemeRates extends HostRates {
  readonly scheme: ComparedCode;
  /** The bytes of check words divided by the bytes of data. */
  readonly storage: number;
}

export interface SchemeTransfers extends TransferTimes {
  readonly scheme: ComparedCode | "none";
}

export interface EccResult {
  readonly ok: boolean;
  readonly ceilings?: Ceilings;
  readonly programs: readonly EccProgram[];
  /** The rates of the host's side on one core. */
  readonly host: readonly SchemeRates[];
  /** The times of transfers of a buffer of `transferBytes`. */
  readonly transfers: readonly SchemeTransfers[];
  readonly transferBytes: number;
}

/** The bytes of a transfer, and of the data that the host encodes. */
const transferSizes = { small: 2 ** 16, full: 2 ** 26 } as const;

/**
 * The most runs of transfers and of host encoding: they take tens of milliseconds, and vary little.
 */
const mostHostRuns = 7;

/** Measures every program. A step that fails is in the result; only a missing device rejects. */
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
