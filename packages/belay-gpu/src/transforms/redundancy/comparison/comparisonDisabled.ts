/** Replicas that compute and are compared with nothing, to measure what comparison costs. */
import type { PlaceAddress } from "../../../analysis/addresses.ts";
import type { Expression, Statement } from "../../../wgsl/ast.ts";
import { quote } from "../../../wgsl/quote.ts";
import type { Names } from "../../shared/names.ts";
import type { Comparison } from "./comparison.ts";
import type { Words } from "./valueWords.ts";

/**
 * What a replica computes goes into a word of its own, by a single operation each: a compiler would
 * leave a replica out that computes what nobody uses.
 */
export function keepComputed(
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
 * Last in an entry point: uses that word, against one that no compiler knows and that it next to
 * never equals.
 */
export function useComputed(comparison: Comparison, names: Names): Statement[] {
  const kept = comparison.signature().expression;
  return quote().statements`
    if (${kept} == (${names.the("local")} ^ 0x9e3779b9u)) { ${names.the("report")}.grid = 1u; }`;
}

function componentsOf({ expression: words, count }: Words): Expression[] {
  const { expression } = quote(words.span);
  if (count === 1) return [words];
  return ["x", "y", "z", "w"].slice(0, count).map((component) => expression`(${words}).${component}`);
}
