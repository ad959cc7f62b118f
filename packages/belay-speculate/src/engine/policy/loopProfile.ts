import type { Loop } from "../../loops/tree/ir.ts";
import { type RepeatedCall, type Timings, unmeasured } from "./placement.ts";
import type { PlanName } from "./planChoice.ts";
import { remembering } from "./tuning.ts";

/**
 * The rounds that an execution of a loop ended with, and the next one begins with: most loops meet
 * similar data again.
 */
export interface LastRounds {
  readonly plan: PlanName;
  /** Iterations of a window that depends on how the iterations do. */
  readonly window: number;
  /** Most iterations of a window that did not take too long. */
  readonly longest: number;
  /** Rounds that are likely to be needed. */
  readonly rounds: number;
}

/**
 * Everything that executions of one loop on one device have shown, for the executions after them.
 */
export class LoopProfile {
  timings: Timings;
  /** Calls that the CPU executes at once; null where the next one is decided about. */
  repeated: RepeatedCall | null = null;
  /**
   * Lengths of consecutive windows, in none of which an iteration depends on another one, that an execution with the same numbers has
   * found.
   *
   * Source: schedules of inspectors that are used again; Ponnusamy, Saltz, Choudhary, "Runtime compilation techniques for data
   * partitioning and communication schedule reuse", 1993.
   */
  readonly windows = new Findings<readonly number[]>();
  /**
   * Names of the arrays that an execution with the same numbers overwrites completely and never
   * loads from.
   */
  readonly overwritten = new Findings<readonly string[]>();
  #last: LastRounds | null = null;
  /**
   * Executions that still begin with the last one's rounds, and how many do before one begins as at
   * first.
   */
  #left = 0;
  #period: number = remembering.executions;

  constructor(loop: Loop) {
    this.timings = unmeasured(loop);
  }

  /**
   * The rounds to begin with; null when nothing is known, or it should be found out again, as the
   * data may have become easier.
   */
  get lastRounds(): LastRounds | null {
    return this.#left > 0 ? this.#last : null;
  }

  /** Keeps the rounds that an execution ended with. */
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
 * Findings of a few executions of a loop, by the numbers that all its addresses follow from; see
 * `numbersOf`.
 */
class Findings<Finding> {
  readonly #byNumbers = new Map<string, Finding>();

  /**
   * Returns the finding for these numbers; null when there is none, or addresses follow from more
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
