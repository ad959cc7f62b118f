/** Directives in the form of comments. */

import type { Diagnostic, Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { Comment } from "oxc-parser";
import type { Reduction } from "../tree/ir.ts";
import { CommentCursor } from "./commentCursor.ts";
import {
  type BranchDirective,
  type LoopDirective,
  largest,
  type Named,
  oneOf,
  operators,
  type SpeculationDirective,
} from "./directive.ts";
import { parseIterations } from "./offsets.ts";
import { malformed, orDiagnostic, repeated } from "./refusal.ts";

const clauses = ["target", "speculate", "reduction", "accesses", "schedule", "configure", "precision"];

/**
 * Parses a comment as a directive. Returns undefined for other comments, and a diagnostic for a
 * malformed directive.
 */
export function parseComment(
  comment: Comment,
  source: string,
): SpeculationDirective | Diagnostic | undefined {
  if (!/^\s*#\s*pragma\b/.test(comment.value)) return undefined;
  const cursor = new CommentCursor(source, comment.start + 2, comment.start + 2 + comment.value.length);
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

const name = /[\p{ID_Start}$_][\p{ID_Continue}$]*/uy;
const integer = /\d+/y;

function parseClauses(cursor: CommentCursor, span: Span): LoopDirective {
  const speculated: Named[] = [];
  const reductions: (Named & { operator: Reduction["operator"] })[] = [];
  const once = new Map<string, number>();
  let options: Named | null = null;
  const seen = new Set<string>();
  while (!cursor.isAtEnd) {
    const clause = cursor.take(name, oneOf(clauses));
    const place = { start: cursor.at - clause.length, end: cursor.at };
    if (!clauses.includes(clause)) throw malformed(oneOf(clauses), `\`${clause}\``, place);
    if (seen.has(clause) && clause !== "reduction") throw repeated(clause, place);
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
      case "configure":
        options = parseName(cursor, "the name of a variable");
        break;
      case "precision":
        cursor.take(/f32\b/y, "`f32`");
        break;
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
    options,
    precision: seen.has("precision") ? "f32" : "exact",
  };
}

function parseNames(cursor: CommentCursor, expected: string): Named[] {
  const names: Named[] = [];
  do names.push(parseName(cursor, expected));
  while (cursor.takeIf(/,/y) !== undefined);
  return names;
}

function parseName(cursor: CommentCursor, expected: string): Named {
  const found = cursor.take(name, expected);
  return { name: found, span: { start: cursor.at - found.length, end: cursor.at } };
}

function positive(cursor: CommentCursor): number {
  const before = cursor.at;
  const value = Number(cursor.take(integer, "a positive integer"));
  if (value >= 1 && value <= largest) return value;
  cursor.at = before;
  throw cursor.malformed("a positive integer");
}

function parseBranch(cursor: CommentCursor, source: string): BranchDirective["which"] {
  cursor.take(/misspeculate\b/y, "`misspeculate`");
  cursor.take(/\(/y, "`(`");
  const start = cursor.at;
  const text = cursor.takeIf(/.*(?=\)\s*$)/sy);
  if (text === undefined) {
    cursor.takeIf(/[^)]*/y);
    throw cursor.malformed("`)`");
  }
  const which = parseIterations(source, { start, end: cursor.at });
  cursor.take(/\)/y, "`)`");
  return which;
}
