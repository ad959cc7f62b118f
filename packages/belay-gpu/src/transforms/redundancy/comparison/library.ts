import type { Declaration } from "../../../wgsl/ast.ts";
import { quote } from "../../../wgsl/quote.ts";
import type { Names } from "../../shared/names.ts";

/**
 * The functions and variables that generated code calls for, each emitted once, when something
 * first refers to it.
 */
export class Library {
  readonly names: Names;
  /**
   * True if all bits of NaN count as one value, and so do both zeros. Two texts may compute
   * different ones.
   */
  readonly isCanonical: boolean;
  /** Names by thing. */
  readonly #emitted = new Map<string, string>();
  #pending: Declaration[] = [];

  constructor(names: Names, isCanonical = false) {
    this.names = names;
    this.isCanonical = isCanonical;
  }

  /** Emits the declaration of a thing unless it exists, and returns the name it has. */
  once(thing: string, wgsl: (name: string) => string, newName = () => this.names.the(thing)): string {
    const known = this.#emitted.get(thing);
    if (known) return known;
    const name = newName();
    this.#emitted.set(thing, name);
    this.emit(wgsl(name));
    return name;
  }

  /** Returns whether something referred to a thing. */
  has(thing: string): boolean {
    return this.#emitted.has(thing);
  }

  emit(wgsl: string): void {
    this.#pending.push(...quote().declarations`${wgsl}`);
  }

  /** The declarations since the last call, to be added to the module. */
  takeDeclarations(): Declaration[] {
    const declarations = this.#pending;
    this.#pending = [];
    return declarations;
  }
}
