/** What became of an injected fault. */
export const outcomes = [
  "masked",
  "corrected",
  "recovered",
  "unrecovered",
  "sdc",
  "crash",
  "hang",
  "notInjected",
] as const;
/** What became of an injected fault; see {@link outcomes}. */
export type Outcome = (typeof outcomes)[number];

/** The outcomes in words, as tables name them. */
export const outcomeNames: Readonly<Record<Outcome, string>> = {
  masked: "masked",
  corrected: "corrected",
  recovered: "detected, recovered",
  unrecovered: "detected, not recovered",
  sdc: "silent corruption",
  crash: "crash",
  hang: "hang",
  notInjected: "not injected",
};

/** What was seen of a run with a fault. */
export interface Observation {
  /** How often the fault has struck. */
  readonly strikes: number;
  /** An invocation ran so long that it counts as hanging, whatever came of it. */
  readonly hung: boolean;
  /** Disagreements of the replicas, and work that nobody could verify. */
  readonly detections: number;
  /** Words that check bits have put right. */
  readonly corrections: number;
  /**
   * Whether the program got results, and whether they are those of a run without a fault, bit for
   * bit.
   */
  readonly results: "right" | "wrong" | "none";
  /** Why there are none, where that is no refusal of Belay's. */
  readonly error?: string;
}

/** Results that are released and wrong are silent, whatever was detected on the way to them. */
export function classify(observation: Observation): Outcome {
  const { strikes, hung, detections, corrections, results, error } = observation;
  if (strikes === 0) return "notInjected";
  if (hung) return "hang";
  if (error !== undefined) return "crash";
  if (results === "wrong") return "sdc";
  if (results === "none") return "unrecovered";
  if (detections > 0) return "recovered";
  return corrections > 0 ? "corrected" : "masked";
}
