/**
 * Creates the diagnostics of names, types and constants (BELAY100 to BELAY199).
 * Types are passed as text.
 */

import type { Span } from "./diagnostic.ts";
import { plural } from "./plural.ts";
import { quoted } from "./syntax.ts";
import { wgslError as error } from "./wgslError.ts";

const didYouMean = (name: string | undefined) => ({ help: name && `did you mean ${quoted(name)}?` });
/** Returns a type in backquotes, never shortened: types often differ at their ends. */
const code = (type: string) => `\`${type}\``;
const list = (types: readonly string[]) => code(`(${types.join(", ")})`);

/** The largest number of candidates that are listed as notes. */
const maxCandidates = 8;

export const resolutionError = {
  unresolved: (name: string, similar: string | undefined, span: Span) =>
    error("undeclared-name", `${quoted(name)} is not declared`, span, didYouMean(similar)),

  redeclared: (name: string, span: Span) =>
    error("redeclared-name", `${quoted(name)} is already declared in this scope`, span, {
      help: "rename one of the declarations",
    }),

  recursive: (names: readonly string[], span: Span) =>
    error("recursive-declaration", `${quoted(names[0]!)} depends on itself`, span, {
      help: "WGSL has no recursive functions, types or constants",
      notes: [`the cycle is ${[...names, names[0]].join(" -> ")}`],
    }),

  entryPointCalled: (name: string, span: Span) =>
    error("wrong-kind-of-name", `${quoted(name)} is an entry point, which cannot be called`, span, {
      help: "move its body to a function that both can call",
    }),

  /**
   * Reports a name that is used as something that it is not. `expected` is "a type", "a value" or
   * "a function or a type".
   */
  wrongKind: (name: string, expected: string, span: Span) =>
    error("wrong-kind-of-name", `${quoted(name)} is not ${expected}`, span),

  templateCount: (name: string, fewest: number, most: number, actual: number, span: Span) => {
    const expected =
      fewest === most ? plural(most, "template argument") : `${fewest} or ${most} template arguments`;
    return error("template-arguments", `${quoted(name)} takes ${expected}, found ${actual}`, span);
  },

  noTemplate: (name: string, span: Span) =>
    error("template-arguments", `${quoted(name)} takes no template list`, span),

  badTemplateArgument: (expected: string, similar: string | undefined, span: Span) =>
    error("template-arguments", `expected ${expected} in this template list`, span, didYouMean(similar)),

  cannotConvert: (from: string, to: string, span: Span) =>
    error("type-mismatch", `cannot convert ${code(from)} to ${code(to)}`, span, {
      help: "only literals and other abstract values convert implicitly; write the conversion, as in `f32(x)`",
    }),

  wrongType: (expected: string, actual: string, span: Span) =>
    error("type-mismatch", `expected ${expected}, found ${code(actual)}`, span),

  noOverload: (name: string, types: readonly string[], candidates: readonly string[], span: Span) =>
    error("no-matching-overload", `no overload of ${quoted(name)} takes ${list(types)}`, span, {
      notes: candidates.slice(0, maxCandidates).map((candidate) => `candidate: ${candidate}`),
    }),

  cannotConstruct: (type: string, types: readonly string[], span: Span) =>
    error("no-matching-overload", `cannot construct ${code(type)} from ${list(types)}`, span),

  argumentCount: (name: string, expected: number, actual: number, span: Span) =>
    error("argument-count", `${quoted(name)} takes ${plural(expected, "argument")}, found ${actual}`, span),

  invalidType: (type: string, use: string, span: Span) =>
    error("invalid-type", `${code(type)} cannot be ${use}`, span),

  notAPlace: (use: string, help: string, span: Span) =>
    error("not-a-place", `this expression cannot be ${use}`, span, { help }),

  noMember: (member: string, type: string, similar: string | undefined, span: Span) =>
    error("unknown-member", `${code(type)} has no member ${quoted(member)}`, span, didYouMean(similar)),

  notIndexable: (type: string, span: Span) => error("invalid-index", `${code(type)} cannot be indexed`, span),

  outOfBounds: (index: number, count: number | undefined, span: Span) =>
    error(
      "invalid-index",
      `index ${index} is out of bounds${count === undefined ? "" : ` for ${plural(count, "element")}`}`,
      span,
    ),

  notEvaluable: (reason: string, span: Span) =>
    error("constant-evaluation", `this constant expression cannot be evaluated: ${reason}`, span),

  notConstant: (what: string, needed: string, span: Span) =>
    error("not-constant", `${what} must be ${needed}`, span, {
      help: needed.includes("override")
        ? "compute it from literals, `const` and `override` declarations"
        : "compute it from literals and `const` declarations",
    }),

  badAttribute: (name: string, expected: string, span: Span) =>
    error("attribute-value", `attribute ${quoted(`@${name}`)} takes ${expected}`, span),

  unknownBuiltinValue: (name: string, similar: string | undefined, span: Span) =>
    error("attribute-value", `${quoted(name)} is not a built-in value`, span, didYouMean(similar)),

  valueReturned: (span: Span) =>
    error("return-value", "this function has no result type, so it cannot return a value", span, {
      help: "declare the type after `->`, or write `return;`",
    }),

  noValueReturned: (span: Span) =>
    error("return-value", "this function has a result type, so `return` needs a value", span),

  missingReturn: (name: string, span: Span) =>
    error("return-value", `${quoted(name)} may end without returning a value`, span, {
      help: "end every path through it with a `return`",
    }),

  endless: (span: Span) =>
    error("invalid-statement", "nothing ends this loop", span, { help: "leave it with `break` or `return`" }),

  defaults: (count: number, span: Span) =>
    error(
      "invalid-statement",
      `this switch has ${count === 0 ? "no `default` clause" : `${count} \`default\` clauses`}`,
      span,
      {
        help: "a switch needs exactly one",
      },
    ),

  repeatedCase: (value: string, span: Span) =>
    error("invalid-statement", `the case ${code(value)} appears twice in this switch`, span),

  untyped: (name: string, span: Span) =>
    error("invalid-variable", `${quoted(name)} needs a type or an initializer`, span),

  noAddressSpace: (name: string, span: Span) =>
    error("invalid-variable", `variable ${quoted(name)} needs an address space`, span, {
      help: "write `var<private>` or `var<workgroup>`, or `var<storage>` or `var<uniform>` for a buffer",
    }),

  wrongAddressSpace: (space: string, where: string, span: Span) =>
    error("invalid-variable", `address space ${quoted(space)} is for variables ${where}`, span),

  noAccessMode: (space: string, span: Span) =>
    error("invalid-variable", `variables in address space ${quoted(space)} take no access mode`, span, {
      help: "only variables in `storage` take one",
    }),

  noInitializer: (space: string, span: Span) =>
    error("invalid-variable", `variables in address space ${quoted(space)} take no initializer`, span),

  assertionFailed: (span: Span) => error("assertion-failed", "this assertion is false", span),

  misplaced: (what: string, where: string, span: Span) =>
    error("invalid-statement", `${what} is allowed only in ${where}`, span),

  tooLarge: (message: string, span: Span) => error("limit-exceeded", message, span),

  unsupported: (name: string, extension: string, span: Span) =>
    error(
      "unsupported-extension",
      `${quoted(name)} belongs to the extension ${code(extension)}, which is not supported`,
      span,
    ),
};
