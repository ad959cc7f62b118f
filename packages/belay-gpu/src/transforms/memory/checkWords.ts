import type { BindingPoint } from "../../analysis/bindings.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";
import type { CheckedVariable } from "./checkedVariable.ts";
import type { GeneratedDeclarations } from "./generatedDeclarations.ts";

/**
 * The access of a kernel to the arena: it loads check words, also stores them, or changes them by
 * atomic operations.
 */
export type ArenaAccess = "read" | "read_write" | "atomic";

/** The bindings of the arena and the table. */
export interface CheckWordsOptions {
  readonly arena: BindingPoint;
  readonly table: BindingPoint;
  /** The number of rows of the table. */
  readonly rows: number;
}

/**
 * The arena of all buffers' check words, and the table of each buffer's position in it, as WGSL.
 */
export class CheckWords {
  readonly #names: Names;
  readonly #library: GeneratedDeclarations;
  readonly #options: CheckWordsOptions;

  constructor(names: Names, library: GeneratedDeclarations, options: CheckWordsOptions) {
    this.#names = names;
    this.#library = library;
    this.#options = options;
  }

  /** Returns the name of the table. Each row has the first check word and the size of a binding. */
  table(): string {
    const { table, rows } = this.#options;
    return this.#library.make(
      this.#names.the("check_table"),
      (name) => quote().declarations`
        @group(${table.group}) @binding(${table.binding}) var<uniform> ${name}: array<vec4<u32>, ${rows}>;`,
    );
  }

  /** Returns the size in bytes of the binding of a variable, as WGSL. */
  bytesOf({ index }: CheckedVariable): string {
    return `${this.table()}[${index}].y`;
  }

  /** Returns the index in the arena of a granule's check word, as WGSL. */
  numberOf({ index }: CheckedVariable, granule: string): string {
    return `${this.table()}[${index}].x + ${granule}`;
  }

  /** Returns an expression that loads a check word. */
  load(access: ArenaAccess, number: string): string {
    return access === "atomic" ? `atomicLoad(&${this.#at(access, number)})` : this.#at(access, number);
  }

  /** Returns a statement that stores a check word. */
  store(access: ArenaAccess, number: string, value: string): string {
    const at = this.#at(access, number);
    return access === "atomic" ? `atomicStore(&${at}, ${value});` : `${at} = ${value};`;
  }

  /** Returns a statement that exclusive-ors `by` into a check word. */
  change(number: string, by: string): string {
    return `atomicXor(&${this.#at("atomic", number)}, ${by});`;
  }

  #at(access: ArenaAccess, number: string): string {
    const { group, binding } = this.#options.arena;
    const arena = this.#names.the(`check_words_${access}`);
    this.#library.make(arena, () => {
      // Storage without an access mode is read-only. The mode is not written, because an entry
      // point may have its name.
      const space = access === "read" ? "storage" : "storage, read_write";
      const element = access === "atomic" ? "atomic<u32>" : "u32";
      return quote().declarations`
        @group(${group}) @binding(${binding}) var<${space}> ${arena}: array<${element}>;`;
    });
    return `${arena}[${number}]`;
  }
}
