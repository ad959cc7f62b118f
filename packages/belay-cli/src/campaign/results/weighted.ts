/** Rates of silent corruption with fault models weighted by the shares that a study reports. */
import { type FaultModel, faultModels, modelsOf, type StruckStructure } from "../model/faultModel.ts";
import type { InjectionRecord } from "../model/records.ts";
import type { FaultWeights } from "../model/weights.ts";
import { groupBy, tally } from "./breakdowns.ts";
import { type WeightedRate, weightedMean } from "./statistics.ts";

/** The weighted rate of one structure in one configuration. */
export interface WeightedCell {
  readonly configuration: string;
  readonly structure: StruckStructure;
  readonly inside: boolean;
  /** The rate of silent corruption. Undefined if no model with a weight has struck. */
  readonly sdc?: WeightedRate;
  /** The models with a weight that represent the structure and have not struck. */
  readonly unstruck: readonly FaultModel[];
}

/**
 * Weighs the injections of a cell. `injections` are those that count: inside the sphere of
 * replication the claimed ones.
 */
export function weigh(
  injections: readonly InjectionRecord[],
  structure: StruckStructure,
  { models }: FaultWeights,
  confidence: number,
): Pick<WeightedCell, "sdc" | "unstruck"> {
  const byModel = groupBy(injections, ({ model }) => model);
  const parts = faultModels.flatMap((model) => {
    const weight = models[model] ?? 0;
    const rate = tally(byModel.get(model) ?? [], confidence).sdc;
    return weight > 0 && modelsOf(structure).includes(model) ? [{ model, weight, rate }] : [];
  });
  const struck = parts.filter(({ rate }) => rate.trials > 0);
  const unstruck = parts.filter(({ rate }) => rate.trials === 0).map(({ model }) => model);
  return { ...(struck.length > 0 && { sdc: weightedMean(struck) }), unstruck };
}
