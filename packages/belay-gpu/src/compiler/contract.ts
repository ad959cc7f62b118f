/**
 * The inputs and outputs of `protect()`: the contract between the compiler and all code that runs
 * its kernels.
 */
import type { BindingAccess, BindingKind, BindingPoint } from "../analysis/bindings.ts";
import type { DecidingMemory } from "../analysis/valueDependences.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import type { MemoryCode, SchemeName } from "../ecc/scheme.ts";
import type { CampaignSite, FaultSite } from "../transforms/faults/faultSites.ts";
import type { Pairing } from "../transforms/redundancy/pairing.ts";
import type { CheckSite, ReportLayout } from "../transforms/redundancy/reportBuffer.ts";
import type { Diversity } from "../transforms/shared/diversity.ts";
import type {
  AppliedRedundancy,
  Channel,
  Check,
  RankedConfiguration,
  Redundancy,
  Structure,
} from "./configurations.ts";
import type { KernelFaults, SelectiveCover, ValueFaults } from "./selectiveCover.ts";

export { countWords, sampleCapacity } from "../transforms/faults/countingTrigger.ts";
export { faultExtent, injectionWords } from "../transforms/faults/injectionWords.ts";
export {
  cellsOfWorkgroup,
  memoryStatus,
  recordCause,
  reportWords,
} from "../transforms/redundancy/reportBuffer.ts";
export type {
  AppliedRedundancy,
  BindingAccess,
  BindingKind,
  BindingPoint,
  CampaignSite,
  Channel,
  Check,
  CheckSite,
  Diversity,
  FaultSite,
  KernelFaults,
  MemoryCode,
  Pairing,
  RankedConfiguration,
  Redundancy,
  ReportLayout,
  SchemeName,
  SelectiveCover,
  Structure,
  ValueFaults,
};

/**
 * The device limits that decide whether a kernel can be doubled. Names and units are those of
 * `GPUSupportedLimits`.
 */
export interface KernelLimits {
  /** The most invocations in a workgroup. Default 256. */
  readonly maxComputeInvocationsPerWorkgroup: number;
  /** The largest size of a workgroup in x. Default 256. */
  readonly maxComputeWorkgroupSizeX: number;
  /** The most bytes of workgroup memory. Default 16384. */
  readonly maxComputeWorkgroupStorageSize: number;
  /** The most storage buffers of a kernel. Default 8. */
  readonly maxStorageBuffersPerShaderStage: number;
  /** The most bind groups of a pipeline layout. Default 4. */
  readonly maxBindGroups: number;
}

/**
 * The requirements for dispatching an Inter-Group kernel: twice the workgroups, and replicas that
 * never load each other's stores. For that, they run one after the other, or each has a copy.
 */
export interface InterGroup {
  /**
   * The name of the pipeline-overridable constant for the dimension in which a grid is doubled. Its
   * values 0 to 2 are x, y and z, and 3 is the dimension in the report's word `grid`. Doubling x
   * needs a grid of at most half the limit in x, and so on.
   */
  readonly doubling: string;
  /**
   * The largest grid that may be doubled, in workgroups of the program; zero if none may. Set for a
   * kernel that changes buffers in place and needs no copies of them. The last-arriving replica
   * then stores.
   *
   * A larger or unknown grid is dispatched twice as it is, the second replicas before the first.
   * Both dispatches use one pipeline, because another one might round floats differently. They have
   * `doubling` 3 and the word `grid` 5, then 4.
   */
  readonly mostWorkgroups?: number;
  /**
   * The bindings of the program that the second replica must not share, with the binding points of
   * its copies.
   */
  readonly shadows: readonly ShadowBinding[];
  /**
   * True if replicas wait for each other, for a bounded time. They do with the check `"store"`, and
   * if the kernel uses the result of an atomic operation that is executed once.
   */
  readonly blocking: boolean;
  /**
   * The name of the pipeline-overridable constant for the number of times that a waiting replica
   * polls. Absent if replicas do not wait. Default: 2²⁰ times, about a second on a GPU, and too
   * short if few threads run many workgroups.
   */
  readonly patience?: string;
}

/** The binding point of the second replica's copy of a buffer. */
export interface ShadowBinding {
  readonly of: BindingPoint;
  readonly at: BindingPoint;
  /** True if atomic operations may change parts of the program's buffer, which are not copied. */
  readonly hasAtomics?: true;
}

/** The codes by binding point. A binding point without an entry has the default. */
export interface MemorySchemes {
  readonly default: MemoryCode | "none";
  readonly bindings: readonly BindingScheme[];
}

/** The code of one binding. */
export interface BindingScheme {
  readonly of: BindingPoint;
  readonly scheme: MemoryCode | "none";
  /**
   * For `"checksum"`: the number of the only access to the binding that the kernel sums. It is
   * meant for a buffer whose accesses do not access each word equally often. If there is no access
   * with this number, no access is summed.
   */
  readonly site?: number;
  /**
   * For `"checksum"`: the accesses are known to access each word equally often, so that the kernel
   * need not count places.
   */
  readonly isKnown?: true;
}

/** The binding points of check words. */
export interface MemoryBindings {
  /** The storage buffer of u32 with the check words of all buffers. */
  readonly arena: BindingPoint;
  /**
   * The uniform buffer with one `vec4<u32>` for each protected binding, by its `index`
   * (`tableRow`).
   */
  readonly table: BindingPoint;
}

/** A row of the table, in 32-bit words. All other words are zero. */
export const tableRow = {
  /** The index in the shadow buffer of the check word of the binding's first granule. */
  base: 0,
  /** The size of the binding in bytes, as the program bound it. */
  bytes: 1,
  /** The number of words in a row. */
  stride: 4,
} as const;

/** The protection of the memory of one binding. */
export interface ProtectedBinding {
  readonly of: BindingPoint;
  /** The row of the binding in the table, and its number in memory records. */
  readonly index: number;
  readonly scheme: MemoryCode;
  /**
   * The way in which the binding is checked.
   *
   * `"checked"`: the kernel checks its loads and updates the check words. `"summed"`: the kernel
   * sums the words that it loads or stores, and the host compares the sums. `"passVerified"`: the
   * host verifies the binding before the kernel, and encodes it after if it `stores`.
   */
  readonly mode: "checked" | "summed" | "passVerified";
  /** The number of times that invocations add their accesses; set if the binding is summed. */
  readonly sums?: readonly SumWeights[];
  /**
   * The memory whose contents also decide which elements are accessed. Dispatches with other
   * contents may access others.
   */
  readonly varies?: DecidingMemory;
  /** Set if the binding is a uniform buffer. */
  readonly isUniform?: true;
  /** The number of the only access that is summed, if there is one. */
  readonly site?: number;
  /** Set if no places are counted. */
  readonly isKnown?: true;
  /** Set if lanes check lines together: stores then compute check words from earlier ones. */
  readonly isInLines?: true;
  /**
   * The least size that WebGPU lets the program bind, in bytes; absent if it is a granule. Kernels
   * that check memory themselves access whole granules in place of the program's types.
   */
  readonly leastBytes?: number;
  readonly loads: boolean;
  readonly stores: boolean;
}

/**
 * The accesses that the same ids decide. Invocations that differ only in other ids add the same
 * words to the sums: the first of them once, the others twice. The i-th of these classes is
 * weighted by 2^i.
 */
export interface SumWeights {
  /** The invocations of a workgroup that differ in such other ids only. */
  readonly lanes: number;
  /** The dimensions of the grid that do not matter: 0 is x. */
  readonly dimensions: readonly (0 | 1 | 2)[];
}

/** The protection of the memory that a kernel uses. */
export interface MemorySummary {
  /**
   * Set if a binding is checked: the binding points of the check words, and the size of the table.
   * With `storesChecks`, the kernel stores to the shadow buffer: its layout has a `"storage"`
   * binding, and a `"read-only-storage"` binding otherwise.
   */
  readonly checks?: MemoryBindings & { readonly storesChecks: boolean; readonly tableBytes: number };
  /** The storage and uniform buffers that the entry point uses and that have a code. */
  readonly bindings: readonly ProtectedBinding[];
}

/** The options of `protect`. All have defaults. */
export interface ProtectOptions {
  /**
   * The code of the storage and uniform buffers. The host keeps their check words. A binding of a
   * checked buffer must hold whole granules, and that of a uniform buffer a multiple of 16 bytes.
   * Default `"none"`.
   */
  readonly memory?: MemoryCode | "none";
  /**
   * The redundancy. `"auto"`, the default of `harden`, considers the flavors, channels and pairings
   * that fit the kernel on a device with these `features` and `limits`. It takes the one with the
   * lowest predicted cost that covers the structures of `cover`. One with fewer gaps may cost
   * about as much, and with `strict` anything. If none covers all, it takes the one that covers
   * most, with a warning. Options that are given restrict the choice. Default `"intra+lds"`.
   */
  readonly redundancy?: Redundancy | "auto";
  /**
   * The structures that `"auto"` must cover. Default: vector arithmetic, vector registers and
   * workgroup memory.
   *
   * Or a share of silent corruption. `"auto"` then computes the values again whose faults have that
   * share, in the same lane. Kernels that no campaign has struck are protected as a whole.
   */
  readonly cover?: readonly Structure[] | SelectiveCover;
  /**
   * The entry point that `"auto"` chooses for, and the only one that it protects. Default: all
   * compute entry points of the module together.
   */
  readonly entryPoint?: string;
  /** The time of the output comparison. Default `"signature"`. */
  readonly check?: Check;
  /**
   * The positions of replicas; Intra-Group only. Default `"auto"`: `"adjacent"`, unless
   * `redundancy` is `"auto"` as well.
   */
  readonly pairing?: Pairing | "auto";
  /**
   * The channel. Default `"auto"`: `"subgroup"` if `features` has `"subgroups"`, else
   * `"workgroup"`.
   */
  readonly channel?: Channel | "auto";
  /**
   * Another text with the same meaning for the second replica, so that replicas also find mistakes
   * of compilers: `twoTexts` of `belay-gpu/diversity`. Replicas then run in passes or in workgroups
   * of their own. Default false: both have one text.
   */
  readonly diversity?: Diversity | false;
  /** The features of the device that the code is for. Default: none. */
  readonly features?: Iterable<string>;
  /**
   * The number of lanes that a subgroup of the device has at least, if it has subgroups. Default
   * 32.
   */
  readonly subgroupSize?: number;
  /**
   * The number of lanes that a subgroup of the device has at most. The pairing `"subgroups"` needs
   * it for kernels with subgroup operations. Default: unknown.
   */
  readonly subgroupMaxSize?: number;
  /** The limits of the device. Default: the limits that every WebGPU device has. */
  readonly limits?: Partial<KernelLimits>;
  /**
   * The values of overrides by name or id, as in `GPUProgrammableStage.constants`. They decide
   * sizes that are compared with `limits`.
   */
  readonly constants?: Readonly<Record<string, number>>;
  /** True to turn every gap in the coverage (a warning) into an error. Default false. */
  readonly strict?: boolean;
}

/** The options of the compiler: those of `protect`, and those that only the runtime needs. */
export interface CompilerOptions extends Omit<ProtectOptions, "memory"> {
  /** The codes of the storage and uniform buffers, as in `ProtectOptions`. Default `"none"`. */
  readonly memory?: MemoryCode | "none" | MemorySchemes;
  /** The binding points of check words, as `reportBinding`. Default: after the report. */
  readonly memoryBindings?: MemoryBindings;
  /**
   * The number of storage buffers that a pipeline layout has room for; `redundancy: "auto"`
   * respects it. Default: as `limits` allow.
   */
  readonly room?: number;
  /**
   * True if `redundancy: "auto"` takes a configuration without gaps in the coverage at any cost.
   * Default: as `strict`.
   */
  readonly closesGaps?: boolean;
  /**
   * The binding point of the report, which an explicit pipeline layout decides. Default: a bind
   * group of its own, after those that the module uses, or a free binding of the last one if all
   * are used.
   */
  readonly reportBinding?: BindingPoint;
  /**
   * True to bind the report in the last bind group that the module uses, without `reportBinding`. A
   * program sets that group anyway. Default false.
   */
  readonly reportInLastGroup?: boolean;
  /**
   * True to instrument the source so that a fault can be armed at its fault sites. `"profile"`
   * counts the executions of these sites instead. Default false.
   */
  readonly injectFaults?: boolean | "profile";
  /**
   * True to make fault sites in the code that protection adds as well; needs `injectFaults`.
   * Default false.
   */
  readonly strikeMachinery?: boolean;
  /**
   * True if under `inter` each buffer that a kernel changes in place is copied, even if replicas
   * need no copies. A kernel whose replicas wait for nobody then has the bindings and grids of one
   * whose replicas wait. Default false.
   */
  readonly copies?: boolean;
  /**
   * True if the device can skip dispatches of kernels with redundancy. Workgroups then end at once
   * while the word `skip` of the report is not 0. Default false.
   */
  readonly skippable?: boolean;
  /**
   * Values whose functions the results in a buffer are. Kernels also store these values, to another
   * buffer. Default: none.
   */
  readonly keptSums?: KeptSums;
}

/** The values of the source to store beside the results in a buffer. */
export interface KeptSums {
  /** The places of the values. The last one before the store of a result belongs to it. */
  readonly values: readonly Span[];
  /** The binding point of the results. */
  readonly of: BindingPoint;
  /** The bytes of a value for each byte of a result: 2 for f32 beside f16. */
  readonly growth: 1 | 2;
}

/** The protection of one compute entry point. */
export interface EntryPointSummary {
  /** The name in the program's source. */
  readonly name: string;
  /** The redundancy that was applied; `"none"` if the entry point is left unprotected. */
  readonly redundancy: AppliedRedundancy;
}

/** The summary of one compute entry point for its host. */
export interface CompiledEntryPoint extends EntryPointSummary {
  /** The requirements for dispatching the kernel, if `redundancy` is `"inter"`. */
  readonly interGroup?: InterGroup;
  /** The protection of memory, if a buffer of the entry point has a code. */
  readonly memory?: MemorySummary;
  /** The binding points of results, and of the buffer for the sums of which they are functions. */
  readonly sums?: Omit<ShadowBinding, "hasAtomics"> & Pick<KeptSums, "growth">;
  /** The ids of the check sites that this entry point reaches. */
  readonly checks: readonly number[];
  /**
   * True if the entry point uses the report buffer. Its default pipeline layout has the binding
   * only then.
   */
  readonly usesReport: boolean;
  /**
   * The accesses to the program's resources. Buffers and textures without an entry are not used.
   */
  readonly bindings: readonly BindingAccess[];
}

/** The result of `protect`. */
export interface ProtectResult {
  /** The configuration that `"auto"` chose, and the reason. */
  readonly chosen?: RankedConfiguration;
  /** The protected module; the unchanged input if `diagnostics` has an error. */
  readonly code: string;
  /** The errors in the source and the gaps in the coverage. */
  readonly diagnostics: readonly Diagnostic[];
  /**
   * The entry points, and the overrides without `@id`, that are renamed in `code` because they hide
   * a name of the language that it needs. Maps the program's name to the new one. Everything else
   * in the result has the program's names.
   */
  readonly renamed: Readonly<Record<string, string>>;
  /** One summary for each compute entry point, in source order; empty for an invalid source. */
  readonly entryPoints: readonly EntryPointSummary[];
  /** The places where replicas are compared. */
  readonly checks: readonly CheckSite[];
}

/** The result of the compiler, with all that the runtime needs to execute the module. */
export interface CompilerResult extends ProtectResult {
  /** The layout of the report buffer; `null` if no entry point uses one. */
  readonly layout: ReportLayout | null;
  readonly entryPoints: readonly CompiledEntryPoint[];
  /** The places where faults can be armed; empty without `injectFaults`. */
  readonly faultSites: readonly CampaignSite[];
}

/** Returns the name that an entry point or an override of the program has in a protected module. */
export const nameInCode = ({ renamed }: Pick<CompilerResult, "renamed">, name: string): string =>
  (Object.hasOwn(renamed, name) ? renamed[name] : undefined) ?? name;

/** The compiler as a function type, for code that calls it. */
export type Protect = (wgsl: string, options?: CompilerOptions) => CompilerResult;
