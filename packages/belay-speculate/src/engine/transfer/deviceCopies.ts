import type { LoopData } from "../../loops/javascript/sequential.ts";
import { type Downloadable, rescue } from "./downloads.ts";

/** An array with a copy on a device. */
export interface Copied extends Downloadable {
  readonly host: LoopData;
  /** Records that the array itself has changed. */
  hostChanged(): void;
}

/**
 * The arrays that have copies on devices. Programs share arrays between devices, so there is one
 * object for all of them.
 */
class DeviceCopies {
  /** The arrays by the memory that they are views of. */
  readonly #byMemory = new WeakMap<ArrayBufferLike, Set<Copied>>();
  /** The arrays that have a copy. The references are weak. */
  readonly #all = new Set<WeakRef<Copied>>();
  readonly #references = new WeakMap<Copied, WeakRef<Copied>>();
  readonly #forgotten = new FinalizationRegistry<WeakRef<Copied>>((reference) => this.#all.delete(reference));

  /** Records that an array has a copy from now on. */
  add(array: Copied): void {
    let reference = this.#references.get(array);
    if (!reference) {
      reference = new WeakRef(array);
      this.#references.set(array, reference);
      this.#forgotten.register(array, reference);
    }
    this.#all.add(reference);
    const others = this.#byMemory.get(array.host.buffer);
    if (others) others.add(array);
    else this.#byMemory.set(array.host.buffer, new Set([array]));
  }

  /** Records that an array has no copy any more. */
  remove(array: Copied): void {
    this.#byMemory.get(array.host.buffer)?.delete(array);
    const reference = this.#references.get(array);
    if (reference) this.#all.delete(reference);
  }

  /** Returns every array that has a copy. */
  all(): readonly Copied[] {
    return [...this.#all].flatMap((reference) => reference.deref() ?? []);
  }

  /** Returns the arrays with copies that share elements with `host`, including the array itself. */
  of(host: LoopData): readonly Copied[] {
    return [...(this.#byMemory.get(host.buffer) ?? [])].filter((copy) => overlap(copy.host, host));
  }

  /** Returns true if the newest value of some element is only on a device. */
  areAhead(host: LoopData): boolean {
    return this.of(host).some(({ pending }) => pending !== null);
  }

  /** Returns true if views of the array's memory have copies other than its own. */
  hasOthers({ buffer }: LoopData, own: Copied | null): boolean {
    const copies = this.#byMemory.get(buffer);
    return copies !== undefined && copies.size > (own && copies.has(own) ? 1 : 0);
  }

  /**
   * Keeps all copies of one memory coherent before a view of it is used, and changed if
   * `isWritten`. Changes of a device through other views are downloaded. Copies of other views are
   * sent anew before their next use.
   */
  async settle(host: LoopData, own: Copied | null, isWritten: boolean): Promise<void> {
    if (!this.hasOthers(host, own)) return;
    const others = this.of(host).filter((other) => other !== own);
    await rescue(others);
    if (isWritten) for (const other of others) other.hostChanged();
  }
}

export const deviceCopies = new DeviceCopies();

/** Returns true if the arrays share a byte. */
export function overlap(one: LoopData, other: LoopData): boolean {
  return (
    one.buffer === other.buffer &&
    one.byteOffset < other.byteOffset + other.byteLength &&
    other.byteOffset < one.byteOffset + one.byteLength
  );
}
