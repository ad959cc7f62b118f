/**
 * The control words, by which the kernels of a loop proceed from round to round without the host.
 * They are one buffer. Kernels of many invocations see some words as atomics; the scheduler sees
 * plain words.
 */

/**
 * The states of the engine. In every state but `running`, the rounds that are still encoded do
 * nothing.
 */
export const states = {
  running: 0,
  /** All iterations are done. */
  finished: 1,
  /** The loop ended by a `break`. */
  ended: 2,
  /** The first iteration that is not committed bails out to the CPU. */
  bailedOut: 3,
  /** Iterations of the window depend on each other, and the loop may not be executed in place. */
  conflicting: 4,
} as const;

/** The kinds of conflict between iterations of a window: bits of the word `conflicts`. */
export const conflictKinds = {
  /** An iteration loads what an earlier one stores. */
  flow: 1,
  /**
   * Two iterations store to one element, or a later one stores to an element that an earlier one
   * loads.
   */
  order: 2,
  /** A conflict of one of these kinds. */
  unclear: 4,
} as const;

/** The value of a word that names no iteration of the window. */
export const none = 0xffffffff;

/**
 * The number of bits that number an iteration of a window. The other bits of a mark tell rounds
 * apart.
 */
export const slotBits = 24;
/** The largest number of iterations in a window. */
export const longestWindow = 2 ** slotBits;
/** The number of rounds whose marks differ. After them, all marks must be cleared. */
export const mostEpochs = 2 ** (32 - slotBits) - 1;

const words = {
  state: "The state of the engine.",
  base: "The first iteration of the window. Iterations count from 0.",
  window: "The number of iterations in the window.",
  slots: "The number of iterations that this round evaluates.",
  listed: "The number of these iterations that are in the list of waiting ones; they come first.",
  fresh: "The first iteration of the window that no round has evaluated before, if some iterations wait.",
  list: "The list of waiting iterations to read, 0 or 1; the other one is written.",
  epoch: "The number in this round's marks, which tells them from older ones.",
  executing: "The number of iterations to execute or commit now.",
  executing_base: "The first iteration of the window of these iterations.",
  executing_epoch: "The epoch of the marks of these iterations.",
  ordered: "1 if several of these iterations may store to one element, so that the last must be found.",
  overlap:
    "The number of iterations of the window that the previous round executed as well, if rounds compare stores.",
  valid_limit: "The number of iterations that saw all versions, and are right if all earlier ones are.",
  progress: "The running number of committed iterations: half the old number plus those of this round.",
  rounds: "The number of rounds so far.",
  evaluated: "The number of iterations that rounds evaluated, modulo 2^32.",
  evaluated_high: "The same number in units of 2^32.",
  execution_id: "The host's number for this execution.",
  executed_id: "The same number once the device has executed a round.",
} as const;

const atomicWords = {
  cut: "The first iteration of the window that must not be committed, counted from 0 in the window.",
  end: "The first iteration of the window that ends the loop.",
  conflicts: "The kinds of conflict found in this round.",
  bail_out_reason: "The reason why the first iteration of the window bails out; 0 if it does not.",
  changed: "The first iteration of the window whose stores differ from those of the previous round.",
  held: "The number of iterations that hold all their elements.",
  waiting: "The number of iterations that wait for an element.",
} as const;

export type AtomicWord = keyof typeof atomicWords;
export type ControlWord = keyof typeof words | AtomicWord;

/**
 * The order of the words in the buffer. The bits of the carried variables follow: their current
 * values, then those before the current execution.
 */
export const controlWords = [...Object.keys(words), ...Object.keys(atomicWords)] as ControlWord[];

/** Returns the number of words in the buffer. */
export function controlSize(carried: number): number {
  return controlWords.length + 2 * carried;
}

/**
 * Returns `struct Control` for kernels of which several invocations change the words in `atomics`.
 * The other words are plain: every invocation reads some of them, and an atomic word comes from one
 * distant place each time.
 */
export function declareControl(carried: number, atomics: readonly AtomicWord[] = []): string {
  const members = [
    ...Object.entries(words).map(([name, meaning]) => `  /** ${meaning} */\n  ${name}: u32,`),
    ...Object.entries(atomicWords).map(
      ([name, meaning]) =>
        `  /** ${meaning} */\n  ${name}: ${atomics.includes(name as AtomicWord) ? "atomic<u32>" : "u32"},`,
    ),
    ...(carried > 0
      ? [
          `  /** The values of the carried variables. */\n  carried: array<u32, ${carried}>,`,
          `  /** The values before the iterations that are executed now. */\n  carried_before: array<u32, ${carried}>,`,
        ]
      : []),
  ];
  return ["struct Control {", ...members, "}"].join("\n");
}
