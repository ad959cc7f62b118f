/** Plays recorded flips, where the browser has no WebGPU. */
import { type BitFlip, type BufferUse, contents, type MemoryResults } from "./memoryResults.ts";

/** The recorded uses of a buffer after no flip, after one and after two, under one code. */
export interface RecordedMemory {
  readonly adapter: string;
  readonly date: string;
  readonly code: string;
  readonly flips: readonly BitFlip[];
  readonly uses: readonly BufferUse[];
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

  flip(): BitFlip {
    const { flips } = this.#recorded;
    this.#flipped = Math.min(flips.length, this.#flipped + 1);
    return flips[this.#flipped - 1]!;
  }

  async use(): Promise<BufferUse> {
    const use = this.#recorded.uses[this.#flipped]!;
    if (use.words) this.#flipped = 0;
    return { ...use, words: use.words && contents };
  }

  close(): void {}
}
