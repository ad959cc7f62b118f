/** The functions that load and store checked granules, and the declarations that they use. */
import type { MemoryScheme } from "../../ecc/scheme.ts";
import type { Declaration, GlobalVariable } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";
import { asIs, type CheckedVariable, type GranuleWords, unitOf, wordsType } from "./checkedVariable.ts";
import { type ArenaAccess, CheckWords, type CheckWordsOptions } from "./checkWords.ts";
import { FindingFunctions, type LoadKind } from "./findingFunctions.ts";
import { GeneratedDeclarations } from "./generatedDeclarations.ts";
import { LineSums } from "./lineSums.ts";
import { Lines } from "./lines.ts";

/** The functions of one module, each generated on first use. Methods return names. */
export class GranuleFunctions {
  readonly #names: Names;
  readonly #library: GeneratedDeclarations;
  readonly findings: FindingFunctions;
  readonly checkWords: CheckWords;
  readonly lines: Lines;
  readonly sums: LineSums;

  constructor(names: Names, options: CheckWordsOptions) {
    this.#names = names;
    this.#library = new GeneratedDeclarations();
    this.checkWords = new CheckWords(names, this.#library, options);
    this.findings = new FindingFunctions(names, this.#library, () => this.checkWords.table());
    const { checkWords, findings } = this;
    this.sums = new LineSums(names, this.#library, checkWords);
    this.lines = new Lines(names, this.#library, {
      checkWords,
      findings,
      code: (scheme) => this.#code(scheme),
    });
  }

  get declarations(): Declaration[] {
    return this.#library.declarations;
  }

  /** Declares something else once, and returns its name. */
  declare(name: string, make: (name: string) => readonly Declaration[]): string {
    return this.#library.make(this.#names.the(name), make);
  }

  /**
   * Returns the variable of granules, or of pieces, that replaces a variable. `bytes` is the size
   * of the variable, if it is known.
   */
  words(variable: GlobalVariable, checked: CheckedVariable, bytes: number): string {
    const name = this.#names.the(`granules_${variable.name}`);
    return this.#library.make(name, () => {
      const isUniform = spaceOf(variable) === "uniform";
      const type = isUniform
        ? `array<vec4<u32>, ${vectorsIn(bytes, checked.scheme.granuleBytes)}>`
        : `array<${wordsType(unitOf(checked))}>`;
      const [made] = quote(variable.span).declarations`var<private> ${name}: ${type};`;
      const { attributes, qualifiers } = variable;
      return [{ ...(made as GlobalVariable), attributes, qualifiers }];
    });
  }

  /** Returns `fn(granule: u32) -> W`, which loads a granule or, for lines, a piece. */
  load(variable: CheckedVariable, words: GranuleWords, arena: ArenaAccess, kind: LoadKind): string {
    if (variable.pieceBytes) return this.lines.load(variable, words, arena, kind);
    const { index, scheme } = variable;
    const load = this.#names.the(`${kind}_${variable.name}_${arena}`);
    return this.#library.make(load, () => {
      const type = wordsType(scheme.granuleBytes);
      const found = `${index}u, granule, syndrome`;
      const check = this.checkWords.load(arena, this.checkWords.numberOf(variable, "granule"));
      return quote().declarations`fn ${load}(granule: u32) -> ${type} {
        let data = ${asIs(variable, words, "granule")};
        let syndrome = ${this.#code(scheme)}syndrome(data, ${check});
        ${this.findings.reaction(kind, found, () => `${this.#repaired(scheme)}(data, ${found})`)}
      }`;
    });
  }

  /** Returns the private variable of a granule or piece that is loaded once. */
  kept(checked: CheckedVariable, granule: string): string {
    return this.#library.make(
      this.#names.the(`kept_${checked.name}_${granule.slice(0, -1)}`),
      (kept) => quote().declarations`var<private> ${kept}: ${wordsType(unitOf(checked))};`,
    );
  }

  /**
   * Returns `fn(granule: u32, data: W)`, which stores a granule and its check word or, for lines, a
   * piece.
   */
  store(variable: CheckedVariable, words: GranuleWords, arena: ArenaAccess): string {
    if (variable.pieceBytes) return this.lines.store(variable, words);
    const { name, scheme } = variable;
    const store = this.#names.the(`store_${name}_${arena}`);
    return this.#library.make(store, () => {
      const check = `${this.#code(scheme)}encode(data)`;
      return quote().declarations`fn ${store}(granule: u32, data: ${wordsType(scheme.granuleBytes)}) {
        ${words.name}[granule] = data;
        ${this.checkWords.store(arena, this.checkWords.numberOf(variable, "granule"), check)}
      }`;
    });
  }

  /** Returns the prefix of a code's functions. */
  #code(scheme: MemoryScheme): string {
    return this.#library.make(
      this.#names.the(`${scheme.name}_`),
      (prefix) => quote().declarations`${scheme.wgsl(prefix)}`,
    );
  }

  /** Returns the function that corrects a granule without a branch, and notes the error. */
  #repaired(scheme: MemoryScheme): string {
    const code = this.#code(scheme);
    const type = wordsType(scheme.granuleBytes);
    return this.#library.make(
      this.#names.the(`repaired_${scheme.name}`),
      (name) => quote().declarations`
        fn ${name}(data: ${type}, binding: u32, granule: u32, syndrome: u32) -> ${type} {
          let result = ${code}correct(data, syndrome);
          ${this.findings.note()}(result.status, binding, granule, syndrome);
          return result.data;
        }`,
    );
  }
}

const spaceOf = ({ qualifiers: [space] }: GlobalVariable) => space?.kind === "identifier" && space.name;

/** Returns the number of vectors that hold `bytes` bytes in whole granules. */
function vectorsIn(bytes: number, granuleBytes: number): number {
  const unit = Math.max(16, granuleBytes);
  return (Math.ceil(bytes / unit) * unit) / 16;
}
