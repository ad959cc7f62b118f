/**
 * Loops reduced to what speculation can get wrong: which elements each iteration reads and writes,
 * in which order, and what it names as misspeculated. A stored value mixes everything the iteration
 * has read so far, so that one wrong read anywhere shows in the result.
 */
import { mixed } from "./mixing.ts";

export type Operation =
  | { readonly kind: "load" | "store"; readonly element: number }
  /** At an element that depends on everything read so far. */
  | { readonly kind: "loadAnywhere" | "storeAnywhere" }
  /** Taken when what was read so far is odd; or always. Offsets are relative to the iteration. */
  | {
      readonly kind: "misspeculate";
      readonly taken: "always" | "odd";
      readonly names: readonly number[] | "following" | { readonly iteration: number };
    }
  | { readonly kind: "endLoopWhenOdd" };

export interface AbstractLoop {
  /** Elements of the one tracked array; at most eight, as sets of them are bit masks. */
  readonly elements: number;
  readonly seed: number;
  readonly iterations: readonly (readonly Operation[])[];
}

/** The state that a loop changes. */
export interface State {
  readonly values: number[];
  /**
   * What each iteration left for those it named, which no engine tracks: a directive is a promise
   * that only the named iterations need it.
   */
  readonly notes: number[];
  /** The iterations that each note is for, as bits; none before the iteration has run. */
  readonly noted: number[];
}

/** What one execution of an iteration did. Sets are bit masks. */
export interface Log {
  readonly iteration: number;
  /** Elements read before the iteration wrote them itself. */
  read: number;
  written: number;
  /** The last value stored to each written element. */
  readonly values: number[];
  /** Iterations named as misspeculated. */
  named: number;
  note: number;
  /** A branch was taken that names all iterations that follow. */
  namesAll: boolean;
  endsLoop: boolean;
}

/** What an iteration sees and changes while it executes. */
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

/** Executes one iteration; its own earlier stores are what it loads. */
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
  names: Extract<Operation, { kind: "misspeculate" }>["names"],
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

/** Writes what an iteration did into the state. */
export function apply(state: State, log: Log, elements = log.written): void {
  for (let element = 0; element < state.values.length; element++) {
    if ((elements >> element) & 1) state.values[element] = log.values[element]!;
  }
  leaveNote(state, log);
}

/**
 * A note reaches only those that follow: the effect of a branch on an earlier iteration would be no
 * sequential one.
 */
export function leaveNote(state: State, { iteration, named, note }: Log): void {
  state.notes[iteration] = note;
  state.noted[iteration] = named & ~((2 << iteration) - 1);
}

/** The reference: one iteration after the other. */
export function runInOrder(loop: AbstractLoop): State {
  const state = initialState(loop);
  for (let i = 0; i < loop.iterations.length; i++) {
    const log = execute(loop, i, { load: (element) => state.values[element]!, state });
    apply(state, log);
    if (log.endsLoop) break;
  }
  return state;
}
