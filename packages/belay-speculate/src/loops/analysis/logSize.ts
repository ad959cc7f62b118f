import type { Loop, LoopArray } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { accessCounts } from "./accessCounts.ts";

/** Most accesses that are logged of one iteration. */
export interface LogSize {
  readonly mostLoads: number;
  readonly mostStores: number;
}

/**
 * Most loads and stores that are to be logged of one iteration, where `otherwise` is assumed for
 * what cannot be counted.
 */
export function logSize(loop: Loop, otherwise: number): LogSize {
  const stores = storesOf(loop);
  const mostLoads = loop.mostLoads ?? otherwise;
  const mostStores = stores ?? Math.max(otherwise, loop.mostStores ?? 0);
  const carried = loop.carried.length;
  return {
    mostLoads: Math.min(mostLoads, mostLogged) + carried,
    mostStores: Math.min(mostStores, mostLogged) + carried,
  };
}

/** Bounds the stores of an iteration to any array; null where nothing bounds them. */
const storesOf = oncePerLoop((loop): number | null => {
  const written = loop.arrays.map(
    (array): LoopArray => ({
      ...array,
      role: array.role === "read" ? "read" : "tracked",
    }),
  );
  return accessCounts(loop.body, written).stores;
});

/** Most loads, or stores, of arrays that one iteration can log: their numbers share a word. */
const mostLogged = 2 ** 15;

/** Bytes of the log for each iteration of a window. */
export function logBytes({ mostLoads, mostStores }: LogSize): number {
  return 4 * (1 + mostLoads + 2 * mostStores);
}

/** The same where only stores are logged, in two rounds. */
export function versionBytes({ mostStores }: LogSize): number {
  return 8 * (1 + 2 * mostStores);
}
