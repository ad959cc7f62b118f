/** Finds the ranges of buffers that dispatches overwrite, whatever their earlier values were. */
import type { BindingPoint } from "../../compiler/contract.ts";
import { FilledBytesFinder, type FilledRange, type KernelSource } from "../../compiler/filledBytes.ts";
import type { Grid } from "../context/dispatchCall.ts";
import { isAsExpected, type KnownContents, type UniformVersions } from "../memory/memoryState.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { UniformContents } from "./uniformContents.ts";

/** A dispatch of a known kernel on a known grid. */
export interface KnownCall {
  /** The latest answer, with its ranges and the contents on which it depends. */
  latest?: KnownContents & { readonly answer: Answer; readonly ranges: readonly BufferRange[] };
  readonly kernel: KernelSource;
  readonly grid: Grid;
  readonly bound: readonly { readonly of: BindingPoint; readonly place: BufferRange | GPUTexture }[];
}

/** Tells the words of uniform buffers at one time. */
export interface UniformWords extends UniformVersions {
  wordAt(range: BufferRange, byte: number): number | undefined;
}

/** A word of a uniform buffer; undefined if it is not known. */
interface KnownWord {
  readonly of: BindingPoint;
  readonly offset: number;
  readonly word: number | undefined;
}

/** The filled ranges of one dispatch, and everything on which they depend. */
interface Answer {
  readonly grid: Grid;
  readonly sizes: readonly { readonly of: BindingPoint; readonly size: number | undefined }[];
  readonly words: readonly KnownWord[];
  readonly filled: readonly FilledRange[];
}

/** The answers about one kernel, the latest at the end. */
interface KnownAnswers {
  answers: Answer[];
  /** True once it was asked whether the answers depend on all their words. */
  isReduced: boolean;
}

/** The most answers that are kept for each kernel. */
const KEPT_ANSWERS = 16;

/** Finds the ranges that dispatches overwrite. Equal dispatches are analyzed once. */
export class FilledRanges {
  /** The contents of uniform buffers after all submissions and writes so far. */
  readonly uniforms = new UniformContents();
  readonly #finder = new FilledBytesFinder();
  readonly #known = new WeakMap<KernelSource, KnownAnswers>();

  /** Returns the ranges that a dispatch overwrites completely, if it runs with these contents. */
  of(call: KnownCall, contents: UniformWords): readonly BufferRange[] {
    const { latest } = call;
    if (latest && isAsExpected(latest, contents)) return latest.ranges;
    const isSame = latest !== undefined && hasWords(call, contents, latest.answer);
    const answer = isSame ? latest.answer : (this.#knownAnswer(call, contents) ?? this.#find(call, contents));
    const ranges = isSame ? latest.ranges : rangesOf(call, answer);
    const buffers = new Set(answer.words.flatMap(({ of }) => rangeAt(call, of)?.buffer ?? []));
    const versions = [...buffers].map((buffer) => ({ buffer, version: contents.versionOf(buffer) }));
    call.latest = { answer, ranges, contents: versions };
    return ranges;
  }

  #knownAnswer(call: KnownCall, contents: UniformWords): Answer | undefined {
    return this.#known
      .get(call.kernel)
      ?.answers.find((each) => isAbout(each, call) && hasWords(call, contents, each));
  }

  #find(call: KnownCall, contents: UniformWords): Answer {
    const known = this.#known.get(call.kernel) ?? { answers: [], isReduced: false };
    this.#known.set(call.kernel, known);
    const answer = this.#ask(call, (of, offset) => wordAt(call, contents, of, offset));
    const { answers } = known;
    answers.push(answer);
    if (answers.length <= KEPT_ANSWERS) return answer;
    answers.shift();
    if (known.isReduced) return answer;
    known.isReduced = true;
    // A counter or a seed differs each time, and decides nothing about the places of stores.
    const constant = answer.words.filter((word) => answers.every(({ words }) => words.some(isSame(word))));
    const reduced = this.#ask(call, (of, offset) => constant.find(isAt(of, offset))?.word);
    if (!isFilledAlike(reduced, answer)) return answer;
    const words = reduced.words.filter(({ of, offset }) => constant.some(isAt(of, offset)));
    known.answers = [{ ...reduced, words }];
    return answer;
  }

  #ask({ kernel, grid, bound }: KnownCall, word: (of: BindingPoint, offset: number) => number | undefined) {
    const sizes: Answer["sizes"][number][] = [];
    const words: Answer["words"][number][] = [];
    const filled = this.#finder.find(kernel, {
      grid,
      sizeOf: (of) => {
        const size = rangeAt({ bound }, of)?.size;
        sizes.push({ of, size });
        return size;
      },
      wordAt: (of, offset) => {
        const known = word(of, offset);
        words.push({ of, offset, word: known });
        return known;
      },
    });
    return { grid, sizes, words, filled };
  }
}

/** Returns the ranges of buffers that a dispatch fills by an answer. */
function rangesOf(call: KnownCall, { filled }: Answer): readonly BufferRange[] {
  return filled.flatMap(({ of, offset, size }) => {
    const range = rangeAt(call, of);
    return range ? [{ buffer: range.buffer, offset: range.offset + offset, size }] : [];
  });
}

function rangeAt({ bound }: Pick<KnownCall, "bound">, point: BindingPoint): BufferRange | undefined {
  for (const { of, place } of bound) {
    if (of.group === point.group && of.binding === point.binding)
      return "buffer" in place ? place : undefined;
  }
  return undefined;
}

function wordAt(
  call: KnownCall,
  contents: UniformWords,
  of: BindingPoint,
  offset: number,
): number | undefined {
  const range = rangeAt(call, of);
  return range && contents.wordAt(range, offset);
}

/** Returns whether the uniform buffers of a dispatch have the words on which an answer depends. */
function hasWords(call: KnownCall, contents: UniformWords, { words }: Answer): boolean {
  for (const { of, offset, word } of words) if (wordAt(call, contents, of, offset) !== word) return false;
  return true;
}

/** Returns whether an answer is about dispatches with this grid and these sizes. */
function isAbout({ grid, sizes }: Answer, call: KnownCall): boolean {
  return (
    grid.every((count, i) => count === call.grid[i]) &&
    sizes.every(({ of, size }) => rangeAt(call, of)?.size === size)
  );
}

const isAt =
  ({ group, binding }: BindingPoint, at: number) =>
  ({ of, offset }: KnownWord): boolean =>
    of.group === group && of.binding === binding && offset === at;

const isSame =
  ({ of, offset, word }: KnownWord) =>
  (other: KnownWord): boolean =>
    isAt(of, offset)(other) && other.word === word;

function isFilledAlike({ filled }: Answer, other: Answer): boolean {
  const textOf = ({ of, offset, size }: FilledRange) => `${of.group} ${of.binding} ${offset} ${size}`;
  return filled.map(textOf).join() === other.filled.map(textOf).join();
}
