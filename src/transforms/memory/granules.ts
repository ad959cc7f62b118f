/** The functions that load and store checked granules, and what they need. */
import type { MemoryScheme } from "../../codes/scheme.ts";
import type { Declaration, GlobalVariable } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../names.ts";
import { asIs, type CheckedVariable, type GranuleWords, unitOf, wordsType } from "./checkedVariable.ts";
import { type ArenaAccess, CheckWords, type CheckWordsOptions } from "./checkWords.ts";
import { Findings, type LoadKind } from "./findings.ts";
import { Library } from "./library.ts";
import { Lines } from "./lines.ts";

/** Makes each function when it is first asked for. */
export class Granules {
  readonly #names: Names;
  readonly #library: Library;
  readonly findings: Findings;
  readonly checkWords: CheckWords;
  readonly lines: Lines;

  constructor(names: Names, options: CheckWordsOptions) {
    this.#names = names;
    this.#library = new Library();
    this.checkWords = new CheckWords(names, this.#library, options);
    this.findings = new Findings(names, this.#library, () => this.checkWords.table());
    const { checkWords, findings } = this;
    this.lines = new Lines(names, this.#library, {
      checkWords,
      findings,
      code: (scheme) => this.#code(scheme),
    });
  }

  get declarations(): Declaration[] {
    return this.#library.declarations;
  }

  /** Declares something else, once. */
  declare(name: string, make: (name: string) => readonly Declaration[]): string {
    return this.#library.make(this.#names.the(name), make);
  }

  /** The variable of granules, or of what lanes access, that stands for a variable of `bytes`, if that is known. */
  words(variable: GlobalVariable, checked: CheckedVariable, bytes: number): string {
    const { scheme, laneBytes } = checked;
    const name = this.#names.the(`${laneBytes ? "elements" : "granules"}_${variable.name}`);
    return this.#library.make(name, () => {
      const isUniform = spaceOf(variable) === "uniform";
      const type = isUniform
        ? `array<vec4<u32>, ${vectorsIn(bytes, scheme.granuleBytes)}>`
        : `array<${laneBytes ? "atomic<u32>" : wordsType(unitOf(checked))}>`;
      const [made] = quote(variable.span).declarations`var<private> ${name}: ${type};`;
      const { attributes, qualifiers } = variable;
      return [{ ...(made as GlobalVariable), attributes, qualifiers }];
    });
  }

  /** `fn(granule: u32) -> W`, or of a piece of a line. */
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

  /** The private variable of a granule or piece that is loaded once. */
  kept(checked: CheckedVariable, granule: string): string {
    return this.#library.make(
      this.#names.the(`kept_${checked.name}_${granule.slice(0, -1)}`),
      (kept) => quote().declarations`var<private> ${kept}: ${wordsType(unitOf(checked))};`,
    );
  }

  /** `fn(granule: u32, data: W)`, which stores the check word too; or of a piece. */
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

  /**
   * `fn(element: u32, data: W)`, which stores an element of a granule. Where lanes are there for all elements of their
   * granules, in order, they add up what each contributes to the check word. Others change it by what they change, and tell
   * of granules that do not fit their check words before. The words are exchanged, so that the changes of invocations that
   * store the same value to one word come out right as well.
   */
  storeLane(variable: CheckedVariable, words: GranuleWords): string {
    const { name, index, scheme, laneBytes = 4 } = variable;
    const code = this.#code(scheme);
    const lanes = scheme.granuleBytes / laneBytes;
    const parts = laneBytes === 4 ? ["data"] : ["data.x", "data.y"];
    const word = (i: number) => `${words.name}[element * ${parts.length}u + ${i}u]`;
    const contribution = (of: string) =>
      parts
        .map(
          (part, i) => `${code}contribution(place * ${parts.length}u + ${i}u, ${part.replace("data", of)})`,
        )
        .join(" ^ ");
    const all = Array.from(
      { length: scheme.granuleBytes / 4 },
      (_, i) => `atomicLoad(&${words.name}[granule * ${scheme.granuleBytes / 4}u + ${i}u])`,
    );
    const exchanged = parts.map((part, i) => `atomicExchange(&${word(i)}, ${part})`);
    const number = this.checkWords.numberOf(variable, "granule");
    const steps = lanes === 4 ? [1, 2] : [1];
    return this.#library.make(
      this.#names.the(`store_lane_${name}`),
      (store) => quote().declarations`fn ${store}(element: u32, data: ${wordsType(laneBytes)}) {
        let granule = element / ${lanes}u;
        let place = element % ${lanes}u;
        let lanes = subgroupBallot(true);
        let all_there = all((lanes & vec4<u32>(${lanes === 4 ? "0x11111111u" : "0x55555555u"})) * ${2 ** lanes - 1}u == lanes);
        let in_order = ${steps.map((step) => `(subgroupShuffleXor(element, ${step}u) == (element ^ ${step}u))`).join(" & ")};
        if (subgroupAll(all_there && in_order)) {
          var check = ${contribution("data")};
          ${steps.map((step) => `check ^= subgroupShuffleXor(check, ${step}u);`).join(" ")}
          ${parts.map((part, i) => `atomicStore(&${word(i)}, ${part});`).join(" ")}
          if (place == 0u) { ${this.checkWords.store("atomic", number, "check")} }
        } else {
          let syndrome = ${code}syndrome(${wordsType(scheme.granuleBytes)}(${all.join(", ")}), ${this.checkWords.load("atomic", number)});
          if (syndrome != 0u) { ${this.findings.suspect()}(${index}u, granule, syndrome); }
          let change = data ^ ${wordsType(laneBytes)}(${exchanged.join(", ")});
          ${this.checkWords.change(number, contribution("change"))}
        }
      }`,
    );
  }

  /** The prefix of a code's functions. */
  #code(scheme: MemoryScheme): string {
    return this.#library.make(
      this.#names.the(`${scheme.name}_`),
      (prefix) => quote().declarations`${scheme.wgsl(prefix)}`,
    );
  }

  /** The function that corrects a granule, without a branch, and notes what it found. */
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

/** The vectors that hold so many bytes in whole granules. */
function vectorsIn(bytes: number, granuleBytes: number): number {
  const unit = Math.max(16, granuleBytes);
  return (Math.ceil(bytes / unit) * unit) / 16;
}
