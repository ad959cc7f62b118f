/** Compares the words that a device has stored with those that the specification allows. */
import { type ReferenceBuffer, startOfWord } from "../reference/buffers.ts";
import { f16Format, f32Format } from "../reference/floatFormat.ts";
import type { ScalarType, Type } from "../wgsl/types.ts";
import { leavesOf, numberAt } from "./leaves.ts";
import type { WrongWord } from "./qualification.ts";
import type { TrialBuffer } from "./trials.ts";

/** The outcome of a comparison. */
export interface WordComparison {
  /** The number of words that the kernel stores and that the specification bounds. */
  readonly words: number;
  /** The first wrong word, if there is one. */
  readonly wrong?: WrongWord;
}

/** A buffer with the words of the device, and those of the reference executor. */
export interface ComparedBuffer {
  readonly binding: TrialBuffer;
  readonly expected: ReferenceBuffer;
  readonly actual: Uint32Array;
}

/** Compares the data words of buffers. Padding has no words. */
export function compare(buffers: readonly ComparedBuffer[]): WordComparison {
  let words = 0;
  let wrong = 0;
  let first: Omit<WrongWord, "wrong"> | undefined;
  for (const { binding, expected, actual } of buffers) {
    let next = 0;
    for (const leaf of leavesOf(binding.type, binding.bytes.length)) {
      const offset = startOfWord(leaf.offset);
      if (offset < next) continue;
      next = offset + 4;
      const word = actual[offset / 4]!;
      if (isBounded(expected, offset)) words++;
      if (expected.allows(offset, word)) continue;
      wrong++;
      first ??= describeWord(binding, expected, leaf.offset, word);
    }
  }
  return { words, ...(first && { wrong: { ...first, wrong } }) };
}

/** Describes the number at an offset of a variable, of which the word on the device is given. */
export function describeWord(
  { name, type }: { readonly name: string; readonly type: Type },
  expected: ReferenceBuffer,
  offset: number,
  word: number,
): Omit<WrongWord, "wrong"> {
  const { path, scalar } = numberAt(type, offset);
  return {
    place: `${name}${path}`,
    offset: startOfWord(offset),
    expected: allowedText(expected, offset, scalar),
    actual: textOf(scalar, word >>> ((offset & 2) * 8)),
  };
}

/** Returns true if a kernel has stored a number whose value is known within bounds. */
export function isBounded(buffer: ReferenceBuffer, offset: number): boolean {
  return buffer.storedAt(offset) !== undefined && !Number.isNaN(buffer.rangeAt(offset)?.low ?? 0);
}

function allowedText(buffer: ReferenceBuffer, offset: number, type: ScalarType): string {
  const range = buffer.rangeAt(offset);
  if (range) return `${range.low} to ${range.high}`;
  const view = new DataView(buffer.bytes.buffer);
  return textOf(type, view.getUint32(startOfWord(offset), true) >>> ((offset & 2) * 8));
}

/** Returns the number with these bits. */
function textOf({ name }: ScalarType, bits: number): string {
  if (name === "f32") return String(f32Format.fromBits(bits));
  if (name === "f16") return String(f16Format.fromBits(bits & 0xffff));
  return String(name === "i32" ? bits | 0 : bits >>> 0);
}
