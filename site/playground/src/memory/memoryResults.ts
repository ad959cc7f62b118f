/** The results of using a buffer with flipped bits. */
import type { MemoryCode, Policy } from "belay-gpu";
import type { Heard } from "../kernel/results.ts";

/** The code of the buffer. */
export type BufferCode = MemoryCode | "none";

/** One flipped bit. */
export interface BitFlip {
  readonly word: number;
  readonly bit: number;
}

/** The result of a kernel that loads the buffer. */
export interface BufferUse {
  /** The words that the program read; null if they were refused. */
  readonly words: readonly number[] | null;
  readonly heard: readonly Heard[];
}

/** A source of results. */
export interface MemoryResults {
  /** Writes the buffer anew, under a code. */
  write(code: BufferCode, words: readonly number[]): Promise<void>;
  /** Flips a bit of the buffer at rest. Returns the bit that was flipped. */
  flip(flip: BitFlip): BitFlip;
  /** Runs a kernel that loads the buffer. */
  use(): Promise<BufferUse>;
  /** Releases the device. */
  close(): void;
}

/** The policy of the device: codes alone, without redundancy. */
export const policyOf = (memory: BufferCode): Policy => ({ redundancy: "none", memory, injectFaults: true });

/** The words of the buffer. */
export const contents: readonly number[] = Array.from(
  { length: 16 },
  (_, place) => Math.imul(place + 3, 0x9e3779b1) >>> 0,
);
