/** What kernels find wrong in memory, and how they tell the host. */
import { quote } from "../../wgsl/quote.ts";
import { memoryStatus, reportWords } from "../redundancy/reportBuffer.ts";
import type { Names } from "../shared/names.ts";
import type { GeneratedDeclarations } from "./generatedDeclarations.ts";

/**
 * How a granule is loaded: `"corrected"` and, if that was needed, told of; `"peeked"` at, its
 * syndrome added to `bad` for whoever looks there later; `"repaired"` then, for whoever tells of
 * all that was together; or `"uniform"`, where WGSL demands such a value: as it is, so that an
 * error counts as one that can't be corrected.
 */
export type LoadKind = "corrected" | "peeked" | "repaired" | "uniform";

/** Each method but `reaction` gives the name of what it declares. */
export class FindingFunctions {
  readonly #names: Names;
  readonly #library: GeneratedDeclarations;

  /** Declares the table of bindings. */
  readonly #table: () => string;

  constructor(names: Names, library: GeneratedDeclarations, table: () => string) {
    this.#names = names;
    this.#library = library;
    this.#table = table;
  }

  /** The syndromes so far of what was peeked at, together. */
  bad(): string {
    return this.#library.make(
      this.#names.the("bad"),
      (name) => quote().declarations`var<private> ${name}: u32;`,
    );
  }

  /**
   * The function that notes a finding, unless the status is 0; of several, the last one stands for
   * all in the records.
   */
  note(): string {
    const { corrected, uncorrectable } = memoryStatus;
    return this.#library.make(
      this.#names.the("note"),
      (name) => quote().declarations`
        fn ${name}(status: u32, binding: u32, granule: u32, syndrome: u32) {
          let found = status != 0u;
          ${this.#counts()} += vec2<u32>(u32(status == ${corrected}u), u32(status == ${uncorrectable}u));
          ${this.#finding()} = select(${this.#finding()}, vec3<u32>(binding, granule, syndrome), found);
        }`,
    );
  }

  /** The function that tells the host what was noted. */
  tell(): string {
    const report = this.#names.the("report");
    const [counts, finding] = [this.#counts(), this.#finding()];
    return this.#library.make(
      this.#names.the("tell"),
      (name) => quote().declarations`
        fn ${name}() {
          if (${this.#names.the("replica")} == 0u) {
            let first = vec2<u32>(
              atomicAdd(&${report}.findings[0], ${counts}.x), atomicAdd(&${report}.findings[1], ${counts}.y));
            for (var list = 0u; list < 2u; list++) {
              for (var at = first[list]; at < min(first[list] + ${counts}[list], ${reportWords.memoryRecordCapacity}u); at++) {
                ${report}.memory_records[list][at] = array<u32, 4>(
                  ${finding}.x, ${finding}.y, ${finding}.z, ${this.#table()}[${finding}.x].x);
              }
            }
          }
          ${counts} = vec2<u32>();
        }`,
    );
  }

  /**
   * The function that tells the host of a granule that does not fit its check word before a part of
   * it is stored.
   */
  suspect(): string {
    const report = this.#names.the("report");
    const list = memoryStatus.suspect - 1;
    return this.#library.make(
      this.#names.the("suspect"),
      (name) => quote().declarations`
        fn ${name}(binding: u32, granule: u32, syndrome: u32) {
          let at = atomicAdd(&${report}.findings[${list}], 1u);
          if (at < ${reportWords.memoryRecordCapacity}u) {
            ${report}.memory_records[${list}][at] = array<u32, 4>(binding, granule, syndrome, ${this.#table()}[binding].x);
          }
        }`,
    );
  }

  /**
   * What a load of `data` does about its syndrome, and returns; `found` is what is noted, behind
   * the status.
   */
  reaction(kind: LoadKind, found: string, repaired: () => string): string {
    switch (kind) {
      case "peeked":
        return `${this.bad()} |= syndrome; return data;`;
      case "repaired":
        return `return ${repaired()};`;
      case "corrected":
        return `if (syndrome == 0u) { return data; } let right = ${repaired()}; ${this.tell()}(); return right;`;
      case "uniform":
        return `if (syndrome != 0u) { ${this.note()}(${memoryStatus.uncorrectable}u, ${found}); ${this.tell()}(); } return data;`;
    }
  }

  /** How many loads found errors, corrected and not, since the host was told. */
  #counts(): string {
    return this.#library.make(
      this.#names.the("found"),
      (name) => quote().declarations`var<private> ${name}: vec2<u32>;`,
    );
  }

  /** The last of them. */
  #finding(): string {
    return this.#library.make(
      this.#names.the("finding"),
      (name) => quote().declarations`var<private> ${name}: vec3<u32>;`,
    );
  }
}
