/**
 * Splits source text into tokens. Source: WGSL specification, from "Blankspace and Line Breaks" to
 * "Identifiers".
 *
 * `<` and `>` always become single characters. Only template list discovery knows which of them
 * form an operator (see templateLists.ts).
 */
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { syntaxError } from "../diagnostics/syntax.ts";
import { isKeyword, isReservedWord, type Keyword } from "./words.ts";

/**
 * The kind of a token: the spelling of keywords, operators and punctuation, a class name for
 * others.
 */
export type TokenKind =
  | Keyword
  | "identifier"
  | "literal"
  | "end"
  | "templateStart"
  | "templateEnd"
  | "->"
  | "&&"
  | "||"
  | "++"
  | "--"
  | "=="
  | "!="
  | "<="
  | ">="
  | "<<"
  | ">>"
  | "+="
  | "-="
  | "*="
  | "/="
  | "%="
  | "&="
  | "|="
  | "^="
  | "<<="
  | ">>="
  | "+"
  | "-"
  | "*"
  | "/"
  | "%"
  | "&"
  | "|"
  | "^"
  | "="
  | "!"
  | "~"
  | "<"
  | ">"
  | "@"
  | "["
  | "]"
  | "{"
  | "}"
  | "("
  | ")"
  | ":"
  | ","
  | "."
  | ";"
  | "_";

export interface Token extends Span {
  readonly kind: TokenKind;
}

const blankspace = /[\t-\r \u0085\u200e\u200f\u2028\u2029]+/y;
const lineComment = /\/\/[^\n\v\f\r\u0085\u2028\u2029]*/y;
const blockCommentEdge = /\/\*|\*\//g;
const word = /[_\p{XID_Start}]\p{XID_Continue}*/uy;
const number = new RegExp(
  [
    /0[xX](?:[0-9a-fA-F]*\.[0-9a-fA-F]+|[0-9a-fA-F]+\.[0-9a-fA-F]*)(?:[pP][+-]?[0-9]+[fh]?)?/,
    /0[xX][0-9a-fA-F]+(?:[pP][+-]?[0-9]+[fh]?|[iu]?)/,
    /(?:[0-9]*\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][+-]?[0-9]+)?[fh]?/,
    /[0-9]+[eE][+-]?[0-9]+[fh]?/,
    /(?:0|[1-9][0-9]*)[iufh]?/,
  ]
    .map((form) => form.source)
    .join("|"),
  "y",
);
/**
 * The characters that may not follow a number directly. With it, they form one malformed literal.
 */
const numberTail = /[\p{XID_Continue}.]+/uy;
const symbol = /->|&&|\|\||\+\+|--|[-+*/%&|^=!]=|[-+*/%&|^=!<>@[\]{}:,.();~]/y;
/** A run of characters that no token starts with. */
const garbage = /[^\t-\r \u0085\u200e\u200f\u2028\u2029\p{XID_Start}\w\-+*/%&|^=!<>@[\]{}:,.();~]+/uy;

/**
 * Splits `source` into tokens, the last of which is `end`. Characters that form no token are
 * reported and skipped.
 */
export function tokenize(source: string): { tokens: Token[]; diagnostics: Diagnostic[] } {
  const tokens: Token[] = [];
  const diagnostics: Diagnostic[] = [];

  /** Returns the end of `pattern`'s match at `start`, or `start` itself. */
  function endOf(pattern: RegExp, start: number): number {
    pattern.lastIndex = start;
    return pattern.test(source) ? pattern.lastIndex : start;
  }

  function endOfBlockComment(start: number): number {
    blockCommentEdge.lastIndex = start;
    let depth = 0;
    for (let edge = blockCommentEdge.exec(source); edge !== null; edge = blockCommentEdge.exec(source)) {
      depth += edge[0] === "/*" ? 1 : -1;
      if (depth === 0) return blockCommentEdge.lastIndex;
    }
    diagnostics.push(syntaxError.unterminatedComment({ start, end: start + 2 }));
    return source.length;
  }

  function kindOfWord(start: number, end: number): TokenKind {
    const text = source.slice(start, end);
    if (text === "_") return "_";
    if (text === "true" || text === "false") return "literal";
    if (isKeyword(text)) return text;
    if (isReservedWord(text)) diagnostics.push(syntaxError.reservedWord(text, { start, end }));
    if (text.startsWith("__")) diagnostics.push(syntaxError.reservedPrefix(text, { start, end }));
    return "identifier";
  }

  function endOfComment(start: number): number {
    const end = source[start + 1] === "/" ? endOf(lineComment, start) : endOfBlockComment(start);
    const nul = start + source.slice(start, end).indexOf("\0");
    if (nul >= start) diagnostics.push(syntaxError.unexpectedCharacter("\0", { start: nul, end: nul + 1 }));
    return end;
  }

  /** Takes the token, comment or blankspace at `start`, and returns its end. */
  function lexAt(start: number): number {
    let end = endOf(blankspace, start);
    if (end > start) return end;

    if (source.startsWith("//", start) || source.startsWith("/*", start)) return endOfComment(start);

    end = endOf(word, start);
    if (end > start) {
      tokens.push({ kind: kindOfWord(start, end), start, end });
      return end;
    }
    end = endOf(number, start);
    if (end > start) {
      const tail = endOf(numberTail, end);
      if (tail > end)
        diagnostics.push(syntaxError.malformedNumber(source.slice(start, tail), { start, end: tail }));
      tokens.push({ kind: "literal", start, end: tail });
      return tail;
    }
    end = endOf(symbol, start);
    if (end > start) {
      tokens.push({ kind: source.slice(start, end) as TokenKind, start, end });
      return end;
    }
    end = endOf(garbage, start);
    diagnostics.push(syntaxError.unexpectedCharacter(source.slice(start, end), { start, end }));
    return end;
  }

  for (let start = 0; start < source.length; ) start = lexAt(start);
  tokens.push({ kind: "end", start: source.length, end: source.length });
  return { tokens, diagnostics };
}
