import { lineAt } from "../../diagnostics/lines.ts";

/** A place in a source, counted from 1 as editors do. Columns count UTF-16 units. */
export interface SourcePosition {
  /** The line, from 1. */
  readonly line: number;
  /** The column, from 1. */
  readonly column: number;
}

/** Returns the position of an offset in a source. */
export function sourcePosition(source: string, offset: number): SourcePosition {
  const { line, start } = lineAt(source, offset);
  return { line, column: offset - start + 1 };
}
