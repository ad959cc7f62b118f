/**
 * The number of injections for each part of a campaign.
 *
 * A cell of the coverage table is a configuration and a structure. Its strata are the kernels that
 * have something to strike, and all strata get equally many injections. Within a stratum, all
 * executions of sites are equally likely. A cell begins with as many injections as would suffice if
 * no fault had an effect. It continues until its interval is narrow enough.
 */
import { coveredBy } from "belay-gpu/internal/compiler/configurations";
import type { CampaignConfiguration } from "../model/configurations.ts";
import { type FaultModel, modelsFor, programStructures, type StruckStructure } from "../model/faultModel.ts";
import type { CampaignSettings, InjectionRecord, Shard, UnitRecord } from "../model/records.ts";
import { trialsForBound, trialsForMargin, wilson } from "./statistics.ts";

/** A kernel of a unit, and the struck structure. */
export interface Stratum {
  readonly unit: UnitRecord;
  readonly kernel: string;
  readonly structure: StruckStructure;
  /** The fault models that have a site in the kernel. */
  readonly models: readonly FaultModel[];
}

/** Returns the name of a stratum. */
export const stratumName = ({
  configuration,
  program,
  kernel,
  structure,
}: Pick<InjectionRecord, "configuration" | "program" | "kernel" | "structure">): string =>
  [configuration, program, kernel, structure].join("/");

/** Returns the name of an injection, which determines the fault. */
export const injectionName = (seed: number, stratum: string, number: number): string =>
  `${seed}/${stratum}/${number}`;

/**
 * Returns every kernel and structure that faults can strike. Faults at rest strike programs, not
 * kernels.
 */
export function strataOf(
  units: readonly UnitRecord[],
  { structures, models }: Pick<CampaignSettings, "structures" | "models">,
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

/** Returns whether a configuration claims to detect faults in a structure. */
export function isInside(configuration: CampaignConfiguration, structure: StruckStructure): boolean {
  const { redundancy, pairing, memory } = configuration.policy;
  if (structure === "memory") return memory !== undefined;
  // Selective protection promises a share only.
  if (redundancy === "none" || redundancy === "selective") return false;
  // Faults strike a kernel that runs once, and the check reads its operands and results again.
  if (redundancy === "algebra") return programStructures.includes(structure as never);
  if (structure === "machinery") return true;
  return coveredBy({ redundancy, pairing }).has(structure as never);
}

/**
 * Returns whether a configuration claims to detect such faults. A lane that stays broken is claimed
 * only if replicas certainly run on different lanes of a subgroup. Replicas in two passes swap
 * lanes, so the lane strikes both in different invocations, and the errors may cancel out. Replicas
 * in different workgroups or subgroups may run on the same lane, which makes the same error twice.
 */
export const claims = (
  configuration: CampaignConfiguration,
  { structure, model }: Pick<InjectionRecord, "structure" | "model">,
): boolean => isInside(configuration, structure) && (model !== "stuck-lane" || isOnOtherLanes(configuration));

/**
 * Returns whether twins certainly run on different lanes, which they do not swap. A check by
 * algebra takes the place of the twin.
 */
function isOnOtherLanes({ policy: { redundancy, pairing } }: CampaignConfiguration): boolean {
  if (redundancy === "algebra") return true;
  return redundancy !== "inter" && pairing !== "subgroups" && pairing !== "passes";
}

/** The progress of a cell. */
export interface CellProgress {
  /** The number of injections for each stratum, as far as it is known. */
  readonly quota: number;
  /**
   * The state of the cell. `"open"`: injections are missing. `"reached"`: the interval is narrow
   * enough. `"violated"`: silent corruption certainly exceeds the bound. `"exhausted"`: the
   * injections did not bring a decision.
   */
  readonly state: "open" | "reached" | "violated" | "exhausted";
}

/**
 * The factor on an estimated number of injections that limits a cell. Rates near the allowed one
 * would need many more.
 */
const PATIENCE = 4;

type Goal = Pick<CampaignSettings, "margin" | "bound" | "minimum" | "confidence">;

/**
 * Returns the progress of a cell. It depends only on the results of complete rounds, so interrupted
 * and uninterrupted campaigns make the same injections.
 *
 * `results`: the cell's injections of this shard, in any order.
 */
export function progressOf(
  results: readonly Pick<InjectionRecord, "number" | "outcome">[],
  { strata, inside, goal, shard }: { strata: number; inside: boolean; goal: Goal; shard: Shard },
): CellProgress {
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
    // The other shards are assumed to have found about the same.
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

/** Limits a number of injections to the safe integers. */
const countable = (count: number) => Math.min(count, Number.MAX_SAFE_INTEGER);

/** Returns how many numbers below `limit` belong to a shard. */
export const numbersBelow = (limit: number, { index, count }: Shard): number =>
  Math.max(0, Math.ceil((limit - index) / count));
