/** The functions by which kernels record the memory errors that they find. */
import { quote } from "../../wgsl/quote.ts";
import { memoryStatus, reportWords } from "../redundancy/reportBuffer.ts";
import type { Names } from "../shared/names.ts";
import type { GeneratedDeclarations } from "./generatedDeclarations.ts";

/**
 * The treatment of a granule's syndrome by a load.
 *
 * - `"corrected"`: an error is corrected and reported.
 * - `"peeked"`: the syndrome is added to `bad`, which a later statement tests.
 * - `"repaired"`: an error is corrected and noted, to be reported together with others.
 * - `"uniform"`: the value stays as it is, because WGSL demands a uniform value. An error counts as
 *   uncorrectable.
 */
export type LoadKind = "corrected" | "peeked" | "repaired" | "uniform";

/** The functions of one module. Each method but `reaction` returns the name of a declaration. */
export class FindingFunctions {
  readonly #names: Names;
  readonly #library: GeneratedDeclarations;

  /** Returns the name of the table of bindings. */
  readonly #table: () => string;

  constructor(names: Names, library: GeneratedDeclarations, table: () => string) {
    this.#names = names;
    this.#library = library;
    this.#table = table;
  }

  /**
   * Returns the variable that combines the syndromes of all peeked granules since the last test.
   */
  bad(): string {
    return this.#library.make(
      this.#names.the("bad"),
      (name) => quote().declarations`var<private> ${name}: u32;`,
    );
  }

  /**
   * Returns the function that notes a finding, unless the status is 0. Of several findings, only
   * the last one is recorded; all are counted.
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

  /** Returns the function that adds the noted findings to the report. */
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
   * Returns the function that reports a granule that did not fit its check word before a part of it
   * was stored.
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
   * Returns the statements by which a load of `data` reacts to its syndrome and returns a value.
   * `found` lists the arguments of `note` after the status.
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

  /**
   * Returns the variable that counts loads with corrected and with uncorrectable errors since the
   * last report.
   */
  #counts(): string {
    return this.#library.make(
      this.#names.the("found"),
      (name) => quote().declarations`var<private> ${name}: vec2<u32>;`,
    );
  }

  /** Returns the variable of the last finding. */
  #finding(): string {
    return this.#library.make(
      this.#names.the("finding"),
      (name) => quote().declarations`var<private> ${name}: vec3<u32>;`,
    );
  }
}
