import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";
import { type Expression, parseSync } from "oxc-parser";
import { CommentCursor } from "./commentCursor.ts";
import { type BranchDirective, type DirectiveBound, largest } from "./directive.ts";
import { malformed } from "./refusal.ts";

type Item = BranchDirective["which"][number];

/**
 * Parses a list of iterations in a part of the source. `+1` is the next iteration, `10` the one
 * with this index. `5:10` and `+0:+4` are ranges. `+0:20` goes from this iteration to the one with
 * index 20, and `+1:` has no end.
 */
export function parseIterations(source: string, { start, end }: Span): BranchDirective["which"] {
  const items: Item[] = [];
  for (const part of split(source, { start, end }, ",")) {
    const item = parseItem(source, part);
    const last = items.at(-1);
    if (item.kind === "relative" && last?.kind === "relative") {
      items[items.length - 1] = { kind: "relative", offsets: [...last.offsets, ...item.offsets] };
    } else items.push(item);
  }
  return items;
}

function parseItem(source: string, part: Span): Item {
  const [first, last, ...others] = split(source, part, ":");
  if (others.length > 0)
    throw malformed("`,`", "`:`", { start: others[0]!.start - 1, end: others[0]!.start });
  const from = parseBound(source, first!);
  if (!last) {
    return from.kind === "relative"
      ? { kind: "relative", offsets: [from.offset] }
      : { kind: "absolute", index: from.index };
  }
  const to = source.slice(last.start, last.end).trim() === "" ? null : parseBound(source, last);
  if (from.kind === "relative" && (to === null || to.kind === "relative")) {
    if (to && to.offset < from.offset) {
      throw malformed("an end that is not before the start of the range", quoted(source, last), last);
    }
    return { kind: "range", from: from.offset, to: to === null ? null : to.offset };
  }
  return { kind: "between", from, to };
}

function parseBound(source: string, span: Span): DirectiveBound {
  const cursor = new CommentCursor(source, span.start, span.end);
  const offset = cursor.takeIf(/[-+]\s*\d+/y);
  if (offset !== undefined && cursor.isAtEnd) {
    const value = Number(offset.replace(/\s/g, ""));
    if (Math.abs(value) <= largest) return { kind: "relative", offset: value === 0 ? 0 : value };
    throw malformed("an offset of at most 31 bits", quoted(source, span), span);
  }
  const index = parseExpression(source, span);
  if (index) return { kind: "absolute", index };
  const end = Math.max(span.end, span.start + 1);
  throw malformed(
    "an index such as `i + 3`, or offsets such as `+1`, `+0:+4`, `-1,+1`",
    quoted(source, span),
    { start: span.start, end },
  );
}

const quoted = (source: string, { start, end }: Span) => {
  const text = source.slice(start, end).trim();
  return text === "" ? "nothing" : `\`${text}\``;
};

/** Splits a span at separators outside of brackets, strings and `?:` choices. */
function split(source: string, { start, end }: Span, separator: "," | ":"): Span[] {
  const parts: Span[] = [];
  let [from, depth, choices] = [start, 0, 0];
  const token = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\?\?|\?\.|[\s\S]/g;
  for (const { 0: text, index } of source.slice(start, end).matchAll(token)) {
    if ("([{".includes(text)) depth++;
    else if (")]}".includes(text)) depth--;
    else if (text === "?") choices++;
    else if (text === ":" && depth === 0 && choices > 0) choices--;
    else if (text === separator && depth === 0) {
      parts.push({ start: from, end: start + index });
      from = start + index + 1;
    }
  }
  return [...parts, { start: from, end }];
}

/** Parses a part of the source as one expression, with positions in the source. */
function parseExpression(source: string, { start, end }: Span): Expression | undefined {
  const text = source.slice(start, end);
  if (text.trim() === "" || text.length > 1000) return undefined;
  const { program, errors } = parseSync("index.ts", text, { preserveParens: false });
  const [statement] = program.body;
  const isOne = errors.length === 0 && program.body.length === 1 && statement?.type === "ExpressionStatement";
  if (!isOne) return undefined;
  movePositions(statement.expression, start);
  return statement.expression;
}

/** Shifts all positions of a separately parsed tree. */
export function movePositions(part: unknown, by: number): void {
  if (typeof part !== "object" || part === null) return;
  const node: { start?: number; end?: number } = part;
  if (typeof node.start === "number") node.start += by;
  if (typeof node.end === "number") node.end += by;
  for (const child of Object.values(part)) movePositions(child, by);
}
