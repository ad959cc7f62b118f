/** What the compiler and whoever runs its kernels agree on about the memory of buffers. */
import type { BindingPoint } from "../analysis/bindings.ts";
import type { MemoryCode } from "../codes/scheme.ts";

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
   * Under `"checksum"`: of the accesses to it, the only one that the kernel adds up, by its number. For where all of them
   * together are not to each word as often; a buffer has none of its accesses added up where there is no other one of this number.
   */
  readonly site?: number;
  /** Under `"checksum"`: those are known to be to each word as often, so that the kernel need not count places. */
  readonly isKnown?: true;
}

/** Where a kernel finds the check words. */
export interface MemoryBindings {
  /** A storage buffer of u32: the check words of all buffers. */
  readonly arena: BindingPoint;
  /** A uniform buffer of one `vec4<u32>` for each protected binding, by its `index` (`tableRow`). */
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
   * `"checked"`: the kernel checks what it loads and keeps the check words up to date. `"summed"`: it adds up a checksum of
   * what it loads or stores, for whoever dispatches it to compare. `"bracketed"`: it runs on raw words, so whoever dispatches
   * it verifies the binding before, and encodes it after where it `stores`.
   */
  readonly mode: "checked" | "summed" | "bracketed";
  /** Set when it is summed: how often invocations add what they access. */
  readonly sums?: readonly SumWeights[];
  /** Set when the contents of memory also decide what is accessed, so that any dispatch may access something else. */
  readonly varies?: boolean;
  /** Set when only one of the accesses is summed. */
  readonly site?: number;
  /** Set when no places are counted. */
  readonly isKnown?: true;
  readonly loads: boolean;
  readonly stores: boolean;
}

/**
 * Accesses that the same ids decide. Invocations that differ in others add the same to the sums: the first of them once, the
 * others twice; all of that 2^i times for the i-th of these.
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
   * Set when a binding is checked: where the check words are bound, whether the kernel stores to the arena (a `"storage"`
   * binding of its layout, else `"read-only-storage"`), and the size of the table.
   */
  readonly checks?: MemoryBindings & { readonly storesChecks: boolean; readonly tableBytes: number };
  /** Storage and uniform buffers that the entry point uses and that have a scheme. */
  readonly bindings: readonly ProtectedBinding[];
}
