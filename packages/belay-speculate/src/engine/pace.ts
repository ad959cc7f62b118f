/** Milliseconds of work on the GPU that say something about the rest. */
const patience = 1;
/** How much faster the CPU has to promise to be. */
const margin = 1.5;
/** Iterations looked at for each one executed above which the CPU is worth a try, when it is not known how fast that is. */
const wasted = 16;

/** Tells, while a loop runs on the GPU, whether the CPU should go on with it. */
export interface Pace {
  /** Rounds on the GPU looked at and executed so many iterations, in so many milliseconds. */
  observe(evaluated: number, executed: number, time: number): void;
  /** The CPU executed so many iterations in so many milliseconds. */
  observeCpu(executed: number, time: number): void;
  /** Whether the CPU should take over, with so many iterations left. Judges by what was observed since it was last asked. */
  isSlow(left: number): boolean;
  /** Milliseconds that the CPU should work for when it takes over. */
  nextTurn(): number;
}

/** Has the CPU go on when it would be faster. */
export class MeasuredPace implements Pace {
  /** Milliseconds that it takes to hand the arrays to the CPU and back. */
  readonly #handOver: number;
  /** Milliseconds that the CPU takes for an iteration; null before it has executed any. */
  #cpu: number | null;
  #recent = { executed: 0, evaluated: 0, time: 0 };
  #turns = 0;
  /** How many times slower than the CPU the GPU was when it was too slow. */
  #slowness = 1;

  constructor(handOver: number, cpu: number | null) {
    this.#handOver = handOver;
    this.#cpu = cpu;
  }

  observe(evaluated: number, executed: number, time: number): void {
    this.#recent.evaluated += evaluated;
    this.#recent.executed += executed;
    this.#recent.time += time;
  }

  observeCpu(executed: number, time: number): void {
    if (executed > 0) this.#cpu = time / executed;
    this.#recent = { executed: 0, evaluated: 0, time: 0 };
  }

  isSlow(left: number): boolean {
    const { executed, evaluated, time } = this.#recent;
    if (time < patience) return false;
    this.#recent = { executed: 0, evaluated: 0, time: 0 };
    const cpu = this.#cpu ?? (evaluated > wasted * executed ? 0 : Infinity);
    if ((time / executed) * left <= margin * (cpu * left + this.#handOver)) return false;
    this.#slowness = Math.max(
      1,
      this.#cpu === null ? evaluated / (wasted * executed) : time / executed / cpu,
    );
    return true;
  }

  /** More each time, so that going back and forth stays cheap, and more the less there is to hope for from the GPU. */
  nextTurn(): number {
    this.#turns++;
    return 4 * this.#turns * this.#slowness * (this.#handOver + patience);
  }
}
