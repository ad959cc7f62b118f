import type { Loop } from "../../loops/tree/ir.ts";
import { type RepeatedCall, type Timings, unmeasured } from "./placement.ts";
import type { PlanName } from "./planChoice.ts";
import { remembering } from "./tuning.ts";

/**
 * The rounds with which an execution of a loop ended and the next one begins. Most loops meet
 * similar data again.
 */
export interface LastRounds {
  readonly plan: PlanName;
  /** The iterations of a window, for plans whose windows adapt to conflicts. */
  readonly window: number;
  /** The largest number of iterations of a window that did not take too long. */
  readonly longest: number;
  /** The expected number of rounds. */
  readonly rounds: number;
}

/** The measurements of all executions of one loop on one device. */
export class LoopProfile {
  timings: Timings;
  /** The calls that the CPU executes at once; null if the next call must be decided. */
  repeated: RepeatedCall | null = null;
  /**
   * The lengths of consecutive windows without dependences, found by an execution with the same
   * numbers.
   * Source: schedules of inspectors that are used again; Ponnusamy, Saltz, Choudhary, "Runtime
   * compilation techniques for data partitioning and communication schedule reuse", 1993.
   */
  readonly windows = new Findings<readonly number[]>();
  /**
   * The names of the arrays that an execution with the same numbers overwrites completely and never
   * loads from.
   */
  readonly overwritten = new Findings<readonly string[]>();
  #last: LastRounds | null = null;
  /**
   * The number of executions that still begin with the last rounds, and the number of them before
   * one begins as at first.
   */
  #left = 0;
  #period: number = remembering.executions;

  constructor(loop: Loop) {
    this.timings = unmeasured(loop);
  }

  /**
   * The rounds to begin with. Null if none are known, or if they should be found again because the
   * data may have changed.
   */
  get lastRounds(): LastRounds | null {
    return this.#left > 0 ? this.#last : null;
  }

  /** Records the rounds with which an execution ended. */
  keepRounds(last: LastRounds): void {
    if (this.#left > 0) this.#left--;
    else {
      this.#period = this.#last?.plan === last.plan ? 2 * this.#period : remembering.executions;
      this.#left = this.#period - 1;
    }
    this.#last = last;
  }
}

/**
 * The findings of a few executions of a loop, by the numbers from which all its addresses follow;
 * see `numbersOf`.
 */
class Findings<Finding> {
  readonly #byNumbers = new Map<string, Finding>();

  /**
   * Returns the finding for these numbers. Null if there is none, or if addresses follow from more
   * than numbers.
   */
  get(numbers: string | null): Finding | null {
    return numbers === null ? null : (this.#byNumbers.get(numbers) ?? null);
  }

  set(numbers: string, finding: Finding): void {
    this.#byNumbers.set(numbers, finding);
    if (this.#byNumbers.size > remembering.findings)
      this.#byNumbers.delete(this.#byNumbers.keys().next().value!);
  }
}
