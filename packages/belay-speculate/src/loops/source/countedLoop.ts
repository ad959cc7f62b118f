import type { Expression, ForStatement, Node, VariableDeclarator } from "oxc-parser";
import { type Binding, everyNode, referencesTo, type Scopes } from "./scopes.ts";

/** A counted loop: `for (let name = from; name < to; name += step)`. */
export interface CountedLoop {
  readonly name: string;
  readonly declarator: VariableDeclarator;
  readonly from: Expression;
  /** The comparison of the variable, on the left, with the bound. */
  readonly operator: "<" | "<=" | ">" | ">=" | "!=";
  readonly to: Expression;
  /** The addend; null stands for 1. */
  readonly step: Expression | null;
  readonly isDown: boolean;
}

const mirrored: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

/**
 * Returns the parts of a counted loop, whatever its body does; undefined for a loop of another
 * form.
 */
export function countedLoop({ init, test, update }: ForStatement): CountedLoop | undefined {
  if (init?.type !== "VariableDeclaration" || (init.kind !== "let" && init.kind !== "var")) return undefined;
  if (test?.type !== "BinaryExpression" || test.left.type === "PrivateIdentifier") return undefined;
  const step = stepOf(update);
  if (!step) return undefined;
  const declarator = init.declarations.find(({ id }) => id.type === "Identifier" && id.name === step.name);
  if (!declarator?.init) return undefined;

  const isName = (node: Expression) => node.type === "Identifier" && node.name === step.name;
  const onRight = isName(test.right);
  if (onRight === isName(test.left)) return undefined;
  const operator = (onRight ? (mirrored[test.operator] ?? test.operator) : test.operator).replace(
    "!==",
    "!=",
  );
  if (!["<", "<=", ">", ">=", "!="].includes(operator)) return undefined;
  return {
    ...step,
    declarator,
    from: declarator.init,
    operator: operator as CountedLoop["operator"],
    to: onRight ? test.left : test.right,
  };
}

/**
 * Returns true if only the header of a loop changes its variable, and no other code sees it. A
 * `var` may belong to several such loops.
 */
export function onlyHeaderChanges(binding: Binding, node: ForStatement, scopes: Scopes): boolean {
  const inside = binding.assignments.filter((one) => isInside(node, one));
  if (inside.length !== 1 || inside[0] !== node.update) return false;
  if (binding.kind !== "var") return binding.assignments.length === 1;
  const owners = [...everyNode(binding.scope.node, scopes, binding.scope)].flatMap(([one]) =>
    one.type === "ForStatement" && declares(one, binding.name) ? [one] : [],
  );
  const references = referencesTo(binding, scopes);
  const isOwn = (owner: ForStatement) => owner === node || (!isInside(owner, node) && !isInside(node, owner));
  // The initial value of one loop may be the last value of another.
  const isFresh = ({ init }: ForStatement) => references.filter((one) => isInside(init!, one)).length === 1;
  return (
    owners.every((owner) => isOwn(owner) && isFresh(owner)) &&
    references.every((one) => owners.some((owner) => isInside(owner, one)))
  );
}

export const isInside = (outer: Node, { start, end }: Node): boolean =>
  outer.start <= start && end <= outer.end;

const declares = ({ init }: ForStatement, name: string) =>
  init?.type === "VariableDeclaration" &&
  init.declarations.some((one) => one.id.type === "Identifier" && one.id.name === name && one.init);

function stepOf(update: Expression | null) {
  if (update?.type === "UpdateExpression" && update.argument.type === "Identifier") {
    return { name: update.argument.name, step: null, isDown: update.operator === "--" };
  }
  if (update?.type !== "AssignmentExpression" || update.left.type !== "Identifier") return undefined;
  const { name } = update.left;
  if (update.operator === "+=" || update.operator === "-=") {
    return { name, step: update.right, isDown: update.operator === "-=" };
  }
  const { right } = update;
  if (update.operator !== "=" || right.type !== "BinaryExpression") return undefined;
  if (right.operator !== "+" && right.operator !== "-") return undefined;
  return right.left.type === "Identifier" && right.left.name === name
    ? { name, step: right.right, isDown: right.operator === "-" }
    : undefined;
}
