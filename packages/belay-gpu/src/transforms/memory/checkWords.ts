import type { BindingPoint } from "../../analysis/bindings.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";
import type { CheckedVariable } from "./checkedVariable.ts";
import type { GeneratedDeclarations } from "./generatedDeclarations.ts";

/**
 * How a kernel accesses the arena: it loads check words, stores them too, or changes them by atomic
 * operations.
 */
export type ArenaAccess = "read" | "read_write" | "atomic";

export interface CheckWordsOptions {
  readonly arena: BindingPoint;
  readonly table: BindingPoint;
  /** Rows of the table. */
  readonly rows: number;
}

/** The arena of check words, and the table of where the buffers have theirs, as WGSL. */
export class CheckWords {
  readonly #names: Names;
  readonly #library: GeneratedDeclarations;
  readonly #options: CheckWordsOptions;

  constructor(names: Names, library: GeneratedDeclarations, options: CheckWordsOptions) {
    this.#names = names;
    this.#library = library;
    this.#options = options;
  }

  table(): string {
    const { table, rows } = this.#options;
    return this.#library.make(
      this.#names.the("check_table"),
      (name) => quote().declarations`
        @group(${table.group}) @binding(${table.binding}) var<uniform> ${name}: array<vec4<u32>, ${rows}>;`,
    );
  }

  /** The size of what is bound to a variable. */
  bytesOf({ index }: CheckedVariable): string {
    return `${this.table()}[${index}].y`;
  }

  /** Where in the arena the check word of a granule is. */
  numberOf({ index }: CheckedVariable, granule: string): string {
    return `${this.table()}[${index}].x + ${granule}`;
  }

  load(access: ArenaAccess, number: string): string {
    return access === "atomic" ? `atomicLoad(&${this.#at(access, number)})` : this.#at(access, number);
  }

  /** A statement. */
  store(access: ArenaAccess, number: string, value: string): string {
    const at = this.#at(access, number);
    return access === "atomic" ? `atomicStore(&${at}, ${value});` : `${at} = ${value};`;
  }

  /** A statement. */
  change(number: string, by: string): string {
    return `atomicXor(&${this.#at("atomic", number)}, ${by});`;
  }

  #at(access: ArenaAccess, number: string): string {
    const { group, binding } = this.#options.arena;
    const arena = this.#names.the(`check_words_${access}`);
    this.#library.make(arena, () => {
      // Without an access mode storage is only read, and an entry point may have the name of that
      // mode.
      const space = access === "read" ? "storage" : "storage, read_write";
      const element = access === "atomic" ? "atomic<u32>" : "u32";
      return quote().declarations`
        @group(${group}) @binding(${binding}) var<${space}> ${arena}: array<${element}>;`;
    });
    return `${arena}[${number}]`;
  }
}
