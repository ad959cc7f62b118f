/**
 * Strings appended to a buffer that doubles when it is full. A growth moves all later data, so all
 * later iterations of the round are wrong.
 *
 * Documented (Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014): the loop takes a branch
 * when the buffer must grow. All later iterations are then misspeculated. Inferred: everything
 * else. Strings have eight bytes here. The buffer keeps its contents and grows by a segment as
 * large as all before. Each new segment begins with one byte that counts segments.
 */
import { type Verdict, verifyExact } from "../program.ts";
import { randomBelow } from "../random.ts";
import type { LoopProgram } from "./loopProgram.ts";

const WIDTH = 8;

export async function strcat(buffer: Uint8Array, text: Uint8Array, firstCapacity: number) {
  "use speculate";
  const strings = (text.length / WIDTH) | 0;
  let capacity = firstCapacity | 0;
  let segments = 0;
  //#pragma omp for target(webgpu) speculate(buffer)
  for (let i = 0; i < strings; i++) {
    const start = Math.imul(i, WIDTH);
    const before = segments | 0;
    let place = (start + before) | 0;
    if (((start + WIDTH) | 0) > (capacity | 0)) {
      //#pragma omp branch misspeculate(+1:)
      segments = (before + 1) | 0;
      capacity = capacity << 1;
      buffer[place] = segments;
      place = (place + 1) | 0;
    }
    for (let k = 0; k < WIDTH; k++) buffer[(place + k) | 0] = text[(start + k) | 0]!;
  }
}

export interface StrcatOptions {
  readonly strings?: number;
  readonly firstCapacity?: number;
}

export function create(options: StrcatOptions = {}): LoopProgram<Parameters<typeof strcat>> {
  const { strings = 2 ** 14, firstCapacity = 64 } = options;
  const text = lettersOf(strings * WIDTH, 1);
  const segments = Math.max(0, Math.ceil(Math.log2(text.length / firstCapacity)));
  return {
    iterations: strings,
    inputs: () => [new Uint8Array(text.length + segments), text.slice(), firstCapacity],
    verify([buffer]): Verdict {
      // Segment n begins after as much text as the first capacity doubled n - 1 times.
      const expected = new Uint8Array(text.length + segments);
      let copied = 0;
      for (let segment = 1; segment <= segments; segment++) {
        const end = firstCapacity * 2 ** (segment - 1);
        expected.set(text.subarray(copied, end), copied + segment - 1);
        expected[end + segment - 1] = segment;
        copied = end;
      }
      expected.set(text.subarray(copied), copied + segments);
      return verifyExact("buffer", buffer, expected);
    },
  };
}

/**
 * Returns random letters. A prime number of letters repeats, so that no two strings near each other
 * are alike.
 */
function lettersOf(length: number, seed: number): Uint8Array<ArrayBuffer> {
  const text = new Uint8Array(length);
  const drawn = Math.min(length, 65_537);
  for (let i = 0; i < drawn; i++) text[i] = 97 + randomBelow(26, seed, i);
  for (let filled = drawn; filled < length; filled += drawn) text.copyWithin(filled, 0, drawn);
  return text;
}
