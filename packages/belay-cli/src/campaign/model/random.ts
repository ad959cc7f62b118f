import { createHash } from "node:crypto";

/** A short name for a text, which no other text is going to have. */
export function digest(text: string, length = 12): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

/** Random numbers that a name decides, so that whoever knows the name can draw the same again. */
export class Draws {
  readonly #name: string;
  #words: Buffer = Buffer.alloc(0);
  #blocks = 0;
  #next = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** A random 32-bit word. */
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

  /** A whole number below `limit`, at most 2^53; each is as likely. */
  below(limit: number): number {
    // 53 bits, of which a limit far below leaves no bias that counts.
    const fraction = (this.word() * 2 ** 21 + (this.word() >>> 11)) / 2 ** 53;
    return Math.floor(fraction * limit);
  }

  /** One of `items`, each as likely. */
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** One of `items`, as likely as its weight is large; undefined when all weights are zero. */
  weighted<T>(items: readonly T[], weight: (item: T) => number): T | undefined {
    let left = this.below(items.reduce((sum, item) => sum + weight(item), 0));
    return items.find((item) => {
      left -= weight(item);
      return left < 0;
    });
  }
}
