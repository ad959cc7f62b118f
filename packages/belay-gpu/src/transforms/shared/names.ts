import type { Program } from "../../wgsl/program.ts";
import { walk } from "../../wgsl/traverse.ts";

/**
 * The names that transforms generate. All share one prefix that no name of the program starts with.
 * Generated code therefore neither captures names of the program nor is captured by them.
 */
export class Names {
  readonly prefix: string;
  /** The names in the program. */
  readonly #taken = new Set<string>();
  readonly #uses = new Map<string, number>();
  /** The program's names of renamed things, by their new names. */
  readonly #own = new Map<string, string>();

  constructor(program: Program) {
    walk(program.module, (node) => {
      if ("name" in node) this.#taken.add(node.name);
    });
    let prefix = "belay_";
    for (let n = 1; [...this.#taken].some((name) => name.startsWith(prefix)); n++) prefix = `belay${n}_`;
    this.prefix = prefix;
  }

  /** Returns the name of a thing that exists once in a module, such as the replica variable. */
  the(thing: string): string {
    return this.prefix + thing;
  }

  /** Returns a new name for a thing that may exist many times. */
  fresh(base: string): string {
    const stem = this.isGenerated(base) ? base : this.prefix + base;
    const use = (this.#uses.get(stem) ?? 0) + 1;
    this.#uses.set(stem, use);
    return `${stem}_${use}`;
  }

  /**
   * Returns a new name for a thing of the program. It does not have the prefix of generated names.
   */
  another(base: string): string {
    let name = base;
    for (let n = 1; this.#taken.has(name); n++) name = `${base}_${n}`;
    this.#taken.add(name);
    this.#own.set(name, this.own(base));
    return name;
  }

  /** Returns the program's name of a thing that `another` may have renamed. */
  own(name: string): string {
    return this.#own.get(name) ?? name;
  }

  /**
   * Returns a text, such as the message of a diagnostic, with the program's names in place of new
   * ones.
   */
  inOwnNames(text: string): string {
    return text.replace(/\p{ID_Continue}+/gu, (word) => this.own(word));
  }

  isGenerated(name: string): boolean {
    return name.startsWith(this.prefix);
  }
}
