/**
 * The cost of protected memory: protected to unprotected time, measured in alternation, and the
 * predicted ratio.
 */

import type { MemoryCode, Redundancy } from "belay-gpu/internal/compiler/contract";
import { type RankedKernel, rankAmong } from "belay-gpu/internal/compiler/memoryChoice";
import type { Rates } from "belay-gpu/internal/compiler/memoryCost";
import { storageOf } from "belay-gpu/internal/ecc/scheme";
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import { type ComparedCode, comparedSchemes, hardenWithCodes } from "../../ecc/index.ts";
import type { Baseline } from "../measuring/overhead.ts";
import { alternate, sameBits, TimedProgram, type Times, warmUp } from "../measuring/timing.ts";

export interface MemoryOverhead {
  readonly scheme: ComparedCode;
  readonly unprotected: Times;
  readonly protected: Times;
  /** The ratio of the medians. */
  readonly ratio: number;
  /** The ratio that the cost model predicts; below, its facts about the kernels. */
  readonly predicted: number;
  readonly kernels: readonly RankedKernel[];
  /** The bytes of check words divided by the bytes of data. */
  readonly storage: number;
  /** The number of reported errors, all of them false. */
  readonly errors: number;
  /** True if the last run returned the bits of the unprotected program. */
  readonly identical: boolean;
}

/** The milliseconds of work before each timed run, all of them at once. */
const warmUpPerRun = 10;

interface OverheadOptions {
  readonly runs: number;
  readonly rates: Rates;
  /** The redundancy of the kernels during the measurement. */
  readonly redundancy: Redundancy;
}

/**
 * Measures the cost of a code for a program, timed in alternation with the unprotected one. Rejects
 * when the program fails.
 */
export async function measureMemoryOverhead(
  program: VerifiableProgram,
  native: GPUDevice,
  { unprotected, expected }: Baseline,
  scheme: ComparedCode,
  { runs, rates, redundancy }: OverheadOptions,
): Promise<MemoryOverhead> {
  const { features, limits } = native;
  const choice = { candidates: [scheme as MemoryCode], features, limits, rates };
  const [ranked] = rankAmong(comparedSchemes, Object.values(program.kernelSources), choice);
  const device = hardenWithCodes(native, { redundancy, memory: scheme, onFault: "report" });
  using guarded = new TimedProgram(program, device);
  await warmUp(unprotected, warmUpPerRun * runs);
  const [before, after] = await alternate(runs, unprotected, guarded);
  const identical = sameBits(await guarded.read(), expected);
  const { kernels, memory } = await device.belay.report();
  const detections = kernels.reduce((sum, each) => sum + each.detections, 0);
  return {
    scheme,
    unprotected: before,
    protected: after,
    ratio: after.median / before.median,
    predicted: ranked!.predicted,
    kernels: ranked!.kernels,
    storage: storageOf(scheme, comparedSchemes),
    errors: memory!.corrected + memory!.uncorrectable + detections,
    identical,
  };
}
