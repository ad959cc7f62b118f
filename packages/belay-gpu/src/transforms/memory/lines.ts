/**
 * Lines: granules whose pieces neighboring lanes of a subgroup access together. Every code is
 * linear, so the check word of a line is the sum of its pieces' contributions (`LineSums`). A lane
 * without such neighbors works alone.
 */
import type { MemoryScheme } from "../../ecc/scheme.ts";
import { quote } from "../../wgsl/quote.ts";
import { memoryStatus } from "../redundancy/reportBuffer.ts";
import type { Names } from "../shared/names.ts";
import { asIs, type CheckedVariable, type GranuleWords, wordsType } from "./checkedVariable.ts";
import type { ArenaAccess, CheckWords } from "./checkWords.ts";
import type { FindingFunctions, LoadKind } from "./findingFunctions.ts";
import type { GeneratedDeclarations } from "./generatedDeclarations.ts";

/** The functions that those of lines call. */
export interface LinesOptions {
  readonly checkWords: CheckWords;
  readonly findings: FindingFunctions;
  /** Returns the prefix of a code's functions. */
  readonly code: (scheme: MemoryScheme) => string;
}

/** The functions of lines in one module, each generated on first use. */
export class Lines {
  readonly #names: Names;
  readonly #library: GeneratedDeclarations;
  readonly #options: LinesOptions;

  constructor(names: Names, library: GeneratedDeclarations, options: LinesOptions) {
    this.#names = names;
    this.#library = library;
    this.#options = options;
  }

  /** Returns the contribution of a piece to its line's check word, as WGSL. */
  contribution(variable: CheckedVariable, piece: string, data: string): string {
    const { pieces, bytes, code } = this.#lineOf(variable);
    const rank = `${piece} % ${pieces}u`;
    if (bytes === 16) return `${code}quad(${rank}, ${data})`;
    if (bytes === 4) return `${code}contribution(${rank}, ${data})`;
    const word = (i: number) => `${code}contribution(2u * (${rank}) + ${i}u, ${data}.${"xy"[i]})`;
    return `(${word(0)} ^ ${word(1)})`;
  }

  /** Returns the index in the arena of the check word of a piece's line, as WGSL. */
  checkNumber(variable: CheckedVariable, piece: string): string {
    return this.#options.checkWords.numberOf(variable, `${piece} / ${this.#lineOf(variable).pieces}u`);
  }

  /**
   * Returns `fn(piece: u32) -> W`, by which a lane alone loads a piece and reads the whole line.
   */
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

  /**
   * Returns `fn(piece: u32) -> W`: the corrected piece before a part of it is stored, for a lane
   * alone.
   */
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

  /**
   * Returns `fn(data: W, piece: u32, syndrome: u32) -> W`, which corrects a piece and notes the
   * error.
   */
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
   * Returns `fn(piece: u32, syndrome: u32) -> W`: the wrong bits of a piece, as far as the line's
   * syndrome identifies them.
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
   * Returns `fn(own: u32, data: W) -> u32`: the syndrome of a line of which the lane has loaded a
   * piece.
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
   * Returns `fn(piece: u32, data: W)`, by which a lane alone stores a piece. It adds the change of
   * the piece to the check word.
   *
   * After all stores, a line's syndrome is its previous one plus that of each error that a store
   * replaced. There the data is right but the check word is wrong. So a lane excludes the errors of
   * its own piece from the change. It leaves those of other pieces. Each piece is stored at most
   * once, so each replaced error is excluded exactly once.
   *
   * Other lanes may have stored their data and not yet changed the check word. The syndrome that a
   * lane sees may then fit no single error or, by accident, one in its own piece. The lane reports
   * both cases. A correction made before the epoch has been scrubbed is not trusted
   * (`EpochReports`).
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
