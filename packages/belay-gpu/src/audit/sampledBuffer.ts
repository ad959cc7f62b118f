/** Buffers of sampled dispatches. */
import { describeWord, isBounded } from "../qualify/comparison.ts";
import type { WrongWord } from "../qualify/qualification.ts";
import { BufferContents, startOfWord } from "../reference/buffers.ts";
import type { FloatFormat } from "../reference/floatFormat.ts";
import type { Bounds } from "../reference/intervals.ts";
import type { Type } from "../wgsl/types.ts";
import { Pages, type PlaceComparison, pageBytes, pageOf, type SampledContents } from "./sampledContents.ts";

/** A buffer of which only some pages are known. A load from another page gives zeros. */
export class SampledBuffer extends BufferContents implements SampledContents {
  readonly before: Pages;
  readonly after: Pages;
  /** 1 for each page that was used since the last reset. */
  readonly #used: Uint8Array;
  readonly #type: Type;
  readonly #tracksLoads: boolean;
  /**
   * The halves of words that were loaded before they were stored, by their offsets in bytes. Empty
   * unless loads are tracked.
   */
  readonly #loads = new Set<number>();
  /** The halves of words that were stored, by their offsets in bytes. */
  readonly #stores = new Set<number>();
  onStore: ((offset: number) => void) | undefined;

  constructor(byteLength: number, type: Type, tracksLoads: boolean) {
    super(byteLength);
    this.before = new Pages(byteLength);
    this.after = new Pages(byteLength);
    this.#type = type;
    this.#used = new Uint8Array(Math.ceil(byteLength / pageBytes));
    this.#tracksLoads = tracksLoads;
  }

  reset(): void {
    for (const [page, isUsed] of this.#used.entries()) {
      if (!isUsed) continue;
      const { offset, size } = this.before.pageAt(page);
      this.restore(offset, this.before.known(offset) ?? new Uint8Array(size));
    }
    this.before.forgetMissing();
    this.#used.fill(0);
    this.#loads.clear();
    this.#stores.clear();
  }

  noteCompared(): void {
    for (const offset of this.#stores) this.after.need(offset);
    for (const offset of this.#loads) this.after.need(offset);
  }

  get hasForeignStores(): boolean {
    for (const offset of this.#loads) {
      if (this.#stores.has(offset)) continue;
      if (this.#halfAfter(offset) !== this.#halfAt(offset)) return true;
    }
    return false;
  }

  get storedPlaces(): Iterable<number> {
    return new Set([...this.#stores].map(startOfWord));
  }

  compareAt(start: number): PlaceComparison {
    return {
      isBounded: isBounded(this, start) || isBounded(this, start + 2),
      isRight: this.allows(start, this.#wordAfter(start)),
    };
  }

  describe(name: string, offset: number): Omit<WrongWord, "wrong"> {
    return describeWord({ name, type: this.#type }, this, offset, this.#wordAfter(offset));
  }

  override loadInteger(offset: number): number {
    this.#noteLoad(offset, 4);
    return super.loadInteger(offset);
  }

  override loadFloat(offset: number, format: FloatFormat, r: Bounds): number {
    this.#noteLoad(offset, bytesOf(format));
    return super.loadFloat(offset, format, r);
  }

  override storeInteger(offset: number, value: number): void {
    this.#noteStore(offset, 4);
    super.storeInteger(offset, value);
  }

  override storeFloat(offset: number, format: FloatFormat, low: number, high: number): void {
    this.#noteStore(offset, bytesOf(format));
    super.storeFloat(offset, format, low, high);
  }

  #noteLoad(offset: number, bytes: number): void {
    this.#use(offset);
    this.before.need(offset);
    if (!this.#tracksLoads) return;
    for (let i = offset; i < offset + bytes; i += 2) if (!this.#stores.has(i)) this.#loads.add(i);
  }

  #noteStore(offset: number, bytes: number): void {
    this.#use(offset);
    for (let i = offset; i < offset + bytes; i += 2) this.#stores.add(i);
    this.onStore?.(offset);
  }

  #use(offset: number): void {
    const page = pageOf(offset);
    if (this.#used[page] === 1) return;
    this.#used[page] = 1;
    const { offset: start } = this.before.pageAt(page);
    const bytes = this.before.known(start);
    if (bytes) this.restore(start, bytes);
  }

  /** Returns the 16 bits at an offset. */
  #halfAt(offset: number): number {
    const { bytes } = this;
    return bytes[offset]! | (bytes[offset + 1]! << 8);
  }

  /** Returns the 16 bits at an offset after the dispatch. */
  #halfAfter(offset: number): number {
    const bytes = this.after.known(offset)!;
    return bytes[offset % pageBytes]! | (bytes[(offset % pageBytes) + 1]! << 8);
  }

  /** Returns the word after the dispatch. Of its halves, other workgroups may have stored one. */
  #wordAfter(start: number): number {
    const [low, high] = [start, start + 2].map((offset) =>
      this.#stores.has(offset) ? this.#halfAfter(offset) : this.#halfAt(offset),
    ) as [number, number];
    return (low | (high << 16)) >>> 0;
  }
}

function bytesOf({ name }: FloatFormat): number {
  return name === "f16" ? 2 : 4;
}
