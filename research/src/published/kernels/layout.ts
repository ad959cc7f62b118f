import { wgslName } from "belay-speculate/internal/loops/kernels/code/names";
import type { BodyStatement, Loop, LoopArray } from "belay-speculate/internal/loops/tree/ir";
import { everyStatement } from "belay-speculate/internal/loops/tree/walk";

/**
 * The state of a round that the kernels of the published engine share, in three buffers.
 *
 * Every element that the loop writes has a key: first the tracked arrays in order, then the carried
 * variables, then the owned arrays. A round's iterations have ranks from 0.
 *
 * - `log_words`: rows of one word for each rank. They hold an iteration's `flags`, its number of
 *   `loads` and `stores` of other iterations' elements, the keys loaded, and the keys and values
 *   stored. After them come the stores that recovery can undo.
 * - `tables`: two words for each tracked key. During the check they are the complement of the first
 *   rank that accessed it, and one more than the last. During recovery they are the complement of
 *   the slot of its unmarked writer, and one more than its last unmarked reader. Zero means none.
 *   Three sets of bits follow: the written keys, the marked ranks, and the words of marked ranks
 *   other than zero.
 * - `state`: the words named here and the carried variables.
 */
export const stateWords = [
  /** The first rank that this round does not commit. */
  "stop",
  /** 1 when the loop ended itself. */
  "ended",
  /** The number of marked ranks. */
  "marked",
  /** The rank at which recovery continues. */
  "cursor",
  /** 1 when recovery has begun; below, 1 when it has ended. */
  "recovering",
  "recovered",
  /** The number of ranks that ran again. */
  "again",
  /** 1 when an iteration that ran again wrote an element that an unmarked iteration had read. */
  "wronged",
  /** One more than the rank that only the CPU can execute, or 0. */
  "bailed_out",
  /** The number of times that a branch was taken that makes all later iterations wrong. */
  "breaks",
] as const;

export type StateWord = (typeof stateWords)[number];

/** Returns the names of the words that the engine adds to the loop's parameters. */
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

/** Returns the arrays that have keys, in the order of the keys. */
export function writtenArrays(loop: Loop): LoopArray[] {
  const withRole = (role: LoopArray["role"]) => loop.arrays.filter((array) => array.role === role);
  return [...withRole("tracked"), ...withRole("owned")];
}

export interface Keys {
  /** The key of each written array's first element, by name. */
  readonly firstOf: ReadonlyMap<string, number>;
  readonly carried: number;
  /** The number of keys of tracked elements, including the carried variables. */
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
 * Returns the most stores of one iteration to owned arrays, or null when its inner loops may make
 * any number.
 */
export function ownedStores(loop: Loop): number | null {
  const owned = new Set(loop.arrays.filter(({ role }) => role === "owned").map(({ name }) => name));
  const count = (statements: readonly BodyStatement[]): number =>
    [...everyStatement(statements)].filter((each) => each.kind === "store" && owned.has(each.array)).length;
  const inLoops = [...everyStatement(loop.body)].some(
    (each) => each.kind === "loop" && count(each.body) + count(each.update) > 0,
  );
  return inLoops ? null : count(loop.body);
}

/** Returns the number of rows of the log, for the given loads and stores of one iteration. */
export function logRows(mostLoads: number, mostStores: number): number {
  return 3 + mostLoads + 2 * mostStores;
}

/**
 * Returns the words of the tables, for the given tracked keys and iterations of a round. `marks` is
 * the place of the marks.
 */
export function tableWords(keys: number, size: number): { readonly all: number; readonly marks: number } {
  const marks = 2 * keys + Math.ceil(keys / 32);
  return { all: marks + markWords(size), marks };
}

/**
 * Returns the words for the bits of marked ranks, and for the bits of those words that are not
 * zero.
 */
export function markWords(size: number): number {
  return Math.ceil(size / 32) + Math.ceil(size / 1024);
}

export function stateSize(loop: Loop): number {
  return stateWords.length + loop.carried.length;
}
