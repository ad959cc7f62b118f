/** Creates the diagnostics of the lexer and the parser (BELAY001 to BELAY099). */
import type { Span } from "./diagnostic.ts";
import { wgslError as error } from "./wgslError.ts";

/** Returns a piece of source as messages show it: in backquotes, shortened and printable. */
export function quoted(text: string): string {
  const short = text.length > 32 ? `${text.slice(0, 32)}…` : text;
  const printable = short.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`,
  );
  return `\`${printable}\``;
}

const otherName = "WGSL reserves it: use another name";

export const syntaxError = {
  unexpectedCharacter: (text: string, span: Span) =>
    error("unknown-character", `${quoted(text)} is not part of WGSL`, span),

  malformedNumber: (text: string, span: Span) =>
    error("malformed-number", `${quoted(text)} is not a valid number`, span, {
      help: /^0[0-9]/.test(text)
        ? "write the integer without leading zeros"
        : "a number may end in the suffix `i`, `u`, `f` or `h`",
    }),

  unterminatedComment: (span: Span) =>
    error("unterminated-comment", "this comment never ends", span, {
      help: "block comments nest: each `/*` needs its own `*/`",
    }),

  reservedWord: (text: string, span: Span) =>
    error("reserved-word", `${quoted(text)} is a reserved word`, span, { help: otherName }),

  reservedPrefix: (text: string, span: Span) =>
    error("reserved-word", `the name ${quoted(text)} starts with two underscores`, span, { help: otherName }),

  expected: (wanted: string, found: string, span: Span) =>
    error("unexpected-token", `expected ${wanted}, found ${found}`, span),

  mixedOperators: (left: string, right: string, span: Span) =>
    error(
      "mixed-operators",
      left === right ? `\`${left}\` cannot be chained` : `\`${left}\` and \`${right}\` cannot be mixed`,
      span,
      { help: "put parentheses around the operation that comes first" },
    ),

  tooDeep: (what: string, limit: number, span: Span) =>
    error("nesting-too-deep", `${what} nest deeper than ${limit} levels`, span, {
      help:
        what === "statements"
          ? "move inner statements to a function"
          : "compute parts in variables of their own",
    }),

  notAssignable: (span: Span) =>
    error("not-assignable", "this expression cannot be assigned to", span, {
      help: "assign to a variable, to `*pointer`, or to an element or member of one",
    }),

  misplaced: (what: string, where: string, span: Span) =>
    error("misplaced-syntax", `${what} is allowed only ${where}`, span),

  unknownExtension: (name: string, directive: string, known: Iterable<string>, span: Span) => {
    const kind = directive === "enable" ? "an extension" : "a language feature";
    return error("unknown-extension", `${quoted(name)} is not ${kind} that Belay knows`, span, {
      help: `known names: ${[...known].filter((each) => !each.startsWith("chromium_")).join(", ")}`,
    });
  },

  unknownDirective: (name: string, span: Span) =>
    error("unknown-directive", `${quoted(name)} starts neither a directive nor a declaration`, span, {
      help: "statements belong to a function; declarations start with `fn`, `var`, `const`, `override`, `struct`, `alias` or `const_assert`",
    }),

  unknownSeverity: (name: string, span: Span) =>
    error("unknown-severity", `${quoted(name)} is not a severity`, span, {
      help: "use `error`, `warning`, `info` or `off`",
    }),

  unknownAttribute: (name: string, span: Span) =>
    error("unknown-attribute", `there is no attribute ${quoted(`@${name}`)}`, span),

  attributeArguments: (name: string, least: number, most: number, span: Span) => {
    const count = most === 0 ? "no" : least === most ? String(most) : `${least} to ${most}`;
    return error("attribute-arguments", `\`@${name}\` takes ${count} argument${most === 1 ? "" : "s"}`, span);
  },

  misplacedAttribute: (what: string, span: Span) =>
    error("misplaced-attribute", `${what} takes no attributes`, span),

  tooManyErrors: (shown: number, span: Span) =>
    error("too-many-errors", `there are more than ${shown} errors, of which only the first are shown`, span),
};
