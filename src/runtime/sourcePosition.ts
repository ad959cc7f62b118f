/** A place in a source, counted from 1 as editors do; columns count UTF-16 units. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** Where an offset lies in a source; WGSL's line breaks (specification section "Blankspace and line breaks"). */
export function sourcePosition(source: string, offset: number): SourcePosition {
  const lines = source.slice(0, offset).split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/);
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1 };
}
