/** Buffers of an execution with expressions: loads are symbols, and stores are kept. */
import { BufferContents } from "../reference/buffers.ts";
import type { FloatFormat } from "../reference/floatFormat.ts";
import { Undecided } from "../reference/undecided.ts";
import { opaque, type Symbols } from "./symbols.ts";

/** The format of the numbers that a kernel accesses in a buffer. */
export type Format = "f32" | "f16";

/** A buffer whose floats are symbols. Its integers are known words, or nothing is known of them. */
export class SymbolicBuffer extends BufferContents {
  readonly #symbols: Symbols;
  /** The number of the binding. */
  readonly #number: number;
  readonly #size: number;
  readonly #wordAt: (offset: number) => number | undefined;
  /** The numbers that were stored, by their offsets in bytes. */
  readonly stores = new Map<number, number>();
  /** The formats of loaded and stored numbers. */
  readonly formats = new Set<Format | "integer">();

  /** `wordAt` returns the known words of uniform buffers. */
  constructor(
    symbols: Symbols,
    number: number,
    size: number,
    wordAt: (offset: number) => number | undefined,
  ) {
    super(0);
    this.#symbols = symbols;
    this.#number = number;
    this.#size = size;
    this.#wordAt = wordAt;
  }

  override get byteLength(): number {
    return this.#size;
  }

  override loadInteger(offset: number): number {
    const word = this.#wordAt(offset);
    if (word === undefined) throw new Undecided("it loads integers that the host does not know");
    return word | 0;
  }

  override loadFloat(offset: number, format: FloatFormat): number {
    // Kernels load beyond the end what they do not use.
    if (!(offset >= 0 && offset < this.#size)) return opaque;
    const word = this.#wordAt(offset & ~3);
    if (word !== undefined)
      return format.name === "f32"
        ? format.fromBits(word)
        : format.fromBits((word >>> ((offset & 2) * 8)) & 0xffff);
    this.formats.add(format.name);
    return this.stores.get(offset) ?? this.#symbols.load(this.#number, offset);
  }

  override storeInteger(): void {
    throw new Undecided("it stores integers");
  }

  override storeFloat(offset: number, format: FloatFormat, value: number): void {
    if (!(offset >= 0 && offset < this.#size)) throw new Undecided("it stores out of bounds");
    this.formats.add(format.name);
    this.stores.set(offset, value);
  }
}
