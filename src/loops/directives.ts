/**
 * What programs say about loops that may be speculated: as comments, or as calls, which survive tools that drop comments.
 *
 *     //#pragma omp for target(webgpu) speculate(a, b) reduction(+:s) accesses(8) schedule(4096)
 *     //#pragma omp branch misspeculate(+1)
 *
 *     speculate(a, b); reduction("+", s); accesses(8); schedule(4096);
 *     misspeculate("+1");
 *
 * Source: Feng, Gupta, Bhuyan 2013, section 3.
 */
import { type CallExpression, type Comment, type Expression, parseSync } from "oxc-parser";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { loopError } from "../diagnostics/loops.ts";
import type { Reduction } from "./ir.ts";

/** A name in a clause. */
export interface Named {
  readonly name: string;
  readonly span: Span;
}

export interface LoopDirective {
  readonly span: Span;
  /** Arrays through which iterations may depend on each other. */
  readonly speculated: readonly Named[];
  readonly reductions: readonly (Named & { readonly operator: Reduction["operator"] })[];
  /** How many elements an iteration accesses at most, where that cannot be counted. */
  readonly accesses: number | null;
  /** How many iterations a round takes. */
  readonly schedule: number | null;
}

/** Iterations that are wrong once a branch is taken. */
export interface BranchDirective {
  readonly span: Span;
  readonly which:
    | { readonly kind: "relative"; readonly offsets: readonly number[] }
    | { readonly kind: "range"; readonly from: number; readonly to: number | null }
    | { readonly kind: "absolute"; readonly index: Expression };
}

export type Directive =
  | ({ readonly kind: "loop" } & LoopDirective)
  | ({ readonly kind: "branch" } & BranchDirective);

const operators: readonly Reduction["operator"][] = ["+", "*", "min", "max", "&", "|", "^"];
const clauses = ["target", "speculate", "reduction", "accesses", "schedule"];

class Malformed extends Error {
  readonly diagnostic: Diagnostic;

  constructor(expected: string, found: string, span: Span) {
    super(expected);
    this.diagnostic = loopError.malformedDirective(expected, found, span);
  }
}

/** The directive that a comment is; undefined for other comments, a diagnostic for one that is not well formed. */
export function parseComment(comment: Comment, source: string): Directive | Diagnostic | undefined {
  if (!/^\s*#\s*pragma\b/.test(comment.value)) return undefined;
  const cursor = new Cursor(source, comment.start + 2, comment.start + 2 + comment.value.length);
  return orDiagnostic(() => {
    cursor.take(/#\s*pragma\b/y, "`#pragma`");
    cursor.take(/omp\b/y, "`omp`");
    const kind = cursor.take(/for\b|branch\b/y, "`for` or `branch`");
    const span = { start: comment.start, end: comment.end };
    return kind === "for"
      ? { kind: "loop", ...parseClauses(cursor, span) }
      : { kind: "branch", span, which: parseBranch(cursor, source) };
  });
}

function orDiagnostic<Result>(parse: () => Result): Result | Diagnostic {
  try {
    return parse();
  } catch (thrown) {
    if (thrown instanceof Malformed) return thrown.diagnostic;
    if (thrown instanceof Repeated) return thrown.diagnostic;
    throw thrown;
  }
}

class Repeated extends Error {
  readonly diagnostic: Diagnostic;

  constructor(name: string, span: Span) {
    super(name);
    this.diagnostic = loopError.repeatedClause(name, span);
  }
}

/** Reads a comment word by word. */
class Cursor {
  readonly #source: string;
  readonly #end: number;
  at: number;

  constructor(source: string, start: number, end: number) {
    this.#source = source.slice(0, end);
    this.#end = end;
    this.at = start;
  }

  /** Takes what the sticky pattern matches, after blanks, or complains that `expected` is missing. */
  take(pattern: RegExp, expected: string): string {
    const found = this.takeIf(pattern);
    if (found !== undefined) return found;
    throw this.malformed(expected);
  }

  takeIf(pattern: RegExp): string | undefined {
    const blank = /\s*/y;
    blank.lastIndex = this.at;
    blank.test(this.#source);
    this.at = blank.lastIndex;
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#source)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  malformed(expected: string): Malformed {
    const found = /\s*(?<word>[\p{ID_Continue}$]+|\S)?/uy;
    found.lastIndex = this.at;
    const word = found.exec(this.#source)?.groups?.word;
    const end = found.lastIndex || this.at;
    const start = word === undefined ? Math.min(this.at, this.#end) : end - word.length;
    return new Malformed(expected, word === undefined ? "its end" : `\`${word}\``, {
      start,
      end: Math.max(end, start + 1),
    });
  }

  get isAtEnd(): boolean {
    return this.#source.slice(this.at).trim() === "";
  }
}

const name = /[\p{ID_Start}$_][\p{ID_Continue}$]*/uy;
const integer = /\d+/y;

function parseClauses(cursor: Cursor, span: Span): LoopDirective {
  const speculated: Named[] = [];
  const reductions: (Named & { operator: Reduction["operator"] })[] = [];
  const once = new Map<string, number>();
  const seen = new Set<string>();
  while (!cursor.isAtEnd) {
    const clause = cursor.take(name, oneOf(clauses));
    const place = { start: cursor.at - clause.length, end: cursor.at };
    if (!clauses.includes(clause)) throw new Malformed(oneOf(clauses), `\`${clause}\``, place);
    if (seen.has(clause) && clause !== "reduction") throw new Repeated(clause, place);
    seen.add(clause);
    cursor.take(/\(/y, "`(`");
    switch (clause) {
      case "target":
        cursor.take(/webgpu\b/y, "`webgpu`");
        break;
      case "speculate":
        speculated.push(...parseNames(cursor, "the name of an array"));
        break;
      case "reduction": {
        const operator = cursor.take(/min\b|max\b|[+*&|^]/y, oneOf(operators)) as Reduction["operator"];
        cursor.take(/:/y, "`:`");
        for (const one of parseNames(cursor, "the name of a variable")) reductions.push({ ...one, operator });
        break;
      }
      default:
        once.set(clause, positive(cursor));
    }
    cursor.take(/\)/y, "`)`");
  }
  if (!seen.has("target")) throw cursor.malformed("`target(webgpu)`");
  return {
    span,
    speculated,
    reductions,
    accesses: once.get("accesses") ?? null,
    schedule: once.get("schedule") ?? null,
  };
}

const oneOf = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(", ");

function parseNames(cursor: Cursor, expected: string): Named[] {
  const names: Named[] = [];
  do {
    const found = cursor.take(name, expected);
    names.push({ name: found, span: { start: cursor.at - found.length, end: cursor.at } });
  } while (cursor.takeIf(/,/y) !== undefined);
  return names;
}

const largest = 2 ** 31 - 1;

function positive(cursor: Cursor): number {
  const before = cursor.at;
  const value = Number(cursor.take(integer, "a positive integer"));
  if (value >= 1 && value <= largest) return value;
  cursor.at = before;
  throw cursor.malformed("a positive integer");
}

function parseBranch(cursor: Cursor, source: string): BranchDirective["which"] {
  cursor.take(/misspeculate\b/y, "`misspeculate`");
  cursor.take(/\(/y, "`(`");
  const start = cursor.at;
  if (cursor.takeIf(/[-+]\s*\d/y) !== undefined) {
    cursor.at = start;
    const which = parseOffsets(cursor);
    cursor.take(/\)/y, "`)`");
    if (!cursor.isAtEnd) throw cursor.malformed("the end of the directive");
    return which;
  }
  const text = cursor.takeIf(/.*(?=\)\s*$)/sy) ?? "";
  const index = parseExpression(source, start, start + text.length);
  if (!index) throw cursor.malformed("an index such as `i + 3`, or offsets such as `+1`, `+0:+4`, `-1,+1`");
  cursor.take(/\)/y, "`)`");
  return { kind: "absolute", index };
}

/** `+1`, `-1,+1`, `+0:+4`, `+0:`. */
function parseOffsets(cursor: Cursor): BranchDirective["which"] {
  const offset = () => {
    const before = cursor.at;
    const value = Number(cursor.take(/[-+]\s*\d+/y, "an offset such as `+1`").replace(/\s/g, ""));
    if (Math.abs(value) <= largest) return value === 0 ? 0 : value;
    cursor.at = before;
    throw cursor.malformed("an offset of at most 31 bits");
  };
  const offsets = [offset()];
  if (cursor.takeIf(/:/y) !== undefined) {
    const from = offsets[0]!;
    const before = cursor.at;
    const to = cursor.takeIf(/(?=[-+])/y) === undefined ? null : offset();
    if (to !== null && to < from) {
      cursor.at = before;
      throw cursor.malformed("an end that is not before the start of the range");
    }
    return { kind: "range", from, to };
  }
  while (cursor.takeIf(/,/y) !== undefined) offsets.push(offset());
  return { kind: "relative", offsets };
}

/** Parses a part of the source as an expression, at its place. */
function parseExpression(source: string, start: number, end: number): Expression | undefined {
  const text = source.slice(start, end);
  if (text.trim() === "" || text.length > 1000) return undefined;
  const blank = source.slice(0, start).replace(/[^\n]/g, " ");
  const { program, errors } = parseSync("index.ts", `${blank}${text}`, { preserveParens: false });
  const [statement] = program.body;
  const isOne = errors.length === 0 && program.body.length === 1 && statement?.type === "ExpressionStatement";
  return isOne ? statement.expression : undefined;
}

/** The functions of the call form. */
export const callNames = ["speculate", "reduction", "accesses", "schedule"];

/** The directive that a list of calls before a loop is. Each comes with the name of the function that is called. */
export function parseCalls(
  calls: readonly { readonly name: string; readonly call: CallExpression }[],
): LoopDirective | Diagnostic {
  return orDiagnostic(() => {
    const speculated: Named[] = [];
    const reductions: (Named & { operator: Reduction["operator"] })[] = [];
    const once = new Map<string, number>();
    for (const { name, call } of calls) {
      if (name !== "reduction" && once.has(name)) throw new Repeated(name, spanOf(call));
      const args = call.arguments as Expression[];
      switch (name) {
        case "speculate":
          once.set(name, 1);
          for (const arg of args) speculated.push(named(arg, "the name of an array"));
          break;
        case "reduction": {
          const [operator, ...variables] = args;
          const value = operator?.type === "Literal" ? operator.value : undefined;
          const known = operators.find((one) => one === value);
          if (!known)
            throw new Malformed(`one of ${oneOf(operators)}`, "something else", spanOf(operator ?? call));
          for (const arg of variables)
            reductions.push({ ...named(arg, "the name of a variable"), operator: known });
          break;
        }
        default: {
          const value = args.length === 1 && args[0]!.type === "Literal" ? args[0]!.value : undefined;
          if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > largest) {
            throw new Malformed("a positive integer", "something else", spanOf(args[0] ?? call));
          }
          once.set(name, value);
        }
      }
    }
    const [first, last] = [calls[0]!.call, calls.at(-1)!.call];
    return {
      span: { start: first.start, end: last.end },
      speculated,
      reductions,
      accesses: once.get("accesses") ?? null,
      schedule: once.get("schedule") ?? null,
    };
  });
}

function named(node: Expression, expected: string): Named {
  if (node.type === "Identifier") return { name: node.name, span: spanOf(node) };
  throw new Malformed(expected, "something else", spanOf(node));
}

/** `misspeculate("+1")`, or `misspeculate(i + 3)` for an index. */
export function parseBranchCall(call: CallExpression, source: string): BranchDirective | Diagnostic {
  return orDiagnostic(() => {
    const [argument, ...others] = call.arguments as Expression[];
    const span = spanOf(call);
    if (!argument || others.length > 0) throw new Malformed("one argument", `${call.arguments.length}`, span);
    if (argument.type !== "Literal" || typeof argument.value !== "string") {
      return { span, which: { kind: "absolute", index: argument } };
    }
    const cursor = new Cursor(source, argument.start + 1, argument.end - 1);
    const which = parseOffsets(cursor);
    if (!cursor.isAtEnd) throw cursor.malformed("the end of the directive");
    return { span, which };
  });
}

const spanOf = ({ start, end }: Span): Span => ({ start, end });
