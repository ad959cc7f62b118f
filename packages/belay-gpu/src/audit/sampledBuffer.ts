/** Buffers of sampled dispatches, whose pages come to the host when a workgroup needs them. */
import { BufferContents } from "../reference/buffers.ts";
import type { FloatFormat } from "../reference/floatFormat.ts";
import type { Bounds } from "../reference/intervals.ts";

/** The size of a page in bytes, as a power of two. */
const pageBits = 12;
const pageBytes = 2 ** pageBits;

/** A page of a buffer, in bytes. The last page of a buffer may be shorter. */
export interface Page {
  readonly offset: number;
  readonly size: number;
}

/**
 * A buffer of which only some pages are known. A load from another page gives zeros, and the page
 * is missing then.
 */
export class SampledBuffer extends BufferContents {
  /** The known pages, by their number. */
  readonly #known = new Map<number, Uint8Array>();
  /** 1 for each page that was used since the last reset. */
  readonly #used: Uint8Array;
  readonly #missing = new Set<number>();
  readonly #tracksLoads: boolean;
  /**
   * The halves of words that were loaded before they were stored, by their offsets in bytes. Empty
   * unless loads are tracked.
   */
  readonly loads = new Set<number>();
  /** The halves of words that were stored, by their offsets in bytes. */
  readonly stores = new Set<number>();
  /** Called after each store with its first byte. */
  onStore: ((offset: number) => void) | undefined;

  constructor(byteLength: number, tracksLoads: boolean) {
    super(byteLength);
    this.#used = new Uint8Array(Math.ceil(byteLength / pageBytes));
    this.#tracksLoads = tracksLoads;
  }

  /** The pages that were loaded from and are not known. */
  get missing(): Page[] {
    return [...this.#missing].map((page) => this.#pageAt(page));
  }

  /** Returns the 16 bits at an offset. */
  halfAt(offset: number): number {
    const { bytes } = this;
    return bytes[offset]! | (bytes[offset + 1]! << 8);
  }

  /** Returns the pages with these bytes. */
  pagesOf(offsets: Iterable<number>): Page[] {
    const pages = new Set<number>();
    for (const offset of offsets) pages.add(offset >> pageBits);
    return [...pages].map((page) => this.#pageAt(page));
  }

  /** All pages. */
  get pages(): Page[] {
    const count = Math.ceil(this.byteLength / pageBytes);
    return Array.from({ length: count }, (_, page) => this.#pageAt(page));
  }

  /** Makes a page known. */
  provide({ offset }: Page, bytes: Uint8Array): void {
    this.#known.set(offset >> pageBits, bytes);
  }

  /** Restores the known pages to their contents before the dispatch. */
  reset(): void {
    for (const [page, isUsed] of this.#used.entries()) {
      if (!isUsed) continue;
      const { offset, size } = this.#pageAt(page);
      this.restore(offset, this.#known.get(page) ?? new Uint8Array(size));
    }
    this.#used.fill(0);
    this.#missing.clear();
    this.loads.clear();
    this.stores.clear();
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
    if (!this.#known.has(offset >> pageBits)) this.#missing.add(offset >> pageBits);
    if (!this.#tracksLoads) return;
    for (let i = offset; i < offset + bytes; i += 2) if (!this.stores.has(i)) this.loads.add(i);
  }

  #noteStore(offset: number, bytes: number): void {
    this.#use(offset);
    for (let i = offset; i < offset + bytes; i += 2) this.stores.add(i);
    this.onStore?.(offset);
  }

  #use(offset: number): void {
    const page = offset >> pageBits;
    if (this.#used[page] === 1) return;
    this.#used[page] = 1;
    const bytes = this.#known.get(page);
    if (bytes) this.restore(page * pageBytes, bytes);
  }

  #pageAt(page: number): Page {
    const offset = page * pageBytes;
    return { offset, size: Math.min(pageBytes, this.byteLength - offset) };
  }
}

function bytesOf({ name }: FloatFormat): number {
  return name === "f16" ? 2 : 4;
}
