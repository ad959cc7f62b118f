/** Finds the ranges of buffers that dispatches overwrite, whatever their earlier values were. */
import type { BindingPoint } from "../../compiler/contract.ts";
import { FilledBytesFinder, type FilledRange, type KernelSource } from "../../compiler/filledBytes.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { UniformContents } from "./uniformContents.ts";

/** A dispatch of a known kernel on a known grid. */
export interface KnownCall {
  /** The latest answer, with its ranges. */
  latest?: { readonly answer: Answer; readonly ranges: readonly BufferRange[] };
  readonly kernel: KernelSource;
  /** The number of workgroups in each dimension. */
  readonly grid: readonly number[];
  readonly bound: readonly { readonly of: BindingPoint; readonly place: BufferRange | GPUTexture }[];
}

/** Tells the words of uniform buffers at one time. */
export interface UniformWords {
  wordAt(range: BufferRange, byte: number): number | undefined;
}

/** The filled ranges of one dispatch, and everything on which they depend. */
interface Answer {
  readonly grid: readonly number[];
  readonly sizes: readonly { readonly of: BindingPoint; readonly size: number | undefined }[];
  readonly words: readonly {
    readonly of: BindingPoint;
    readonly offset: number;
    readonly word: number | undefined;
  }[];
  readonly filled: readonly FilledRange[];
}

/** The most answers that are kept for each kernel. */
const KEPT_ANSWERS = 16;

/**
 * Returns the number of workgroups in each dimension. Converts the arguments of
 * `dispatchWorkgroups` as WebGPU does.
 */
export function workgroupsOf(grid: readonly unknown[]): readonly number[] {
  return [countOf(grid[0]), countOf(grid[1]), countOf(grid[2])];
}

function countOf(given: unknown): number {
  if (Number.isInteger(given)) return given as number;
  return given === undefined ? 1 : Math.trunc(Number(given));
}

/** Finds the ranges that dispatches overwrite. Equal dispatches are analyzed once. */
export class FilledRanges {
  /** The contents of uniform buffers after all submissions and writes so far. */
  readonly uniforms = new UniformContents();
  readonly #finder = new FilledBytesFinder();
  readonly #answers = new WeakMap<KernelSource, Answer[]>();

  /** Returns the ranges that a dispatch overwrites completely, if it runs with these contents. */
  of(call: KnownCall, contents: UniformWords): readonly BufferRange[] {
    const { latest } = call;
    if (latest?.answer.words.length === 0) return latest.ranges;
    const rangeAt = ({ group, binding }: BindingPoint) => {
      const place = call.bound.find(({ of }) => of.group === group && of.binding === binding)?.place;
      return place && "buffer" in place ? place : undefined;
    };
    const sizeOf = (of: BindingPoint) => rangeAt(of)?.size;
    const wordAt = (of: BindingPoint, offset: number) => {
      const range = rangeAt(of);
      return range && contents.wordAt(range, offset);
    };
    const isStill = ({ words }: Answer) => words.every(({ of, offset, word }) => wordAt(of, offset) === word);
    if (latest && isStill(latest.answer)) return latest.ranges;
    const answers = this.#answers.get(call.kernel) ?? [];
    this.#answers.set(call.kernel, answers);
    const known = answers.find(
      (each) =>
        each.grid.every((count, i) => count === call.grid[i]) &&
        each.sizes.every(({ of, size }) => sizeOf(of) === size) &&
        isStill(each),
    );
    const answer = known ?? this.#find(call, answers, sizeOf, wordAt);
    const ranges = answer.filled.flatMap(({ of, offset, size }) => {
      const range = rangeAt(of);
      return range ? [{ buffer: range.buffer, offset: range.offset + offset, size }] : [];
    });
    call.latest = { answer, ranges };
    return ranges;
  }

  #find(
    { kernel, grid }: KnownCall,
    answers: Answer[],
    sizeOf: (of: BindingPoint) => number | undefined,
    wordAt: (of: BindingPoint, offset: number) => number | undefined,
  ): Answer {
    const sizes: Answer["sizes"][number][] = [];
    const words: Answer["words"][number][] = [];
    const filled = this.#finder.find(kernel, {
      grid,
      sizeOf: (of) => {
        const size = sizeOf(of);
        sizes.push({ of, size });
        return size;
      },
      wordAt: (of, offset) => {
        const word = wordAt(of, offset);
        words.push({ of, offset, word });
        return word;
      },
    });
    const answer = { grid, sizes, words, filled };
    answers.push(answer);
    if (answers.length > KEPT_ANSWERS) answers.shift();
    return answer;
  }
}
