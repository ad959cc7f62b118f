import { performance } from "node:perf_hooks";
import type { Results } from "./results.ts";

/** How far a campaign is. */
export interface CampaignProgress {
  readonly doing: string;
  /**
   * Injections that are done, by this run of the campaign and in all, and that are planned, as far
   * as is known.
   */
  readonly now: number;
  readonly done: number;
  readonly planned: number;
  /** Injections per second; 0 before the first. */
  readonly rate: number;
}

/** Milliseconds between two words about the progress. */
const TELL_EVERY = 200;

/** Tells how far a campaign is, now and then. */
export class Progress {
  readonly #results: Results;
  readonly #listener: ((progress: CampaignProgress) => void) | undefined;
  #injectingSince = 0;
  #now = 0;
  #told = Number.NEGATIVE_INFINITY;

  constructor(results: Results, listener: ((progress: CampaignProgress) => void) | undefined) {
    this.#results = results;
    this.#listener = listener;
  }

  /** Rates count from the first time on. */
  beginInjecting(): void {
    this.#injectingSince ||= performance.now();
  }

  injected(): void {
    this.#now++;
  }

  tell(doing: string): void {
    const time = performance.now();
    if (!this.#listener || time - this.#told < TELL_EVERY) return;
    this.#told = time;
    const rate = this.#now === 0 ? 0 : (1000 * this.#now) / (time - this.#injectingSince);
    this.#listener({ doing, now: this.#now, rate, ...this.#results.amount() });
  }
}
