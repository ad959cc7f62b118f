import type { Check } from "belay-gpu/internal/compiler/contract";
import { memoryCodes } from "belay-gpu/internal/ecc/scheme";
import { longestWait } from "belay-gpu/internal/runtime/context/timers";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { SentPolicy } from "./workloads/runWorkload.ts";

/** The flags that several commands share, and their values. */

/** Parses a whole number from 1 on. */
export function count(text: string): number {
  const number = whole(text);
  if (number < 1) throw new InvalidArgumentError("Expected a whole number from 1 on.");
  return number;
}

/** Parses a whole number from 0 on. */
export function whole(text: string): number {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new InvalidArgumentError("Expected a whole number.");
  return number;
}

const mostSeconds = Math.floor(longestWait / 1000);

/** Parses the number of seconds after which something is ended. */
export function patience(text: string): number {
  const seconds = count(text);
  if (seconds > mostSeconds) throw new InvalidArgumentError(`Expected at most ${mostSeconds}.`);
  return seconds;
}

/** Parses the path of a file or directory. */
export function path(text: string): string {
  if (text === "") throw new InvalidArgumentError("Expected a path.");
  return text;
}

/** Parses known names with commas between them. A repeated name counts once. */
export function namesFrom<Name extends string>(text: string, known: readonly Name[]): Name[] {
  const names = text.split(",").map((name) => {
    const found = known.find((each) => each === name.trim());
    if (!found) throw new InvalidArgumentError(`"${name}" is none of ${known.join(", ")}.`);
    return found;
  });
  return [...new Set(names)];
}

/**
 * Returns the flag `--redundancy`. Flags that several commands share are each defined once.
 * Commander checks their values.
 */

const redundancyOption = (standard: PolicyFlags["redundancy"]) =>
  new Option("--redundancy <flavor>", "how kernels are doubled")
    .choices(["none", "intra+lds", "intra-lds", "inter", "auto"])
    .default(standard);

const checkOption = (standard: Check) =>
  new Option("--check <when>", "compare before every store, or a signature once before the end")
    .choices(["store", "signature"])
    .default(standard);

const channelOption = () =>
  new Option("--channel <path>", "what replicas exchange values through")
    .choices(["auto", "subgroup", "workgroup"])
    .default("auto");

const pairings = ["adjacent", "half-subgroup", "subgroups", "passes"] as const;
const pairingFlag = ["--pairing <place>", "where, or when, the replicas of an invocation run"] as const;

export const pairingOption = () => new Option(...pairingFlag).choices(pairings).default("adjacent");

const anyPairingOption = () => new Option(...pairingFlag).choices(["auto", ...pairings]).default("auto");

export const memoryOption = () =>
  new Option("--memory <code>", "the code that protects the memory of buffers")
    .choices(["none", "auto", "auto-detect", ...memoryCodes])
    .default("none");

export const timeoutOption = () =>
  new Option("--timeout <seconds>", "how long loading the workload, or one run of it, may take")
    .argParser(patience)
    .default(300);

export type PolicyFlags = Required<
  Pick<SentPolicy, "redundancy" | "check" | "channel" | "pairing" | "diversity">
>;

/**
 * Adds the flags for the protection of kernels. Refuses flags that have no meaning with the given
 * redundancy.
 */
export function addPolicyOptions(
  command: Command,
  standard: Pick<PolicyFlags, "redundancy" | "check"> = { redundancy: "auto", check: "signature" },
): Command {
  return command
    .addOption(redundancyOption(standard.redundancy))
    .addOption(checkOption(standard.check))
    .addOption(channelOption())
    .addOption(anyPairingOption())
    .option("--diversity", "give the second replica another text with the same meaning", false)
    .hook("preAction", (_, action) => {
      const { redundancy } = action.opts<PolicyFlags>();
      // A given check restricts the automatic choice. A command's own default must not restrict it.
      if (redundancy === "auto" && action.getOptionValueSource("check") === "default")
        action.setOptionValueWithSource("check", "signature", "default");
      const { flags, why } = meaningless[redundancy] ?? { flags: [], why: "" };
      refuseBeside(action, `--redundancy ${redundancy}`, flags, why);
    });
}

/** Ends a command with an error if a given flag has no meaning beside another one. */
export function refuseBeside(command: Command, other: string, flags: readonly string[], why: string): void {
  const given = flags.find((flag) => command.getOptionValueSource(flag) === "cli");
  if (given) command.error(`error: --${given} has no meaning with ${other}: ${why}`);
}

/** Returns the flags that select a policy. */
export const flagsFor = (policy: PolicyFlags): string =>
  [
    ...meaningful(policy).map(([flag, value]) => `--${flag} ${value}`),
    ...(policy.diversity ? ["--diversity"] : []),
  ].join(" ");

/** Returns a policy in words, such as "inter redundancy, store check, auto channel". */
export const describePolicy = (policy: PolicyFlags): string =>
  [
    ...meaningful(policy).map(
      ([flag, value]) => (flag === "redundancy" && inWords[value]) || `${value} ${flag}`,
    ),
    ...(policy.diversity ? ["replicas of different texts"] : []),
  ].join(", ");

const inWords: Record<string, string> = {
  none: "no redundancy",
  auto: "redundancy chosen for each kernel",
};

/** Returns the flags of a policy that have a meaning, with their values. */
function meaningful(policy: PolicyFlags) {
  const left = meaningless[policy.redundancy]?.flags ?? [];
  return (["redundancy", "check", "channel", "pairing"] as const)
    .filter((flag) => !left.includes(flag) && (flag === "redundancy" || policy.redundancy !== "auto"))
    .map((flag) => [flag, policy[flag]] as const);
}

const meaningless: Partial<Record<PolicyFlags["redundancy"], { flags: readonly string[]; why: string }>> = {
  none: { flags: ["check", "channel", "pairing", "diversity"], why: "there are no replicas" },
  inter: { flags: ["pairing"], why: "replicas are in workgroups of their own" },
};

export const featureOption = () =>
  new Option("--feature <name>", "feature of the device the code is for, such as subgroups; repeatable")
    .argParser((name, all: string[]) => [...all, ...namesFrom(name, features)])
    .default([], "none");

/** The features of WebGPU devices. Source: WebGPU specification, `GPUFeatureName`. */
const features = [
  "core-features-and-limits",
  "depth-clip-control",
  "depth32float-stencil8",
  "texture-compression-bc",
  "texture-compression-bc-sliced-3d",
  "texture-compression-etc2",
  "texture-compression-astc",
  "texture-compression-astc-sliced-3d",
  "texture-compression-unaligned",
  "timestamp-query",
  "indirect-first-instance",
  "shader-f16",
  "rg11b10ufloat-renderable",
  "bgra8unorm-storage",
  "float32-filterable",
  "float32-blendable",
  "clip-distances",
  "dual-source-blending",
  "subgroups",
  "subgroup-size-control",
  "texture-formats-tier1",
  "texture-formats-tier2",
  "primitive-index",
  "texture-component-swizzle",
  "atomic-vec2u-min-max",
];

/** Returns the policy's part of a command's flags. */
export function policyOf({ redundancy, check, channel, pairing, diversity }: PolicyFlags): PolicyFlags {
  return { redundancy, check, channel, pairing, diversity };
}
