import type { HostCode } from "../../codes/scheme.ts";
import { flags, original, overlay } from "../nativeObjects.ts";
import { checkWordsOf, encodeBytes, verifyBytes } from "./hostCodes.ts";
import { MappedFlips } from "./mappedFlips.ts";
import { detach, give, type Mapping } from "./mapping.ts";
import type { BelayMemoryError, MemoryOutcome } from "./memoryFault.ts";
import type { ProtectedBuffer, ProtectedBuffers } from "./protectedBuffers.ts";

/** What the host's side of mapped buffers needs. */
export interface MappingParts {
  readonly scheme: HostCode;
  readonly buffers: ProtectedBuffers;
  /** How often data that arrives damaged is sent again, and whether it is refused when that does not help. */
  readonly retries: number;
  readonly refuses: boolean;
  /** Sends the contents of a mirror to its buffer once more. */
  send(owner: ProtectedBuffer): void;
  /** Writes what a buffer was made with to where the device keeps it, as far as that is somewhere else. */
  initialize(owner: ProtectedBuffer, bytes: Uint8Array<ArrayBuffer>, checks: Uint32Array<ArrayBuffer>): void;
  corrected(owner: ProtectedBuffer, count: number): void;
  /** Tells of damaged granules; returns the error that names them. */
  damaged(owner: ProtectedBuffer, granules: readonly number[], outcome: MemoryOutcome): BelayMemoryError;
}

/** A size that no buffer has. */
const BEYOND = 2 ** 52;

/**
 * Verifies what the host reads through mapped buffers, and makes check words of what it writes through them. What it writes
 * is kept in the host's memory: a GPU's memory that is mapped for writing takes the host seconds to read.
 */
export class Mappings {
  /** What strikes the memory of mapped buffers. */
  readonly flips = new MappedFlips();
  readonly #parts: MappingParts;
  readonly #written = new WeakMap<ProtectedBuffer, Uint8Array<ArrayBuffer>>();

  constructor(parts: MappingParts) {
    this.#parts = parts;
  }

  /**
   * Covers a buffer's mapping methods; for one that can be mapped, or is mapped as it is made. Returns what is to be called
   * when a mapping is there, before the program gets at it: it corrects the contents, has them sent again where they are
   * damaged, and rejects when that does not help.
   */
  cover(owner: ProtectedBuffer, isMappedNow: boolean): () => Promise<void> {
    const { buffer } = owner;
    const native = {
      mapAsync: original(buffer, "mapAsync"),
      getMappedRange: original(buffer, "getMappedRange"),
      unmap: original(buffer, "unmap"),
    };
    let asked = { mode: 0, offset: 0, size: 0 };
    let mapping = isMappedNow ? this.#begin(owner, native.getMappedRange, 0, buffer.size, true) : undefined;
    let isFirst = isMappedNow;
    overlay(buffer, {
      mapAsync: (mode, offset = 0, size = Math.max(0, buffer.size - offset)) => {
        const fits = offset + size <= buffer.size;
        // A mistake of the program's is for the device to name.
        if (!fits) return native.mapAsync(mode, offset, BEYOND);
        if (offset % 8 !== 0 || size % 4 !== 0) return native.mapAsync(mode, offset, size);
        // A mapping asked for too early is refused, and the one before goes on.
        if (buffer.mapState === "unmapped") asked = { mode, offset, size };
        return native.mapAsync(mode);
      },
      getMappedRange: (offset, size) =>
        mapping ? give(mapping, buffer, offset, size) : native.getMappedRange(offset, size),
      unmap: () => {
        // A lost device maps nothing.
        if (mapping?.isWritten && buffer.mapState === "mapped")
          this.#finish(owner, mapping, native.getMappedRange, isFirst);
        for (const { buffer: part } of mapping?.given ?? []) {
          const isAll = part === mapping?.bytes.buffer;
          // The device takes its own memory away; to move that would copy it.
          if (isAll && !mapping?.isWritten) continue;
          const taken = detach(part);
          // Mapped again, a buffer shows what was written before.
          if (isAll) this.#written.set(owner, new Uint8Array(taken));
        }
        if (owner.mapped !== "write") this.#written.delete(owner);
        mapping = undefined;
        isFirst = false;
        native.unmap();
      },
    });
    return async () => {
      const { mode, offset, size } = asked;
      const isWritten = mode !== flags.mapRead;
      const { retries, refuses, damaged, send } = this.#parts;
      let earlier: readonly number[] = [];
      for (let attempt = 0; ; attempt++) {
        const mapped = this.#begin(owner, native.getMappedRange, offset, size, isWritten);
        const uncorrectable = isWritten ? [] : this.#verify(owner, mapped, native.getMappedRange);
        const isOver = attempt === retries;
        if (uncorrectable.length === 0 || (isOver && !refuses)) mapping = mapped;
        if (uncorrectable.length === 0) {
          if (earlier.length > 0) damaged(owner, earlier, "recovered");
          return;
        }
        if (isOver) {
          const error = damaged(owner, uncorrectable, refuses ? "refused" : "reported");
          if (refuses) throw error;
          return;
        }
        earlier = uncorrectable;
        native.unmap();
        send(owner);
        await native.mapAsync(mode);
      }
    };
  }

  #begin(
    owner: ProtectedBuffer,
    getMappedRange: GPUBuffer["getMappedRange"],
    offset: number,
    size: number,
    isWritten: boolean,
  ): Mapping {
    const { granuleBytes } = owner;
    // Mapped ranges begin at multiples of 8.
    const unit = Math.max(8, granuleBytes);
    const start = offset - (offset % unit);
    const end = Math.min(Math.ceil(owner.buffer.size / 4) * 4, Math.ceil((offset + size) / unit) * unit);
    const bytes = isWritten
      ? this.#writtenTo(owner).subarray(start, end)
      : new Uint8Array(getMappedRange(start, end - start));
    return { offset, size, start, bytes, isWritten, given: [] };
  }

  /** What the host has written to a buffer; a new one is zero. */
  #writtenTo(owner: ProtectedBuffer): Uint8Array<ArrayBuffer> {
    const written = this.#written.get(owner) ?? new Uint8Array(Math.ceil(owner.buffer.size / 4) * 4);
    this.#written.set(owner, written);
    return written;
  }

  /** The check words of what is mapped, as the device has them; undefined where they are kept elsewhere. */
  #checksOf(
    owner: ProtectedBuffer,
    { start, bytes }: Mapping,
    getMappedRange: GPUBuffer["getMappedRange"],
  ): Uint32Array | undefined {
    const { buffers } = this.#parts;
    if (!owner.mapped) return undefined;
    const { offset, size } = buffers.checksOf(owner);
    const first = start / owner.granuleBytes;
    const end = Math.ceil((start + bytes.length) / owner.granuleBytes);
    const { checkWords } = buffers;
    return new Uint32Array(getMappedRange(offset, size)).subarray(first * checkWords, end * checkWords);
  }

  /** Corrects what arrived; returns the granules that are damaged. */
  #verify(
    owner: ProtectedBuffer,
    mapping: Mapping,
    getMappedRange: GPUBuffer["getMappedRange"],
  ): readonly number[] {
    const { start, bytes } = mapping;
    if (bytes.length === 0) return [];
    this.flips.strike(owner, start, bytes);
    const checks = this.#checksOf(owner, mapping, getMappedRange);
    if (!checks) return [];
    const { scheme } = this.#parts;
    const { corrected, uncorrectable } = verifyBytes(scheme, bytes, checks);
    owner.counts.verifiedBytes += bytes.length;
    if (corrected > 0) this.#parts.corrected(owner, corrected);
    return uncorrectable.map((granule) => start / owner.granuleBytes + granule);
  }

  /** Hands the device what the program has written, and its check words. */
  #finish(
    owner: ProtectedBuffer,
    mapping: Mapping,
    getMappedRange: GPUBuffer["getMappedRange"],
    isFirst: boolean,
  ): void {
    const { start, bytes, given } = mapping;
    if (bytes.length === 0) return;
    for (const { offset, buffer } of given) {
      if (buffer !== bytes.buffer) bytes.set(new Uint8Array(buffer), offset - start);
    }
    const { scheme } = this.#parts;
    const checks = this.#checksOf(owner, mapping, getMappedRange);
    // What is to be read again is made in the host's own memory.
    const made = !isFirst && checks ? checks : new Uint32Array(checkWordsOf(scheme, bytes));
    encodeBytes(scheme, bytes, made);
    if (made !== checks) checks?.set(made);
    const target = new Uint8Array(getMappedRange(start, bytes.length));
    target.set(bytes);
    this.flips.strike(owner, start, target);
    if (isFirst) this.#parts.initialize(owner, bytes, made as Uint32Array<ArrayBuffer>);
  }
}
