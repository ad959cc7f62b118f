import { createHash } from "node:crypto";

/** Returns a short name for a text. Two texts with the same name are practically impossible. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/**
 * A source of random numbers that a name determines. The same name draws the same numbers again.
 */
export class Draws {
  readonly #name: string;
  #words: Buffer = Buffer.alloc(0);
  #blocks = 0;
  #next = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Draws a 32-bit word. */
  word(): number {
    if (this.#next === this.#words.length) {
      this.#words = createHash("sha256")
        .update(`${this.#name}/${this.#blocks++}`)
        .digest();
      this.#next = 0;
    }
    const word = this.#words.readUInt32LE(this.#next);
    this.#next += 4;
    return word;
  }

  /** Draws a whole number below `limit`, which is at most 2^53. All numbers are equally likely. */
  below(limit: number): number {
    // 53 random bits leave a negligible bias for limits far below 2^53.
    const fraction = (this.word() * 2 ** 21 + (this.word() >>> 11)) / 2 ** 53;
    return Math.floor(fraction * limit);
  }

  /** Draws one of `items`. All items are equally likely. */
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /**
   * Draws one of `items` with a probability proportional to its weight. Returns undefined when all
   * weights are zero.
   */
  weighted<T>(items: readonly T[], weight: (item: T) => number): T | undefined {
    let left = this.below(items.reduce((sum, item) => sum + weight(item), 0));
    return items.find((item) => {
      left -= weight(item);
      return left < 0;
    });
  }
}
