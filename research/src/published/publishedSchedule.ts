/**
 * How many iterations the next round of the published engine takes.
 *
 * With n elements and m writes in each iteration, n / m iterations write each element once on average: the first guess.
 * From there the round follows what the last ones showed. Where a branch makes all that follow wrong, what counts is how
 * far apart such branches are: a round that ends at one wastes nothing.
 *
 * Source: Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014, on scheduling. The thresholds are chosen here.
 */

export interface RoundResult {
  readonly iterations: number;
  /** Iterations that had to run again. */
  readonly misspeculated: number;
  /** Iterations that took a branch which makes all that follow wrong. */
  readonly breaks: number;
}

/** Above this part of misspeculated iterations the next round is half as long. */
const tolerated = 0.1;
/** Rounds without any misspeculation after which the next one is twice as long. */
const cleanStreak = 2;
/** Shorter rounds take no less time on a GPU. */
const shortest = 64;

export class PublishedSchedule {
  readonly #longest: number;
  #size: number;
  #streak = 0;
  #seen = { iterations: 0, breaks: 0 };

  /**
   * `elements` and `writes` (in one iteration) are of the tracked arrays; no round takes more than
   * `longest`.
   */
  constructor(elements: number, writes: number, longest: number) {
    this.#longest = longest;
    this.#size = this.#bounded(elements / Math.max(1, writes));
  }

  /** Iterations of the next round. */
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
