/** Validates the options of a protection, and chooses those that are not given. */
import { bindingPointOf, bindingPointsOf } from "../analysis/bindings.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { flag, listOf, oneOf, refuseUnknown, shown, type Values, wholeFrom } from "../diagnostics/options.ts";
import { pairingConflict, subgroupsMissing } from "../diagnostics/protection.ts";
import { type MemoryScheme, type Schemes, schemeOf, schemes } from "../ecc/scheme.ts";
import type { Uncompared } from "../transforms/redundancy/comparison/comparison.ts";
import type { KeptValues } from "../transforms/redundancy/keepSums.ts";
import { skipBytes } from "../transforms/redundancy/skipWorkgroups.ts";
import type { DiversityPasses } from "../transforms/shared/diversity.ts";
import type { Program } from "../wgsl/program.ts";
import { type AppliedRedundancy, type Structure, structures } from "./configurations.ts";
import type {
  BindingPoint,
  Channel,
  Check,
  CompilerOptions,
  KeptSums,
  KernelLimits,
  MemoryBindings,
  MemorySchemes,
  Pairing,
  ProtectedBinding,
  ProtectOptions,
} from "./contract.ts";
import { isSelective, refuseWrongCover } from "./selectiveCover.ts";

/** Validates a list of structures to cover. */
export const structureList = listOf(structures.map(shown).join(", "), (each) =>
  structures.includes(each as Structure),
);

/** Validates structures to cover, or a share of silent corruption. */
export const covers: Values = {
  what: `${structureList.what}, or an object of a share \`sdc\` up to 1 and \`faults\``,
  has: (value) => structureList.has(value) || isSelective(value),
  refuseParts: (value) => {
    if (isSelective(value)) refuseWrongCover(value);
  },
};

/** The changes that experiments make to protections, besides options. */
export interface Experiment {
  /** The codes that memory can have. Default: those of the product. */
  readonly codes?: Schemes;
  /** The code that replaces the comparison. Default: replicas are compared. */
  readonly uncompared?: Uncompared;
}

/** Returns the set of the names of codes. */
const anyCodeOf = (codes: Schemes): Values => oneOf(["none", ...Object.keys(codes), "checksum"]);

/** The values of each option that takes one of a few. */
export const choices = {
  redundancy: ["none", "intra+lds", "intra-lds", "inter", "auto"],
  check: ["store", "signature"],
  channel: ["auto", "subgroup", "workgroup"],
  pairing: ["auto", "adjacent", "half-subgroup", "subgroups", "passes"],
  injectFaults: [true, false, "profile"],
} as const satisfies { readonly [K in keyof CompilerOptions]?: readonly CompilerOptions[K][] };

/** The set of the texts that replicas can have. */
export const diversities: Values = {
  what: "false, or twoTexts of belay-gpu/diversity",
  has: (value) =>
    value === false || typeof (value as DiversityPasses | null)?.diversifyReplicas === "function",
};

/** The options of `protect`, with the values that they take. */
const publicOptions: { readonly [Name in keyof Required<ProtectOptions>]: Values | null } = {
  redundancy: oneOf(choices.redundancy),
  cover: covers,
  entryPoint: null,
  check: oneOf(choices.check),
  pairing: oneOf(choices.pairing),
  channel: oneOf(choices.channel),
  diversity: diversities,
  memory: anyCodeOf(schemes),
  strict: flag,
  features: null,
  subgroupSize: wholeFrom(1),
  subgroupMaxSize: wholeFrom(1),
  limits: null,
  constants: null,
};

/** The options of the compiler, with the values that they take. */
const options: { readonly [Name in keyof Required<CompilerOptions>]: Values | null } = {
  ...publicOptions,
  room: wholeFrom(0),
  closesGaps: flag,
  memoryBindings: null,
  reportBinding: null,
  reportInLastGroup: flag,
  injectFaults: oneOf(choices.injectFaults),
  strikeMachinery: flag,
  copies: flag,
  skippable: flag,
  keptSums: null,
};

/** Throws a `TypeError` for options and values that `protect` does not have. */
export function refuseUnknownOptions(given: ProtectOptions): void {
  refuseUnknown(given, publicOptions);
}

/** Throws a `TypeError` for options and values that the compiler does not have. */
export function refuseUnknownCompilerOptions(given: CompilerOptions, { codes = schemes }: Experiment): void {
  const anyCode = anyCodeOf(codes);
  const isObject = (value: unknown) => typeof value === "object" && value !== null;
  refuseUnknown(given, {
    ...options,
    memory: { ...anyCode, has: (value) => isObject(value) || anyCode.has(value) },
  });
  if (given.memory === undefined || typeof given.memory === "string") return;
  for (const memory of [given.memory.default, ...given.memory.bindings.map(({ scheme }) => scheme)])
    refuseUnknown({ memory }, { memory: anyCode });
}

/** The limits that every WebGPU device has. Source: WebGPU specification, "Limits". */
const defaultLimits: KernelLimits = {
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupStorageSize: 16384,
  maxStorageBuffersPerShaderStage: 8,
  maxBindGroups: 4,
};

/**
 * The bindings that every WebGPU device has in a bind group, `maxBindingsPerBindGroup`. Source:
 * WebGPU specification, "Limits".
 */
const MAX_BINDINGS = 1000;

/** The lanes of a subgroup on most GPUs. */
const usualSubgroup = 32;

/** The options of a protection, complete. */
export interface Settings {
  readonly redundancy: AppliedRedundancy;
  /** The places of the values that are computed twice under `"selective"`. */
  readonly chosen: readonly Span[];
  readonly check: Check;
  /** Set where nothing is compared. */
  readonly uncompared?: Uncompared | undefined;
  readonly pairing: Pairing;
  readonly channel: Channel;
  /** Set if the second replica has another text: the passes that write it. */
  readonly diversity: DiversityPasses | undefined;
  readonly limits: KernelLimits;
  readonly report: BindingPoint;
  /** A binding point after which there is room for other added buffers. */
  readonly free: BindingPoint;
  readonly injectFaults: boolean | "profile";
  readonly strikeMachinery: boolean;
  readonly copies: boolean;
  readonly skippable: boolean;
  /** The values that kernels store beside their results, and the buffer for them. */
  readonly sums: (KeptSums & KeptValues) | undefined;
  /** True if the device has subgroups. */
  readonly subgroups: boolean;
  /** The number of lanes that a subgroup has at least; 0 without subgroups. */
  readonly subgroupSize: number;
  /** The number of lanes that a subgroup has at most; undefined if unknown. */
  readonly subgroupMaxSize: number | undefined;
  readonly memory: MemorySettings;
}

/** The protected memory of a module. */
export interface MemorySettings extends MemoryBindings {
  /** The binding points that have a code. */
  readonly coded: readonly CodedPoint[];
}

/** A binding point and its code. */
export interface CodedPoint extends Pick<ProtectedBinding, "of" | "scheme" | "index" | "site" | "isKnown"> {
  /** Absent for a checksum. */
  readonly code?: MemoryScheme;
}

/** The options that decide when, where and through which channel replicas are compared. */
type Places = Pick<
  Settings,
  "redundancy" | "check" | "uncompared" | "pairing" | "channel" | "diversity" | "subgroups"
>;

/**
 * Options with a fixed redundancy. Without one, that of Intra-Group kernels, which have all
 * options.
 */
export type FixedOptions = Omit<CompilerOptions, "redundancy"> & {
  readonly redundancy?: AppliedRedundancy;
  /** The places of the values that are computed twice under `"selective"`. */
  readonly chosen?: readonly Span[];
};

export function placesOf(options: FixedOptions): Places {
  const { check = "signature", channel = "auto" } = options;
  // Options accept only diversities that have passes.
  const diversity = (options.diversity || undefined) as DiversityPasses | undefined;
  // Replicas with different texts meet before stores in workgroups of their own only.
  const { redundancy = diversity && check === "store" ? "inter" : "intra+lds" } = options;
  // Only Intra-Group replicas have a position in a workgroup.
  const given = redundancy.startsWith("intra") ? options.pairing : undefined;
  const usualPairing = diversity && redundancy.startsWith("intra") ? "passes" : "adjacent";
  const pairing = given === undefined || given === "auto" ? usualPairing : given;
  const subgroups = new Set(options.features).has("subgroups");
  // Replicas in different subgroups cannot exchange registers.
  const exchanges = subgroups && pairing !== "subgroups";
  const usual = exchanges ? "subgroup" : "workgroup";
  return { redundancy, check, pairing, channel: channel === "auto" ? usual : channel, diversity, subgroups };
}

export function settingsOf(
  source: Program,
  options: FixedOptions,
  { codes = schemes, uncompared }: Experiment,
): Settings {
  const { skippable = false } = options;
  const given = { ...defaultLimits, ...options.limits };
  const { maxComputeWorkgroupStorageSize: most } = given;
  const limits = { ...given, maxComputeWorkgroupStorageSize: most - (skippable ? skipBytes : 0) };
  const places = placesOf(options);
  const free = options.reportBinding ?? freeBinding(source, limits.maxBindGroups);
  const report = (options.reportInLastGroup && lastBinding(source, free)) || free;
  const { memory = "none" } = options;
  const memorySchemes = typeof memory === "string" ? { default: memory, bindings: [] } : memory;
  const behind = options.memoryBindings ?? bindingsBehind(source, free);
  return {
    ...places,
    chosen: options.chosen ?? [],
    uncompared,
    limits,
    report,
    free,
    injectFaults: options.injectFaults ?? false,
    strikeMachinery: options.strikeMachinery ?? false,
    copies: options.copies ?? false,
    skippable,
    // Kernels that keep sums have no codes, whose check words would be bound there.
    sums: options.keptSums && { ...options.keptSums, at: behind.arena },
    subgroupSize: places.subgroups ? (options.subgroupSize ?? usualSubgroup) : 0,
    subgroupMaxSize: options.subgroupMaxSize,
    memory: {
      ...behind,
      coded: codedPoints(source, memorySchemes, codes),
    },
  };
}

/**
 * Returns true if each kernel has a plan and functions of its own, because its replicas depend on
 * its own accesses.
 */
export const plansEachKernel = ({ redundancy, pairing }: Pick<Settings, "redundancy" | "pairing">): boolean =>
  redundancy === "inter" || pairing === "passes";

/** Returns an error for options that exclude each other, or that the device does not support. */
export function conflictIn(settings: Places): Diagnostic | undefined {
  if (settings.channel === "subgroup" && !settings.subgroups) return subgroupsMissing("the subgroup channel");
  if (settings.pairing === "half-subgroup" && !settings.subgroups)
    return subgroupsMissing("the pairing half-subgroup");
  if (settings.pairing === "subgroups" && settings.channel === "subgroup")
    return pairingConflict(
      "subgroups",
      "channel",
      "replicas in different subgroups can't exchange registers",
    );
  if (settings.pairing === "subgroups" && settings.check === "store")
    return pairingConflict(
      "subgroups",
      "check",
      "replicas in different subgroups meet only at the end of a kernel",
    );
  if (settings.pairing === "passes" && (settings.check !== "signature" || settings.uncompared))
    return pairingConflict(
      "passes",
      "check",
      "of replicas that run one after the other, one can leave no more than a signature",
    );
  if (settings.diversity && settings.redundancy.startsWith("intra") && settings.pairing !== "passes")
    return pairingConflict(
      settings.pairing,
      "diversity",
      "replicas that run together cannot have different texts",
      "use the pairing passes, or the redundancy inter",
    );
  return undefined;
}

/**
 * Returns a binding point for the report. The point is in the bind group after all that the module
 * uses. Without such a group, it is in the first gap, and without a gap at a free binding of the
 * last group.
 */
function freeBinding(source: Program, maxBindGroups: number): BindingPoint {
  const points = bindingPointsOf(source);
  const used = new Set(points.map(({ group }) => group));
  const next = Math.max(-1, ...used) + 1;
  if (next < maxBindGroups) return { group: next, binding: 0 };
  const last = maxBindGroups - 1;
  for (let group = 0; group < last; group++) if (!used.has(group)) return { group, binding: 0 };
  const taken = new Set(points.filter(({ group }) => group === last).map(({ binding }) => binding));
  let binding = 0;
  while (taken.has(binding)) binding++;
  return { group: last, binding };
}

/**
 * Returns the binding point after all of the last bind group that a module uses. Undefined if there
 * is none, or if `free` is in a bind group of the module too.
 */
function lastBinding(source: Program, free: BindingPoint): BindingPoint | undefined {
  const points = bindingPointsOf(source);
  const group = Math.max(...points.map((point) => point.group));
  const inGroup = points.filter((point) => point.group === group);
  const binding = Math.max(...inGroup.map((point) => point.binding)) + 1;
  const isShared = points.some((point) => point.group === free.group);
  return isShared || inGroup.length === 0 || binding >= MAX_BINDINGS ? undefined : { group, binding };
}

/**
 * Returns the binding points of shadow buffer and table: after the report, where the module binds
 * nothing.
 */
function bindingsBehind(source: Program, { group, binding }: BindingPoint): MemoryBindings {
  const taken = new Set(
    bindingPointsOf(source).flatMap((point) => (point.group === group ? [point.binding] : [])),
  );
  const after = (last: number): number => (taken.has(last + 1) ? after(last + 1) : last + 1);
  const arena = after(binding);
  return { arena: { group, binding: arena }, table: { group, binding: after(arena) } };
}

/** Returns the binding points of a module that have a code, in the order of their rows. */
export function codedPoints(
  program: Program,
  { default: usual, bindings }: MemorySchemes,
  codes: Schemes,
): CodedPoint[] {
  const points = new Map<string, CodedPoint>();
  for (const variable of program.module.declarations) {
    if (variable.kind !== "globalVariable" || !/^(storage|uniform)$/.test(addressSpaceOf(variable))) continue;
    const of = bindingPointOf(program, variable);
    if (!of) continue;
    const own = bindings.find((each) => isSame(each.of, of));
    const scheme = own ? own.scheme : usual;
    const key = `${of.group} ${of.binding}`;
    if (scheme === "none" || points.has(key)) continue;
    const code = scheme === "checksum" ? {} : { code: schemeOf(scheme, codes) };
    points.set(key, { ...own, of, scheme, index: points.size, ...code });
  }
  return [...points.values()];
}

export const isSame = (a: BindingPoint, b: BindingPoint) => a.group === b.group && a.binding === b.binding;
