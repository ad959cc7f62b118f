/** One program of the benchmark, step after step. */
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import type { Verdict, VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import type { Ceilings } from "../measuring/ceilings.ts";
import {
  type Configuration,
  describeConfiguration,
  type Flavor,
  usualOf,
} from "../measuring/configurations.ts";
import {
  type Baseline,
  measureCost,
  type Overhead,
  type RefusedConfiguration,
  withGuarded,
} from "../measuring/overhead.ts";
import { TimedProgram } from "../measuring/timing.ts";
import { type Automatic, measureAutomatic } from "./automatic.ts";
import { type Components, measureComponents } from "./components.ts";
import { countFalseAlarms, type FaultFree } from "./faultFree.ts";
import { measurePower, type Power, type PowerMeter } from "./power.ts";
import { measureRoofline, type Roofline } from "./roofline.ts";

/**
 * The measurements that can be chosen one by one. Figures 2, 6 and 9 are `overhead`, 3 is
 * `roofline`, 4 and 7 are `components`, 5 is `power`.
 */
export const measurements = ["overhead", "auto", "roofline", "components", "power"] as const;
export type Measurement = (typeof measurements)[number];

/** The options for the measurement of programs. */
export interface RmtProgramOptions {
  /** Returns a new device of the adapter, with all limits and features. */
  readonly newDevice: () => Promise<GPUDevice>;
  readonly measure: readonly Measurement[];
  readonly flavors: readonly Flavor[];
  /** The number of runs of each configuration. */
  readonly runs: number;
  /** The number of runs of each configuration in search of false alarms. */
  readonly faultFree: number;
  /** The time that a program runs for its power, in milliseconds. */
  readonly powerTimeMs: number;
  readonly progress: (doing: string) => void;
}

/** A program to measure. */
export interface RmtProgram {
  readonly name: string;
  readonly create: () => VerifiableProgram;
}

export interface ProgramResult {
  readonly name: string;
  /** The verdict on the unprotected program, compared with the CPU. */
  readonly verdict: Verdict;
  readonly overheads: readonly (Overhead | RefusedConfiguration)[];
  readonly automatic?: Automatic;
  readonly roofline?: Roofline;
  readonly components: readonly Components[];
  readonly power: readonly Power[];
  readonly faultFree: readonly FaultFree[];
  /** The steps that could not be measured, and their reasons. */
  readonly failures: readonly string[];
  /** The steps that did not begin in time. */
  readonly left: readonly string[];
}

/** The conditions that all programs share. */
export interface Conditions {
  readonly configurations: readonly Configuration[];
  readonly ceilings: Ceilings | undefined;
  readonly meter: PowerMeter | undefined;
  /** Returns true if the time is over. */
  readonly isOver: () => boolean;
}

/** A result to which steps add their measurements. */
type Draft = {
  -readonly [Part in keyof ProgramResult]: ProgramResult[Part] extends readonly (infer Each)[]
    ? Each[]
    : ProgramResult[Part];
};

interface Step {
  readonly name: string;
  readonly run: (program: VerifiableProgram, baseline: Baseline, draft: Draft) => Promise<void>;
}

/**
 * Takes every step that `earlier` lacks. A step that fails is in the result, and prevents no other
 * step.
 */
export async function measureProgram(
  { name, create }: RmtProgram,
  options: RmtProgramOptions,
  conditions: Conditions,
  earlier?: ProgramResult,
): Promise<ProgramResult> {
  const nothing: Draft = {
    name,
    verdict: { ok: false, message: "the unprotected program did not run" },
    overheads: [],
    components: [],
    power: [],
    faultFree: [],
    failures: [],
    left: [],
  };
  const known = structuredClone(earlier) as Draft | undefined;
  const draft: Draft = { ...(known ?? nothing), failures: [], left: [] };
  const steps = stepsFor(draft, options, conditions);
  if (steps.length === 0 && draft.verdict.ok) return draft;
  const attempt = async (step: string, work: () => Promise<void>) => {
    if (conditions.isOver()) {
      draft.left.push(step);
      return;
    }
    options.progress(`${name}: ${step}`);
    try {
      await work();
    } catch (error) {
      draft.failures.push(`${step}: ${messageOf(error)}`);
    }
  };
  await attempt("unprotected", async () => {
    const program = create();
    using unprotected = new TimedProgram(program, await options.newDevice());
    await unprotected.run();
    const expected = await unprotected.read();
    if (!draft.verdict.ok) draft.verdict = program.verify(expected);
    for (const { name, run } of steps) {
      await attempt(name, () => run(program, { unprotected, expected }, draft));
    }
  });
  const { configurations } = conditions;
  const rank = (each: Configuration) =>
    configurations.findIndex((other) => describeConfiguration(other) === describeConfiguration(each));
  for (const list of [draft.overheads, draft.faultFree]) list.sort((a, b) => rank(a) - rank(b));
  return draft;
}

/** Returns the steps that were requested and are not done yet. */
function stepsFor(
  draft: Draft,
  { newDevice, measure, flavors, runs, powerTimeMs, faultFree }: RmtProgramOptions,
  { configurations, ceilings, meter }: Conditions,
): Step[] {
  const steps: Step[] = [];
  const isThere = (list: readonly Configuration[], one: Configuration) =>
    list.some((each) => describeConfiguration(each) === describeConfiguration(one));
  const hasPower = (flavor: Power["redundancy"]) =>
    draft.power.some(({ redundancy }) => redundancy === flavor);

  if (meter && !hasPower("none")) {
    steps.push({
      name: "power, unprotected",
      run: async (_, { unprotected }, { power }) => {
        power.push(await measurePower("none", unprotected, meter, powerTimeMs));
      },
    });
  }
  for (const configuration of configurations) {
    const { redundancy, check } = configuration;
    const stands = usualOf(configurations, redundancy, check) === configuration;
    const isTimed = measure.includes("overhead") || (measure.includes("components") && stands);
    const needs = {
      time: isTimed && !isThere(draft.overheads, configuration),
      alarms: faultFree > 0 && !isThere(draft.faultFree, configuration),
      power: meter && stands && check === "signature" && !hasPower(redundancy),
    };
    const known = draft.overheads.find(
      (each) => describeConfiguration(each) === describeConfiguration(configuration),
    );
    if ((known && "refused" in known) || !Object.values(needs).some(Boolean)) continue;
    steps.push({
      name: describeConfiguration(configuration),
      run: async (program, baseline, { overheads, faultFree: quiet, power }) => {
        const refusal = await withGuarded(program, await newDevice(), configuration, async (both) => {
          const { device, guarded } = both;
          if (needs.time) {
            overheads.push({ ...configuration, ...(await measureCost(both, baseline, runs)) });
          }
          if (needs.power) power.push(await measurePower(redundancy, guarded, meter!, powerTimeMs));
          if (needs.alarms) {
            const { expected } = baseline;
            quiet.push(await countFalseAlarms(device, guarded, expected, configuration, faultFree));
          }
        });
        if (refusal) overheads.push({ ...configuration, ...refusal });
      },
    });
  }
  if (measure.includes("auto") && !draft.automatic) {
    steps.push({
      name: "auto",
      run: async (program, baseline, draft) => {
        draft.automatic = await measureAutomatic(program, newDevice, baseline, runs);
      },
    });
  }
  for (const flavor of measure.includes("components") ? flavors : []) {
    if (draft.components.some(({ redundancy }) => redundancy === flavor)) continue;
    steps.push({
      name: `components, ${flavor}`,
      run: async (program, { unprotected }, { components }) => {
        const configuration = usualOf(configurations, flavor, "signature")!;
        components.push(await measureComponents(program, newDevice, unprotected, configuration, runs));
      },
    });
  }
  if (measure.includes("roofline") && ceilings && !draft.roofline) {
    steps.push({
      name: "memory and arithmetic",
      run: async (program, { unprotected }, draft) => {
        draft.roofline = await measureRoofline(program, unprotected, newDevice, ceilings, runs);
      },
    });
  }
  return steps;
}
