import type { Declaration } from "../../wgsl/ast.ts";

/** Declarations that a module gets, each when it is first asked for. */
export class GeneratedDeclarations {
  readonly #made = new Map<string, readonly Declaration[]>();

  get declarations(): Declaration[] {
    return [...this.#made.values()].flat();
  }

  /** Gives the name back. What `make` asks for may ask for this. */
  make(name: string, make: (name: string) => readonly Declaration[]): string {
    if (!this.#made.has(name)) {
      this.#made.set(name, []);
      this.#made.set(name, make(name));
    }
    return name;
  }
}
