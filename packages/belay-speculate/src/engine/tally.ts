import { states } from "../loops/kernels/control.ts";
import type { PlanName } from "./plans.ts";
import type { Progress } from "./progress.ts";
import type { ControlState } from "./rounds.ts";

/** What rounds did: iterations that they looked at, some more than once, and those that they executed for good. */
export interface Work {
  readonly evaluated: number;
  readonly executed: number;
}

/** Counts what the rounds of one plan do, and tells the whole execution's progress. */
export class Tally {
  readonly #plan: PlanName;
  readonly #progress: Progress;
  /** What was counted when the control words were last read. */
  #counted: Work & { readonly rounds: number };
  /** What happened between the last two times. */
  #recent: Work = { evaluated: 0, executed: 0 };
  #window: number;

  /** Begins with a window of so many iterations at `base`, up to which everything is done. */
  constructor(plan: PlanName, progress: Progress, base: number, window: number) {
    this.#plan = plan;
    this.#progress = progress;
    this.#counted = { rounds: 0, evaluated: 0, executed: base };
    this.#window = window;
  }

  get recent(): Work {
    return this.#recent;
  }

  /** Iterations that are done so far. */
  get executed(): number {
    return this.#counted.executed;
  }

  /** Iterations of the window now. */
  get window(): number {
    return this.#window;
  }

  /** Counts rounds that left this state in so many milliseconds, of an execution of `count` iterations. */
  count(state: ControlState, count: number, milliseconds: number): void {
    const progress = this.#progress;
    const before = this.#counted;
    const hasGrown = state.window > this.#window;
    this.#window = state.window;
    this.#counted = {
      rounds: state.rounds,
      evaluated: state.evaluated + state.evaluated_high * 2 ** 32,
      executed: state.base + state.fresh - state.listed,
    };
    const rounds = state.rounds - before.rounds;
    const evaluated = this.#counted.evaluated - before.evaluated;
    const executed = this.#counted.executed - before.executed;
    this.#recent = { evaluated, executed };
    progress.rounds += rounds;
    progress.evaluated += evaluated;
    if (state.state !== states.running) return;
    // The last window may be shorter than it should be.
    if (state.base + state.window < count) progress.window = state.window;
    // The first round waits for data that is still on its way, and one of a short window says little about longer ones.
    // Looking for the first dependences wastes much, but not for long.
    const looks = this.#plan === "in place" && evaluated > 2 * executed;
    if (before.rounds > 0 && !hasGrown && !looks) progress.pace?.observe(evaluated, executed, milliseconds);
    progress.bound(milliseconds / Math.max(1, rounds));
  }
}
