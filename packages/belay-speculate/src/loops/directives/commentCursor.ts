import { type DirectiveRefusal, malformed } from "./refusal.ts";

/** A reader of a comment, word by word. */
export class CommentCursor {
  readonly #source: string;
  readonly #end: number;
  at: number;

  constructor(source: string, start: number, end: number) {
    this.#source = source.slice(0, end);
    this.#end = end;
    this.at = start;
  }

  /**
   * Takes the text that the sticky pattern matches, after blanks. Throws a diagnostic that
   * `expected` is missing.
   */
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

  malformed(expected: string): DirectiveRefusal {
    const found = /\s*(?<word>[\p{ID_Continue}$]+|\S)?/uy;
    found.lastIndex = this.at;
    const word = found.exec(this.#source)?.groups?.word;
    const end = found.lastIndex || this.at;
    const start = word === undefined ? Math.min(this.at, this.#end) : end - word.length;
    return malformed(expected, word === undefined ? "its end" : `\`${word}\``, {
      start,
      end: Math.max(end, start + 1),
    });
  }

  get isAtEnd(): boolean {
    return this.#source.slice(this.at).trim() === "";
  }
}
