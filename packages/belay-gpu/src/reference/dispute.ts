import type { ReferenceSource } from "./referenceKernel.ts";

/** A dispatch whose results are disputed, as plain data. `belay blame` reads it as JSON. */
export interface Dispute extends ReferenceSource {
  /** The size of the grid in workgroups. */
  readonly workgroups: readonly [x: number, y: number, z: number];
  /** The contents of all buffers, as 32-bit words. */
  readonly buffers: readonly {
    readonly group: number;
    readonly binding: number;
    readonly words: readonly number[];
  }[];
}
