import type { Span } from "../../diagnostics/diagnostic.ts";

/** Where in the source a fault can strike. Ids start at 1. */
export interface FaultSite {
  readonly id: number;
  /**
   * `"value"`: what the source computes. `"load"`: a word loaded from storage or uniform memory.
   * `"address"`: an index of a load or a store. `"local"`: a word of workgroup memory, after it was
   * stored. `"branch"`: the outcome of a condition. `"statement"`: an assignment, store or call
   * that is skipped.
   */
  readonly kind: "value" | "load" | "address" | "local" | "branch" | "statement";
  /**
   * Whether all invocations of a workgroup that get here at once have the same value, as far as can
   * be told.
   */
  readonly uniform: boolean;
  readonly span: Span;
  /** The function that the site is in. */
  readonly functionName: string;
  /**
   * 32-bit words of the value (components of a vector), of which the armed component selects one; 0
   * for a statement.
   */
  readonly components: number;
  /**
   * Set for what protection has added: `"window"` between the comparison of what is stored and the
   * end of the store, which no comparison sees, and `"inside"` for all else.
   */
  readonly machinery?: "inside" | "window";
  /** Set for memory of which both replicas use one copy, so that they see the same fault. */
  readonly isShared?: true;
}

/** Numbers the fault sites of a module. */
export class FaultSites {
  readonly all: FaultSite[] = [];

  /** Returns the id of the new site. */
  add(site: Omit<FaultSite, "id">): number {
    const id = this.all.length + 1;
    this.all.push({ id, ...site });
    return id;
  }
}
