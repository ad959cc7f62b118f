/** The functions that load and store checked granules, and what they need. */
import type { BindingPoint } from "../../analysis/bindings.ts";
import type { MemoryScheme } from "../../codes/scheme.ts";
import type { Declaration, GlobalVariable } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../names.ts";
import { memoryStatus } from "../reportBuffer.ts";
import { Findings } from "./findings.ts";
import { Library } from "./library.ts";
import { Lines, type PieceBytes, pieceOf, wholeLine, wordsType } from "./lines.ts";

/** A variable whose granules are checked. */
export interface CheckedVariable {
  /** Its name in the program. */
  readonly name: string;
  /** Its row in the table. */
  readonly index: number;
  readonly scheme: MemoryScheme;
  /** Set when it is stored by elements of so many bytes, for which lanes make check words together. */
  readonly laneBytes?: 4 | 8;
  /** Set when its granules are lines, of which lanes access pieces of so many bytes. */
  readonly pieceBytes?: PieceBytes;
}

/** Bytes that accesses are made of: a granule, or a piece of a line. */
export const unitOf = ({ scheme, pieceBytes }: CheckedVariable): number => pieceBytes ?? scheme.granuleBytes;

/** How a kernel accesses the arena: it loads check words, stores them too, or changes them by atomic operations. */
export type ArenaAccess = "read" | "read_write" | "atomic";

/**
 * How a granule is loaded: `"corrected"` and, if that was needed, told of; `"peeked"` at, its syndrome added to `bad` for
 * whoever looks there later; `"repaired"` then, for whoever tells of all that was together; or `"uniform"`, where WGSL
 * demands such a value: as it is, so that an error counts as one that can't be corrected.
 */
export type LoadKind = "corrected" | "peeked" | "repaired" | "uniform";

/** The variable of granules that stands for a buffer. */
export interface GranuleWords {
  readonly name: string;
  readonly isUniform: boolean;
}

export interface GranulesOptions {
  readonly arena: BindingPoint;
  readonly table: BindingPoint;
  /** Rows of the table. */
  readonly rows: number;
}

/** Makes each function when it is first asked for. */
export class Granules {
  readonly #names: Names;
  readonly #options: GranulesOptions;
  readonly #library: Library;
  readonly #lines: Lines;
  readonly findings: Findings;

  constructor(names: Names, options: GranulesOptions) {
    this.#names = names;
    this.#options = options;
    this.#library = new Library();
    this.#lines = new Lines(names, this.#library);
    this.findings = new Findings(names, this.#library, () => this.#table());
  }

  get declarations(): Declaration[] {
    return this.#library.declarations;
  }

  /** The variable that lines need to know the lane from. */
  lane(): string {
    return this.#lines.lane();
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

  /** The size of what is bound to a variable, as WGSL. */
  bytesOf({ index }: CheckedVariable): string {
    return `${this.#table()}[${index}].y`;
  }

  /** `fn(granule: u32) -> W`, or of a piece of a line, which lanes may look at together, in order. */
  load(
    variable: CheckedVariable,
    words: GranuleWords,
    arena: ArenaAccess,
    kind: LoadKind,
    together = false,
  ): string {
    if (variable.pieceBytes) {
      if (together && kind === "peeked") return this.#peekTogether(variable, words, arena);
      return this.#loadAlone(variable, words, arena, kind);
    }
    const { index, scheme } = variable;
    const load = this.#names.the(`${kind}_${variable.name}_${arena}`);
    return this.#library.make(load, () => {
      const type = wordsType(scheme.granuleBytes);
      const found = `${index}u, granule, syndrome`;
      return quote().declarations`fn ${load}(granule: u32) -> ${type} {
        let data = ${this.asIs(variable, words, "granule")};
        let syndrome = ${this.#code(scheme)}syndrome(data, ${this.check(variable, arena, "granule")});
        ${this.#reaction(kind, found, () => `${this.#repaired(scheme)}(data, ${found})`)}
      }`;
    });
  }

  /** The granule or piece as memory has it, as WGSL. */
  asIs(checked: CheckedVariable, { name, isUniform }: GranuleWords, granule: string): string {
    return isUniform ? uniformGranule(name, granule, unitOf(checked)) : `${name}[${granule}]`;
  }

  /** The private variable of a granule or piece that is loaded once. */
  kept(checked: CheckedVariable, granule: string): string {
    return this.#library.make(
      this.#names.the(`kept_${checked.name}_${granule.slice(0, -1)}`),
      (kept) => quote().declarations`var<private> ${kept}: ${wordsType(unitOf(checked))};`,
    );
  }

  /** For lanes that have the pieces of a line between them, in order; that others do not is bad, too. */
  #peekTogether(variable: CheckedVariable, words: GranuleWords, arena: ArenaAccess): string {
    const { pieces, bytes, code } = this.#lineOf(variable);
    return this.#library.make(
      this.#names.the(`peeked_${variable.name}_${arena}_together`),
      (name) => quote().declarations`fn ${name}(piece: u32) -> ${wordsType(bytes)} {
        let data = ${this.asIs(variable, words, "piece")};
        var syndrome = ${this.#lines.contribution(code, bytes, `(piece % ${pieces}u)`, "data")};
        ${this.#lines.summed("syndrome", pieces)}
        syndrome ^= ${this.check(variable, arena, `piece / ${pieces}u`)};
        ${this.findings.bad()} |= select(1u, syndrome, ${this.#lines.inOrder(pieces)}(piece));
        return data;
      }`,
    );
  }

  /** For a lane that loads all of the line itself. */
  #loadAlone(variable: CheckedVariable, words: GranuleWords, arena: ArenaAccess, kind: LoadKind): string {
    const { pieces, bytes, code } = this.#lineOf(variable);
    const type = wordsType(bytes);
    const whole = wholeLine(variable.scheme, bytes, (i) =>
      this.asIs(variable, words, `(line * ${pieces}u + ${i}u)`),
    );
    const repaired = () =>
      this.#library.make(
        this.#names.the(`repaired_${variable.name}_lines_${arena}`),
        (name) => quote().declarations`fn ${name}(line: u32, rank: u32, syndrome: u32) -> ${type} {
          let result = ${code}correct(${whole}, syndrome);
          ${this.findings.note()}(result.status, ${variable.index}u, line, syndrome);
          return ${pieceOf("result.data", variable.scheme, bytes, "rank")};
        }`,
      );
    const found = `${variable.index}u, line, syndrome`;
    return this.#library.make(
      this.#names.the(`${kind}_${variable.name}_${arena}`),
      (name) => quote().declarations`fn ${name}(piece: u32) -> ${type} {
        let line = piece / ${pieces}u;
        let data = ${this.asIs(variable, words, "piece")};
        let syndrome = ${code}syndrome(${whole}, ${this.check(variable, arena, "line")});
        ${this.#reaction(kind, found, () => `${repaired()}(line, piece % ${pieces}u, syndrome)`)}
      }`,
    );
  }

  /**
   * `fn(piece: u32, data: W)`. Where lanes are there for all pieces of their lines, in order, they add up what each contributes to
   * the check word. Others change it by what they change, and tell of lines that do not fit their check words before.
   */
  #storePiece(variable: CheckedVariable, words: GranuleWords): string {
    const { pieces, bytes, code } = this.#lineOf(variable);
    const whole = wholeLine(variable.scheme, bytes, (i) =>
      this.asIs(variable, words, `(line * ${pieces}u + ${i}u)`),
    );
    const check = this.#place(variable, "atomic", "line");
    return this.#library.make(
      this.#names.the(`store_${variable.name}`),
      (name) => quote().declarations`fn ${name}(piece: u32, data: ${wordsType(bytes)}) {
        let line = piece / ${pieces}u;
        let rank = piece % ${pieces}u;
        if (${this.#lines.inOrder(pieces)}(piece)) {
          var check = ${this.#lines.contribution(code, bytes, "rank", "data")};
          ${this.#lines.summed("check", pieces)}
          ${words.name}[piece] = data;
          if (rank == 0u) { atomicStore(&${check}, check); }
        } else {
          let syndrome = ${code}syndrome(${whole}, atomicLoad(&${check}));
          if (syndrome != 0u) { ${this.findings.suspect()}(${variable.index}u, line, syndrome); }
          let change = data ^ ${words.name}[piece];
          ${words.name}[piece] = data;
          atomicXor(&${check}, ${this.#lines.contribution(code, bytes, "rank", "change")});
        }
      }`,
    );
  }

  #lineOf({ scheme, pieceBytes: bytes }: CheckedVariable) {
    if (!bytes) throw new Error("a granule has no pieces");
    return { bytes, pieces: scheme.granuleBytes / bytes, code: this.#code(scheme) };
  }

  /** `fn(granule: u32, data: W)`, which stores the check word too; or of a piece. */
  store(variable: CheckedVariable, words: GranuleWords, arena: ArenaAccess): string {
    if (variable.pieceBytes) return this.#storePiece(variable, words);
    const { name, scheme } = variable;
    const store = this.#names.the(`store_${name}_${arena}`);
    return this.#library.make(store, () => {
      const check = `${this.#code(scheme)}encode(data)`;
      const at = this.#place(variable, arena, "granule");
      return quote().declarations`fn ${store}(granule: u32, data: ${wordsType(scheme.granuleBytes)}) {
        ${words.name}[granule] = data;
        ${arena === "atomic" ? `atomicStore(&${at}, ${check});` : `${at} = ${check};`}
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
    const check = this.#place(variable, "atomic", "granule");
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
          if (place == 0u) { atomicStore(&${check}, check); }
        } else {
          let syndrome = ${code}syndrome(${wordsType(scheme.granuleBytes)}(${all.join(", ")}), atomicLoad(&${check}));
          if (syndrome != 0u) { ${this.findings.suspect()}(${index}u, granule, syndrome); }
          let change = data ^ ${wordsType(laneBytes)}(${exchanged.join(", ")});
          atomicXor(&${check}, ${contribution("change")});
        }
      }`,
    );
  }

  /** The check word of a granule, as WGSL. */
  check(variable: CheckedVariable, arena: ArenaAccess, granule: string): string {
    const place = this.#place(variable, arena, granule);
    return arena === "atomic" ? `atomicLoad(&${place})` : place;
  }

  #place({ index }: CheckedVariable, access: ArenaAccess, granule: string): string {
    const { group, binding } = this.#options.arena;
    const arena = this.#names.the(`check_words_${access}`);
    this.#library.make(arena, () => {
      const [qualifier, element] = access === "atomic" ? ["read_write", "atomic<u32>"] : [access, "u32"];
      return quote().declarations`
        @group(${group}) @binding(${binding}) var<storage, ${qualifier}> ${arena}: array<${element}>;`;
    });
    return `${arena}[${this.#table()}[${index}].x + ${granule}]`;
  }

  #table(): string {
    const { table, rows } = this.#options;
    return this.#library.make(
      this.#names.the("check_table"),
      (name) => quote().declarations`
        @group(${table.group}) @binding(${table.binding}) var<uniform> ${name}: array<vec4<u32>, ${rows}>;`,
    );
  }

  /** The prefix of a code's functions. */
  #code(scheme: MemoryScheme): string {
    return this.#library.make(
      this.#names.the(`${scheme.name}_`),
      (prefix) => quote().declarations`${scheme.wgsl(prefix)}`,
    );
  }

  /** What a load does about its syndrome, and returns. */
  #reaction(kind: LoadKind, found: string, repaired: () => string): string {
    switch (kind) {
      case "peeked":
        return `${this.findings.bad()} |= syndrome; return data;`;
      case "repaired":
        return `return ${repaired()};`;
      case "corrected":
        return `if (syndrome == 0u) { return data; } let right = ${repaired()}; ${this.findings.tell()}(); return right;`;
      case "uniform":
        return `if (syndrome != 0u) { ${this.findings.note()}(${memoryStatus.uncorrectable}u, ${found}); ${this.findings.tell()}(); } return data;`;
    }
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

/** A granule of a uniform buffer, whose arrays have elements of 16 bytes. */
function uniformGranule(words: string, granule: string, granuleBytes: number): string {
  if (granuleBytes === 16) return `${words}[${granule}]`;
  if (granuleBytes === 4) return `${words}[${granule} / 4u][${granule} % 4u]`;
  const pair = `${words}[${granule} / 2u]`;
  return `select(${pair}.zw, ${pair}.xy, ${granule} % 2u == 0u)`;
}
