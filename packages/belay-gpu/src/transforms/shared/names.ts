import type { Program } from "../../wgsl/program.ts";
import { walk } from "../../wgsl/traverse.ts";

/**
 * The names that transforms generate. All share one prefix that no name of the user's module starts
 * with, so that generated code neither captures nor is captured.
 */
export class Names {
  readonly prefix: string;
  /** The names in the user's module. */
  readonly #taken = new Set<string>();
  readonly #uses = new Map<string, number>();
  /** The user's names of the things that have another one now. */
  readonly #own = new Map<string, string>();

  constructor(program: Program) {
    walk(program.module, (node) => {
      if ("name" in node) this.#taken.add(node.name);
    });
    let prefix = "belay_";
    for (let n = 1; [...this.#taken].some((name) => name.startsWith(prefix)); n++) prefix = `belay${n}_`;
    this.prefix = prefix;
  }

  /** The one name of a thing that exists once in a module, such as the replica variable. */
  the(thing: string): string {
    return this.prefix + thing;
  }

  /** A new name, for a thing that may exist many times. */
  fresh(base: string): string {
    const stem = this.isGenerated(base) ? base : this.prefix + base;
    const use = (this.#uses.get(stem) ?? 0) + 1;
    this.#uses.set(stem, use);
    return `${stem}_${use}`;
  }

  /**
   * Another name for a thing of the user's module, which stays the user's: the name is not a
   * generated one.
   */
  another(base: string): string {
    let name = base;
    for (let n = 1; this.#taken.has(name); n++) name = `${base}_${n}`;
    this.#taken.add(name);
    this.#own.set(name, this.own(base));
    return name;
  }

  /** Returns the user's name of a thing, which `another` may have named. */
  own(name: string): string {
    return this.#own.get(name) ?? name;
  }

  /**
   * Returns a text, such as the message of a diagnostic, with the user's names in place of others.
   */
  inOwnNames(text: string): string {
    return text.replace(/\p{ID_Continue}+/gu, (word) => this.own(word));
  }

  isGenerated(name: string): boolean {
    return name.startsWith(this.prefix);
  }
}
