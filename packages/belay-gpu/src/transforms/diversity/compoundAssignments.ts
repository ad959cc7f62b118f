/** Writes compound assignments out, so that a transform can replace their operation. */
import type { Assignment, BinaryOperator, Expression, Increment, Statement } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, contains, mapChildren } from "../../wgsl/traverse.ts";
import type { Names } from "../shared/names.ts";

/**
 * Returns the statements of a compound assignment or an increment whose operation is an expression
 * of its own. Indices that call functions are evaluated once, before.
 *
 * Before:   v[next()] += e;
 * After:    { let index = next(); v[index] = v[index] + (e); }
 */
export function writtenOut(
  node: Assignment | Increment,
  names: Names,
  operation: (place: Expression, operator: BinaryOperator, value: Expression) => Expression,
): Statement {
  const { expression, statements } = quote(node.span);
  const before: Statement[] = [];
  const target = withStableIndices(node.target!, (index) => {
    const name = names.fresh("index");
    before.push(...statements`let ${name} = ${index};`);
    return expression`${name}`;
  });
  const operator = node.operator.slice(0, node.kind === "increment" ? 1 : -1) as BinaryOperator;
  const value = node.kind === "increment" ? expression`1` : node.value;
  const assigned = operation(structuredClone(target), operator, value);
  const [assignment] = statements`${target} = ${assigned};`;
  if (before.length === 0) return assignment!;
  const [block] = statements`{ ${before} ${assignment!} }`;
  return block!;
}

/** Returns true for an assignment that also loads its target. */
export const isCompound = (node: AnyNode): node is Assignment | Increment =>
  node.kind === "increment" || (node.kind === "assign" && node.operator !== "=" && node.target !== null);

function withStableIndices(place: Expression, keep: (index: Expression) => Expression): Expression {
  const mapped = mapChildren<Expression>(place, (child) =>
    place.kind === "index" && child === place.index
      ? child
      : (withStableIndices(child as Expression, keep) as never),
  );
  return mapped.kind === "index" && callsFunctions(mapped.index)
    ? { ...mapped, index: keep(mapped.index) }
    : mapped;
}

function callsFunctions(expression: Expression): boolean {
  return contains(expression, (node) => node.kind === "call");
}
