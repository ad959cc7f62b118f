import type {
  Channel,
  Check,
  Diversity,
  MemoryCode,
  Pairing,
  Redundancy,
  SelectiveCover,
  Structure,
} from "../../compiler/contract.ts";
import { type MemoryChoiceOptions, memoryCodeFor } from "../../compiler/memoryChoice.ts";
import { resolvedSource } from "../../compiler/resolvedSource.ts";
import { usuallyCovered } from "../../compiler/selectiveCover.ts";
import { choices, conflictIn, covers, diversities, placesOf } from "../../compiler/settings.ts";
import { flag, listOf, oneOf, refuseUnknown, type Values, wholeFrom } from "../../diagnostics/options.ts";
import { type Schemes, schemes } from "../../ecc/scheme.ts";
import type { Auditor } from "./auditing.ts";
import { describeGap, locate } from "./coverage.ts";
import type { SumsChecker } from "./sumsChecker.ts";
import { longestWait } from "./timers.ts";

/** The treatment of a detected fault. */
export type OnFault = "recover" | "throw" | "report";

/** The protection of a kernel. */
export interface KernelPolicy {
  /**
   * The redundancy of kernels. `"auto"` (default) chooses the flavor with the lowest predicted cost
   * among those that support the kernel and cover `cover`. A given check, channel or pairing
   * restricts the choice. With the policy's `algebra`, a dispatch runs once and is checked if that
   * is predicted to cost less.
   *
   * `"algebra"` checks all dispatches with sums of products, whatever that costs. Others run as
   * under `"auto"`, and the report says why.
   */
  readonly redundancy?: Redundancy | "auto" | "algebra";
  /**
   * The structures that `"auto"` must cover. Default: vector arithmetic, vector registers and
   * workgroup memory.
   *
   * Or a share of silent corruption. `"auto"` then computes the values again whose faults have that
   * share, in the same lane. Kernels that no campaign has struck are protected as a whole.
   */
  readonly cover?: readonly Structure[] | SelectiveCover;
  /**
   * The time at which replicas are compared. Default `"signature"`. Under `"auto"`, a kernel
   * without a signature is compared before stores.
   */
  readonly check?: Check;
  /** The way in which a pair of replicas exchanges words. Default `"auto"`. */
  readonly channel?: Channel | "auto";
  /**
   * The placement of the replicas of an invocation. Default `"auto"`: adjacent, unless the
   * redundancy is chosen automatically too.
   */
  readonly pairing?: Pairing | "auto";
  /**
   * Another text with the same meaning for the second replica, which also finds mistakes of
   * compilers: `twoTexts` of `belay-gpu/diversity`. Replicas then run in passes or in workgroups of
   * their own. Default false: both have one text.
   */
  readonly diversity?: Diversity | false;
  /**
   * The place of the checks of memory, under a code. Default `"loads"`: kernels check what they
   * load, where they can, and passes verify all else.
   *
   * Under `"passes"`, kernels check nothing. Passes verify the memory of a kernel before it, once
   * in a command buffer, and encode what kernels stored. Bits that flip in between are not noticed.
   *
   * `"scrubs"` is like `"passes"`, but verifies data that nothing changes only each
   * `scrubIntervalMs`, which must be set. A bit that flips in between may reach results that are
   * released. The event `suspectResults` tells so when it is found.
   */
  readonly memoryCheck?: "loads" | "passes" | "scrubs";
  /**
   * True if the creation of a pipeline fails when its kernel, or a part of the kernel, would be
   * unprotected. Default false.
   */
  readonly strict?: boolean;
}

/** The options of {@link harden}. Each field has a default. */
export interface Policy extends KernelPolicy {
  /** The exceptions for kernels, by the label of a pipeline or else the name of its entry point. */
  readonly kernels?: Readonly<Record<string, KernelPolicy>>;
  /**
   * The treatment of detected faults.
   *
   * - Under `"recover"` (default), unverified work is executed again before its results are
   *   released. If that fails, `"throw"` applies.
   * - Under `"throw"`, data that a fault may have reached is refused with a `FaultError`.
   * - Under `"report"`, the data is released, and the faults are events and entries of the report.
   */
  readonly onFault?: OnFault;
  /**
   * The code that protects each buffer. Default `"none"`.
   *
   * - `"secded32"`, `"secded64"` and `"secded128"` correct one wrong bit in 32, 64 or 128, and
   *   detect two.
   * - `"detect"` only detects errors. Results of wrong data are computed again.
   * - `"auto"` chooses the correcting code with the lowest predicted cost.
   * - `"auto-detect"` also considers a checksum, which only detects.
   */
  readonly memory?: MemoryCode | "none" | "auto" | "auto-detect";
  /**
   * The WGSL of the kernels for which `"auto"` chooses a code. Without kernels, it chooses the code
   * that needs least memory.
   */
  readonly memoryFor?: readonly string[];
  /**
   * The interval at which all memory is verified and corrected, in milliseconds, at most
   * 2147483647. Default 0: memory is verified only when the program uses it.
   */
  readonly scrubIntervalMs?: number;
  /**
   * The most GPU memory for the earlier contents of buffers and textures, in bytes. Default 1 GiB.
   * Work is checked early when half of it is used. Work that needs more is not executed again after
   * a fault, and its results are refused.
   */
  readonly snapshotBytes?: number;
  /**
   * The most re-executions before work is given up. Default 3. Those after replicas waited in vain
   * for each other, which is no fault, do not count.
   */
  readonly retries?: number;
  /** True to instrument kernels, so that `device.belay.arm` can inject faults. Default false. */
  readonly injectFaults?: boolean;
  /**
   * The audit of dispatches on the CPU: an auditor of `belay-gpu/audit`. Sampled workgroups are
   * computed again, and wrong words are the event `disagreement`. Default: none.
   */
  readonly audit?: Auditor;
  /**
   * The checker of sums of products: a checker of `belay-gpu/algebra`. Dispatches of kernels under
   * redundancy whose results are such sums run once, and their results are checked by an identity.
   * Default: none.
   */
  readonly algebra?: SumsChecker;
}

/** The policy of a device for campaigns, which draw faults and count what becomes of them. */
export interface CampaignPolicy extends Omit<Policy, "injectFaults"> {
  /**
   * As in {@link Policy}. `"profile"` counts executions of fault sites instead, for
   * `device.belay.profile`.
   */
  readonly injectFaults?: boolean | "profile";
  /** True if injected faults may also strike the code that protection adds. Default false. */
  readonly strikeMachinery?: boolean;
  /**
   * True if memory is compared after the faulty and the clean execution, to name the words that a
   * fault stored. No result depends on it. Default true.
   */
  readonly comparesStores?: boolean;
}

export interface ResolvedPolicy extends Required<Omit<CampaignPolicy, "audit" | "algebra">> {
  readonly memory: MemoryCode | "none";
  readonly audit: Auditor | undefined;
  readonly algebra: SumsChecker | undefined;
}

/** The fields of a policy for a kernel, with their valid values. */
const kernelFields: { readonly [Name in keyof Required<KernelPolicy>]: Values } = {
  redundancy: oneOf([...choices.redundancy, "algebra"]),
  cover: covers,
  check: oneOf(["store", "signature"]),
  channel: oneOf(choices.channel),
  pairing: oneOf(choices.pairing),
  diversity: diversities,
  memoryCheck: oneOf(["loads", "passes", "scrubs"]),
  strict: flag,
};

/** Returns the fields of a policy, with their valid values. */
const policyFields = (codes: Schemes): { readonly [Name in keyof Required<Policy>]: Values } => ({
  ...kernelFields,
  onFault: oneOf(["recover", "throw", "report"]),
  memory: oneOf(["none", "auto", "auto-detect", ...Object.keys(codes), "checksum"]),
  memoryFor: listOf("WGSL sources", (each) => typeof each === "string"),
  scrubIntervalMs: {
    what: `a number of milliseconds from 0 to ${longestWait}`,
    has: (value) => typeof value === "number" && value >= 0 && value <= longestWait,
  },
  snapshotBytes: wholeFrom(0),
  retries: wholeFrom(0),
  injectFaults: flag,
  audit: {
    what: "an auditor of belay-gpu/audit",
    has: (value) => typeof (value as { begin?: unknown } | null)?.begin === "function",
  },
  algebra: {
    what: "a checker of belay-gpu/algebra",
    has: (value) => typeof (value as { beginChecks?: unknown } | null)?.beginChecks === "function",
  },
  kernels: {
    what: "an object of policies by label or entry point",
    has: (value) => typeof value === "object" && value !== null,
  },
});

/** Returns the fields of a campaign's policy, with their valid values. */
const campaignFields = (codes: Schemes): { readonly [Name in keyof Required<CampaignPolicy>]: Values } => ({
  ...policyFields(codes),
  injectFaults: oneOf(choices.injectFaults),
  strikeMachinery: flag,
  comparesStores: flag,
});

/** Throws a `TypeError` for a field that `harden` does not know, or an invalid value. */
export const refuseUnknownPolicy = (policy: Policy = {}): void =>
  refuseUnknown(policy, policyFields(schemes), " of the policy");

const defaults: ResolvedPolicy = {
  redundancy: "auto",
  cover: usuallyCovered,
  check: "signature",
  channel: "auto",
  pairing: "auto",
  diversity: false,
  memoryCheck: "loads",
  onFault: "recover",
  memory: "none",
  memoryFor: [],
  scrubIntervalMs: 0,
  snapshotBytes: 2 ** 30,
  retries: 3,
  strict: false,
  injectFaults: false,
  strikeMachinery: false,
  comparesStores: true,
  audit: undefined,
  algebra: undefined,
  kernels: {},
};

/**
 * Fills in the defaults, and chooses the memory code for the device. Throws a `TypeError` for an
 * unknown field or an invalid value.
 */
export function resolvePolicy(
  policy: CampaignPolicy = {},
  device: Pick<MemoryChoiceOptions, "features" | "limits"> = {},
  codes: Schemes = schemes,
): ResolvedPolicy {
  refuseUnknown(policy, campaignFields(codes), " of the policy");
  const given = { ...defaults, ...givenIn(policy) };
  const kernels = Object.entries(given.kernels).map(([name, exception]) => {
    refuseUnknown(exception, kernelFields, ` of the policy for kernel "${name}"`);
    return [name, givenIn(exception)];
  });
  if (given.memory.startsWith("auto")) refuseInvalidSources(given.memoryFor);
  const memory = memoryCodeFor(given.memory, given.memoryFor, device);
  return { ...given, memory, kernels: Object.fromEntries(kernels) };
}

/** Throws a `TypeError` with the errors of a source of `memoryFor` that is not valid. */
function refuseInvalidSources(sources: readonly string[]): void {
  for (const [i, source] of sources.entries()) {
    const resolved = resolvedSource(source);
    if (!("diagnostics" in resolved)) continue;
    const errors = locate(source, resolved.diagnostics).map(describeGap);
    throw new TypeError([`memoryFor[${i}] of the policy is no valid WGSL`, ...errors].join("\n"));
  }
}

/** Returns the fields with a value. */
const givenIn = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;

/** Returns the redundancy with which a kernel is compiled. */
export const compiled = (redundancy: Required<KernelPolicy>["redundancy"]): Redundancy | "auto" =>
  redundancy === "algebra" ? "auto" : redundancy;

/**
 * Throws a `TypeError` if parts of the policy contradict each other, or need a feature that the
 * device lacks. Such a policy would protect no kernel.
 */
export function refuseConflicts(policy: ResolvedPolicy, features: Iterable<string>): void {
  if (policy.algebra && redundanciesIn(policy).every((redundancy) => redundancy === "none"))
    throw new TypeError('algebra checks no kernel: redundancy is "none"');
  if (!policy.algebra && redundanciesIn(policy).includes("algebra"))
    throw new TypeError(
      'redundancy is "algebra", and the policy has no checker; add algebra: algebra() of belay-gpu/algebra',
    );
  for (const exception of [{}, ...Object.values(policy.kernels)]) {
    const { memoryCheck, ...given } = { ...policy, ...exception };
    if (memoryCheck !== "loads" && policy.memory === "none")
      throw new TypeError(
        `memoryCheck is "${memoryCheck}", and memory is "none", so there is nothing to check`,
      );
    if (memoryCheck === "scrubs" && policy.scrubIntervalMs === 0)
      throw new TypeError('memoryCheck is "scrubs", and scrubIntervalMs is 0, so nothing scrubs memory');
    const { redundancy: asked, check, channel, pairing, diversity } = given;
    const redundancy = compiled(asked);
    if (redundancy === "none") continue;
    const flavor = redundancy === "auto" ? {} : { redundancy };
    const conflict = conflictIn(placesOf({ ...flavor, check, channel, pairing, diversity, features }));
    if (conflict) throw new TypeError(`the policy protects no kernel: ${conflict.message}; ${conflict.help}`);
  }
}

/**
 * Returns whether faults can be detected or injected, or dispatches are audited. Other programs run
 * as on a plain device.
 */
export const observes = (policy: ResolvedPolicy): boolean =>
  policy.injectFaults !== false || policy.audit !== undefined || detects(policy);

/** Returns whether faults can be detected. */
const detects = (policy: ResolvedPolicy): boolean =>
  policy.memory !== "none" || redundanciesIn(policy).some((redundancy) => redundancy !== "none");

/** Returns whether work that a fault may have reached is executed again. */
export const recovers = (policy: ResolvedPolicy): boolean => policy.onFault === "recover" && detects(policy);

/**
 * Returns whether unverified work may be executed again: after faults, or after replicas waited in
 * vain for each other, which is no fault.
 */
export const mayRunAgain = (policy: ResolvedPolicy): boolean =>
  recovers(policy) || (policy.onFault === "throw" && doublesGrids(policy));

/** Returns whether data that a fault may have reached is refused if it is not recovered. */
export const refusesFaults = ({ onFault }: Pick<ResolvedPolicy, "onFault">): boolean => onFault !== "report";

/** Returns whether kernels may be dispatched on doubled grids. */
export const doublesGrids = (policy: ResolvedPolicy): boolean =>
  redundanciesIn(policy)
    .map(compiled)
    .some((each) => each === "inter" || each === "auto");

/** Returns whether kernels may load data at rest that is not verified again. */
export const trustsRest = ({ memoryCheck, kernels }: ResolvedPolicy): boolean =>
  [{ memoryCheck }, ...Object.values(kernels)].some((each: KernelPolicy) => each.memoryCheck === "scrubs");

/** Returns the redundancies that kernels may have. */
const redundanciesIn = ({ redundancy, kernels }: ResolvedPolicy) =>
  [{}, ...Object.values(kernels)].map((each: KernelPolicy) => each.redundancy ?? redundancy);
