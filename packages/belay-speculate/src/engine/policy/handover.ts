import { handingOver } from "./tuning.ts";

/** A policy that decides, while a loop runs on the GPU, whether the CPU should continue it. */
export interface Handover {
  /**
   * Observes rounds on the GPU: the iterations that they evaluated and executed, and their time in
   * milliseconds.
   */
  observe(evaluated: number, executed: number, time: number): void;
  /** Observes iterations that the CPU executed, and their time in milliseconds. */
  observeCpu(executed: number, time: number): void;
  /**
   * Returns true if the CPU should take over, with so many iterations left, by the observations
   * since the last call.
   */
  isDue(left: number): boolean;
  /** Returns the time for which the CPU should work when it takes over, in milliseconds. */
  nextCpuTime(): number;
}

/** A handover to the CPU if it would be faster, by measured times. */
export class TimedHandover implements Handover {
  /** The time to move the arrays to the CPU and back, in milliseconds. */
  readonly #cost: number;
  /** The CPU's time of an iteration in milliseconds; null before it has executed any. */
  #cpuRate: number | null;
  #recent = { executed: 0, evaluated: 0, time: 0 };
  #handovers = 0;
  /** The ratio of the GPU's time to the CPU's when the GPU was last too slow. */
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
   * Grows with each handover, so that alternating stays cheap, and with the slowness of the GPU.
   */
  nextCpuTime(): number {
    this.#handovers++;
    return handingOver.cpuShare * this.#handovers * this.#slowness * (this.#cost + handingOver.observed);
  }
}

/**
 * A handover of all remaining iterations if the GPU wastes most of its work. It uses counts and no
 * clock, so that each execution runs the same iterations in the same place.
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

  nextCpuTime(): number {
    return Infinity;
  }
}
