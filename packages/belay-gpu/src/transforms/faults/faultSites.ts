import type { Span } from "../../diagnostics/diagnostic.ts";

/** A place in the source where a fault can be injected. Ids start at 1. */
export interface FaultSite {
  /** The number of the site in its module, from 1. */
  readonly id: number;
  /**
   * The struck thing.
   *
   * - `"value"`: a computed value.
   * - `"load"`: a word loaded from storage or uniform memory.
   * - `"address"`: an index of a load or a store.
   * - `"local"`: a word of workgroup memory, after it was stored.
   * - `"branch"`: the outcome of a condition.
   * - `"statement"`: an assignment, store or call, which is skipped.
   */
  readonly kind: "value" | "load" | "address" | "local" | "branch" | "statement";
  /** The place in the source. */
  readonly span: Span;
  /** The name of the function that contains the site. */
  readonly functionName: string;
  /**
   * The number of 32-bit words of the value (components of a vector); 0 for a statement. The armed
   * component selects one.
   */
  readonly components: number;
}

/** A fault site, with the facts that tell campaigns which structures of a GPU it represents. */
export interface CampaignSite extends FaultSite {
  /**
   * True if all invocations of a workgroup that are here at once have the same value, as far as
   * analysis can tell.
   */
  readonly uniform: boolean;
  /**
   * The part of the code that protection added; undefined for the program's own code. `"window"`
   * lies between the comparison of an output and the end of its store, where no comparison sees a
   * fault. `"inside"` is all other added code.
   */
  readonly machinery?: "inside" | "window";
  /** Set for memory with one copy, which both replicas use. Both see the same fault. */
  readonly isShared?: true;
}

/** The numbered fault sites of a module. */
export class FaultSites {
  readonly all: CampaignSite[] = [];

  /** Returns the id of the new site. */
  add(site: Omit<CampaignSite, "id">): number {
    const id = this.all.length + 1;
    this.all.push({ id, ...site });
    return id;
  }
}
