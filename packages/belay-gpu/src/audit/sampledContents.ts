/** The contents of sampled resources, whose pages come to the host when a workgroup needs them. */
import type { WrongWord } from "../qualify/qualification.ts";

/** The size of a page in bytes, as a power of two. */
const pageBits = 12;
export const pageBytes = 2 ** pageBits;

/** A page of a copy, in bytes. The last page of a copy may be shorter. */
export interface Page {
  readonly offset: number;
  readonly size: number;
}

/** The outcome of comparing what a workgroup has stored with the contents after the dispatch. */
export interface StoredComparison {
  /** The number of compared numbers that the specification bounds. */
  readonly bounded: number;
  /** The places of wrong numbers. */
  readonly wrong: readonly number[];
}

/** The contents of a resource before and after a dispatch, as far as they are known. */
export interface SampledContents {
  /** The pages before the dispatch. */
  readonly before: Pages;
  /** The pages after the dispatch. */
  readonly after: Pages;
  /** Restores the contents before the dispatch. */
  reset(): void;
  /** Notes the pages after the dispatch that a comparison needs. */
  noteCompared(): void;
  /** True if another workgroup has stored a number that the workgroup loads. */
  readonly hasForeignStores: boolean;
  /** Compares the numbers that the workgroup has stored, in steps. */
  compare(): Generator<void, StoredComparison>;
  /** Describes a wrong number of a variable. */
  describe(variable: string, place: number): Omit<WrongWord, "wrong">;
  /** Called after each store with its place. */
  onStore: ((place: number) => void) | undefined;
}

/** The known pages of a copy. */
export class Pages {
  readonly #byteLength: number;
  readonly #known = new Map<number, Uint8Array>();
  readonly #missing = new Set<number>();

  constructor(byteLength: number) {
    this.#byteLength = byteLength;
  }

  /** Returns the page with the byte at an offset, if it is known. */
  known(offset: number): Uint8Array | undefined {
    return this.#known.get(offset >> pageBits);
  }

  /** Notes that the page with the byte at an offset is needed. */
  need(offset: number): void {
    const page = offset >> pageBits;
    if (!this.#known.has(page)) this.#missing.add(page);
  }

  /** The pages that were needed and are not known. */
  get missing(): Page[] {
    return [...this.#missing].map((page) => this.pageAt(page));
  }

  forgetMissing(): void {
    this.#missing.clear();
  }

  /** All pages. */
  get all(): Page[] {
    const count = Math.ceil(this.#byteLength / pageBytes);
    return Array.from({ length: count }, (_, page) => this.pageAt(page));
  }

  /** Makes a page known. */
  provide({ offset }: Page, bytes: Uint8Array): void {
    this.#known.set(offset >> pageBits, bytes);
    this.#missing.delete(offset >> pageBits);
  }

  pageAt(page: number): Page {
    const offset = page * pageBytes;
    return { offset, size: Math.min(pageBytes, this.#byteLength - offset) };
  }
}
