import type { FaultSite } from "../redundancy/reportBuffer.ts";

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
