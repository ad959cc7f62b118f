import type { BufferRange } from "./resources.ts";

/** A set of buffer ranges with some property, at one point of a command buffer. */
export class RangeSet {
  /** The ranges by buffer. Most command buffers need none. */
  #ranges: Map<GPUBuffer, readonly BufferRange[]> | undefined = undefined;

  get isEmpty(): boolean {
    return this.#ranges === undefined || this.#ranges.size === 0;
  }

  /** Returns whether one range of the set contains the whole range. */
  has(range: BufferRange): boolean {
    for (const known of this.#of(range.buffer)) if (contains(known, range)) return true;
    return false;
  }

  /** Returns the ranges of the set that overlap the range. */
  overlapping(range: BufferRange): readonly BufferRange[] {
    const known = this.#ranges?.get(range.buffer);
    return known ? known.filter((each) => overlap(each, range)) : none;
  }

  *[Symbol.iterator](): Generator<BufferRange> {
    if (this.#ranges) for (const ranges of this.#ranges.values()) yield* ranges;
  }

  add(range: BufferRange): void {
    if (this.has(range)) return;
    const others = this.#of(range.buffer).filter((known) => !contains(range, known));
    this.#ranges ??= new Map();
    this.#ranges.set(range.buffer, [...others, range]);
  }

  /** Removes the ranges that overlap the range. */
  remove(range: BufferRange): void {
    const known = this.#ranges?.get(range.buffer);
    if (!this.#ranges || !known) return;
    const untouched = known.filter((each) => !overlap(each, range));
    if (untouched.length > 0) this.#ranges.set(range.buffer, untouched);
    else this.#ranges.delete(range.buffer);
  }

  /** Removes all ranges of a buffer. */
  removeAll(buffer: GPUBuffer): void {
    this.#ranges?.delete(buffer);
  }

  clear(): void {
    this.#ranges?.clear();
  }

  #of(buffer: GPUBuffer): readonly BufferRange[] {
    return this.#ranges?.get(buffer) ?? none;
  }
}

const none: readonly BufferRange[] = [];

type Part = Omit<BufferRange, "buffer">;
const contains = (outer: Part, { offset, size }: Part) =>
  outer.offset <= offset && offset + size <= outer.offset + outer.size;
const overlap = (a: Part, b: Part) => a.offset < b.offset + b.size && b.offset < a.offset + a.size;
