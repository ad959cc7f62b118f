import { transformSync } from "@swc/wasm-typescript";

/**
 * Turns TypeScript into JavaScript by replacing types with blanks, so that positions stay. Node.js
 * does the same with the same library from version 22.18 on. Throws a `SyntaxError` for syntax that
 * is more than types, such as enums, and for a file that does not parse.
 */
export function eraseTypes(source: string, filename: string): string {
  try {
    return transformSync(source, { mode: "strip-only", filename }).code;
  } catch (error) {
    const { message, startLine, startColumn } = error as Failure;
    throw new SyntaxError(`${filename}:${startLine}:${startColumn + 1}: ${message}`, { cause: error });
  }
}

/** The object that `transformSync` throws, which is no `Error`. Columns count from 0. */
interface Failure {
  readonly message: string;
  readonly startLine: number;
  readonly startColumn: number;
}
