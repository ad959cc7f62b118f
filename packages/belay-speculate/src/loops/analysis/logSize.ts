import type { Loop, LoopArray } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { accessCounts } from "./accessCounts.ts";

/** The largest numbers of accesses that are logged of one iteration. */
export interface LogSize {
  readonly mostLoads: number;
  readonly mostStores: number;
}

/**
 * Returns the largest numbers of loads and stores to log of one iteration. `otherwise` replaces a
 * number that cannot be counted.
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

/**
 * The largest number of stores of an iteration to arrays of any role. Null if nothing bounds it.
 */
const storesOf = oncePerLoop((loop): number | null => {
  const written = loop.arrays.map(
    (array): LoopArray => ({
      ...array,
      role: array.role === "read" ? "read" : "tracked",
    }),
  );
  return accessCounts(loop.body, written).stores;
});

/**
 * The largest number of array loads, or of stores, that one iteration can log: both numbers share a
 * word.
 */
const mostLogged = 2 ** 15;

/** Returns the size of the log of one iteration of a window, in bytes. */
export function logBytes({ mostLoads, mostStores }: LogSize): number {
  return 4 * (1 + mostLoads + 2 * mostStores);
}

/** Returns the size of one iteration's log of stores in two rounds, in bytes. */
export function versionBytes({ mostStores }: LogSize): number {
  return 8 * (1 + 2 * mostStores);
}
