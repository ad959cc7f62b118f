import type { HostCode } from "../../codes/scheme.ts";
import type { MemoryFaultError, MemoryOutcome } from "../context/memoryFault.ts";
import { Layer } from "../webgpu/layer.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { BEYOND, isMappable } from "../webgpu/resources.ts";
import type { ProtectedBuffer } from "./granules.ts";
import { checkWordsOf, encodeBytes, verifyBytes } from "./hostCodes.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** A bit flip that a buffer finds when it is mapped. */
interface PendingFlip {
  readonly byteOffset: number;
  readonly mask: number;
}

/** What the host's side of mapped buffers needs. */
export interface MappingParts {
  readonly scheme: HostCode;
  readonly buffers: ProtectedBuffers;
  /**
   * How often data that arrives damaged is sent again, and whether it is refused when that does not
   * help.
   */
  readonly retries: number;
  readonly refuses: boolean;
  /** Sends the contents of a mirror to its buffer once more. */
  send(owner: ProtectedBuffer): void;
  /**
   * Writes what a buffer was made with to where the device keeps it, as far as that is somewhere
   * else.
   */
  initialize(owner: ProtectedBuffer, bytes: Uint8Array<ArrayBuffer>, checks: Uint32Array<ArrayBuffer>): void;
  /** Notes that the host has replaced a part of a buffer. */
  replaced(range: BufferRange): void;
  corrected(owner: ProtectedBuffer, count: number): void;
  /** Tells of damaged granules; returns the error that names them. */
  damaged(owner: ProtectedBuffer, granules: readonly number[], outcome: MemoryOutcome): MemoryFaultError;
}

/** A buffer that is mapped. */
interface Mapping {
  /** What the program has mapped. */
  readonly offset: number;
  readonly size: number;
  /** All granules that have a byte in it, as far as the buffer goes, and where they begin. */
  readonly start: number;
  /** The device's memory where the host reads, and memory of the host's own where it writes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isWritten: boolean;
  /** What the program was given of it. */
  readonly given: { readonly offset: number; readonly buffer: ArrayBuffer }[];
}

/** What is known of a buffer's mapping. */
interface HostSide {
  readonly owner: ProtectedBuffer;
  /** What the program asked to be mapped. */
  asked: { readonly mode: number; readonly offset: number; readonly size: number };
  mapping: Mapping | undefined;
  /** Whether it is mapped as it was made. */
  isFirst: boolean;
}

const nothingAsked = { mode: 0, offset: 0, size: 0 };

/**
 * Verifies what the host reads through mapped buffers, and makes check words of what it writes
 * through them. What it writes is kept in the host's memory: a GPU's memory that is mapped for
 * writing takes the host seconds to read.
 */
export class Mappings {
  /** Bit flips in the memory of buffers on the host: each strikes when its word is mapped next. */
  readonly #flips = new WeakMap<ProtectedBuffer, readonly PendingFlip[]>();
  readonly #parts: MappingParts;
  readonly #written = new WeakMap<ProtectedBuffer, Uint8Array<ArrayBuffer>>();
  readonly #layer: Layer<GPUBuffer, HostSide>;

  constructor(parts: MappingParts) {
    this.#parts = parts;
    const end = (side: HostSide, native: GPUBuffer) => this.#end(side, native);
    this.#layer = new Layer((native, sideOf) => ({
      mapAsync(mode, offset = 0, asked) {
        // A mistake of the program's is for the device to name.
        if (!isMappable(this, mode, offset, asked)) return native.mapAsync.call(this, mode, offset, asked);
        const size = asked ?? this.size - offset;
        const isUnmapped = Reflect.get(native, "mapState", this) === "unmapped";
        // The device refuses to map what is mapped or destroyed, and the mapping before goes on.
        if (!isUnmapped || !parts.buffers.of(this)) return native.mapAsync.call(this, mode, offset, size);
        if (this.mapState === "unmapped") sideOf(this).asked = { mode, offset, size };
        return native.mapAsync.call(this, mode);
      },
      getMappedRange(offset = 0, size?) {
        const { mapping } = sideOf(this);
        const given = mapping && give(mapping, this, offset, size);
        if (given) return given;
        // More is mapped than the program knows.
        const isNumber = offset >= 0 && (size ?? 0) >= 0;
        return native.getMappedRange.call(this, ...(isNumber ? [BEYOND, 0] : [offset, size]));
      },
      unmap() {
        end(sideOf(this), native);
        native.unmap.call(this);
      },
      destroy() {
        end(sideOf(this), native);
        native.destroy.call(this);
      },
    }));
  }

  /** Attaches to the mapping methods of a buffer that can be mapped, or is mapped as it is made. */
  attach(owner: ProtectedBuffer, isMappedNow: boolean): void {
    const { buffer } = owner;
    const mapping = isMappedNow ? this.#begin(owner, buffer, 0, buffer.size, true) : undefined;
    this.#layer.attach(buffer, { owner, asked: nothingAsked, mapping, isFirst: isMappedNow });
  }

  /**
   * Verifies a mapping before the program gets at it: corrects the contents, has them sent again
   * where they are damaged, and rejects when that does not help.
   */
  async arrived(buffer: GPUBuffer): Promise<void> {
    const side = this.#layer.stateOf(buffer);
    if (!side) return;
    const { owner, asked } = side;
    const { mode, offset, size } = asked;
    const native = this.#layer.below(buffer);
    const isWritten = mode !== flags.mapRead;
    const { retries, refuses, damaged, send } = this.#parts;
    let earlier: readonly number[] = [];
    for (let attempt = 0; ; attempt++) {
      const mapped = this.#begin(owner, native, offset, size, isWritten);
      const uncorrectable = isWritten ? [] : this.#verify(owner, mapped, native);
      const isOver = attempt === retries;
      if (uncorrectable.length === 0 || (isOver && !refuses)) side.mapping = mapped;
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
      native.unmap.call(buffer);
      send(owner);
      await native.mapAsync.call(buffer, mode);
    }
  }

  /** Flips bits of a buffer's memory on the host when its word is mapped next. */
  flipNext(owner: ProtectedBuffer, flip: PendingFlip): void {
    this.#flips.set(owner, [...(this.#flips.get(owner) ?? []), flip]);
  }

  /** Flips the bits that are to be flipped in a part of a buffer, from the byte `start` on. */
  #strike(owner: ProtectedBuffer, start: number, bytes: Uint8Array): void {
    const flips = this.#flips.get(owner) ?? [];
    const isMapped = ({ byteOffset }: PendingFlip) =>
      byteOffset >= start && byteOffset < start + bytes.length;
    const later = flips.filter((flip) => !isMapped(flip));
    this.#flips.set(owner, later);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (const { byteOffset, mask } of flips.filter(isMapped)) {
      const word = view.getUint32(byteOffset - start, true);
      view.setUint32(byteOffset - start, word ^ mask, true);
    }
  }

  /** Ends the mapping of a buffer that is about to be unmapped. */
  #end(side: HostSide, native: GPUBuffer): void {
    const { owner, mapping, isFirst } = side;
    // A lost device maps nothing.
    if (mapping?.isWritten && owner.buffer.mapState === "mapped")
      this.#finish(owner, mapping, native, isFirst);
    for (const { buffer: part } of mapping?.given ?? []) {
      const isAll = part === mapping?.bytes.buffer;
      // The device takes its own memory away; to move that would copy it.
      if (isAll && !mapping?.isWritten) continue;
      const taken = takeAway(part);
      // Mapped again, a buffer shows what was written before.
      if (isAll) this.#written.set(owner, new Uint8Array(taken));
    }
    if (owner.mapped !== "write") this.#written.delete(owner);
    side.mapping = undefined;
    side.isFirst = false;
  }

  #begin(
    owner: ProtectedBuffer,
    native: GPUBuffer,
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
      : new Uint8Array(native.getMappedRange.call(owner.buffer, start, end - start));
    return { offset, size, start, bytes, isWritten, given: [] };
  }

  /** What the host has written to a buffer; a new one is zero. */
  #writtenTo(owner: ProtectedBuffer): Uint8Array<ArrayBuffer> {
    const written = this.#written.get(owner) ?? new Uint8Array(Math.ceil(owner.buffer.size / 4) * 4);
    this.#written.set(owner, written);
    return written;
  }

  /**
   * The check words of what is mapped, as the device has them; undefined where they are kept
   * elsewhere.
   */
  #checksOf(owner: ProtectedBuffer, { start, bytes }: Mapping, native: GPUBuffer): Uint32Array | undefined {
    const { buffers } = this.#parts;
    if (!owner.mapped) return undefined;
    const { offset, size } = buffers.checksOf(owner);
    const first = start / owner.granuleBytes;
    const end = Math.ceil((start + bytes.length) / owner.granuleBytes);
    const { checkWords } = buffers;
    return new Uint32Array(native.getMappedRange.call(owner.buffer, offset, size)).subarray(
      first * checkWords,
      end * checkWords,
    );
  }

  /** Corrects what arrived; returns the granules that are damaged. */
  #verify(owner: ProtectedBuffer, mapping: Mapping, native: GPUBuffer): readonly number[] {
    const { start, bytes } = mapping;
    if (bytes.length === 0) return [];
    this.#strike(owner, start, bytes);
    const checks = this.#checksOf(owner, mapping, native);
    if (!checks) return [];
    const { scheme } = this.#parts;
    const { corrected, uncorrectable } = verifyBytes(scheme, bytes, checks);
    owner.counts.verifiedBytes += bytes.length;
    if (corrected > 0) this.#parts.corrected(owner, corrected);
    return uncorrectable.map((granule) => start / owner.granuleBytes + granule);
  }

  /** Hands the device what the program has written, and its check words. */
  #finish(owner: ProtectedBuffer, mapping: Mapping, native: GPUBuffer, isFirst: boolean): void {
    const { start, bytes, given } = mapping;
    if (bytes.length === 0) return;
    for (const { offset, buffer } of given) {
      if (buffer !== bytes.buffer) bytes.set(new Uint8Array(buffer), offset - start);
    }
    const { scheme } = this.#parts;
    const checks = this.#checksOf(owner, mapping, native);
    // What is to be read again is made in the host's own memory.
    const made = !isFirst && checks ? checks : new Uint32Array(checkWordsOf(scheme, bytes));
    encodeBytes(scheme, bytes, made);
    if (made !== checks) checks?.set(made);
    const target = new Uint8Array(native.getMappedRange.call(owner.buffer, start, bytes.length));
    target.set(bytes);
    this.#strike(owner, start, target);
    if (isFirst) this.#parts.initialize(owner, bytes, made as Uint32Array<ArrayBuffer>);
    else this.#parts.replaced({ buffer: owner.buffer, offset: start, size: bytes.length });
  }
}

/**
 * Returns a part of what is mapped, by the rules of `getMappedRange`: the memory itself, or a copy
 * of some of it. Undefined where the rules refuse it.
 */
function give(
  { offset: first, size: all, start, bytes, given }: Mapping,
  buffer: GPUBuffer,
  offset = 0,
  size = Math.max(0, buffer.size - offset),
): ArrayBuffer | undefined {
  const isInside = offset >= first && offset + size <= first + all;
  const isTaken = given.some(
    (part) => offset < part.offset + part.buffer.byteLength && part.offset < offset + size,
  );
  if (!isInside || isTaken || offset % 8 !== 0 || size % 4 !== 0) return undefined;
  const isAll = offset === start && size === bytes.buffer.byteLength;
  const part = isAll ? bytes.buffer : bytes.slice(offset - start, offset - start + size).buffer;
  given.push({ offset, buffer: part as ArrayBuffer });
  return part as ArrayBuffer;
}

/**
 * Takes memory away from the program when its buffer is unmapped, as WebGPU does; returns it under
 * another name.
 */
function takeAway(buffer: ArrayBuffer): ArrayBuffer {
  return structuredClone(buffer, { transfer: [buffer] });
}
