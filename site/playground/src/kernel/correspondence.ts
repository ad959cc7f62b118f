/** The lines of a protected kernel, and the lines of the source that they come from. */
import type { Diagnostic, ProtectOptions, ProtectResult } from "belay-gpu";
import { protectInPasses } from "belay-gpu/internal/compiler/protect";
import { type AnyNode, children, type Module, parse } from "belay-gpu/wgsl";

/**
 * The origin of a line: the program's own text, a comparison of what the program stores, or other
 * text that protection added.
 */
export type Origin = "own" | "check" | "added";

/** One line of the protected kernel. */
export interface ProtectedLine {
  readonly text: string;
  readonly origin: Origin;
  /** The lines of the source that this line comes from, counted from 0. */
  readonly from: readonly number[];
}

/** A protected kernel with its correspondence to the source. */
export interface Correspondence {
  readonly lines: readonly ProtectedLine[];
  readonly diagnostics: readonly Diagnostic[];
  readonly checks: ProtectResult["checks"];
  readonly entryPoints: ProtectResult["entryPoints"];
}

/** Protects a kernel, and finds which lines correspond to each other. */
export function correspond(source: string, options: ProtectOptions): Correspondence {
  const { result, passes } = protectInPasses(source, options, { records: true });
  const { code, diagnostics, checks, entryPoints } = result;
  const texts = code.trimEnd().split("\n");
  const module = passes.at(-1)?.module;
  const isChanged = module !== undefined && code !== source;
  const origins = isChanged ? originsOf(module, code, lineFinder(source)) : undefined;
  const lines = texts.map((text, line): ProtectedLine => {
    if (!origins) return { text, origin: "own", from: [line] };
    const from = [...(origins.get(line) ?? [])].sort((a, b) => a - b);
    const origin = from.length === 0 ? "added" : isCheck(text) ? "check" : "own";
    return { text, origin: text.trim() === "" ? "own" : origin, from };
  });
  return { lines: closeBraces(lines), diagnostics, checks, entryPoints };
}

/** Returns true if a line belongs to a comparison of replicas. */
const isCheck = (text: string) =>
  /belay_(agree|signature|tally|weight|fold|conclude|commit|arriv|replica == )/.test(text);

/**
 * Returns the lines of the source for each line of the printed module. The printed text has the
 * same tree as the module, whose nodes still have their places in the source.
 */
function originsOf(
  module: Module,
  code: string,
  lineOf: (offset: number) => number,
): ReadonlyMap<number, ReadonlySet<number>> {
  const origins = new Map<number, Set<number>>();
  const lineInCode = lineFinder(code);
  const visit = (node: AnyNode, printed: AnyNode): void => {
    if (node.kind !== "module" && node.kind !== "block" && node.span.end > node.span.start) {
      const line = lineInCode(printed.span.start);
      const known = origins.get(line) ?? new Set();
      origins.set(line, known.add(lineOf(node.span.start)));
    }
    const inner = children(printed);
    for (const [place, child] of children(node).entries()) visit(child, inner[place]!);
  };
  visit(module, parse(code).module);
  return origins;
}

/** Gives a line with nothing but closing braces the origin of the line that opened them. */
function closeBraces(lines: readonly ProtectedLine[]): ProtectedLine[] {
  const open: Origin[] = [];
  return lines.map((line) => {
    const isClosing = /^\s*\}/.test(line.text);
    const opened = isClosing ? open.pop() : undefined;
    if (line.text.endsWith("{")) open.push(line.origin);
    return isClosing && opened && line.from.length === 0 ? { ...line, origin: opened } : line;
  });
}

/** Returns a function from an offset in a text to its line, counted from 0. */
export function lineFinder(text: string): (offset: number) => number {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  };
}
