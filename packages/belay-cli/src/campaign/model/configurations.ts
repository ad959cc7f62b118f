import { type Configuration, describeConfiguration } from "belay-gpu/internal/compiler/configurations";
import type { Check, Pairing, Redundancy, SelectiveCover } from "belay-gpu/internal/compiler/contract";
import type { MemoryCode } from "belay-gpu/internal/ecc/scheme";
import { addedStructures, type StruckStructure } from "./faultModel.ts";

/** The protection of all programs in one part of a campaign. */
export interface CampaignConfiguration {
  readonly name: string;
  readonly policy: Omit<Configuration, "redundancy"> & {
    /** `"algebra"` also stands for the choice of check, channel and pairing. */
    readonly redundancy: Redundancy | "algebra" | "selective";
    /** The silent corruption to detect under `"selective"`. */
    readonly cover?: SelectiveCover;
    readonly memory?: MemoryCode;
    /** True if faults may also strike the code that protection adds. */
    readonly strikeMachinery?: true;
  };
}

/**
 * The configuration without protection. Every campaign includes it, because it shows the effects of
 * faults on unprotected programs.
 */
export const unprotected: CampaignConfiguration = {
  name: "none",
  policy: { redundancy: "none", check: "signature", channel: "auto", pairing: "adjacent" },
};

/** The protections that a campaign can measure. */
export const campaignFlavors = ["intra+lds", "intra-lds", "inter", "algebra"] as const;

/**
 * Returns whether a configuration strikes a kernel. Under `"algebra"` these are the variants that
 * run once, without redundancy.
 */
export const strikesKernel = ({ policy }: CampaignConfiguration, kernel: string): boolean =>
  policy.redundancy !== "algebra" || / alone(#\d+)?$/.test(kernel);

/** Returns the number of replicas of an invocation that faults can strike. */
export const replicasIn = ({ policy: { redundancy } }: CampaignConfiguration): 1 | 2 =>
  ["none", "algebra", "selective"].includes(redundancy) ? 1 : 2;

/**
 * Returns the configurations of a campaign. The unprotected one comes first. Codes for memory are
 * separate configurations without redundancy.
 */
export function campaignConfigurations(options: {
  readonly flavors: readonly (typeof campaignFlavors)[number][];
  readonly checks: readonly Check[];
  readonly pairing: Pairing;
  readonly memory?: readonly MemoryCode[];
  /** The structures that faults strike. */
  readonly structures?: readonly StruckStructure[];
}): CampaignConfiguration[] {
  const { flavors, checks, pairing, memory = [], structures = [] } = options;
  const named = flavors.flatMap((redundancy): CampaignConfiguration[] => {
    if (redundancy === "algebra")
      return [{ name: redundancy, policy: { ...unprotected.policy, redundancy } }];
    return checks.map((check) => {
      const place = redundancy === "inter" ? "adjacent" : pairing;
      const policy = { redundancy, check, channel: "auto", pairing: place } as const;
      return { name: describeConfiguration(policy), policy };
    });
  });
  const coded = memory.map((scheme) => ({
    name: scheme,
    policy: { ...unprotected.policy, memory: scheme },
  }));
  const configurations: CampaignConfiguration[] = [unprotected, ...named, ...coded];
  const areAdded = addedStructures.some((structure) => structures.includes(structure));
  return areAdded
    ? configurations.map(({ name, policy }) => ({ name, policy: { ...policy, strikeMachinery: true } }))
    : configurations;
}
