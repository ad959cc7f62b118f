import { type CeilingSize, type Ceilings, measureCeilings } from "../measuring/ceilings.ts";
import { describeConfiguration, measuredConfigurations } from "../measuring/configurations.ts";
import { findPowerMeter } from "./power.ts";
import {
  type Conditions,
  measureProgram,
  type ProgramResult,
  type RmtProgram,
  type RmtProgramOptions,
} from "./program.ts";

export interface RmtOptions extends RmtProgramOptions {
  readonly size: CeilingSize;
  readonly programs: readonly RmtProgram[];
  /** The result of earlier runs with the same options, which are not measured again. */
  readonly earlier?: RmtResult;
  /** The milliseconds after which no step begins. */
  readonly timeLimitMs?: number;
  /** Saves the result so far after each program, so that an interrupted run leaves a result. */
  readonly save: (sofar: RmtResult, last: ProgramResult) => Promise<void>;
}

export interface RmtResult {
  /**
   * True if every program was right, and protected without a false alarm, and everything was
   * measured.
   */
  readonly ok: boolean;
  readonly ceilings?: Ceilings;
  /** The source of power readings; null if there are none. */
  readonly powerSource: string | null;
  readonly programs: readonly ProgramResult[];
}

/** Measures every program. A step that fails is in the result; only a missing device rejects. */
export async function measureRmt(options: RmtOptions): Promise<RmtResult> {
  const { newDevice, size, measure, flavors, runs, earlier, timeLimitMs, progress } = options;
  const end = performance.now() + (timeLimitMs ?? Number.POSITIVE_INFINITY);
  progress("ceilings");
  const probe = await newDevice();
  const conditions: Conditions = {
    configurations: measuredConfigurations(probe.features).filter((each) =>
      flavors.includes(each.redundancy),
    ),
    ceilings:
      earlier?.ceilings ??
      (measure.includes("roofline") ? await measureCeilings(probe, size, runs) : undefined),
    meter: measure.includes("power") ? await findPowerMeter() : undefined,
    isOver: () => performance.now() >= end,
  };
  probe.destroy();
  const programs = new Map(earlier?.programs.map((each) => [each.name, each]));
  const result = (): RmtResult => ({
    ok: [...programs.values()].every(isSound),
    ...(conditions.ceilings && { ceilings: conditions.ceilings }),
    powerSource: conditions.meter?.source ?? earlier?.powerSource ?? null,
    programs: [...programs.values()],
  });
  for (const program of options.programs) {
    const measured = await measureProgram(program, options, conditions, programs.get(program.name));
    programs.set(program.name, measured);
    await options.save(result(), measured);
  }
  return result();
}

/**
 * Returns the measurements of a program as if nothing were missing. It drops steps that did not
 * begin, and timed-out waits, which occur on slow adapters. If the rest is sound, nothing is wrong.
 */
export function withoutMissing(program: ProgramResult): ProgramResult {
  const { overheads, automatic, faultFree, left, verdict } = program;
  const verified = <T extends object>(each: T): T =>
    "unverified" in each ? { ...each, unverified: 0 } : each;
  return {
    ...program,
    // A program that did not begin has no verdict yet.
    verdict: left.includes("unprotected") ? { ok: true, message: "" } : verdict,
    overheads: overheads.map(verified),
    ...(automatic && {
      automatic: { ...automatic, predicted: verified(automatic.predicted), tuned: verified(automatic.tuned) },
    }),
    faultFree: faultFree.map(verified),
    left: [],
  };
}

/**
 * Returns true if all was measured, and the program was right, and protected without a false alarm,
 * another result, or a failure.
 */
export function isSound({
  verdict,
  overheads,
  automatic,
  faultFree,
  failures,
  left,
}: ProgramResult): boolean {
  return (
    verdict.ok &&
    failures.length + left.length === 0 &&
    [...overheads, ...(automatic ? [automatic.predicted, automatic.tuned] : [])].every(
      (each) => "refused" in each || (each.identical && each.detections + each.unverified === 0),
    ) &&
    faultFree.every(({ detections, unverified, different }) => detections + unverified + different === 0)
  );
}

/** Merges the measurements of several runs; the last one counts if several have the same. */
export function mergeRmt(results: readonly RmtResult[]): RmtResult {
  const programs = new Map<string, ProgramResult>();
  for (const program of results.flatMap((result) => result.programs)) {
    const before = programs.get(program.name);
    programs.set(program.name, before ? mergePrograms(before, program) : program);
  }
  const [ceilings] = results.flatMap((result) => result.ceilings ?? []);
  const [powerSource] = results.flatMap((result) => result.powerSource ?? []);
  return {
    ok: results.every(({ ok }) => ok),
    ...(ceilings && { ceilings }),
    powerSource: powerSource ?? null,
    programs: [...programs.values()],
  };
}

function mergePrograms(before: ProgramResult, after: ProgramResult): ProgramResult {
  const byFlavor = ({ redundancy }: { readonly redundancy: string }) => redundancy;
  return {
    ...before,
    ...after,
    verdict: before.verdict.ok ? after.verdict : before.verdict,
    overheads: union(before.overheads, after.overheads, describeConfiguration),
    components: union(before.components, after.components, byFlavor),
    power: union(before.power, after.power, byFlavor),
    faultFree: union(before.faultFree, after.faultFree, describeConfiguration),
    failures: [...before.failures, ...after.failures],
    left: [...before.left, ...after.left],
  };
}

function union<Each>(before: readonly Each[], after: readonly Each[], keyOf: (each: Each) => string): Each[] {
  return [...new Map([...before, ...after].map((each) => [keyOf(each), each])).values()];
}
