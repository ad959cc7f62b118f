/** A half-open range of UTF-16 offsets into one WGSL source. */
export interface Span {
  /** The offset of the first unit. */
  readonly start: number;
  /** The offset after the last unit. */
  readonly end: number;
}

/**
 * The severity: an error rejects the program or a part of it, a warning reports a gap in
 * protection.
 */
export type Severity = "error" | "warning" | "info";

/** One finding about a program. Diagnostics are collected, never thrown. */
export interface Diagnostic {
  /** The stable code, such as `BELAY203`. docs/reference/diagnostics.md explains each. */
  readonly code: string;
  /** The severity: only an error rejects something. */
  readonly severity: Severity;
  /** The message: one sentence in lower case without a full stop. */
  readonly message: string;
  /** The place in the source. */
  readonly span: Span;
  /** The compute entry points concerned; absent if the diagnostic concerns the whole module. */
  readonly entryPoints?: readonly string[];
  /** Further places or facts that explain the message. */
  readonly notes: readonly string[];
  /** A suggestion for the reader. */
  readonly help?: string;
}
