/**
 * The directives of programs for loops that may be speculated: comments, or calls, which survive
 * tools that drop comments.
 *     //#pragma omp for target(webgpu) speculate(a, b) reduction(+:s) accesses(8) schedule(4096)
 *         configure(o) precision(f32)
 *     //#pragma omp branch misspeculate(+1)
 *     speculate(a, b); reduction("+", s); accesses(8); schedule(4096); configure(o);
 *     precision("f32");
 *     misspeculate("+1");
 * Source: Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014, on the programming model.
 */

import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { Expression } from "oxc-parser";
import type { Reduction } from "../tree/ir.ts";

/** A name in a clause. */
export interface Named {
  readonly name: string;
  readonly span: Span;
}

export interface LoopDirective {
  readonly span: Span;
  /** The arrays through which iterations may depend on each other. */
  readonly speculated: readonly Named[];
  readonly reductions: readonly (Named & { readonly operator: Reduction["operator"] })[];
  /** The largest number of elements that an iteration accesses, if it cannot be counted. */
  readonly accesses: number | null;
  /** The number of iterations of a round. */
  readonly schedule: number | null;
  /** The variable with the options of the loop's execution. */
  readonly options: Named | null;
  /** The number of bits that floats need; `f32` if 32 will do. */
  readonly precision: "exact" | "f32";
}

/** The clauses of a loop that has none. */
export const noClauses: Omit<LoopDirective, "span"> = {
  speculated: [],
  reductions: [],
  accesses: null,
  schedule: null,
  options: null,
  precision: "exact",
};

/** An iteration, by its distance from the one that takes the branch or by its index. */
export type DirectiveBound =
  | { readonly kind: "relative"; readonly offset: number }
  | { readonly kind: "absolute"; readonly index: Expression };

/** The iterations that misspeculate when a branch is taken. */
export interface BranchDirective {
  readonly span: Span;
  readonly which: readonly (
    | { readonly kind: "relative"; readonly offsets: readonly number[] }
    | { readonly kind: "range"; readonly from: number; readonly to: number | null }
    | { readonly kind: "absolute"; readonly index: Expression }
    | { readonly kind: "between"; readonly from: DirectiveBound; readonly to: DirectiveBound | null }
  )[];
}

export type SpeculationDirective =
  | ({ readonly kind: "loop" } & LoopDirective)
  | ({ readonly kind: "branch" } & BranchDirective);

export const operators: readonly Reduction["operator"][] = ["+", "*", "min", "max", "&", "|", "^"];

/** The largest number that a clause or an offset may have. */
export const largest = 2 ** 31 - 1;

export const oneOf = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(", ");
