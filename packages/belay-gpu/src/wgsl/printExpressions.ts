/** Prints expressions with the parentheses that the grammar needs, and no others. */
import type { Attribute, BinaryExpression, Expression, UnaryExpression } from "./ast.ts";
import { fitsLeft, fitsRight, rankOf, rankOfPrimary, rankOfUnary } from "./operators.ts";

/** Returns the WGSL text of an expression or a type. */
export function printExpression(expression: Expression): string {
  switch (expression.kind) {
    case "literal":
      return expression.text;
    case "identifier":
      return expression.name + printTemplateArguments(expression.templateArgs ?? []);
    case "unary":
      return printUnary(expression);
    case "binary":
      return printBinary(expression);
    case "call":
      return `${printExpression(expression.callee)}(${printList(expression.args)})`;
    case "index":
      return `${printBase(expression.base)}[${printExpression(expression.index)}]`;
    case "memberAccess":
      return `${printBase(expression.base)}.${expression.member}`;
  }
}

function parenthesizedIf(condition: boolean, expression: Expression): string {
  return condition ? `(${printExpression(expression)})` : printExpression(expression);
}

/**
 * Prints the base of an access. A number needs parentheses, as it would absorb the dot of a member.
 */
function printBase(base: Expression): string {
  return parenthesizedIf(rankOf(base) < rankOfPrimary || base.kind === "literal", base);
}

function printUnary({ operator, operand }: UnaryExpression): string {
  const text = parenthesizedIf(rankOf(operand) < rankOfUnary, operand);
  const wouldMerge = text.startsWith(operator) && (operator === "-" || operator === "&");
  return `${operator}${wouldMerge ? " " : ""}${text}`;
}

function printBinary({ operator, left, right }: BinaryExpression): string {
  const seemsTemplate =
    operator === "<" && endsWithName(left) && right.kind === "binary" && right.operator === ">>";
  const leftText = parenthesizedIf(!fitsLeft(operator, left), left);
  const rightText = parenthesizedIf(!fitsRight(operator, right) || seemsTemplate, right);
  return `${leftText} ${operator} ${rightText}`;
}

/** Returns `<a, b>`, or nothing for no arguments. */
export function printTemplateArguments(args: readonly Expression[]): string {
  if (args.length === 0) return "";
  const endsList = (arg: Expression) => arg.kind === "binary" && /[<>=]|&&|\|\|/.test(arg.operator);
  return `<${args.map((arg) => parenthesizedIf(endsList(arg), arg)).join(", ")}>`;
}

/**
 * Prints expressions between commas. Parentheses keep a `<` of one and a `>` of a later one from
 * delimiting a template list.
 */
export function printList(expressions: readonly (Expression | "default")[]): string {
  const lastClosing = expressions.findLastIndex((each) => each !== "default" && closesTemplate(each));
  return expressions
    .map((each, i) =>
      each === "default" ? each : parenthesizedIf(i < lastClosing && opensTemplate(each), each),
    )
    .join(", ");
}

/**
 * Returns true if the text of an expression ends with a word, after which `<` may start a template
 * list.
 */
function endsWithName(expression: Expression): boolean {
  switch (expression.kind) {
    case "identifier":
      return expression.templateArgs === null;
    case "memberAccess":
      return true;
    case "unary":
      return endsWithName(expression.operand);
    case "binary":
      return endsWithName(expression.right);
    default:
      return false;
  }
}

/**
 * Returns true if a `<` of this expression may start a template list that ends after the
 * expression.
 */
function opensTemplate(expression: Expression): boolean {
  if (expression.kind !== "binary") return false;
  const { operator, left, right } = expression;
  // These operators end all template lists that could be open to their left.
  if (operator === "&&" || operator === "||") return opensTemplate(right);
  return operator === "<" && endsWithName(left);
}

/**
 * Returns true if a `>` of this expression may end a template list that starts before the
 * expression.
 */
function closesTemplate(expression: Expression): boolean {
  if (expression.kind !== "binary") return false;
  const { operator, left, right } = expression;
  if (operator === "&&" || operator === "||") return closesTemplate(left);
  return operator.startsWith(">") || closesTemplate(left) || closesTemplate(right);
}

export function printAttribute({ name, args }: Attribute): string {
  return args.length === 0 ? `@${name}` : `@${name}(${printList(args)})`;
}
