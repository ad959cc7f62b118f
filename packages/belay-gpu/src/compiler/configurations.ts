/** The ways to protect a kernel, and which structures of a GPU each of them covers. */
import type { Pairing } from "../transforms/redundancy/pairing.ts";

/**
 * How a kernel is doubled: inside its workgroups with two copies of workgroup memory or one, or
 * workgroup by workgroup.
 */
export type Redundancy = "none" | "intra+lds" | "intra-lds" | "inter";
/**
 * When replicas are compared: before every store, or by a signature once before the invocation
 * ends.
 */
export type Check = "store" | "signature";
/** What replicas exchange words through: registers, or workgroup memory. */
export type Channel = "subgroup" | "workgroup";

/**
 * The structures in which faults strike: vector arithmetic and registers, workgroup memory, scalar unit and its registers,
 * instruction decoding, fetch and scheduling.
 * Source: Wadden et al. 2014, tables 2 and 3. Nothing covers their L1 cache, which both replicas may read from.
 */
export const structures = ["ALU", "VRF", "LDS", "SU", "SRF", "ID", "IF/SCHED"] as const;
/** A structure of a GPU; see {@link structures}. */
export type Structure = (typeof structures)[number];

/** One way to protect a kernel. */
export interface Configuration {
  readonly redundancy: Exclude<Redundancy, "none">;
  readonly check: Check;
  /** `"auto"` where the replicas have no channel of their own, or the device decides. */
  readonly channel: "subgroup" | "workgroup" | "auto";
  /** Where the replicas of an Intra-Group kernel stand; means nothing for Inter-Group. */
  readonly pairing: Pairing;
}

/** A configuration, with what it promises to cost. */
export interface RankedConfiguration extends Configuration {
  /** Predicted time of the protected kernel, the unprotected one's being 1. */
  readonly predicted: number;
  /** Why it costs that, in a sentence. */
  readonly reason: string;
}

const lanes: readonly Structure[] = ["ALU", "VRF"];
const shared: readonly Structure[] = ["SU", "SRF", "ID", "IF/SCHED"];

/** The structures in which a configuration detects a transient fault. */
export function coveredBy({
  redundancy,
  pairing,
}: Pick<Configuration, "redundancy" | "pairing">): ReadonlySet<Structure> {
  if (redundancy === "inter") return new Set(structures);
  // What a subgroup shares is replicated where replicas stand in different ones, or run one after
  // the other.
  const isApart = pairing === "subgroups" || pairing === "passes";
  const hasCopies = redundancy === "intra+lds" || pairing === "passes";
  return new Set([...lanes, ...(hasCopies ? (["LDS"] as const) : []), ...(isApart ? shared : [])]);
}

/** Returns those of the structures in which a configuration does not detect a transient fault. */
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

/** Every configuration that a device with these features can run, Intra-Group first. */
export function configurationsFor(features: Iterable<string>): Configuration[] {
  const exchanges = new Set(features).has("subgroups");
  const intra = (["intra+lds", "intra-lds"] as const).flatMap((redundancy) =>
    intraGroup
      // One after the other, replicas share one copy of workgroup memory either way.
      .filter(({ pairing }) => redundancy === "intra+lds" || pairing !== "passes")
      .map((place): Configuration => ({ redundancy, ...place })),
  );
  const inter = (["store", "signature"] as const).map(
    (check): Configuration => ({ redundancy: "inter", check, channel: "auto", pairing: "adjacent" }),
  );
  return [...intra.filter(({ channel }) => exchanges || channel !== "subgroup"), ...inter];
}

/** A configuration in a few words, without those that go without saying. */
export function nameOf({ redundancy, check, channel, pairing }: Configuration): string {
  const words = [
    redundancy,
    check,
    ...(channel === "auto" ? [] : [channel]),
    ...(pairing === "adjacent" ? [] : [pairing]),
  ];
  return words.join(" ");
}
