/** Lists the ways to protect a kernel, and the structures of a GPU that each of them covers. */
import type { Pairing } from "../transforms/redundancy/pairing.ts";

/**
 * The replication of a kernel: inside its workgroups with two copies of workgroup memory or one, or
 * by whole workgroups.
 */
export type Redundancy = "none" | "intra+lds" | "intra-lds" | "inter";
/** The redundancy of a protected kernel. `"selective"` computes chosen values twice in one lane. */
export type AppliedRedundancy = Redundancy | "selective";
/**
 * The time of the output comparison: before every store, or once by a signature at the end of the
 * invocation.
 */
export type Check = "store" | "signature";
/** The channel through which replicas exchange words: registers, or workgroup memory. */
export type Channel = "subgroup" | "workgroup";

/**
 * The structures in which faults strike: vector arithmetic and registers, workgroup memory, scalar
 * unit and its registers, instruction decoding, fetch and scheduling.
 *
 * Source: Wadden et al. 2014, tables 2 and 3. No configuration covers their L1 cache, from which
 * both replicas may read.
 */
export const structures = ["ALU", "VRF", "LDS", "SU", "SRF", "ID", "IF/SCHED"] as const;
/** A structure of a GPU; see {@link structures}. */
export type Structure = (typeof structures)[number];

/** One way to protect a kernel. */
export interface Configuration {
  /** The replication. */
  readonly redundancy: Exclude<Redundancy, "none">;
  /** The time of the output comparison. */
  readonly check: Check;
  /** The channel. `"auto"` if the replicas need none, or if the device decides. */
  readonly channel: "subgroup" | "workgroup" | "auto";
  /** The positions of the replicas of an Intra-Group kernel. Without meaning for Inter-Group. */
  readonly pairing: Pairing;
}

/** A configuration with its predicted cost. */
export interface RankedConfiguration extends Configuration {
  /** The predicted time of the protected kernel, relative to the unprotected one. */
  readonly predicted: number;
  /** The reason for the prediction, as one sentence. */
  readonly reason: string;
}

const lanes: readonly Structure[] = ["ALU", "VRF"];
const shared: readonly Structure[] = ["SU", "SRF", "ID", "IF/SCHED"];

/** Returns the structures in which a configuration detects a transient fault. */
export function coveredBy({
  redundancy,
  pairing,
}: Pick<Configuration, "redundancy" | "pairing">): ReadonlySet<Structure> {
  if (redundancy === "inter") return new Set(structures);
  // The units that a subgroup shares are covered if replicas run in different subgroups or one
  // after the other.
  const isApart = pairing === "subgroups" || pairing === "passes";
  const hasCopies = redundancy === "intra+lds" || pairing === "passes";
  return new Set([...lanes, ...(hasCopies ? (["LDS"] as const) : []), ...(isApart ? shared : [])]);
}

/**
 * Returns the structures among `cover` in which a configuration does not detect a transient fault.
 */
export function uncoveredBy(
  configuration: Pick<Configuration, "redundancy" | "pairing">,
  cover: readonly Structure[],
): Structure[] {
  const covered = coveredBy(configuration);
  return cover.filter((structure) => !covered.has(structure));
}

const intraGroup: readonly Pick<Configuration, "pairing" | "channel" | "check">[] = [
  { pairing: "adjacent", channel: "subgroup", check: "store" },
  { pairing: "adjacent", channel: "subgroup", check: "signature" },
  { pairing: "adjacent", channel: "workgroup", check: "store" },
  { pairing: "adjacent", channel: "workgroup", check: "signature" },
  { pairing: "half-subgroup", channel: "subgroup", check: "store" },
  { pairing: "half-subgroup", channel: "subgroup", check: "signature" },
  { pairing: "subgroups", channel: "workgroup", check: "signature" },
  { pairing: "passes", channel: "auto", check: "signature" },
];

/** Returns every configuration that a device with these features can run, Intra-Group first. */
export function configurationsFor(features: Iterable<string>): Configuration[] {
  const exchanges = new Set(features).has("subgroups");
  const intra = (["intra+lds", "intra-lds"] as const).flatMap((redundancy) =>
    intraGroup
      // Replicas that run one after the other share one copy of workgroup memory in either case.
      .filter(({ pairing }) => redundancy === "intra+lds" || pairing !== "passes")
      .map((place): Configuration => ({ redundancy, ...place })),
  );
  const inter = (["store", "signature"] as const).map(
    (check): Configuration => ({ redundancy: "inter", check, channel: "auto", pairing: "adjacent" }),
  );
  return [...intra.filter(({ channel }) => exchanges || channel !== "subgroup"), ...inter];
}

/** Returns a configuration in a few words, without its default parts. */
export function describeConfiguration({ redundancy, check, channel, pairing }: Configuration): string {
  const words = [
    redundancy,
    check,
    ...(channel === "auto" ? [] : [channel]),
    ...(pairing === "adjacent" ? [] : [pairing]),
  ];
  return words.join(" ");
}
