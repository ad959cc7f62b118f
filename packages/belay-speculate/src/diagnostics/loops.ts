/**
 * The reasons why a loop is not speculated (BELAY500 to BELAY599), one small factory for each
 * diagnostic.
 */

import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { DiagnosticDetails } from "belay-gpu/internal/diagnostics/diagnosticOf";
import { error, warning } from "belay-gpu/internal/diagnostics/finding";
import type { DiagnosticName } from "belay-gpu/internal/diagnostics/registry";
import { quoted } from "belay-gpu/internal/diagnostics/syntax";

/** A loop that stays as it is, and what about it is the reason. */
const refused = (name: DiagnosticName, reason: string, span: Span, explanation?: DiagnosticDetails) =>
  error(name, `not parallelized because ${reason}`, span, explanation);

const article = (noun: string) => (/^[aeiou]/i.test(noun) ? `an ${noun}` : `a ${noun}`);

export const loopError = {
  syntax: (message: string, span: Span, help: string | undefined) => {
    const sentence = message.replace(/\.$/, "").replaceAll(". ", "; ");
    const lower = `${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
    return error("file-not-parsed", `the file does not parse: ${lower}`, span, { help });
  },

  tooDeep: (span: Span) =>
    error("loop-too-large", "this nests too deeply to be translated", span, {
      help: "split it into several parts",
    }),

  malformedDirective: (expected: string, found: string, span: Span) =>
    error("malformed-directive", `expected ${expected} in this directive, found ${found}`, span),

  repeatedClause: (name: string, span: Span) =>
    error("malformed-directive", `the clause ${quoted(name)} is given twice`, span),

  misplacedLoopDirective: (span: Span) =>
    error("misplaced-directive", "this directive must stand directly before a `for` loop", span),

  misplacedBranchDirective: (span: Span) =>
    error("misplaced-directive", "this directive must stand in a branch of a speculated loop", span, {
      help: "put it into the `if` that makes other iterations wrong",
    }),

  nestedDirective: (span: Span) =>
    error("misplaced-directive", "this loop stands inside a loop that is speculated itself", span, {
      help: "keep one of the two directives",
    }),

  nothingToTry: (span: Span) =>
    error("missing-directive", '"use speculate" has no loop that counts', span, {
      help: "put it into the function with the loop",
    }),

  useSpeculateMissing: (span: Span) =>
    error(
      "speculation-not-requested",
      'this directive is not in a function that starts with "use speculate"',
      span,
      {
        help: 'write "use speculate"; as the first statement of the function',
      },
    ),

  unknownName: (name: string, expected: string, span: Span) =>
    error("invalid-clause", `${quoted(name)} is not ${expected} of this loop`, span),

  notCounted: (reason: string, span: Span, help?: string) =>
    refused("unknown-iteration-count", reason, span, {
      help: help ?? "a loop that is counted has the form `for (let i = from; i < to; i += step)`",
    }),

  unsupported: (what: string, span: Span, help?: string) =>
    refused("unsupported-syntax", `${what} cannot run on a GPU`, span, { help }),

  hiddenGlobal: (name: string, span: Span) =>
    refused(
      "unsupported-syntax",
      `the file has a ${quoted(name)} of its own, and the translation needs JavaScript's`,
      span,
      {
        help: "give it another name",
      },
    ),

  unsupportedType: (name: string, type: string, span: Span) =>
    refused("unknown-type", `${quoted(name)} is ${article(type)}`, span, {
      help: "a loop uses numbers, booleans, strings, typed arrays, and arrays of numbers, of arrays or of objects that hold numbers",
    }),

  undeclared: (name: string, span: Span) =>
    refused("unknown-type", `${quoted(name)} is not declared in this file`, span, {
      help: "copy it into a constant before the loop",
    }),

  notImported: (name: string, module: string, span: Span) =>
    refused("unknown-type", `${quoted(name)} of ${module} is not known in the file with the loop`, span, {
      help: "export it, and import it there too",
    }),

  unknownType: (name: string, span: Span, help: string) =>
    refused("unknown-type", `the type of ${quoted(name)} is not known`, span, { help }),

  notDeclaredYet: (name: string, span: Span) =>
    refused("unknown-type", `${quoted(name)} is used before it is declared`, span),

  unknownCall: (name: string, reason: string, span: Span, help?: string) =>
    refused("unknown-call", `${quoted(name)} ${reason}`, span, { help }),

  inexactInteger: (reason: string, span: Span, help: string) =>
    refused("inexact-integer", reason, span, { notes: ["integers have to be exact to the bit"], help }),

  needsDoubles: (reason: string, span: Span) =>
    refused("needs-doubles", reason, span, {
      notes: ["the loop runs on the CPU as it is written, which is exact"],
      help: "write `precision(f32)` in the directive if 32 bits will do, or round here with `Math.fround`",
    }),

  unspecifiedFunction: (what: string, span: Span) =>
    refused("needs-doubles", `JavaScript leaves the last bits of ${what} to each engine`, span, {
      notes: ["the loop runs on the CPU as it is written, which gives this engine's bits"],
      help:
        what === "a power"
          ? "multiply, as in `x * x * x`, or write `precision(f32)` in the directive if 32 bits will do"
          : "write `precision(f32)` in the directive if 32 bits will do",
    }),

  doubleReduction: (name: string, span: Span) =>
    refused("needs-doubles", `a GPU combines the doubles of ${quoted(name)} in another order`, span, {
      notes: ["the loop runs on the CPU as it is written, which is exact"],
      help: "leave the clause out, which keeps the order, or write `precision(f32)` if 32 bits will do",
    }),

  mutuallyRecursive: (name: string, span: Span) =>
    refused("recursive-call", `${quoted(name)} calls itself through another function`, span, {
      help: "make one function of them, or write a loop",
    }),

  manyRecursiveCalls: (name: string, places: number, span: Span) =>
    refused("recursive-call", `${quoted(name)} calls itself at ${places} places`, span, {
      help: "call it at one place in a loop, or return the call as it is: `return f(x - 1)`",
    }),

  mixedTypes: (name: string, one: string, other: string, span: Span) =>
    refused("mixed-types", `${quoted(name)} is ${article(one)} here and ${article(other)} elsewhere`, span, {
      help: "use a variable for each",
    }),

  notReduced: (name: string, operator: string, span: Span) =>
    refused(
      "invalid-reduction",
      `${quoted(name)} is used for more than a reduction with \`${operator}\``,
      span,
      {
        help: `in the loop, a reduction only stands in a form such as ${
          operator === "min" || operator === "max"
            ? `\`${name} = Math.${operator}(${name}, value)\``
            : `\`${name} ${operator}= value\``
        }`,
      },
    ),

  cannotAssign: (name: string, reason: string, span: Span, help?: string) =>
    refused("invalid-assignment", `${quoted(name)} ${reason}`, span, { help }),

  notAsync: (span: Span) =>
    error(
      "not-async",
      "the loop stays on the CPU: a GPU's results arrive later, and only an async function can wait for them",
      span,
      { help: "put the loop into an async function, and await its calls" },
    ),
};

export const loopWarning = {
  unnamedArray: (name: string, span: Span) =>
    warning(
      "unnamed-conflict",
      `${quoted(name)} is checked for dependences although the directive does not name it`,
      span,
      { help: `write \`speculate(${name})\`, or use an index that no two iterations share` },
    ),

  carried: (name: string, span: Span) =>
    warning(
      "sequential-variable",
      `${quoted(name)} passes from each iteration to the next, so iterations wait for each other`,
      span,
      {
        help: `if it only adds up floats, and 32 bits will do, write \`precision(f32) reduction(+:${name})\``,
      },
    ),

  floatDecides: (span: Span) =>
    warning(
      "rounded-decision",
      "this decision uses an f32, and the untranslated program a double: near a limit they may decide differently",
      span,
      {
        help: "round where an f32 is meant, as in `Math.fround(x * 10)`: then both decide the same way",
      },
    ),

  floatSum: (name: string, span: Span) =>
    warning(
      "rounded-sum",
      `${quoted(name)} is summed in f32 with 24 bits, and in a double with 53 in the untranslated program`,
      span,
      { help: `sum integers, or round where an f32 is meant: \`${name} = Math.fround(${name} + value)\`` },
    ),

  computedDoubles: (reason: string | undefined, span: Span) =>
    warning(
      "computed-doubles",
      "the loop computes with doubles, for which a GPU needs many operations on integers each",
      span,
      {
        notes: reason === undefined ? [] : [reason],
        help: "if 32 bits will do, write `precision(f32)`, or round each sum and product with `Math.fround`",
      },
    ),

  ambiguousScalar: (code: string, span: Span) =>
    warning(
      "assumed-integer",
      `${quoted(code)} is compared as an integer and used in arithmetic as an f32: the loop runs on the GPU only if it is an integer`,
      span,
      { help: `write \`Math.fround(${code})\` in the arithmetic if it is not an integer` },
    ),
};
