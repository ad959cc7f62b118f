/** A half-open range of UTF-16 offsets into one WGSL source. */
export interface Span {
  readonly start: number;
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
  readonly severity: Severity;
  /** The message: one sentence in lower case without a full stop. */
  readonly message: string;
  readonly span: Span;
  /** The compute entry points concerned; absent if the diagnostic concerns the whole module. */
  readonly entryPoints?: readonly string[];
  /** Further places or facts that explain the message. */
  readonly notes: readonly string[];
  /** A suggestion for the reader. */
  readonly help?: string;
}
