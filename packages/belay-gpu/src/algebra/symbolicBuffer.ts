/** Buffers of an execution with expressions: loads are symbols, and stores are kept. */
import { BufferContents, startOfWord } from "../reference/buffers.ts";
import type { FloatFormat } from "../reference/floatFormat.ts";
import { Undecided } from "../reference/undecided.ts";
import { opaque, type Precision, type Symbols } from "./symbols.ts";

/** A buffer whose numbers are symbols, except the known words of uniform buffers. */
export class SymbolicBuffer extends BufferContents {
  readonly #symbols: Symbols;
  /** The number of the binding. */
  readonly #number: number;
  readonly #size: number;
  readonly #wordAt: ((offset: number) => number | undefined) | undefined;
  /** The numbers that were stored, by their offsets in bytes. */
  readonly stores = new Map<number, number>();
  #format: Precision | undefined;

  /** `wordAt` returns the known words of a uniform buffer. Storage buffers have none. */
  constructor(
    symbols: Symbols,
    number: number,
    size: number,
    wordAt: ((offset: number) => number | undefined) | undefined,
  ) {
    super(0);
    this.#symbols = symbols;
    this.#number = number;
    this.#size = size;
    this.#wordAt = wordAt;
  }

  /** The format of stored numbers. */
  get format(): Precision {
    return this.#format ?? "f32";
  }

  override get byteLength(): number {
    return this.#size;
  }

  override loadInteger(offset: number): number {
    if (!this.#wordAt) return this.#has(offset) ? this.#symbols.word(this.#number, offset) : opaque;
    const word = this.#wordAt(offset);
    if (word === undefined) throw new Undecided("it loads integers that the host does not know");
    return word | 0;
  }

  override loadFloat(offset: number, format: FloatFormat): number {
    // Kernels load beyond the end what they do not use.
    if (!this.#has(offset)) return opaque;
    const word = this.#wordAt?.(startOfWord(offset));
    if (word !== undefined)
      return format.name === "f32"
        ? format.fromBits(word)
        : format.fromBits((word >>> ((offset & 2) * 8)) & 0xffff);
    return this.stores.get(offset) ?? this.#symbols.load(this.#number, format.name, offset);
  }

  override storeInteger(): void {
    throw new Undecided("it stores integers");
  }

  override storeFloat(offset: number, format: FloatFormat, value: number): void {
    if (!this.#has(offset)) throw new Undecided("it stores out of bounds");
    if ((this.#format ?? format.name) !== format.name)
      throw new Undecided("it stores numbers in several formats");
    this.#format = format.name;
    this.stores.set(offset, value);
  }

  #has(offset: number): boolean {
    return offset >= 0 && offset < this.#size;
  }
}
