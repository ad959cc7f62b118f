import type { Expression, ForStatement, VariableDeclarator } from "oxc-parser";

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
  if (init?.type !== "VariableDeclaration" || init.kind !== "let") return undefined;
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
