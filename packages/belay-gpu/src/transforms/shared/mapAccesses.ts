/** The replacement of accesses to some variables in a piece of code. */
import { rootVariable } from "../../analysis/places.ts";
import type { Assignment, Expression, GlobalVariable, Statement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { type AnyNode, isExpression, mapChildren } from "../../wgsl/traverse.ts";

/** The variables whose accesses are replaced, and the code that replaces them. */
export interface AccessReplacement {
  /** Returns true if accesses to the variable are replaced. */
  readonly selects: (variable: GlobalVariable) => boolean;
  /**
   * Returns the replacement of a load of `place`, whose indices are already rewritten. `original`
   * is the load in the typed program.
   */
  readonly load: (place: Expression, original: Expression) => Expression;
  /**
   * Returns the replacement of a store whose loads are already rewritten. `target` is the target in
   * the typed program. Default: the store.
   */
  readonly store?: (stored: Assignment, target: Expression) => Statement[];
}

/**
 * Returns `node` with its accesses replaced. The operand of an address-of operator is not loaded,
 * so atomic operations and lengths stay. Requires access normal form.
 */
export function mapAccesses<T extends AnyNode>(program: Program, node: T, replacement: AccessReplacement): T {
  const isSelected = (place: Expression) => {
    const root = rootVariable(program, place);
    return root !== undefined && replacement.selects(root.variable);
  };
  const value = (expression: Expression): Expression => {
    if (expression.kind === "unary" && expression.operator === "&")
      return { ...expression, operand: indexed(expression.operand) };
    return isSelected(expression) && program.typeOf(expression).kind === "reference"
      ? replacement.load(indexed(expression), expression)
      : mapChildren(expression, (child) => mapped(child));
  };
  /** Returns the same place with the loads in its indices replaced. */
  const indexed = (place: Expression): Expression => {
    if (place.kind === "index") return { ...place, base: indexed(place.base), index: value(place.index) };
    if (place.kind === "memberAccess") return { ...place, base: indexed(place.base) };
    return place.kind === "unary" ? { ...place, operand: indexed(place.operand) } : place;
  };
  const mapped = (part: AnyNode): AnyNode | Statement[] => {
    if (isExpression(part)) return value(part);
    if (part.kind === "assign" && part.target) {
      const stored = { ...part, target: indexed(part.target), value: value(part.value) };
      return replacement.store && isSelected(part.target) ? replacement.store(stored, part.target) : stored;
    }
    if (part.kind === "increment") return { ...part, target: indexed(part.target) };
    return mapChildren(part, mapped);
  };
  return mapped(node) as T;
}
