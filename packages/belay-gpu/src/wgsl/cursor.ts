/**
 * A position in the tokens of one source, with the operations that all parsing functions share:
 * expectations, errors, recovery.
 */
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { quoted, syntaxError } from "../diagnostics/syntax.ts";
import { type Token, type TokenKind, tokenize } from "./lexer.ts";
import { resolveTemplateLists } from "./templateLists.ts";

/**
 * The nesting limits, which Dawn shares. They keep every recursion over a tree within the stack.
 */
const nestingLimits = { statements: 127, expressions: 128 } as const;

/**
 * The number of errors after which parsing stops. A source that is no WGSL would otherwise have an
 * error for every other character.
 */
export const mostErrors = 100;

/** The exception that abandons the current construct. It is caught where parsing can continue. */
const abandoned = Symbol("abandoned");

export class Cursor {
  readonly diagnostics: Diagnostic[];
  readonly #source: string;
  readonly #tokens: Token[];
  #index = 0;
  readonly #nesting = { statements: 0, expressions: 0 };

  constructor(source: string) {
    const { tokens, diagnostics } = tokenize(source);
    this.#source = source;
    this.#tokens = resolveTemplateLists(tokens);
    this.diagnostics = diagnostics;
  }

  get token(): Token {
    return this.#tokens[this.#index]!;
  }

  get next(): Token {
    return this.#tokens[this.#index + 1] ?? this.token;
  }

  at(...kinds: TokenKind[]): boolean {
    return kinds.includes(this.token.kind);
  }

  textOf(span: Span): string {
    return this.#source.slice(span.start, span.end);
  }

  spanOfToken(): Span {
    const { start, end } = this.token;
    return { start, end };
  }

  /** Returns the span from `start` to the end of the last token taken. */
  spanFrom(start: number): Span {
    return { start, end: Math.max(start, this.#tokens[this.#index - 1]?.end ?? start) };
  }

  /** Takes the current token of any kind; `end` is never passed. */
  take(): Token {
    const { token } = this;
    if (token.kind !== "end") this.#index++;
    return token;
  }

  /** Takes the current token if it is of this kind. */
  accept(kind: TokenKind): boolean {
    if (this.token.kind !== kind) return false;
    this.take();
    return true;
  }

  /** Takes a token of this kind, or abandons the construct. `where` completes "expected `;` …". */
  expect(kind: TokenKind, where: string): Token {
    if (this.token.kind === kind) return this.take();
    const spelling = kind === "templateStart" ? "<" : kind === "templateEnd" ? ">" : kind;
    return this.failExpecting(`${quoted(spelling)} ${where}`);
  }

  /**
   * Takes only the first character of `--` or `&&` where the whole token cannot stand, as in `a
   * --b`. The specification wants the longest token that the grammar allows at this point.
   */
  takeHalf(): Token {
    const { kind, start, end } = this.token;
    const half = kind === "--" ? "-" : "&";
    this.#tokens[this.#index] = { kind: half, start: start + 1, end };
    return { kind: half, start, end: start + 1 };
  }

  /** Reports an error, at most one for each place in the source. After too many, parsing ends. */
  report(diagnostic: Diagnostic): void {
    if (this.diagnostics.at(-1)?.span.start !== diagnostic.span.start) this.diagnostics.push(diagnostic);
    if (this.diagnostics.length > mostErrors) this.#index = this.#tokens.length - 1;
  }

  /** Reports an error and abandons the construct. */
  fail(diagnostic: Diagnostic): never {
    this.report(diagnostic);
    throw abandoned;
  }

  /**
   * Reports that `wanted` was expected here. A missing semicolon is reported where it is missing.
   */
  reportExpecting(wanted: string): void {
    const { end } = this.spanFrom(0);
    const span = wanted.startsWith("`;`") ? { start: end, end } : this.spanOfToken();
    const found = this.at("end") ? "the end of the source" : quoted(this.textOf(this.token));
    this.report(syntaxError.expected(wanted, found, span));
  }

  /** Reports that `wanted` was expected here, and abandons the construct. */
  failExpecting(wanted: string): never {
    this.reportExpecting(wanted);
    throw abandoned;
  }

  /** Parses one level deeper, or reports an error if the limit is reached. */
  nest<T>(what: keyof typeof nestingLimits, parse: () => T): T {
    if (this.#nesting[what] >= nestingLimits[what]) {
      this.fail(syntaxError.tooDeep(what, nestingLimits[what], this.spanOfToken()));
    }
    this.#nesting[what]++;
    try {
      return parse();
    } finally {
      this.#nesting[what]--;
    }
  }

  /**
   * Parses a construct. If it is abandoned, `recover` moves to the next place where parsing can
   * continue. Always takes at least one token.
   */
  attempt<T>(parse: () => T, recover: () => void): T | undefined {
    const first = this.#index;
    try {
      return parse();
    } catch (reason) {
      if (reason !== abandoned) throw reason;
      recover();
      if (this.#index === first) this.take();
      return undefined;
    }
  }

  /** Skips a balanced `{…}`, or one token. */
  skip(): void {
    let depth = 0;
    do {
      const { kind } = this.take();
      if (kind === "{") depth++;
      if (kind === "}") depth--;
    } while (depth > 0 && !this.at("end"));
  }

  /** Parses one or more items between commas, with an optional comma before `isEnd`. */
  list<T>(isEnd: () => boolean, item: () => T): T[] {
    const items = [item()];
    while (this.accept(",") && !isEnd()) items.push(item());
    return items;
  }
}
