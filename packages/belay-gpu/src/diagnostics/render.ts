/** Renders diagnostics as text: the message, the place, and the source around it. */

import type { Diagnostic, Severity, Span } from "./diagnostic.ts";
import { type Line, lineAt } from "./lines.ts";
import { printable } from "./printable.ts";
import { labelOf } from "./registry.ts";

export interface RenderOptions {
  /** The name of the source. Default: `source`. */
  readonly file?: string;
  /** True to use terminal colors. Default false. */
  readonly color?: boolean;
}

/** Returns a function that puts text between two control sequences of a terminal. */
const between = (start: number, end: number) => (text: string) => `\u001b[${start}m${text}\u001b[${end}m`;
const plain = (text: string) => text;
const terminalColors = {
  bold: between(1, 22),
  red: between(31, 39),
  yellow: between(33, 39),
  blue: between(34, 39),
  cyan: between(36, 39),
};
const noColors: typeof terminalColors = { bold: plain, red: plain, yellow: plain, blue: plain, cyan: plain };

const tab = "    ";
/** The length of the longest piece of a line that is shown, in characters. */
const widest = 100;

/** Returns the line and column of an offset, both counted from 1. Columns count code points. */
export function lineAndColumn(source: string, offset: number): { line: number; column: number } {
  const { line, start } = lineAt(source, offset);
  return { line, column: [...source.slice(start, offset)].length + 1 };
}

/**
 * Renders a diagnostic as several lines, the last without a line break:
 *
 *     error[BELAY005 unexpected-token]: expected `;` after the statement, found `}`
 *      --> kernel.wgsl:3:12
 *       |
 *     3 |   let a = 1
 *       |            ^
 */
export function renderDiagnostic(
  diagnostic: Diagnostic,
  source: string,
  options: RenderOptions = {},
): string {
  const { code, severity, message, notes, help } = diagnostic;
  const span = clamp(diagnostic.span, source.length);
  const { bold, blue, ...colors } = options.color ? terminalColors : noColors;
  const paint = { error: colors.red, warning: colors.yellow, info: colors.cyan }[severity satisfies Severity];
  const first = lineAt(source, span.start);
  const last = lineAt(source, Math.max(span.start, span.end - 1));
  const { line, column } = lineAndColumn(source, span.start);

  const gutter = " ".repeat(String(last.line).length);
  const row = (mark: string, text: string) =>
    `${blue(`${mark.padStart(gutter.length)} |`)} ${text}`.trimEnd();
  const frame = [first, ...(last.line > first.line ? [last] : [])].flatMap((shown) => {
    const { text, underline } = excerpt(source, shown, span);
    return [row(String(shown.line), text), row("", paint(underline))];
  });
  if (last.line > first.line + 1) frame.splice(2, 0, blue("..."));
  return [
    `${paint(bold(`${severity}[${labelOf(code)}]`))}${bold(`: ${message}`)}`,
    `${gutter}${blue("-->")} ${options.file ?? "source"}:${line}:${column}`,
    row("", ""),
    ...frame,
    ...notes.map((note) => `${gutter} ${blue("=")} ${bold("note")}: ${note}`),
    ...(help === undefined ? [] : [`${gutter} ${blue("=")} ${bold("help")}: ${help}`]),
  ].join("\n");
}

function clamp({ start, end }: Span, length: number): Span {
  const first = Math.min(Math.max(start, 0), length);
  return { start: first, end: Math.min(Math.max(end, first), length) };
}

/** Returns a line, or the part of it around the start of the span, and the carets below it. */
function excerpt(source: string, line: Line, span: Span): { text: string; underline: string } {
  const from = Math.min(Math.max(span.start, line.start), line.end);
  const to = Math.min(Math.max(span.end, from), line.end);
  const before = [...source.slice(line.start, from)].map(shown);
  const marked = [...source.slice(from, to)].map(shown);
  const after = [...source.slice(to, line.end)].map(shown);

  const room = Math.max(widest - marked.join("").length, widest / 2);
  const clippedBefore = clipStart(before.join(""), Math.floor(room / 2));
  const clippedMarked = clipEnd(marked.join(""), widest);
  const clippedAfter = clippedMarked.endsWith("…") ? "" : clipEnd(after.join(""), Math.floor(room / 2));
  return {
    text: clippedBefore + clippedMarked + clippedAfter,
    underline: " ".repeat([...clippedBefore].length) + "^".repeat(Math.max(1, [...clippedMarked].length)),
  };
}

/** Returns a tab as spaces, so that carets align with the text above them. */
const shown = (character: string) => (character === "\t" ? tab : printable(character));

function clipStart(text: string, room: number): string {
  const characters = [...text];
  return characters.length > room ? `…${characters.slice(-room).join("")}` : text;
}

function clipEnd(text: string, room: number): string {
  const characters = [...text];
  return characters.length > room ? `${characters.slice(0, room).join("")}…` : text;
}
