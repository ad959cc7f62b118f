/** A half-open range of UTF-16 offsets into one WGSL source. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** An error refuses, a warning tells of a gap. */
export type Severity = "error" | "warning" | "info";

/** One finding about a program: a value that is collected, never thrown. */
export interface Diagnostic {
  /** Stable code such as `BELAY203`; every code is documented in docs/diagnostics.md. */
  readonly code: string;
  readonly severity: Severity;
  /** Lower case, one sentence, no full stop. */
  readonly message: string;
  readonly span: Span;
  /** The compute entry points it is about; absent when it is about the whole module. */
  readonly entryPoints?: readonly string[];
  /** Further places or facts that explain the message. */
  readonly notes: readonly string[];
  /** What the reader can do about it. */
  readonly help?: string;
}
