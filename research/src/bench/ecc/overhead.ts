/**
 * What protected memory costs: protected to unprotected time, side by side, and what was predicted.
 */
import { storageOf } from "belay-gpu/internal/codes/scheme";
import type { MemoryCode, Redundancy } from "belay-gpu/internal/compiler/contract";
import { type RankedKernel, rankAmong } from "belay-gpu/internal/compiler/memoryChoice";
import type { Rates } from "belay-gpu/internal/compiler/memoryCost";
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import { type ComparedCode, comparedSchemes, hardenWithCodes } from "../../codes/index.ts";
import type { Baseline } from "../measuring/overhead.ts";
import { alternate, sameBits, TimedProgram, type Times, warmUp } from "../measuring/timing.ts";

export interface MemoryOverhead {
  readonly scheme: ComparedCode;
  readonly unprotected: Times;
  readonly protected: Times;
  /** Of the medians. */
  readonly ratio: number;
  /** The ratio as the cost model predicts it, and what it knows of the kernels. */
  readonly predicted: number;
  readonly kernels: readonly RankedKernel[];
  /** Bytes of check words to bytes of data. */
  readonly storage: number;
  /** Errors reported, none of which was there. */
  readonly errors: number;
  /** Whether the last run gave the bits of the unprotected program. */
  readonly identical: boolean;
}

/** Milliseconds of work before each timed run, all of them at once. */
const warmUpPerRun = 10;

interface OverheadOptions {
  readonly runs: number;
  readonly rates: Rates;
  /** What protects the compute path meanwhile. */
  readonly redundancy: Redundancy;
}

/**
 * What a code costs a program, timed in alternation with the unprotected one. Rejects when the
 * program fails.
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
