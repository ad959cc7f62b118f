/** Replicas without a comparison, to measure the costs of comparison. */
import type { PlaceAddress } from "../../../analysis/addresses.ts";
import type { Expression, Statement } from "../../../wgsl/ast.ts";
import { quote } from "../../../wgsl/quote.ts";
import type { Names } from "../../shared/names.ts";
import type { Comparison } from "./comparison.ts";
import type { Words } from "./valueWords.ts";

/**
 * Returns the statement that combines computed words into one word, with one operation each.
 * Otherwise a compiler would remove a replica whose results nothing uses.
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
 * Returns the last statement of an entry point, which uses the combined word. It compares the word
 * with one that no compiler knows and that the word almost never equals.
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
