/**
 * Lines: granules that neighbouring lanes of a subgroup access together, each a piece. Every code is linear, so the check word of a
 * line is the sum of what its pieces contribute (`LineSums`). A lane that has no neighbours at its side does all alone.
 */
import type { MemoryScheme } from "../../codes/scheme.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../names.ts";
import { asIs, type CheckedVariable, type GranuleWords, wordsType } from "./checkedVariable.ts";
import type { ArenaAccess, CheckWords } from "./checkWords.ts";
import type { Findings, LoadKind } from "./findings.ts";
import type { Library } from "./library.ts";

export interface LinesOptions {
  readonly checkWords: CheckWords;
  readonly findings: Findings;
  /** The prefix of a code's functions. */
  readonly code: (scheme: MemoryScheme) => string;
}

export class Lines {
  readonly #names: Names;
  readonly #library: Library;
  readonly #options: LinesOptions;

  constructor(names: Names, library: Library, options: LinesOptions) {
    this.#names = names;
    this.#library = library;
    this.#options = options;
  }

  /** WGSL for what a piece of a line contributes to its check word. */
  contribution(variable: CheckedVariable, piece: string, data: string): string {
    const { pieces, bytes, code } = this.#lineOf(variable);
    const rank = `${piece} % ${pieces}u`;
    if (bytes === 16) return `${code}quad(${rank}, ${data})`;
    if (bytes === 4) return `${code}contribution(${rank}, ${data})`;
    const word = (i: number) => `${code}contribution(2u * (${rank}) + ${i}u, ${data}.${"xy"[i]})`;
    return `(${word(0)} ^ ${word(1)})`;
  }

  /** Where in the arena the check word of the line of a piece is, as WGSL. */
  checkNumber(variable: CheckedVariable, piece: string): string {
    return this.#options.checkWords.numberOf(variable, `${piece} / ${this.#lineOf(variable).pieces}u`);
  }

  /** `fn(piece: u32) -> W`, for a lane that loads all of the line itself. */
  load(variable: CheckedVariable, words: GranuleWords, arena: ArenaAccess, kind: LoadKind): string {
    const { pieces, bytes } = this.#lineOf(variable);
    const { findings } = this.#options;
    const found = `${variable.index}u, line, syndrome`;
    return this.#library.make(
      this.#names.the(`${kind}_${variable.name}_${arena}`),
      (name) => quote().declarations`fn ${name}(piece: u32) -> ${wordsType(bytes)} {
        let line = piece / ${pieces}u;
        let data = ${asIs(variable, words, "piece")};
        let syndrome = ${this.#syndrome(variable, words, arena)};
        ${findings.reaction(kind, found, () => `${this.#repaired(variable)}(data, piece, syndrome)`)}
      }`,
    );
  }

  /** `fn(data: W, piece: u32, syndrome: u32) -> W`, which notes what it found. */
  #repaired(variable: CheckedVariable): string {
    const { pieces, bytes, code } = this.#lineOf(variable);
    const type = wordsType(bytes);
    this.#library.make(
      this.#names.the(`${variable.scheme.name}_parts`),
      () => quote().declarations`${variable.scheme.wgslOfParts(code)}`,
    );
    const found = `${variable.index}u, piece / ${pieces}u, syndrome`;
    const wrong = Array.from({ length: bytes / 4 }, (_, i) => `${code}wrong(first + ${i}u, syndrome)`);
    return this.#library.make(
      this.#names.the(`repaired_piece_of_${variable.name}`),
      (name) => quote().declarations`fn ${name}(data: ${type}, piece: u32, syndrome: u32) -> ${type} {
        let first = piece % ${pieces}u * ${bytes / 4}u;
        ${this.#options.findings.note()}(${code}status(syndrome), ${found});
        return data ^ ${type}(${wrong.join(", ")});
      }`,
    );
  }

  /** WGSL for the syndrome of the line of the number `line`. */
  #syndrome(variable: CheckedVariable, words: GranuleWords, arena: ArenaAccess): string {
    const { pieces } = this.#lineOf(variable);
    const { checkWords } = this.#options;
    const whole = this.#library.make(
      this.#names.the(`sum_of_${variable.name}`),
      (name) => quote().declarations`fn ${name}(line: u32) -> u32 {
        var sum = 0u;
        for (var piece = line * ${pieces}u; piece < (line + 1u) * ${pieces}u; piece++) {
          sum ^= ${this.contribution(variable, "piece", asIs(variable, words, "piece"))};
        }
        return sum;
      }`,
    );
    return `${whole}(line) ^ ${checkWords.load(arena, checkWords.numberOf(variable, "line"))}`;
  }

  /**
   * `fn(piece: u32, data: W)`, for a lane that is alone: it changes the check word by what it changes, and tells of a line that does
   * not fit its check word before.
   */
  store(variable: CheckedVariable, words: GranuleWords): string {
    const { pieces, bytes } = this.#lineOf(variable);
    const { checkWords, findings } = this.#options;
    const number = checkWords.numberOf(variable, "line");
    return this.#library.make(
      this.#names.the(`store_${variable.name}`),
      (name) => quote().declarations`fn ${name}(piece: u32, data: ${wordsType(bytes)}) {
        let line = piece / ${pieces}u;
        let syndrome = ${this.#syndrome(variable, words, "atomic")};
        if (syndrome != 0u) { ${findings.suspect()}(${variable.index}u, line, syndrome); }
        let change = data ^ ${words.name}[piece];
        ${words.name}[piece] = data;
        ${checkWords.change(number, this.contribution(variable, "piece", "change"))}
      }`,
    );
  }

  #lineOf({ scheme, pieceBytes: bytes }: CheckedVariable) {
    if (!bytes) throw new Error("a granule has no pieces");
    return { bytes, pieces: scheme.granuleBytes / bytes, code: this.#options.code(scheme) };
  }
}
