/** The line breaks of WGSL. Source: WGSL specification, "Blankspace and Line Breaks". */
const lineBreak = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g;

/**
 * A line of a source: its number from 1, and the offsets of its start and its end without the line
 * break.
 */
export interface Line {
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

/** Returns the line that contains an offset. */
export function lineAt(source: string, offset: number): Line {
  let line = 1;
  let start = 0;
  for (const {
    index,
    0: { length },
  } of source.matchAll(lineBreak)) {
    if (index + length > offset) return { line, start, end: index };
    line++;
    start = index + length;
  }
  return { line, start, end: source.length };
}
