/** Plays recorded flips, where the browser has no WebGPU. */
import { contents, type Flip, type MemoryResults, type Use } from "./memoryResults.ts";

/** The recorded uses of a buffer after no flip, after one and after two, under one code. */
export interface RecordedMemory {
  readonly adapter: string;
  readonly date: string;
  readonly code: string;
  readonly flips: readonly Flip[];
  readonly uses: readonly Use[];
}

/** The results of a recording. Each flip is the next recorded one. */
export class MemoryRecording implements MemoryResults {
  readonly #recorded: RecordedMemory;
  #flipped = 0;

  constructor(recorded: RecordedMemory) {
    this.#recorded = recorded;
  }

  async write(): Promise<void> {
    this.#flipped = 0;
  }

  flip(): Flip {
    const { flips } = this.#recorded;
    this.#flipped = Math.min(flips.length, this.#flipped + 1);
    return flips[this.#flipped - 1]!;
  }

  async use(): Promise<Use> {
    const use = this.#recorded.uses[this.#flipped]!;
    if (use.words) this.#flipped = 0;
    return { ...use, words: use.words && contents };
  }

  close(): void {}
}
