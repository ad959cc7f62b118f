/** The replicas that compute without comparison, to measure the cost of comparison. */
import type { PlaceAddress } from "belay-gpu/internal/analysis/addresses";
import type { CompilerOptions, CompilerResult } from "belay-gpu/internal/compiler/contract";
import { protectInPasses } from "belay-gpu/internal/compiler/protect";
import type { Comparison, Uncompared } from "belay-gpu/internal/transforms/redundancy/comparison/comparison";
import type { Words } from "belay-gpu/internal/transforms/redundancy/comparison/valueWords";
import type { Names } from "belay-gpu/internal/transforms/shared/names";
import type { Expression, Statement } from "belay-gpu/internal/wgsl/ast";
import { quote } from "belay-gpu/internal/wgsl/quote";

const uncompared: Uncompared = { keep: keepComputed, use: useComputed };

/** Protects a module as `protect` does, but omits every comparison of the replicas. */
export const protectUncompared = (wgsl: string, options?: CompilerOptions): CompilerResult =>
  protectInPasses(wgsl, options, { uncompared }).result;

/**
 * Combines the values that a replica computes into a word of its own, by a single operation each. A
 * compiler would remove a replica whose values are unused.
 */
function keepComputed(
  comparison: Comparison,
  address: PlaceAddress | null,
  words: Words | null,
): Statement[] {
  const { expression, statements } = quote(words?.expression.span);
  const kept = comparison.signature().expression;
  const computed = [...(address?.indices ?? []), ...(words ? componentsOf(words) : [])];
  if (computed.length === 0) return [];
  return statements`${kept} = ${computed.reduce((all, word) => expression`${all} ^ ${word}`, kept)};`;
}

/**
 * Uses this word last in an entry point. It compares the word with one that no compiler knows and
 * that it almost never equals.
 */
function useComputed(comparison: Comparison, names: Names): Statement[] {
  const kept = comparison.signature().expression;
  return quote().statements`
    if (${kept} == (${names.the("local")} ^ 0x9e3779b9u)) { ${names.the("report")}.grid = 1u; }`;
}

function componentsOf({ expression: words, count }: Words): Expression[] {
  const { expression } = quote(words.span);
  if (count === 1) return [words];
  return ["x", "y", "z", "w"].slice(0, count).map((component) => expression`(${words}).${component}`);
}
