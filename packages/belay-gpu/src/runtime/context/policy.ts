import { memoryCodes } from "../../codes/scheme.ts";
import type { Channel, Check, MemoryCode, Pairing, Redundancy, Structure } from "../../compiler/contract.ts";
import {
  type automaticMemory,
  type MemoryChoiceOptions,
  memoryCodeFor,
} from "../../compiler/memoryChoice.ts";
import { choices, conflictIn, placesOf, structureList } from "../../compiler/settings.ts";
import { flag, listOf, oneOf, refuseUnknown, type Values, wholeFrom } from "../../diagnostics/options.ts";
import { longestWait } from "./timers.ts";

/** What the program gets to see of a detected fault. */
export type OnFault = "recover" | "throw" | "report";

/** How a kernel is protected. */
export interface KernelPolicy {
  /**
   * How kernels are made redundant. Default `"auto"`: in the way that a kernel fits, that covers
   * `cover`, and that promises to cost least; check, channel and pairing that are given restrict
   * the choice.
   */
  readonly redundancy?: Redundancy | "auto";
  /**
   * The structures that `"auto"` must cover. Default vector arithmetic, vector registers and
   * workgroup memory.
   */
  readonly cover?: readonly Structure[];
  /** When the replicas are compared. Default `"signature"`. */
  readonly check?: Check;
  /** How a pair of replicas exchanges words. Default `"auto"`. */
  readonly channel?: Channel | "auto";
  /**
   * Where and when the replicas of an invocation run. Default `"auto"`: adjacent, unless the
   * redundancy is chosen too.
   */
  readonly pairing?: Pairing | "auto";
  /**
   * Creating a pipeline fails when its kernel, or a part of it, would stay unprotected. Default
   * false.
   */
  readonly strict?: boolean;
}

/** How a device is hardened. Every field has a default. */
export interface Policy extends KernelPolicy {
  /** Exceptions, by the label of a pipeline or else the name of its entry point. */
  readonly kernels?: Readonly<Record<string, KernelPolicy>>;
  /**
   * `"recover"` (default): what is not verified is put back and run again, and only then released;
   * where that is not possible or does not help, as `"throw"`. `"throw"`: reading data that a
   * detected fault may have reached is refused with a `FaultError`. `"report"`: faults are
   * events and entries in the report, and data is released all the same.
   */
  readonly onFault?: OnFault;
  /**
   * The code that every buffer is protected by. `"secded32"`, `"secded64"`, `"secded128"`: one
   * wrong bit in 32, 64 or 128 is corrected, two are detected. `"detect"`: errors are detected
   * only, and what was computed from them is computed again. The others are for comparison.
   * `"auto"`: of those that correct, the one that promises to cost least; `"auto-detect"`: of those
   * and a checksum, which only detects. Default `"none"`.
   */
  readonly memory?: MemoryCode | "none" | keyof typeof automaticMemory;
  /**
   * The WGSL of the kernels that the memory is chosen for; without any, what takes least memory.
   */
  readonly memoryFor?: readonly string[];
  /**
   * How often all memory is verified and corrected, in milliseconds, 2147483647 at most. Default 0:
   * only when the program uses it.
   */
  readonly scrubInterval?: number;
  /** How often work is run again before it is given up. Default 3. */
  readonly retries?: number;
  /**
   * Instruments kernels so that `device.belay.arm` can inject faults; `"profile"`: so that
   * `device.belay.profile` can tell how often what could be struck is executed. Default false.
   */
  readonly injectFaults?: boolean | "profile";
  /** With `injectFaults`: faults can strike what protection adds to kernels, too. Default false. */
  readonly strikeMachinery?: boolean;
}

export interface ResolvedPolicy extends Required<Policy> {
  readonly memory: MemoryCode | "none";
}

/** The fields of a policy for a kernel, with the values that they take. */
const kernelFields: { readonly [Name in keyof Required<KernelPolicy>]: Values } = {
  redundancy: oneOf(choices.redundancy),
  cover: structureList,
  check: oneOf(["store", "signature"]),
  channel: oneOf(choices.channel),
  pairing: oneOf(choices.pairing),
  strict: flag,
};

/** The fields of a policy, with the values that they take. */
const policyFields: { readonly [Name in keyof Required<Policy>]: Values } = {
  ...kernelFields,
  onFault: oneOf(["recover", "throw", "report"]),
  memory: oneOf(["none", "auto", "auto-detect", ...memoryCodes]),
  memoryFor: listOf("WGSL sources", (each) => typeof each === "string"),
  scrubInterval: {
    what: `a number of milliseconds from 0 to ${longestWait}`,
    has: (value) => typeof value === "number" && value >= 0 && value <= longestWait,
  },
  retries: wholeFrom(0),
  injectFaults: oneOf(choices.injectFaults),
  strikeMachinery: flag,
  kernels: {
    what: "an object of policies by label or entry point",
    has: (value) => typeof value === "object" && value !== null,
  },
};

const defaults: ResolvedPolicy = {
  redundancy: "auto",
  cover: ["ALU", "VRF", "LDS"],
  check: "signature",
  channel: "auto",
  pairing: "auto",
  onFault: "recover",
  memory: "none",
  memoryFor: [],
  scrubInterval: 0,
  retries: 3,
  strict: false,
  injectFaults: false,
  strikeMachinery: false,
  kernels: {},
};

/**
 * Fills in the defaults, and chooses the memory for the device. Throws a `TypeError` for a field or
 * a value that does not exist.
 */
export function resolvePolicy(
  policy: Policy = {},
  device: Pick<MemoryChoiceOptions, "features" | "limits"> = {},
): ResolvedPolicy {
  refuseUnknown(policy, policyFields, " of the policy");
  const given = { ...defaults, ...givenIn(policy) };
  const kernels = Object.entries(given.kernels).map(([name, exception]) => {
    refuseUnknown(exception, kernelFields, ` of the policy for kernel "${name}"`);
    return [name, givenIn(exception)];
  });
  const memory = memoryCodeFor(given.memory, given.memoryFor, device);
  return { ...given, memory, kernels: Object.fromEntries(kernels) };
}

/** Returns the fields that are given. */
const givenIn = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;

/**
 * The policy for a kernel: the exception made for its pipeline's label, or for its entry point, or
 * none.
 */
export function policyFor(
  policy: ResolvedPolicy,
  { label, entryPoint }: { readonly label: string; readonly entryPoint: string | undefined },
): Required<KernelPolicy> {
  const name = [label, entryPoint].find((each) => each && Object.hasOwn(policy.kernels, each));
  return name ? { ...policy, ...policy.kernels[name] } : policy;
}

/**
 * Throws a `TypeError` where parts of the policy exclude each other, or need a feature that the
 * device lacks: no kernel would be protected.
 */
export function refuseConflicts(policy: ResolvedPolicy, features: Iterable<string>): void {
  for (const exception of [{}, ...Object.values(policy.kernels)]) {
    const { redundancy, check, channel, pairing } = { ...policy, ...exception };
    if (redundancy === "none") continue;
    const flavor = redundancy === "auto" ? {} : { redundancy };
    const conflict = conflictIn(placesOf({ ...flavor, check, channel, pairing, features }));
    if (conflict) throw new TypeError(`the policy protects no kernel: ${conflict.message}; ${conflict.help}`);
  }
}

/** Returns whether work that a fault may have reached is put back and run again. */
export const recovers = ({ onFault }: Pick<ResolvedPolicy, "onFault">): boolean => onFault === "recover";

/** Returns whether data that a fault may have reached is refused, unless it is recovered. */
export const refusesFaults = ({ onFault }: Pick<ResolvedPolicy, "onFault">): boolean => onFault !== "report";

/** Whether kernels may be dispatched on doubled grids. */
export function doublesGrids({ redundancy, kernels }: ResolvedPolicy): boolean {
  return [{ redundancy }, ...Object.values(kernels)].some(
    (policy) => policy.redundancy === "inter" || policy.redundancy === "auto",
  );
}
