/** The members of a set, to look at. */
export interface Members<T> extends Iterable<T> {
  readonly size: number;
  has(item: T): boolean;
}

const none: ReadonlySet<never> = new Set();

/**
 * A set to which other sets are added. It shares the first of them until there is a second. Most
 * command buffers use the resources of one dispatch, so they need no sets of their own.
 */
export class GrowingSet<T> implements Members<T> {
  #items: ReadonlySet<T> = none;
  #own: Set<T> | undefined = undefined;

  get size(): number {
    return this.#items.size;
  }

  has(item: T): boolean {
    return this.#items.has(item);
  }

  [Symbol.iterator](): IterableIterator<T> {
    return this.#items.values();
  }

  add(item: T): void {
    if (this.#own) {
      this.#own.add(item);
    } else if (!this.#items.has(item)) {
      this.#own = new Set(this.#items).add(item);
      this.#items = this.#own;
    }
  }

  /** Adds all items of a set that does not change any more. */
  addAll(items: Members<T>): void {
    if (items === this.#items) return;
    if (this.#items.size === 0 && items instanceof Set) this.#items = items;
    else for (const item of items) this.add(item);
  }
}
