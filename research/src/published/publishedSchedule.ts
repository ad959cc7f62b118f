/**
 * The number of iterations of the next round of the published engine.
 *
 * With n elements and m writes in each iteration, n / m iterations write each element once on
 * average: the first guess. From there the round follows the results of the last ones. If a branch
 * makes all later iterations wrong, the distance between such branches counts: a round that ends at
 * one wastes nothing.
 *
 * Source: Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014, on scheduling. The
 * thresholds are chosen here.
 */

export interface RoundResult {
  readonly iterations: number;
  /** The iterations that had to run again. */
  readonly misspeculated: number;
  /** The iterations that took a branch which makes all later ones wrong. */
  readonly breaks: number;
}

/** The fraction of misspeculated iterations above which the next round is half as long. */
const tolerated = 0.1;
/** The number of rounds without any misspeculation after which the next one is twice as long. */
const cleanStreak = 2;
/** The least iterations of a round: shorter rounds take no less time on a GPU. */
const shortest = 64;

export class PublishedSchedule {
  readonly #longest: number;
  #size: number;
  #streak = 0;
  #seen = { iterations: 0, breaks: 0 };

  /**
   * Creates a schedule. `elements` and `writes` (in one iteration) are those of the tracked arrays.
   * No round takes more than `longest` iterations.
   */
  constructor(elements: number, writes: number, longest: number) {
    this.#longest = longest;
    this.#size = this.#bounded(elements / Math.max(1, writes));
  }

  /** The number of iterations of the next round. */
  get size(): number {
    return this.#size;
  }

  observe({ iterations, misspeculated, breaks }: RoundResult): void {
    this.#seen.iterations += iterations;
    this.#seen.breaks += breaks;
    this.#streak = misspeculated === 0 ? this.#streak + 1 : 0;
    if (this.#seen.breaks > 0) {
      this.#size = this.#bounded(this.#seen.iterations / this.#seen.breaks);
    } else if (misspeculated > tolerated * iterations) {
      this.#size = this.#bounded(this.#size / 2);
    } else if (this.#streak >= cleanStreak) {
      this.#size = this.#bounded(this.#size * 2);
      this.#streak = 0;
    }
  }

  #bounded(size: number): number {
    return Math.min(this.#longest, Math.max(Math.min(shortest, this.#longest), Math.floor(size)));
  }
}
