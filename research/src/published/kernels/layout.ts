import { wgslName } from "belay-speculate/internal/loops/kernels/code/names";
import type { Loop, LoopArray, LoopStatement } from "belay-speculate/internal/loops/tree/ir";
import { everyStatement } from "belay-speculate/internal/loops/tree/walk";

/**
 * What the kernels of the published engine keep of a round, in three buffers.
 *
 * Every element that the loop writes has a key: the tracked arrays one behind the other, the
 * carried variables, then the owned arrays. A round's iterations have ranks from 0.
 *
 * - `log_words`: rows of one word for each rank. What the iteration did (`flags`), how many `loads`
 *   and `stores` of other iterations' elements it made, the keys loaded, and the keys and the
 *   values stored. After them, what recovery can undo.
 * - `tables`: for each tracked key two words. While conflicts are looked for, the complement of the
 *   first rank that accessed it and one more than the last; during recovery, the complement of the
 *   slot of its unmarked writer and one more than its last unmarked reader. Zero is none of them.
 *   Then bits: the keys that are written, the ranks that are marked, and the words of those that
 *   are not zero.
 * - `state`: the words named here and the carried variables.
 */
export const stateWords = [
  /** The first rank that this round does not commit. */
  "stop",
  /** 1 when the loop ended itself. */
  "ended",
  /** Ranks that were marked. */
  "marked",
  /** Where recovery goes on. */
  "cursor",
  /** 1 when recovery has begun, and when it is over. */
  "recovering",
  "recovered",
  /** Ranks that ran again. */
  "again",
  /** 1 when what was run again wrote what an unmarked iteration read. */
  "wronged",
  /** One more than the rank that only the CPU can execute, or 0. */
  "bailed_out",
  /** How often a branch was taken that makes all that follow wrong. */
  "breaks",
] as const;

export type StateWord = (typeof stateWords)[number];

/** Words that the engine adds to the loop's parameters. */
export function addedParameters(loop: Loop): string[] {
  return [
    "base",
    "size",
    "most_loads",
    "most_stores",
    "fuel",
    "most_again",
    "tracked_keys",
    "key_carried",
    ...writtenArrays(loop).map(({ name }) => `key_${wgslName(name)}`),
  ];
}

/** The arrays that have keys, in the order of the keys. */
export function writtenArrays(loop: Loop): LoopArray[] {
  const withRole = (role: LoopArray["role"]) => loop.arrays.filter((array) => array.role === role);
  return [...withRole("tracked"), ...withRole("owned")];
}

export interface Keys {
  /** The key of each written array's first element, by name. */
  readonly firstOf: ReadonlyMap<string, number>;
  readonly carried: number;
  /** Keys of tracked elements, the carried variables among them. */
  readonly tracked: number;
}

export function keysOf(loop: Loop, lengthOf: (name: string) => number): Keys {
  const firstOf = new Map<string, number>();
  let next = 0;
  const add = (role: LoopArray["role"]) => {
    for (const { name } of loop.arrays.filter((array) => array.role === role)) {
      firstOf.set(name, next);
      next += lengthOf(name);
    }
  };
  add("tracked");
  const carried = next;
  next += loop.carried.length;
  const tracked = next;
  add("owned");
  return { firstOf, carried, tracked };
}

/**
 * Most stores of one iteration to owned arrays; null when loops inside of it may make any number.
 */
export function ownedStores(loop: Loop): number | null {
  const owned = new Set(loop.arrays.filter(({ role }) => role === "owned").map(({ name }) => name));
  const count = (statements: readonly LoopStatement[]): number =>
    [...everyStatement(statements)].filter((each) => each.kind === "store" && owned.has(each.array)).length;
  const inLoops = [...everyStatement(loop.body)].some(
    (each) => each.kind === "loop" && count(each.body) + count(each.update) > 0,
  );
  return inLoops ? null : count(loop.body);
}

/** Rows of the log, for so many loads and stores of one iteration. */
export function logRows(mostLoads: number, mostStores: number): number {
  return 3 + mostLoads + 2 * mostStores;
}

/** Words of the tables, for so many tracked keys and iterations of a round. */
export function tableWords(keys: number, size: number): { readonly all: number; readonly marks: number } {
  const marks = 2 * keys + Math.ceil(keys / 32);
  return { all: marks + markWords(size), marks };
}

/** Words of the bits of marked ranks, and of the words among them that are not zero. */
export function markWords(size: number): number {
  return Math.ceil(size / 32) + Math.ceil(size / 1024);
}

export function stateSize(loop: Loop): number {
  return stateWords.length + loop.carried.length;
}
