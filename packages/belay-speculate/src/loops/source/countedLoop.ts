import type { Expression, ForStatement, Node, VariableDeclarator } from "oxc-parser";
import { type Binding, childrenOf, everyNode, referencesTo, type Scopes } from "./scopes.ts";

/** A counted loop: `for (let name = from; name < to && …; name += step, …)`. */
export interface CountedLoop {
  readonly name: string;
  /** The declaration in the header; null if the variable is declared before the loop. */
  readonly declarator: VariableDeclarator | null;
  /** The first value; null if the variable keeps its value from before the loop. */
  readonly from: Expression | null;
  /** The change before the first iteration, if the variable has a value from before the loop. */
  readonly moved: -1 | 0 | 1;
  /** The comparison of the variable, on the left, with the bound. */
  readonly operator: "<" | "<=" | ">" | ">=" | "!=";
  readonly to: Expression;
  /** The addend; null stands for 1. */
  readonly step: Expression | null;
  readonly isDown: boolean;
  /** The expression that changes the variable. */
  readonly update: Expression;
  /** The further conditions of the header, all of which continue the loop. */
  readonly conditions: readonly Expression[];
  /** The further variables that the header changes. */
  readonly followers: readonly Follower[];
}

/** A variable that the header changes along with the counted one. */
export interface Follower {
  readonly name: string;
  readonly update: Expression;
  /** The change in each iteration, with its sign. Null if it becomes the index before. */
  readonly change: number | null;
}

const mirrored: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

/**
 * Returns the parts of a counted loop, whatever its body does; undefined for a loop of another
 * form.
 */
export function countedLoop({ init, test, update }: ForStatement): CountedLoop | undefined {
  const updates = update ? listOf(update, "SequenceExpression") : [];
  const conditions = test ? conjunctsOf(test) : [];
  for (const [at, one] of updates.entries()) {
    const step = stepOf(one);
    if (!step) continue;
    for (const [place, condition] of conditions.entries()) {
      const bound = boundOf(condition, step.name);
      const start = bound && startOf(init, step.name);
      const others = updates.filter((_, other) => other !== at).map(followerOf);
      const previous = previousIn(one);
      if (!bound || !start || others.some((other) => !other)) continue;
      // A condition before the bound is evaluated once more than the loop has iterations.
      if (conditions.slice(0, place).some(hasEffects)) continue;
      return {
        ...step,
        ...bound,
        ...start,
        conditions: conditions.filter((_, other) => other !== place),
        followers: [...(others as Follower[]), ...(previous ? [previous] : [])],
      };
    }
  }
  return undefined;
}

/** Returns true if an expression may change something. */
export const hasEffects = (node: Node): boolean =>
  node.type === "AssignmentExpression" ||
  node.type === "UpdateExpression" ||
  node.type === "CallExpression" ||
  childrenOf(node).some(hasEffects);

/** Returns true if the header declares, tests and changes one variable, and does nothing else. */
export const isPlain = ({ declarator, conditions, followers }: CountedLoop): boolean =>
  declarator !== null && conditions.length === 0 && followers.length === 0;

const listOf = (node: Expression, type: "SequenceExpression"): readonly Expression[] =>
  node.type === type ? node.expressions : [node];

const conjunctsOf = (test: Expression): readonly Expression[] =>
  test.type === "LogicalExpression" && test.operator === "&&"
    ? [...conjunctsOf(test.left), ...conjunctsOf(test.right)]
    : [test];

/** Returns the bound of `name < to`, `to > name` or `name + 1 < to`. */
function boundOf(test: Expression, name: string): Pick<CountedLoop, "operator" | "to"> | undefined {
  if (test.type !== "BinaryExpression" || test.left.type === "PrivateIdentifier") return undefined;
  const isName = (node: Expression) => node.type === "Identifier" && node.name === name;
  const offset = (node: Expression) =>
    node.type === "BinaryExpression" &&
    (node.operator === "+" || node.operator === "-") &&
    isName(node.left as Expression) &&
    node.right.type === "Literal" &&
    Number.isInteger(node.right.value)
      ? { operator: node.operator === "+" ? ("-" as const) : ("+" as const), right: node.right }
      : undefined;
  const onRight = isName(test.right) || offset(test.right) !== undefined;
  if (onRight === (isName(test.left) || offset(test.left) !== undefined)) return undefined;
  const operator = (onRight ? (mirrored[test.operator] ?? test.operator) : test.operator).replace(
    "!==",
    "!=",
  );
  if (!["<", "<=", ">", ">=", "!="].includes(operator)) return undefined;
  const [side, bound] = onRight ? [test.right, test.left] : [test.left, test.right];
  const moved = offset(side);
  const { start, end } = bound;
  return {
    operator: operator as CountedLoop["operator"],
    to: moved ? { type: "BinaryExpression", ...moved, left: bound, start, end } : bound,
  };
}

/** Returns the declaration of the variable in the header, or its first value there. */
function startOf(
  init: ForStatement["init"],
  name: string,
): Pick<CountedLoop, "declarator" | "from" | "moved"> | undefined {
  if (!init) return { declarator: null, from: null, moved: 0 };
  if (init.type === "UpdateExpression")
    return isNamed(init.argument, name)
      ? { declarator: null, from: null, moved: init.operator === "--" ? -1 : 1 }
      : undefined;
  if (init.type === "VariableDeclaration") {
    if (init.kind !== "let" && init.kind !== "var") return undefined;
    const declarator = init.declarations.find(({ id }) => id.type === "Identifier" && id.name === name);
    if (!declarator) return { declarator: null, from: null, moved: 0 };
    return declarator.init ? { declarator, from: declarator.init, moved: 0 } : undefined;
  }
  const isSet = init.type === "AssignmentExpression" && init.operator === "=" && isNamed(init.left, name);
  return isSet ? { declarator: null, from: init.right, moved: 0 } : undefined;
}

const isNamed = (node: Node, name: string) => node.type === "Identifier" && node.name === name;

function followerOf(update: Expression): Follower | undefined {
  const step = stepOf(update);
  if (!step || step.update !== update) return undefined;
  const size = step.step === null ? 1 : step.step.type === "Literal" ? step.step.value : undefined;
  if (typeof size !== "number" || !Number.isInteger(size)) return undefined;
  return { name: step.name, update, change: step.isDown ? -size : size };
}

/** Returns the variable that `j = i++` sets to the index before. */
function previousIn(update: Expression): Follower | undefined {
  if (update.type !== "AssignmentExpression" || update.right.type !== "UpdateExpression") return undefined;
  return update.left.type === "Identifier" ? { name: update.left.name, update, change: null } : undefined;
}

/**
 * Returns true if only the header of a loop changes its variable, and no other code sees it. A
 * `var` may belong to several such loops.
 */
export function onlyHeaderChanges(
  binding: Binding,
  node: ForStatement,
  update: Expression,
  scopes: Scopes,
): boolean {
  const inside = binding.assignments.filter((one) => isInside(node, one));
  if (inside.length !== 1 || inside[0] !== update) return false;
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

type Step = Pick<CountedLoop, "name" | "step" | "isDown" | "update">;

/** Returns the change of a variable by an expression, also by the `i++` of `j = i++`. */
function stepOf(update: Expression): Step | undefined {
  if (update.type === "UpdateExpression" && update.argument.type === "Identifier") {
    return { name: update.argument.name, step: null, isDown: update.operator === "--", update };
  }
  if (update.type !== "AssignmentExpression" || update.left.type !== "Identifier") return undefined;
  const { name } = update.left;
  if (update.operator === "+=" || update.operator === "-=") {
    return { name, step: update.right, isDown: update.operator === "-=", update };
  }
  const { right } = update;
  if (update.operator === "=" && right.type === "UpdateExpression" && !right.prefix) return stepOf(right);
  if (update.operator !== "=" || right.type !== "BinaryExpression") return undefined;
  if (right.operator !== "+" && right.operator !== "-") return undefined;
  return right.left.type === "Identifier" && right.left.name === name
    ? { name, step: right.right, isDown: right.operator === "-", update }
    : undefined;
}
