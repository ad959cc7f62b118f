/**
 * The words by which the kernels of a loop steer themselves from round to round, without the host.
 * One buffer, seen as atomics by kernels of many invocations, and as plain words by the scheduler.
 */

/**
 * What the engine is doing. Every other state than `running` makes the rounds that are still
 * encoded do nothing.
 */
export const states = {
  running: 0,
  /** No iterations are left. */
  finished: 1,
  /** The loop left itself with a `break`. */
  ended: 2,
  /** The first iteration that is not committed is one for the CPU. */
  escaped: 3,
  /** Iterations of the window depend on each other, and executing them in place is not allowed. */
  conflicting: 4,
} as const;

/** What was found between iterations of a window: bits of the word `conflicts`. */
export const conflictKinds = {
  /** An iteration loads what an earlier one stores. */
  flow: 1,
  /**
   * Two iterations store to one element, or a later one stores to an element that an earlier one
   * loads.
   */
  order: 2,
  /** One of these. */
  unclear: 4,
} as const;

/** A word that says "none" where an iteration of the window is named. */
export const none = 0xffffffff;

/**
 * Iterations of a window are numbered in this many bits; the other bits of a mark tell the rounds
 * apart.
 */
export const slotBits = 24;
/** Most iterations in a window. */
export const longestWindow = 2 ** slotBits;
/** Rounds that can be told apart; then all marks must be cleared. */
export const mostEpochs = 2 ** (32 - slotBits) - 1;

const words = {
  state: "What the engine is doing.",
  base: "The first iteration of the window. Iterations count from 0.",
  window: "How many iterations the window has.",
  slots: "How many iterations this round looks at.",
  listed: "How many of them are in the list of those that wait; they come first.",
  fresh:
    "The first iteration that no round has looked at before, where some wait; counted as those of a window.",
  list: "Which of the two lists of waiting iterations is read; the other one is written.",
  epoch: "Tells the marks of this round from older ones.",
  executing: "How many iterations are executed or committed now.",
  executing_base: "The first iteration of the window that they belong to.",
  executing_epoch: "The epoch in which they were marked.",
  ordered: "1 when several of them may store to one element, so that the last one must be found.",
  seen: "How many iterations of the window the round before has executed as well, where that compares what they store.",
  sure: "How many of them are right if those before them are.",
  progress: "Iterations committed lately: half as many as before, and those of the round.",
  rounds: "Rounds so far.",
  evaluated: "Iterations that rounds have looked at, modulo 2^32.",
  evaluated_high: "The same, in units of 2^32.",
  asked: "What the host calls this execution.",
  stamp: "The same, once the device has executed a round of it.",
} as const;

const atomicWords = {
  cut: "The first iteration of the window that must not be committed; iterations of a window count from 0.",
  end: "The first iteration of the window that ends the loop.",
  conflicts: "Kinds of conflict found in this round.",
  escape: "Why the first iteration of the window is one for the CPU; 0 when it is not.",
  changed: "The first iteration of the window that did not store what it stored in the round before.",
  held: "How many iterations hold all their elements.",
  waiting: "How many iterations do not.",
} as const;

export type AtomicWord = keyof typeof atomicWords;
export type ControlWord = keyof typeof words | AtomicWord;

/**
 * The order of the words in the buffer; the bits of the carried variables follow, as they are and
 * as they were.
 */
export const controlWords = [...Object.keys(words), ...Object.keys(atomicWords)] as ControlWord[];

/** Words of the buffer in all. */
export function controlSize(carried: number): number {
  return controlWords.length + 2 * carried;
}

/**
 * `struct Control`, for kernels of which several invocations change the words in `atomics`. The
 * others are plain words: every invocation reads some of them, and what is atomic would come from
 * one place far away each time.
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
          `  /** Values of the carried variables. */\n  carried: array<u32, ${carried}>,`,
          `  /** The same before what is executed now. */\n  carried_before: array<u32, ${carried}>,`,
        ]
      : []),
  ];
  return ["struct Control {", ...members, "}"].join("\n");
}
