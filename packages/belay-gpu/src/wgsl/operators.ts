/**
 * Decides where expressions need parentheses. Source: WGSL specification, "Operator Precedence and
 * Associativity".
 */
import type { AssignmentOperator, BinaryOperator, Expression, UnaryOperator } from "./ast.ts";

/**
 * The rule of an operator. Operators that may follow one another in a chain, such as `a - b + c`,
 * share one object.
 */
interface OperatorRule {
  /** A higher rank binds tighter. */
  readonly rank: number;
  /** The least rank of an operand without parentheses. */
  readonly operands: number;
  /** True if the left operand may also be a binary expression of this same rule. */
  readonly chains: boolean;
}

export const rankOfUnary = 5;
export const rankOfPrimary = 6;

const multiplicative: OperatorRule = { rank: 4, operands: 5, chains: true };
const additive: OperatorRule = { rank: 3, operands: 4, chains: true };
const shift: OperatorRule = { rank: 2, operands: 5, chains: false };
const relational: OperatorRule = { rank: 1, operands: 2, chains: false };
const logical = (): OperatorRule => ({ rank: 0, operands: 1, chains: true });
const bitwise = (): OperatorRule => ({ rank: 0, operands: 5, chains: true });

const rules: Readonly<Record<BinaryOperator, OperatorRule>> = {
  "*": multiplicative,
  "/": multiplicative,
  "%": multiplicative,
  "+": additive,
  "-": additive,
  "<<": shift,
  ">>": shift,
  "==": relational,
  "!=": relational,
  "<": relational,
  "<=": relational,
  ">": relational,
  ">=": relational,
  "&&": logical(),
  "||": logical(),
  "&": bitwise(),
  "|": bitwise(),
  "^": bitwise(),
};

export function isBinaryOperator(text: string): text is BinaryOperator {
  return Object.hasOwn(rules, text);
}

const unaryOperators: ReadonlySet<string> = new Set<UnaryOperator>(["-", "!", "~", "*", "&"]);

export function isUnaryOperator(text: string): text is UnaryOperator {
  return unaryOperators.has(text);
}

const assignmentOperators: ReadonlySet<string> = new Set<AssignmentOperator>([
  "=",
  "+=",
  "-=",
  "*=",
  "/=",
  "%=",
  "&=",
  "|=",
  "^=",
  "<<=",
  ">>=",
]);

export function isAssignmentOperator(text: string): text is AssignmentOperator {
  return assignmentOperators.has(text);
}

/** Returns the rank of an expression without parentheses around it; a higher rank binds tighter. */
export function rankOf(expression: Expression): number {
  if (expression.kind === "binary") return rules[expression.operator].rank;
  return expression.kind === "unary" ? rankOfUnary : rankOfPrimary;
}

export function rankOfOperator(operator: BinaryOperator): number {
  return rules[operator].rank;
}

/** Returns true if `operand` may stand to the left of `operator` without parentheses. */
export function fitsLeft(operator: BinaryOperator, operand: Expression): boolean {
  const rule = rules[operator];
  return (
    fitsRight(operator, operand) ||
    (rule.chains && operand.kind === "binary" && rules[operand.operator] === rule)
  );
}

/** Returns true if `operand` may stand to the right of `operator` without parentheses. */
export function fitsRight(operator: BinaryOperator, operand: Expression): boolean {
  return rankOf(operand) >= rules[operator].operands;
}
