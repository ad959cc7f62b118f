import { handingOver } from "./tuning.ts";

/** Decides, while a loop runs on the GPU, whether the CPU should go on with it. */
export interface Handover {
  /**
   * Observes rounds on the GPU that looked at and executed so many iterations, in so many
   * milliseconds.
   */
  observe(evaluated: number, executed: number, time: number): void;
  /** Observes iterations that the CPU executed in so many milliseconds. */
  observeCpu(executed: number, time: number): void;
  /**
   * Tells whether the CPU should take over, with so many iterations left, by what was observed
   * since it was last asked.
   */
  isDue(left: number): boolean;
  /** Returns the milliseconds that the CPU should work for when it takes over. */
  nextTurn(): number;
}

/** Hands a loop over when the CPU would be faster. */
export class TimedHandover implements Handover {
  /** Milliseconds that it takes to hand the arrays to the CPU and back. */
  readonly #cost: number;
  /** Milliseconds that the CPU takes for an iteration; null before it has executed any. */
  #cpuRate: number | null;
  #recent = { executed: 0, evaluated: 0, time: 0 };
  #turns = 0;
  /** How many times slower than the CPU the GPU was when it was too slow. */
  #slowness = 1;

  constructor(cost: number, cpuRate: number | null) {
    this.#cost = cost;
    this.#cpuRate = cpuRate;
  }

  observe(evaluated: number, executed: number, time: number): void {
    this.#recent.evaluated += evaluated;
    this.#recent.executed += executed;
    this.#recent.time += time;
  }

  observeCpu(executed: number, time: number): void {
    if (executed > 0) this.#cpuRate = time / executed;
    this.#recent = { executed: 0, evaluated: 0, time: 0 };
  }

  isDue(left: number): boolean {
    const { executed, evaluated, time } = this.#recent;
    if (time < handingOver.observed) return false;
    this.#recent = { executed: 0, evaluated: 0, time: 0 };
    const waste = evaluated / (handingOver.waste * executed);
    const cpu = this.#cpuRate ?? (evaluated > handingOver.waste * executed ? 0 : Infinity);
    if ((time / executed) * left <= handingOver.margin * (cpu * left + this.#cost)) return false;
    this.#slowness = Math.max(1, this.#cpuRate === null ? waste : time / executed / cpu);
    return true;
  }

  /**
   * Grows with each turn, so that going back and forth stays cheap, and with the slowness of the
   * GPU.
   */
  nextTurn(): number {
    this.#turns++;
    return handingOver.turn * this.#turns * this.#slowness * (this.#cost + handingOver.observed);
  }
}

/**
 * Hands all of the rest over when the GPU wastes most of its work: by counts and no clock, so that
 * the same iterations are executed in the same place each time.
 */
export class CountedHandover implements Handover {
  #recent = { executed: 0, evaluated: 0 };

  observe(evaluated: number, executed: number): void {
    this.#recent.evaluated += evaluated;
    this.#recent.executed += executed;
  }

  observeCpu(): void {}

  isDue(): boolean {
    const { executed, evaluated } = this.#recent;
    if (evaluated < handingOver.countedObserved) return false;
    this.#recent = { executed: 0, evaluated: 0 };
    return evaluated > handingOver.countedWaste * executed;
  }

  nextTurn(): number {
    return Infinity;
  }
}
