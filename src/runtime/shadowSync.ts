import type { BufferRange } from "./resources.ts";

/**
 * Which parts of buffers have a shadow that equals them, at one point of a command buffer. An Inter-Group kernel keeps
 * the two alike, as its replicas store the same into both; whatever else writes the buffer does not.
 */
export class ShadowSync {
  readonly #ranges = new Map<GPUBuffer, readonly BufferRange[]>();

  get isEmpty(): boolean {
    return this.#ranges.size === 0;
  }

  has(range: BufferRange): boolean {
    return this.#of(range.buffer).some((known) => contains(known, range));
  }

  add(range: BufferRange): void {
    const others = this.#of(range.buffer).filter((known) => !contains(range, known));
    this.#ranges.set(range.buffer, [...others, range]);
  }

  /** Only the buffer was written. */
  wrote({ buffer, ...written }: BufferRange): void {
    const untouched = this.#of(buffer).filter((known) => !overlap(known, written));
    this.#ranges.set(buffer, untouched);
  }

  /** Any part of the buffer may have been written. */
  wroteSomewhere(buffer: GPUBuffer): void {
    this.#ranges.delete(buffer);
  }

  /** Any buffer may have been written. */
  clear(): void {
    this.#ranges.clear();
  }

  #of(buffer: GPUBuffer): readonly BufferRange[] {
    return this.#ranges.get(buffer) ?? [];
  }
}

type Part = Omit<BufferRange, "buffer">;
const contains = (outer: Part, { offset, size }: Part) =>
  outer.offset <= offset && offset + size <= outer.offset + outer.size;
const overlap = (a: Part, b: Part) => a.offset < b.offset + b.size && b.offset < a.offset + a.size;
