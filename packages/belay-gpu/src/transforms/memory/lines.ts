/**
 * Lines: granules that neighbouring lanes of a subgroup access together, each a piece. Every code
 * is linear, so the check word of a line is the sum of what its pieces contribute (`LineSums`). A
 * lane that has no neighbours at its side does all alone.
 */
import type { MemoryScheme } from "../../codes/scheme.ts";
import { quote } from "../../wgsl/quote.ts";
import { memoryStatus } from "../redundancy/reportBuffer.ts";
import type { Names } from "../shared/names.ts";
import { asIs, type CheckedVariable, type GranuleWords, wordsType } from "./checkedVariable.ts";
import type { ArenaAccess, CheckWords } from "./checkWords.ts";
import type { FindingFunctions, LoadKind } from "./findingFunctions.ts";
import type { GeneratedDeclarations } from "./generatedDeclarations.ts";

export interface LinesOptions {
  readonly checkWords: CheckWords;
  readonly findings: FindingFunctions;
  /** The prefix of a code's functions. */
  readonly code: (scheme: MemoryScheme) => string;
}

export class Lines {
  readonly #names: Names;
  readonly #library: GeneratedDeclarations;
  readonly #options: LinesOptions;

  constructor(names: Names, library: GeneratedDeclarations, options: LinesOptions) {
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
    const found = `${variable.index}u, piece / ${pieces}u, syndrome`;
    return this.#library.make(
      this.#names.the(`${kind}_${variable.name}_${arena}`),
      (name) => quote().declarations`fn ${name}(piece: u32) -> ${wordsType(bytes)} {
        let data = ${asIs(variable, words, "piece")};
        let syndrome = ${this.#syndrome(variable, words, arena)}(piece, data);
        ${findings.reaction(kind, found, () => `${this.#repaired(variable)}(data, piece, syndrome)`)}
      }`,
    );
  }

  /** `fn(piece: u32) -> W`: the piece before a part of it is stored, for a lane that is alone. */
  old(variable: CheckedVariable, words: GranuleWords): string {
    const { bytes } = this.#lineOf(variable);
    return this.#library.make(
      this.#names.the(`old_${variable.name}`),
      (name) => quote().declarations`fn ${name}(piece: u32) -> ${wordsType(bytes)} {
        let data = ${asIs(variable, words, "piece")};
        return data ^ ${this.#wrong(variable)}(piece, ${this.#syndrome(variable, words, "atomic")}(piece, data));
      }`,
    );
  }

  /** `fn(data: W, piece: u32, syndrome: u32) -> W`, which notes what it found. */
  #repaired(variable: CheckedVariable): string {
    const { pieces, bytes, code } = this.#lineOf(variable);
    const type = wordsType(bytes);
    const wrong = this.#wrong(variable);
    const found = `${variable.index}u, piece / ${pieces}u, syndrome`;
    return this.#library.make(
      this.#names.the(`repaired_piece_of_${variable.name}`),
      (name) => quote().declarations`fn ${name}(data: ${type}, piece: u32, syndrome: u32) -> ${type} {
        ${this.#options.findings.note()}(${code}status(syndrome), ${found});
        return data ^ ${wrong}(piece, syndrome);
      }`,
    );
  }

  /**
   * `fn(piece: u32, syndrome: u32) -> W`: the bits of a piece that are wrong, as far as the
   * syndrome of its line tells.
   */
  #wrong(variable: CheckedVariable): string {
    const { pieces, bytes, code } = this.#lineOf(variable);
    this.#library.make(
      this.#names.the(`${variable.scheme.name}_parts`),
      () => quote().declarations`${variable.scheme.wgslOfParts(code)}`,
    );
    const type = wordsType(bytes);
    const wrong = Array.from({ length: bytes / 4 }, (_, i) => `${code}wrong(first + ${i}u, syndrome)`);
    return this.#library.make(
      this.#names.the(`wrong_in_piece_of_${variable.name}`),
      (name) => quote().declarations`fn ${name}(piece: u32, syndrome: u32) -> ${type} {
        let first = piece % ${pieces}u * ${bytes / 4}u;
        return ${type}(${wrong.join(", ")});
      }`,
    );
  }

  /**
   * `fn(own: u32, data: W) -> u32`: the syndrome of a line, of which the lane has loaded a piece.
   */
  #syndrome(variable: CheckedVariable, words: GranuleWords, arena: ArenaAccess): string {
    const { pieces, bytes } = this.#lineOf(variable);
    const { checkWords } = this.#options;
    return this.#library.make(
      this.#names.the(`syndrome_of_${variable.name}_${arena}`),
      (name) => quote().declarations`fn ${name}(own: u32, data: ${wordsType(bytes)}) -> u32 {
        let first = own / ${pieces}u * ${pieces}u;
        var sum = ${this.contribution(variable, "own", "data")};
        for (var piece = first; piece < first + ${pieces}u; piece++) {
          if (piece != own) { sum ^= ${this.contribution(variable, "piece", asIs(variable, words, "piece"))}; }
        }
        return sum ^ ${checkWords.load(arena, this.checkNumber(variable, "own"))};
      }`,
    );
  }

  /**
   * `fn(piece: u32, data: W)`, for a lane that is alone: it changes the check word by what it
   * changes.
   *
   * The syndrome of a line, once all stores to it are done, is what it was before, and that of each
   * error that a store has replaced: data is right then, and its check word is wrong. So a lane
   * takes the errors of its own piece out of the change. It leaves those of other pieces: each
   * piece is stored at most once, so no error is taken out twice, and none is forgotten.
   *
   * A lane may find others half way, with their data stored and the check word still to be changed.
   * The syndrome that it sees then may be of no single error, or by accident of one in its own
   * piece. It tells the host in both cases: a correction that is made before the epoch has been
   * scrubbed is not to be believed (`EpochReports`).
   */
  store(variable: CheckedVariable, words: GranuleWords): string {
    const { pieces, bytes, code } = this.#lineOf(variable);
    const { checkWords, findings } = this.#options;
    const wrong = this.#wrong(variable);
    return this.#library.make(
      this.#names.the(`store_${variable.name}`),
      (name) => quote().declarations`fn ${name}(piece: u32, data: ${wordsType(bytes)}) {
        let before = ${words.name}[piece];
        let syndrome = ${this.#syndrome(variable, words, "atomic")}(piece, before);
        var change = data ^ before;
        if (syndrome != 0u) {
          let wrong = ${wrong}(piece, syndrome);
          if (any(wrong != ${wordsType(bytes)}()) || ${code}status(syndrome) == ${memoryStatus.uncorrectable}u) {
            ${findings.suspect()}(${variable.index}u, piece / ${pieces}u, syndrome);
          }
          change ^= wrong;
        }
        ${words.name}[piece] = data;
        ${checkWords.change(this.checkNumber(variable, "piece"), this.contribution(variable, "piece", "change"))}
      }`,
    );
  }

  #lineOf({ scheme, pieceBytes: bytes }: CheckedVariable) {
    if (!bytes) throw new Error("a granule has no pieces");
    return { bytes, pieces: scheme.granuleBytes / bytes, code: this.#options.code(scheme) };
  }
}
