/** The resolver's findings, BELAY100 to BELAY199: one small factory each. */
import type { Diagnostic, Span } from "../../diagnostics/diagnostic.ts";
import { describeType } from "../typeNames.ts";
import type { Type } from "../types.ts";

function error(
  code: number,
  span: Span,
  message: string,
  notes: readonly string[] = [],
  help?: string,
): Diagnostic {
  return {
    code: `BELAY${code}`,
    severity: "error",
    message,
    span,
    notes,
    ...(help === undefined ? {} : { help }),
  };
}

const didYouMean = (name: string | undefined): string | undefined => name && `did you mean '${name}'?`;

export const unresolved = (span: Span, name: string, similar: string | undefined): Diagnostic =>
  error(100, span, `'${name}' is not declared`, [], didYouMean(similar));

export const redeclared = (span: Span, name: string): Diagnostic =>
  error(101, span, `'${name}' is already declared in this scope`, [], "rename one of the declarations");

export const recursive = (span: Span, names: readonly string[]): Diagnostic =>
  error(102, span, `'${names[0]}' depends on itself`, [`the cycle is ${[...names, names[0]].join(" -> ")}`]);

/** A name is used as something that it is not: `expected` is "a type", "a value", "a function"... */
export const wrongKind = (span: Span, name: string, expected: string): Diagnostic =>
  error(103, span, `'${name}' is not ${expected}`);

export const badTemplate = (span: Span, message: string, help?: string): Diagnostic =>
  error(104, span, message, [], help);

export const cannotConvert = (span: Span, from: Type, to: Type): Diagnostic =>
  error(
    105,
    span,
    `cannot convert ${describeType(from)} to ${describeType(to)}`,
    [],
    conversionHelp(from, to),
  );

function conversionHelp(from: Type, to: Type): string | undefined {
  const explicit =
    from.kind === "scalar" ? to.kind === "scalar" : from.kind === "vector" && to.kind === "vector";
  return explicit ? `convert it explicitly, with ${describeType(to)}(...)` : undefined;
}

export const wrongType = (span: Span, expected: string, actual: Type): Diagnostic =>
  error(105, span, `expected ${expected}, found ${describeType(actual)}`);

export const noOverload = (
  span: Span,
  name: string,
  args: readonly Type[],
  candidates: readonly string[],
): Diagnostic =>
  error(
    106,
    span,
    `no overload of '${name}' takes (${args.map(describeType).join(", ")})`,
    candidates.slice(0, 8).map((candidate) => `candidate: ${candidate}`),
  );

export const wrongCount = (span: Span, what: string, expected: string, actual: number): Diagnostic =>
  error(107, span, `${what} takes ${expected}, found ${actual}`);

export const cannotConstruct = (span: Span, type: Type, args: readonly Type[]): Diagnostic =>
  error(106, span, `cannot make ${describeType(type)} from (${args.map(describeType).join(", ")})`);

export const invalidType = (span: Span, type: Type, use: string, help?: string): Diagnostic =>
  error(108, span, `${describeType(type)} cannot be ${use}`, [], help);

export const notAPlace = (span: Span, use: string, help?: string): Diagnostic =>
  error(109, span, `this is not a place that can be ${use}`, [], help);

export const noMember = (span: Span, member: string, type: Type, similar: string | undefined): Diagnostic =>
  error(110, span, `${describeType(type)} has no member '${member}'`, [], didYouMean(similar));

export const notIndexable = (span: Span, type: Type): Diagnostic =>
  error(111, span, `${describeType(type)} cannot be indexed`);

export const outOfBounds = (span: Span, index: number, count: number | undefined): Diagnostic =>
  error(111, span, `index ${index} is out of bounds${count === undefined ? "" : ` of ${count} elements`}`);

export const notEvaluable = (span: Span, reason: string): Diagnostic =>
  error(112, span, `this constant expression cannot be evaluated: ${reason}`);

export const notConstant = (span: Span, what: string, needed: string): Diagnostic =>
  error(113, span, `${what} must be ${needed}`, [], "declare the values it uses as 'const'");

export const badAttribute = (span: Span, message: string, help?: string): Diagnostic =>
  error(114, span, message, [], help);

export const unknownBuiltinValue = (span: Span, name: string, similar: string | undefined): Diagnostic =>
  error(114, span, `'${name}' is not a built-in value`, [], didYouMean(similar));

export const badReturn = (span: Span, message: string): Diagnostic => error(115, span, message);

export const badVariable = (span: Span, message: string, help?: string): Diagnostic =>
  error(116, span, message, [], help);

export const assertionFailed = (span: Span): Diagnostic => error(117, span, "this const_assert is false");

export const misplaced = (span: Span, what: string, where: string): Diagnostic =>
  error(118, span, `${what} must stand in ${where}`);

export const tooLarge = (span: Span, message: string): Diagnostic => error(119, span, message);
