import { memoryCodes } from "../../codes/scheme.ts";
import { structures } from "../../compiler/configurations.ts";
import type { Channel, Check, MemoryCode, Pairing, Redundancy, Structure } from "../../compiler/contract.ts";
import {
  type automaticMemory,
  type MemoryChoiceOptions,
  memoryCodeFor,
} from "../../compiler/memoryChoice.ts";
import { conflictIn, choices as options, placesOf } from "../../compiler/settings.ts";
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

type ListedChoices = Omit<KernelPolicy, "cover">;

const kernelChoices: { readonly [K in keyof ListedChoices]-?: readonly Required<ListedChoices>[K][] } = {
  redundancy: options.redundancy,
  check: ["store", "signature"],
  channel: options.channel,
  pairing: options.pairing,
  strict: [true, false],
};

const choices = {
  ...kernelChoices,
  onFault: ["recover", "throw", "report"],
  memory: ["none", "auto", "auto-detect", ...memoryCodes],
  injectFaults: [true, false, "profile"],
  strikeMachinery: [true, false],
} satisfies { readonly [K in keyof Policy]?: readonly Policy[K][] };

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
  if (typeof policy !== "object" || policy === null) throw new TypeError("the policy is no object");
  const { kernels, ...fields } = policy;
  const given = { ...defaults, ...checked(fields, "policy's", choices) };
  const memory = memoryCodeFor(given.memory, given.memoryFor, device);
  const resolved = { ...given, memory };
  if (kernels === undefined) return resolved;
  if (typeof kernels !== "object" || kernels === null) {
    throw new TypeError("the policy's kernels are policies by label or entry point");
  }
  const exceptions = Object.entries(kernels).map(([name, exception]) => [
    name,
    checked(exception, `policy for kernel "${name}":`, kernelChoices),
  ]);
  return { ...resolved, kernels: Object.fromEntries(exceptions) };
}

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

/** The fields that are given. */
function checked<T extends object>(
  fields: T,
  whose: string,
  allowed: Readonly<Record<string, readonly unknown[]>>,
): Partial<T> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  for (const [field, value] of given) {
    const problem = problemOf(field, value, allowed);
    if (problem) throw new TypeError(`the ${whose} ${field} cannot be ${JSON.stringify(value)}: ${problem}`);
  }
  return Object.fromEntries(given) as Partial<T>;
}

function problemOf(
  field: string,
  value: unknown,
  allowed: Readonly<Record<string, readonly unknown[]>>,
): string | undefined {
  if (field === "scrubInterval" && allowed === choices) {
    return typeof value === "number" && value >= 0 && value <= longestWait
      ? undefined
      : `it is a number of milliseconds from 0 to ${longestWait}`;
  }
  if (field === "retries" && allowed === choices) {
    return Number.isInteger(value) && Number(value) >= 0 ? undefined : "it is a whole number from 0 on";
  }
  if (field === "memoryFor" && allowed === choices) {
    const isListed = Array.isArray(value) && value.every((each) => typeof each === "string");
    return isListed ? undefined : "it is a list of WGSL sources";
  }
  if (field === "cover") {
    const isListed = Array.isArray(value) && value.every((each) => structures.includes(each));
    return isListed
      ? undefined
      : `it is a list of ${structures.map((each) => JSON.stringify(each)).join(", ")}`;
  }
  const values = Object.hasOwn(allowed, field) ? allowed[field] : undefined;
  if (!values) {
    const fields = allowed === choices ? Object.keys(defaults) : [...Object.keys(allowed), "cover"];
    return `the fields are ${fields.join(", ")}`;
  }
  if (values.includes(value)) return undefined;
  return `it is one of ${values.map((choice) => JSON.stringify(choice)).join(", ")}`;
}
