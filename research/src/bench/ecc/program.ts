import type { Redundancy } from "belay-gpu/internal/compiler/contract";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { corrects, type SchemeName, schemes } from "belay-gpu/internal/ecc/scheme";
import type { Outputs, Verdict, VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import { type ComparedCode, hardenWithCodes } from "../../ecc/index.ts";
import type { Ceilings } from "../measuring/ceilings.ts";
import { countDifferent } from "../measuring/countDifferent.ts";
import { TimedProgram } from "../measuring/timing.ts";
import { type AutomaticMemory, chooseMemory } from "./automatic.ts";
import { type FlipOutcome, flipAtRest, isContained } from "./flips.ts";
import { type MemoryOverhead, measureMemoryOverhead } from "./overhead.ts";

export interface EccProgramOptions {
  /** Returns a new device of the adapter, with all limits and features. */
  readonly newDevice: () => Promise<GPUDevice>;
  readonly schemes: readonly ComparedCode[];
  /** The redundancy of the kernels while overheads are measured. */
  readonly redundancy: Redundancy;
  readonly runs: number;
  /** The number of runs of each program under each scheme in search of false reports. */
  readonly faultFree: number;
  /**
   * The number of single flips, and of double flips, that strike each program under each scheme.
   */
  readonly flips: number;
  readonly progress: (doing: string) => void;
}

export interface FaultFreeRuns {
  readonly scheme: ComparedCode;
  readonly runs: number;
  /** The corrections and uncorrectable errors that were reported, all of them false. */
  readonly reports: number;
  /** The number of runs whose outputs differed in any bit from those of the unprotected program. */
  readonly different: number;
}

export interface EccProgram {
  readonly name: string;
  /** The verdict on the unprotected program, compared with the CPU. */
  readonly verdict: Verdict;
  /** The least work of one run. */
  readonly work: VerifiableProgram["work"];
  readonly overheads: readonly MemoryOverhead[];
  /** The choice of "auto", if there are several correcting codes. */
  readonly automatic?: AutomaticMemory | undefined;
  readonly faultFree: readonly FaultFreeRuns[];
  readonly flips: readonly FlipOutcome[];
  /** The steps that could not be measured, and their reasons. */
  readonly failures: readonly string[];
}

/** Measures a program under each scheme. Failures are in the result. */
export async function measureEccProgram(
  name: string,
  create: () => VerifiableProgram,
  { newDevice, schemes: chosen, redundancy, runs, faultFree, flips, progress }: EccProgramOptions,
  ceilings: Ceilings,
): Promise<EccProgram> {
  const failures: string[] = [];
  const attempt = async <T>(step: string, work: () => Promise<T>): Promise<T | undefined> => {
    progress(`${name}: ${step}`);
    try {
      return await work();
    } catch (error) {
      failures.push(`${step}: ${messageOf(error)}`);
      return undefined;
    }
  };
  const overheads: MemoryOverhead[] = [];
  const quiet: FaultFreeRuns[] = [];
  const struck: FlipOutcome[] = [];
  let automatic: AutomaticMemory | undefined;
  let verdict: Verdict = { ok: false, message: "the unprotected program failed" };
  let work = { bytes: 0, flops: 0 };
  await attempt("unprotected", async () => {
    const program = create();
    work = program.work;
    using unprotected = new TimedProgram(program, await newDevice());
    await unprotected.run();
    const expected = await unprotected.read();
    verdict = program.verify(expected);
    for (const scheme of chosen) {
      const overhead = await attempt(scheme, async () =>
        measureMemoryOverhead(program, await newDevice(), { unprotected, expected }, scheme, {
          runs,
          rates: ceilings,
          redundancy,
        }),
      );
      if (overhead) overheads.push(overhead);
      if (faultFree > 0) {
        const counted = await attempt(`${scheme}, false reports`, async () =>
          countFalseReports(program, await newDevice(), expected, scheme, faultFree),
        );
        if (counted) quiet.push(counted);
      }
      if (flips > 0) {
        const outcome = await attempt(`${scheme}, flips`, async () =>
          flipAtRest(program, await newDevice(), expected, scheme, flips),
        );
        if (outcome) struck.push(outcome);
      }
    }
    // "auto" chooses among the product's codes.
    const isProduct = (code: ComparedCode): code is SchemeName => Object.hasOwn(schemes, code);
    const candidates = chosen.filter(isProduct).filter((code) => corrects(code));
    if (candidates.length < 2) return;
    automatic = await attempt("auto", () =>
      chooseMemory(program, { newDevice, candidates, rates: ceilings, redundancy }),
    );
  });
  return { name, verdict, work, overheads, automatic, faultFree: quiet, flips: struck, failures };
}

/** Counts the false reports of a program that runs without an injected error. */
async function countFalseReports(
  program: VerifiableProgram,
  native: GPUDevice,
  expected: Outputs,
  scheme: ComparedCode,
  runs: number,
): Promise<FaultFreeRuns> {
  const device = hardenWithCodes(native, { redundancy: "none", memory: scheme, onFault: "report" });
  using guarded = new TimedProgram(program, device);
  const different = await countDifferent(device, guarded, expected, runs);
  const { corrected, uncorrectable } = (await device.belay.report()).memory!;
  return { scheme, runs, reports: corrected + uncorrectable, different };
}

/**
 * Returns true if the program was right, and protected without a false report, another result, or a
 * failure.
 */
export function isSound({ verdict, overheads, faultFree, flips, failures }: EccProgram): boolean {
  return (
    verdict.ok &&
    failures.length === 0 &&
    overheads.every(({ identical, errors }) => identical && errors === 0) &&
    faultFree.every(({ reports, different }) => reports === 0 && different === 0) &&
    flips.every(isContained)
  );
}
