import type { Address } from "../../analysis/addresses.ts";
import type { Expression } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../names.ts";
import type { Words } from "./valueWords.ts";

/**
 * A condition for a store that is compared with nothing: true for the first replica. The second computes what it would
 * store all the same, as that is compared with a word that no compiler knows, and that it next to never equals.
 */
export function storesAlone(names: Names, address: Address | null, words: Words | null): Expression {
  const { expression } = quote(words?.expression.span);
  const first = expression`${names.the("replica")} == 0u`;
  const unknown = expression`(${names.the("local")} ^ 0x9e3779b9u)`;
  const computed = [...(address ? [address.expression] : []), ...(words ? componentsOf(words) : [])];
  if (computed.length === 0) return first;
  const together = computed.reduce((all, word) => expression`${all} ^ ${word}`);
  return expression`${first} || (${together}) == ${unknown}`;
}

function componentsOf({ expression: words, count }: Words): Expression[] {
  const { expression } = quote(words.span);
  if (count === 1) return [words];
  return ["x", "y", "z", "w"].slice(0, count).map((component) => expression`(${words}).${component}`);
}
