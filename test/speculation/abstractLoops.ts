/**
 * Loops reduced to the properties on which speculation depends: the elements that each iteration
 * reads and writes, in order, and the iterations that it names as misspeculated. A stored value
 * mixes all values that the iteration has read so far, so that one wrong read shows in the result.
 */
import { mixed } from "./mixing.ts";

export type AbstractOperation =
  | { readonly kind: "load" | "store"; readonly element: number }
  /** An access to an element that depends on all values read so far. */
  | { readonly kind: "loadAnywhere" | "storeAnywhere" }
  /**
   * A branch that is taken if the value read so far is odd, or always. Offsets are relative to the
   * iteration.
   */
  | {
      readonly kind: "misspeculate";
      readonly taken: "always" | "odd";
      readonly names: readonly number[] | "following" | { readonly iteration: number };
    }
  | { readonly kind: "endLoopWhenOdd" };

export interface AbstractLoop {
  /** The elements of the one tracked array: at most eight, because sets of them are bit masks. */
  readonly elements: number;
  readonly seed: number;
  readonly iterations: readonly (readonly AbstractOperation[])[];
}

/** The state that a loop changes. */
export interface State {
  readonly values: number[];
  /**
   * The notes of each iteration to the iterations that it named. No engine tracks them: a directive
   * promises that only the named iterations need them.
   */
  readonly notes: number[];
  /** The iterations that each note is for, as bits; none before the iteration has run. */
  readonly noted: number[];
}

/** The log of one execution of an iteration. Sets are bit masks. */
export interface Log {
  readonly iteration: number;
  /** The elements read before the iteration wrote them itself. */
  read: number;
  written: number;
  /** The last value stored to each written element. */
  readonly values: number[];
  /** The iterations named as misspeculated. */
  named: number;
  note: number;
  /** True if a branch was taken that names all later iterations. */
  namesAll: boolean;
  endsLoop: boolean;
}

/** The state that an iteration sees and changes while it executes. */
export interface AbstractAccess {
  load(element: number): number;
  store?(element: number, value: number): void;
  readonly state: State;
}

export function initialState({ elements, seed, iterations }: AbstractLoop): State {
  const values: number[] = [];
  for (let element = 0; element < elements; element++) values.push(mixed(seed, element));
  return { values, notes: iterations.map(() => 0), noted: iterations.map(() => 0) };
}

/** Executes one iteration, which loads its own earlier stores. */
export function execute(loop: AbstractLoop, iteration: number, access: AbstractAccess): Log {
  const log: Log = {
    iteration,
    read: 0,
    written: 0,
    values: [],
    named: 0,
    note: 0,
    namesAll: false,
    endsLoop: false,
  };
  let seen = mixed(loop.seed, 1000 + iteration);
  const { notes, noted } = access.state;
  for (let earlier = 0; earlier < iteration; earlier++) {
    if ((noted[earlier]! >> iteration) & 1) seen = mixed(seen, notes[earlier]!);
  }
  const anywhere = () => (mixed(seen, 17) >>> 8) % loop.elements;
  const load = (element: number) => {
    const own = (log.written >> element) & 1;
    if (!own) log.read |= 1 << element;
    seen = mixed(seen, own ? log.values[element]! : access.load(element));
  };
  const store = (element: number) => {
    log.written |= 1 << element;
    log.values[element] = mixed(seen, element);
    access.store?.(element, log.values[element]!);
  };
  for (const operation of loop.iterations[iteration]!) {
    switch (operation.kind) {
      case "load":
        load(operation.element);
        break;
      case "store":
        store(operation.element);
        break;
      case "loadAnywhere":
        load(anywhere());
        break;
      case "storeAnywhere":
        store(anywhere());
        break;
      case "endLoopWhenOdd":
        if (seen & 1) log.endsLoop = true;
        break;
      case "misspeculate":
        if (operation.taken === "always" || seen & 1) {
          log.named |= namedBy(operation.names, iteration, loop.iterations.length);
          log.namesAll ||= operation.names === "following";
          log.note = mixed(seen, 3);
        }
        break;
    }
  }
  return log;
}

function namedBy(
  names: Extract<AbstractOperation, { kind: "misspeculate" }>["names"],
  iteration: number,
  count: number,
): number {
  const all = (1 << count) - 1;
  if (names === "following") return all & ~((2 << iteration) - 1);
  if ("iteration" in names) return all & (1 << names.iteration);
  return names
    .map((offset) => iteration + offset)
    .filter((named) => named >= 0 && named < count)
    .reduce((mask, named) => mask | (1 << named), 0);
}

/** Writes the stores of an iteration into the state. */
export function apply(state: State, log: Log, elements = log.written): void {
  for (let element = 0; element < state.values.length; element++) {
    if ((elements >> element) & 1) state.values[element] = log.values[element]!;
  }
  leaveNote(state, log);
}

/**
 * Writes a note to later iterations only. On an earlier one, the effect of a branch would not be
 * sequential.
 */
export function leaveNote(state: State, { iteration, named, note }: Log): void {
  state.notes[iteration] = note;
  state.noted[iteration] = named & ~((2 << iteration) - 1);
}

/** Runs the reference: one iteration after the other. */
export function runInOrder(loop: AbstractLoop): State {
  const state = initialState(loop);
  for (let i = 0; i < loop.iterations.length; i++) {
    const log = execute(loop, i, { load: (element) => state.values[element]!, state });
    apply(state, log);
    if (log.endsLoop) break;
  }
  return state;
}
