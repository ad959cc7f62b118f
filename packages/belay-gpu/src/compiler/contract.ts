/**
 * What goes into and comes out of `protect()`: the one contract between the compiler and everything
 * that runs its kernels.
 */
import type { BindingAccess, BindingPoint } from "../analysis/bindings.ts";
import type { Fill, FillLimit, GridProduct } from "../analysis/fills.ts";
import type { MemoryCode, SchemeName } from "../codes/scheme.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import type { FaultSite } from "../transforms/faults/faultSites.ts";
import type { Pairing } from "../transforms/redundancy/pairing.ts";
import type { CheckSite, ReportLayout } from "../transforms/redundancy/reportBuffer.ts";
import type { Channel, Check, RankedConfiguration, Redundancy, Structure } from "./configurations.ts";

export { countWords, sampleCapacity } from "../transforms/faults/countingTrigger.ts";
export { faultExtent, injectionWords } from "../transforms/faults/injectionWords.ts";
export {
  cellsOfWorkgroup,
  memoryStatus,
  recordCause,
  reportWords,
} from "../transforms/redundancy/reportBuffer.ts";
export type {
  BindingAccess,
  BindingPoint,
  Channel,
  Check,
  CheckSite,
  FaultSite,
  Fill,
  FillLimit,
  GridProduct,
  MemoryCode,
  Pairing,
  RankedConfiguration,
  Redundancy,
  ReportLayout,
  SchemeName,
  Structure,
};

/**
 * The device limits that decide whether a kernel can be doubled; names and units as in
 * `GPUSupportedLimits`.
 */
export interface KernelLimits {
  readonly maxComputeInvocationsPerWorkgroup: number;
  readonly maxComputeWorkgroupSizeX: number;
  readonly maxComputeWorkgroupStorageSize: number;
  readonly maxStorageBuffersPerShaderStage: number;
  readonly maxBindGroups: number;
}

/**
 * What whoever dispatches an Inter-Group kernel does for it: twice the workgroups, and where
 * neither replica may load what the other has stored, one after the other or with a copy for each.
 */
export interface InterGroup {
  /**
   * The pipeline-overridable constant, by name, that says along which dimension a grid is doubled:
   * 0 = x, 1 = y, 2 = z, and 3 = what the report's word `grid` says; doubling x needs a grid of at
   * most half the limit in x, and so on.
   */
  readonly doubling: string;
  /**
   * Set where a kernel that changes buffers in place needs no copies of them: only a grid of at
   * most so many workgroups of the program's is doubled, and whoever comes last of two replicas
   * stores there. A larger grid, or one that is not known, is dispatched twice as it is, the second
   * replicas before the first: by the same pipeline, as another one might round floats otherwise,
   * with `doubling` 3 and the word `grid` 5, then 4. Zero where no grid may be doubled.
   */
  readonly mostWorkgroups?: number;
  /**
   * For each binding of the program that the second replica must not share: where its own copy is
   * bound.
   */
  readonly shadows: readonly ShadowBinding[];
  /**
   * Whether twins wait for each other, for a bounded time: they do with the check `"store"`, and
   * where the kernel uses the result of an atomic operation that must run once.
   */
  readonly blocking: boolean;
  /**
   * Set when it is: the pipeline-overridable constant, by name, that says how often a twin looks
   * for the other before it gives up. Default: 2²⁰ times, which is about a second on a GPU, and too
   * soon where few threads run many workgroups.
   */
  readonly patience?: string;
}

/** Where the second replica finds its own copy of a buffer. */
export interface ShadowBinding {
  readonly of: BindingPoint;
  readonly at: BindingPoint;
  /**
   * Set when atomic operations may change parts of the program's buffer, which the copy does not
   * follow.
   */
  readonly hasAtomics?: true;
}

/** Schemes by binding point; a binding point without an entry has the default. */
export interface MemorySchemes {
  readonly default: MemoryCode | "none";
  readonly bindings: readonly BindingScheme[];
}

/** The code for one binding. */
export interface BindingScheme {
  readonly of: BindingPoint;
  readonly scheme: MemoryCode | "none";
  /**
   * Under `"checksum"`: of the accesses to it, the only one that the kernel adds up, by its number.
   * For where all of them together are not to each word as often; a buffer has none of its accesses
   * added up where there is no other one of this number.
   */
  readonly site?: number;
  /**
   * Under `"checksum"`: those are known to be to each word as often, so that the kernel need not
   * count places.
   */
  readonly isKnown?: true;
}

/** Where a kernel finds the check words. */
export interface MemoryBindings {
  /** A storage buffer of u32: the check words of all buffers. */
  readonly arena: BindingPoint;
  /**
   * A uniform buffer of one `vec4<u32>` for each protected binding, by its `index` (`tableRow`).
   */
  readonly table: BindingPoint;
}

/** A row of the table, in 32-bit words. What is not named is zero. */
export const tableRow = {
  /** Where in the arena the check word of the binding's first granule is. */
  base: 0,
  /** The size of the binding in bytes, as the program bound it. */
  bytes: 1,
  /** Words of a row. */
  stride: 4,
} as const;

/** What is done about the memory of one binding. */
export interface ProtectedBinding {
  readonly of: BindingPoint;
  /** Its row of the table, and its name in memory records. */
  readonly index: number;
  readonly scheme: MemoryCode;
  /**
   * `"checked"`: the kernel checks what it loads and keeps the check words up to date. `"summed"`:
   * it adds up a checksum of what it loads or stores, for whoever dispatches it to compare.
   * `"passVerified"`: it runs on raw words, so whoever dispatches it verifies the binding before, and
   * encodes it after where it `stores`.
   */
  readonly mode: "checked" | "summed" | "passVerified";
  /** Set when it is summed: how often invocations add what they access. */
  readonly sums?: readonly SumWeights[];
  /**
   * Set when the contents of memory also decide what is accessed, so that any dispatch may access
   * something else.
   */
  readonly varies?: boolean;
  /** Set when only one of the accesses is summed. */
  readonly site?: number;
  /** Set when no places are counted. */
  readonly isKnown?: true;
  readonly loads: boolean;
  readonly stores: boolean;
}

/**
 * Accesses that the same ids decide. Invocations that differ in others add the same to the sums:
 * the first of them once, the others twice; all of that 2^i times for the i-th of these.
 */
export interface SumWeights {
  /** Invocations of a workgroup that differ in such ids only. */
  readonly lanes: number;
  /** The dimensions of the grid that do not matter: 0 = x. */
  readonly dimensions: readonly (0 | 1 | 2)[];
}

/** What a kernel does about the memory that it uses. */
export interface MemorySummary {
  /**
   * Set when a binding is checked: where the check words are bound, whether the kernel stores to
   * the arena (a `"storage"` binding of its layout, else `"read-only-storage"`), and the size of
   * the table.
   */
  readonly checks?: MemoryBindings & { readonly storesChecks: boolean; readonly tableBytes: number };
  /** Storage and uniform buffers that the entry point uses and that have a scheme. */
  readonly bindings: readonly ProtectedBinding[];
}

/** How `protect` protects; everything has a default. */
export interface ProtectOptions {
  /**
   * Default `"none"`. The codes of the storage and uniform buffers: whoever runs the kernel keeps
   * their check words. A binding of a checked buffer must hold whole granules, and that of a
   * uniform buffer a multiple of 16 bytes.
   */
  readonly memory?: MemoryCode | "none" | MemorySchemes;
  /** Where the check words are bound, as `reportBinding`. Default: behind the report. */
  readonly memoryBindings?: MemoryBindings;
  /**
   * Default `"intra+lds"`. `"auto"` (the default of `harden`): of the flavors, channels and
   * pairings that the kernel fits on a device with these `features` and `limits`, the one that
   * covers the structures to `cover` and promises to cost least. Where none of them covers all, the
   * one that covers most, with a warning. Options that are given restrict the choice.
   */
  readonly redundancy?: Redundancy | "auto";
  /**
   * What `"auto"` must cover. Default: vector arithmetic, vector registers and workgroup memory.
   */
  readonly cover?: readonly Structure[];
  /**
   * The entry point that `"auto"` chooses for, and the only one that is protected then. Default:
   * all of the module's compute entry points together.
   */
  readonly entryPoint?: string;
  /**
   * How many storage buffers a pipeline layout has room for, where `"auto"` is to choose for it.
   * Default: as `limits` allow.
   */
  readonly room?: number;
  /**
   * Default `"signature"`. `"none"` protects nothing: replicas compute without a comparison, to
   * measure what it costs.
   */
  readonly check?: Check | "none";
  /** Default `"auto"`: `"adjacent"`, unless `redundancy` is chosen too; Intra-Group only. */
  readonly pairing?: Pairing | "auto";
  /** Default `"auto"`: `"subgroup"` when `features` has `"subgroups"`, else `"workgroup"`. */
  readonly channel?: Channel | "auto";
  /** Features of the device the code is for. Default: none. */
  readonly features?: Iterable<string>;
  /** Lanes that a subgroup of the device has at least, where it has subgroups. Default 32. */
  readonly subgroupSize?: number;
  /** Limits of the device. Default: the limits every WebGPU device has. */
  readonly limits?: Partial<KernelLimits>;
  /**
   * Override values by name or id, as in `GPUProgrammableStage.constants`; they decide sizes that
   * are checked against `limits`.
   */
  readonly constants?: Readonly<Record<string, number>>;
  /**
   * Where the report is bound, which an explicit pipeline layout decides. Default: a bind group of
   * its own, behind those that the module uses, or a free binding of the last one when all are
   * used.
   */
  readonly reportBinding?: BindingPoint;
  /**
   * Instruments the source so that a fault can be armed at its fault sites; `"profile"`: so that
   * executions of these sites are counted. Default false.
   */
  readonly injectFaults?: boolean | "profile";
  /** With `injectFaults`: makes fault sites in what protection adds, too. Default false. */
  readonly strikeMachinery?: boolean;
  /** Turns every gap in the coverage (a warning) into an error. Default false. */
  readonly strict?: boolean;
}

/** What became of one compute entry point. */
export interface EntryPointSummary {
  readonly name: string;
  /** The redundancy really applied; `"none"` when the entry point is left alone. */
  readonly redundancy: Redundancy;
  /** Set when `redundancy` is `"inter"`. */
  readonly interGroup?: InterGroup;
  /** Set when a buffer that it uses has a code. */
  readonly memory?: MemorySummary;
  /** Check sites reachable from this entry point. */
  readonly checks: readonly number[];
  /**
   * Whether it uses the report buffer; the binding exists in its pipeline's default layout only
   * then.
   */
  readonly usesReport: boolean;
  /**
   * What it does with the program's resources. Buffers and textures without an entry are not used.
   */
  readonly bindings: readonly BindingAccess[];
  /**
   * What its stores fill in these, whatever was there before; absent where nothing is known to be
   * filled.
   */
  readonly fills?: readonly Fill[];
}

/** What `protect` makes of a module. */
export interface ProtectResult {
  /** What `"auto"` chose, and why. */
  readonly chosen?: RankedConfiguration;
  /** The protected module; the input, unchanged, when `diagnostics` has an error. */
  readonly code: string;
  /** What is wrong with the source, and what is not covered. */
  readonly diagnostics: readonly Diagnostic[];
  /**
   * The entry points, and the overrides without an `@id`, that have another name in `code`, as they
   * hide a name of the language which it needs: that name, by the program's own. All else here has
   * the program's names.
   */
  readonly renamed: Readonly<Record<string, string>>;
  /** `null` when no entry point uses a report buffer. */
  readonly layout: ReportLayout | null;
  /** One for each compute entry point, in source order; empty for source that is not valid. */
  readonly entryPoints: readonly EntryPointSummary[];
  /** Where replicas are compared. A record in the report names one by its id. */
  readonly checks: readonly CheckSite[];
  /** Where faults can be armed; empty without `injectFaults`. */
  readonly faultSites: readonly FaultSite[];
}

/**
 * Returns the name that a protected module has for an entry point or an override of the program.
 */
export const nameInCode = ({ renamed }: Pick<ProtectResult, "renamed">, name: string): string =>
  (Object.hasOwn(renamed, name) ? renamed[name] : undefined) ?? name;

/** The compiler, as the rest of the system calls it. */
export type Protect = (wgsl: string, options?: ProtectOptions) => ProtectResult;
