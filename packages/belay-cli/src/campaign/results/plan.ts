/**
 * How many injections which part of a campaign gets.
 *
 * A cell of the coverage table is a configuration and a structure. Its strata are the kernels that
 * have something to strike, each of which gets as many injections; within a stratum each execution
 * of a site is as likely. A cell begins with as many injections as would be enough if no fault had
 * an effect, and goes on until its interval is as narrow as asked for.
 */
import { coveredBy } from "belay-gpu/internal/compiler/configurations";
import type { CampaignConfiguration } from "../model/configurations.ts";
import { type FaultModel, modelsFor, type StruckStructure } from "../model/faultModel.ts";
import type { InjectionRecord, Settings, Shard, UnitRecord } from "../model/records.ts";
import { trialsForBound, trialsForMargin, wilson } from "./statistics.ts";

/** A kernel of a unit, and the structure that is struck. */
export interface Stratum {
  readonly unit: UnitRecord;
  readonly kernel: string;
  readonly structure: StruckStructure;
  /** Those that have something to strike. */
  readonly models: readonly FaultModel[];
}

/** What names a stratum. */
export const stratumName = ({
  configuration,
  program,
  kernel,
  structure,
}: Pick<InjectionRecord, "configuration" | "program" | "kernel" | "structure">): string =>
  [configuration, program, kernel, structure].join("/");

/** What names an injection; its fault is drawn from it. */
export const injectionName = (seed: number, stratum: string, number: number): string =>
  `${seed}/${stratum}/${number}`;

/**
 * Every kernel and structure that faults can strike. Faults at rest strike programs, not kernels.
 */
export function strataOf(
  units: readonly UnitRecord[],
  { structures, models }: Pick<Settings, "structures" | "models">,
): Stratum[] {
  return units.flatMap((unit) =>
    structures.flatMap((structure): Stratum[] => {
      if (structure === "memory") {
        const rests = models.includes("at-rest") && unit.buffers.some((bytes) => bytes >= 4);
        return rests ? [{ unit, kernel: "", structure, models: ["at-rest"] }] : [];
      }
      return unit.kernels.flatMap((kernel) => {
        const present = modelsFor(kernel, structure, models);
        return present.length > 0 ? [{ unit, kernel: kernel.kernel, structure, models: present }] : [];
      });
    }),
  );
}

/** Whether a configuration claims to detect faults in a structure. */
export function isInside(configuration: CampaignConfiguration, structure: StruckStructure): boolean {
  const { redundancy, pairing, memory } = configuration.policy;
  if (structure === "memory") return memory !== undefined;
  if (redundancy === "none") return false;
  if (structure === "machinery") return true;
  return coveredBy({ redundancy, pairing }).has(structure as never);
}

/**
 * Whether a configuration claims to detect such faults. What is claimed is transient faults;
 * replicas that run one after the other swap lanes, so that a lane that stays broken strikes both
 * of them, in two invocations whose errors may cancel out, as in a sum.
 */
export const claims = (
  configuration: CampaignConfiguration,
  { structure, model }: Pick<InjectionRecord, "structure" | "model">,
): boolean =>
  isInside(configuration, structure) &&
  !(model === "stuck-lane" && configuration.policy.pairing === "passes");

/** How far a cell has come. */
export interface Progress {
  /** Injections that each stratum gets, as far as is known yet. */
  readonly quota: number;
  /**
   * `"open"`: injections are missing. `"reached"`: the interval is as narrow as asked for.
   * `"violated"`: more silent corruption than allowed, beyond doubt. `"exhausted"`: that many
   * injections did not bring a decision.
   */
  readonly state: "open" | "reached" | "violated" | "exhausted";
}

/** How many times what it begins with a cell may take, for rates that are near the allowed one. */
const PATIENCE = 4;

type Goal = Pick<Settings, "margin" | "bound" | "minimum" | "confidence">;

/**
 * Where a cell stands. It depends only on the results of the rounds that are complete, so that a
 * campaign that was killed and resumed goes the same way as one that was not.
 *
 * `results`: the cell's injections of this shard, in any order.
 */
export function progressOf(
  results: readonly Pick<InjectionRecord, "number" | "outcome">[],
  { strata, inside, goal, shard }: { strata: number; inside: boolean; goal: Goal; shard: Shard },
): Progress {
  const { margin, bound, minimum, confidence } = goal;
  const clean = inside ? trialsForBound(0, bound, confidence) : trialsForMargin(0, margin, confidence);
  const first = countable(Math.ceil(Math.max(minimum, clean) / strata));
  const most = countable(
    inside
      ? PATIENCE * first
      : Math.max(first, PATIENCE * Math.ceil(trialsForMargin(0.5, margin, confidence) / strata)),
  );
  for (let quota = first; ; ) {
    const within = results.filter(({ number }) => number < quota);
    if (within.length < strata * numbersBelow(quota, shard)) return { quota, state: "open" };
    // A shard may have no number at all.
    if (within.length === 0) return { quota, state: "exhausted" };
    const effective = within.filter(({ outcome }) => outcome !== "notInjected").length;
    const silent = within.filter(({ outcome }) => outcome === "sdc").length;
    // The other shards will have found about the same.
    const share = within.length / (strata * quota);
    const trials = effective / share;
    const { rate, low, high } = wilson(silent / share, trials, confidence);
    if (inside && low > bound) return { quota, state: "violated" };
    const isNarrow = inside ? high <= bound : (high - low) / 2 <= margin;
    if (isNarrow && trials >= minimum) return { quota, state: "reached" };
    if (quota >= most || effective === 0) return { quota, state: "exhausted" };
    const wanted = inside
      ? Math.min(trialsForBound(rate, bound, confidence), most * strata)
      : trialsForMargin(rate, margin, confidence);
    const attempts = Math.max(wanted, minimum) / Math.max(0.1, effective / within.length);
    quota = Math.min(most, Math.max(quota + 1, Math.ceil(attempts / strata)));
  }
}

/** Numbers of injections have to be told apart; nobody comes so far. */
const countable = (count: number) => Math.min(count, Number.MAX_SAFE_INTEGER);

/** How many numbers below `limit` a shard has. */
export const numbersBelow = (limit: number, { index, count }: Shard): number =>
  Math.max(0, Math.ceil((limit - index) / count));
