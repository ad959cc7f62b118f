import type { Declaration } from "../../wgsl/ast.ts";

/** The declarations added to a module, each generated on first use. */
export class GeneratedDeclarations {
  readonly #made = new Map<string, readonly Declaration[]>();

  get declarations(): Declaration[] {
    return [...this.#made.values()].flat();
  }

  /**
   * Returns `name`, and calls `make` for its declarations on first use. `make` may use declarations
   * that use this one.
   */
  make(name: string, make: (name: string) => readonly Declaration[]): string {
    if (!this.#made.has(name)) {
      this.#made.set(name, []);
      this.#made.set(name, make(name));
    }
    return name;
  }
}
