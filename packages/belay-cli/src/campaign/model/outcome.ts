/** The outcomes of injected faults. */
export const outcomes = [
  "masked",
  "belowBound",
  "corrected",
  "recovered",
  "unrecovered",
  "sdc",
  "crash",
  "hang",
  "notInjected",
] as const;
/** The outcome of an injected fault; see {@link outcomes}. */
export type Outcome = (typeof outcomes)[number];

/** The names of the outcomes in tables. */
export const outcomeNames: Readonly<Record<Outcome, string>> = {
  masked: "masked",
  belowBound: "below the bound",
  corrected: "corrected",
  recovered: "detected, recovered",
  unrecovered: "detected, not recovered",
  sdc: "silent corruption",
  crash: "crash",
  hang: "hang",
  notInjected: "not injected",
};

/** The observations of one run with a fault. */
export interface Observation {
  /** The number of times that the fault has struck. */
  readonly strikes: number;
  /** True if an invocation ran so long that it counts as hanging, whatever the results are. */
  readonly hung: boolean;
  /**
   * The number of disagreements between replicas, repairs after a check by algebra, faults in
   * memory and commands that could not be verified.
   */
  readonly detections: number;
  /** The number of words that were corrected by their check bits. */
  readonly corrections: number;
  /**
   * The comparison of the results with those of a run without a fault, bit for bit. `"near"`: they
   * differ by no more than a check by algebra may miss. `"none"`: no results were released.
   */
  readonly results: "right" | "near" | "wrong" | "none";
  /** The reason for missing results, unless Belay refused them. */
  readonly error?: string;
}

/**
 * Classifies an observation. Wrong results that are released are silent corruption, even if
 * something was detected before.
 */
export function classify(observation: Observation): Outcome {
  const { strikes, hung, detections, corrections, results, error } = observation;
  if (strikes === 0) return "notInjected";
  if (hung) return "hang";
  if (error !== undefined) return "crash";
  if (results === "wrong") return "sdc";
  if (results === "none") return "unrecovered";
  if (detections > 0) return "recovered";
  if (results === "near") return "belowBound";
  return corrections > 0 ? "corrected" : "masked";
}
