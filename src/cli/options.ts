import { type Command, Option } from "commander";
import { memoryCodes } from "../codes/scheme.ts";
import type { Check } from "../compiler/contract.ts";
import type { Policy } from "../runtime/policy.ts";

/** Flags that several commands share, each defined once. Commander checks their values. */

export const redundancyOption = () =>
  new Option("--redundancy <flavor>", "how kernels are doubled")
    .choices(["none", "intra+lds", "intra-lds", "inter", "auto"])
    .default("intra+lds");

export const checkOption = (standard: Check = "signature") =>
  new Option("--check <when>", "compare before every store, or a signature once before the end")
    .choices(["store", "signature"])
    .default(standard);

export const channelOption = () =>
  new Option("--channel <path>", "what replicas exchange values through")
    .choices(["auto", "subgroup", "workgroup"])
    .default("auto");

export const pairingOption = () =>
  new Option("--pairing <place>", "where, or when, the replicas of an invocation run")
    .choices(["adjacent", "half-subgroup", "subgroups", "passes"])
    .default("adjacent");

export const memoryOption = () =>
  new Option("--memory <code>", "the code that protects the memory of buffers")
    .choices(["none", "auto", ...memoryCodes])
    .default("none");

export type PolicyFlags = Required<Pick<Policy, "redundancy" | "check" | "channel" | "pairing">>;

/** Adds the flags that say how a device is hardened. */
export function addPolicyOptions(command: Command, check?: Check): Command {
  return command
    .addOption(redundancyOption())
    .addOption(checkOption(check))
    .addOption(channelOption())
    .addOption(pairingOption());
}

/** The policy's part of a command's flags. */
export function policyOf({ redundancy, check, channel, pairing }: PolicyFlags): PolicyFlags {
  return { redundancy, check, channel, pairing };
}
