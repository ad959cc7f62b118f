import type { MemoryCode } from "belay-gpu/internal/codes/scheme";
import { type Configuration, describeConfiguration } from "belay-gpu/internal/compiler/configurations";
import type { Check, Pairing, Redundancy } from "belay-gpu/internal/compiler/contract";
import { addedStructures, type StruckStructure } from "./faultModel.ts";

/** How programs are protected in a part of a campaign. */
export interface CampaignConfiguration {
  readonly name: string;
  readonly policy: Omit<Configuration, "redundancy"> & {
    readonly redundancy: Redundancy;
    readonly memory?: MemoryCode;
    /** Whether faults can strike what protection adds. */
    readonly strikeMachinery?: true;
  };
}

/**
 * Nothing is protected. Belongs to every campaign: without it nobody knows what the faults would
 * have done.
 */
export const unprotected: CampaignConfiguration = {
  name: "none",
  policy: { redundancy: "none", check: "signature", channel: "auto", pairing: "adjacent" },
};

/**
 * The configurations of a campaign, the unprotected one first; codes for memory stand alone,
 * without redundancy.
 */
export function campaignConfigurations(options: {
  readonly flavors: readonly Configuration["redundancy"][];
  readonly checks: readonly Check[];
  readonly pairing: Pairing;
  readonly memory?: readonly MemoryCode[];
  /** What faults strike. */
  readonly structures?: readonly StruckStructure[];
}): CampaignConfiguration[] {
  const { flavors, checks, pairing, memory = [], structures = [] } = options;
  const named = flavors.flatMap((redundancy) =>
    checks.map((check) => {
      const place = redundancy === "inter" ? "adjacent" : pairing;
      const policy = { redundancy, check, channel: "auto", pairing: place } as const;
      return { name: describeConfiguration(policy), policy };
    }),
  );
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
