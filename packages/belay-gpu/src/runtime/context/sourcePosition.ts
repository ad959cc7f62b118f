import { lineAt } from "../../diagnostics/lines.ts";

/** A place in a source, counted from 1 as editors do; columns count UTF-16 units. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** Where an offset lies in a source. */
export function sourcePosition(source: string, offset: number): SourcePosition {
  const { line, start } = lineAt(source, offset);
  return { line, column: offset - start + 1 };
}
