/** The contents of sampled resources, whose pages come to the host when a workgroup needs them. */
import type { WrongWord } from "../qualify/qualification.ts";

/** The size of a page in bytes. */
export const pageBytes = 2 ** 12;

/** Returns the number of the page with the byte at an offset. Shifts are wrong from 2 GiB on. */
export const pageOf = (offset: number): number => Math.floor(offset / pageBytes);

/** A page of a copy, in bytes. The last page of a copy may be shorter. */
export interface Page {
  readonly offset: number;
  readonly size: number;
}

/** The outcome of comparing what a workgroup has stored at a place with the device's number. */
export interface PlaceComparison {
  /** True if the specification bounds the number. */
  readonly isBounded: boolean;
  readonly isRight: boolean;
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
  /** The places at which the workgroup has stored numbers. */
  readonly storedPlaces: Iterable<number>;
  /** Compares the number that the workgroup has stored at a place. */
  compareAt(place: number): PlaceComparison;
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
    return this.#known.get(pageOf(offset));
  }

  /** Notes that the page with the byte at an offset is needed. */
  need(offset: number): void {
    const page = pageOf(offset);
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
    this.#known.set(pageOf(offset), bytes);
    this.#missing.delete(pageOf(offset));
  }

  pageAt(page: number): Page {
    const offset = page * pageBytes;
    return { offset, size: Math.min(pageBytes, this.#byteLength - offset) };
  }
}
