/**
 * Distinguishes the `<` and `>` of template lists from those of operators. Source: WGSL
 * specification, "Template Lists".
 */
import type { Token, TokenKind } from "./lexer.ts";
import { isKeyword } from "./words.ts";

/** The kinds that cannot stand inside an expression, so that they end every open list. */
const endsExpressions: ReadonlySet<TokenKind> = new Set<TokenKind>([
  ";",
  "{",
  ":",
  "=",
  "+=",
  "-=",
  "*=",
  "/=",
  "%=",
  "&=",
  "|=",
  "^=",
]);

/** The operators that `<` and `>` form outside of template lists, the longest first. */
const angleOperators = ["<<=", ">>=", "<<", ">>", "<=", ">="] as const;

/**
 * Replaces each single `<` and `>` by the delimiter or the operator that it is part of. In one
 * point it differs from the specification's letter, as Dawn does: the `=` of `1 <= n` is not an
 * assignment.
 */
export function resolveTemplateLists(tokens: readonly Token[]): Token[] {
  const delimiters = findTemplateDelimiters(tokens);
  const resolved: Token[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.kind !== "<" && token.kind !== ">") {
      resolved.push(token);
    } else if (delimiters.has(i)) {
      const kind = token.kind === "<" ? "templateStart" : "templateEnd";
      resolved.push({ kind, start: token.start, end: token.end });
    } else {
      const operator = angleOperators.find((each) => spells(tokens, i, each, delimiters));
      const last = i + (operator?.length ?? 1) - 1;
      resolved.push({ kind: operator ?? token.kind, start: token.start, end: tokens[last]!.end });
      i = last;
    }
  }
  return resolved;
}

/** Returns true if the single-character tokens from `first` on spell `operator` without a gap. */
function spells(
  tokens: readonly Token[],
  first: number,
  operator: string,
  delimiters: ReadonlySet<number>,
): boolean {
  for (let i = 0; i < operator.length; i++) {
    if (tokens[first + i]?.kind !== operator[i] || delimiters.has(first + i)) return false;
    if (i > 0 && !touches(tokens, first + i)) return false;
  }
  return true;
}

/** Returns true if the token at `index` follows its predecessor directly. */
function touches(tokens: readonly Token[], index: number): boolean {
  return tokens[index]?.start === tokens[index - 1]?.end;
}

/**
 * Returns the indices of all `<` and `>` that delimit a template list, by the specification's
 * algorithm.
 */
function findTemplateDelimiters(tokens: readonly Token[]): Set<number> {
  const delimiters = new Set<number>();
  let pending: { index: number; depth: number }[] = [];
  let depth = 0;

  const closePending = () => {
    while (pending.length > 0 && pending.at(-1)!.depth >= depth) pending.pop();
  };
  /** Returns true if one of `kinds` follows the `<` or `>` at `index` directly. */
  const continuesWith = (index: number, ...kinds: TokenKind[]) =>
    touches(tokens, index + 1) && kinds.includes(tokens[index + 1]!.kind);

  for (let i = 0; i < tokens.length; i++) {
    const { kind } = tokens[i]!;
    if (kind === "identifier" || isKeyword(kind)) {
      if (tokens[i + 1]?.kind !== "<") continue;
      i++;
      // No template argument starts with these tokens, so this is `<<` or `<=`.
      if (continuesWith(i, "<", "=", "==")) i++;
      else pending.push({ index: i, depth });
    } else if (kind === ">") {
      const open = pending.at(-1);
      if (open?.depth === depth) {
        delimiters.add(open.index).add(i);
        pending.pop();
      } else if (continuesWith(i, "=", "==")) {
        i++;
      }
    } else if (kind === "<") {
      if (continuesWith(i, "=", "==")) i++;
    } else if (kind === "(" || kind === "[") {
      depth++;
    } else if (kind === ")" || kind === "]") {
      closePending();
      depth = Math.max(0, depth - 1);
    } else if (kind === "&&" || kind === "||") {
      closePending();
    } else if (endsExpressions.has(kind)) {
      pending = [];
      depth = 0;
    }
  }
  return delimiters;
}
