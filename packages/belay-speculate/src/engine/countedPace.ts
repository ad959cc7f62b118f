import type { Pace } from "./pace.ts";

/** Iterations looked at for each one executed above which the GPU is left. */
const wasted = 64;
/** Iterations looked at that say something about the rest. */
const patience = 2 ** 16;

/**
 * Has the CPU go on, with all of the rest, when the GPU wastes most of its work: by what was counted and no clock, so that the same
 * iterations are executed in the same place each time.
 */
export class CountedPace implements Pace {
  #recent = { executed: 0, evaluated: 0 };

  observe(evaluated: number, executed: number): void {
    this.#recent.evaluated += evaluated;
    this.#recent.executed += executed;
  }

  observeCpu(): void {}

  isSlow(): boolean {
    const { executed, evaluated } = this.#recent;
    if (evaluated < patience) return false;
    this.#recent = { executed: 0, evaluated: 0 };
    return evaluated > wasted * executed;
  }

  nextTurn(): number {
    return Infinity;
  }
}
