import type { HostCode } from "../../ecc/scheme.ts";
import type { MemoryFaultError, MemoryOutcome } from "../context/memoryFault.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { Overlay } from "../webgpu/overlay.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { isMappable, OFFSET_BEYOND_BUFFERS } from "../webgpu/resources.ts";
import type { ProtectedBuffer } from "./granules.ts";
import { checkWordsOf, encodeBytes, verifyBytes } from "./hostCodes.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** A bit flip that is injected when the buffer is mapped. */
interface PendingFlip {
  readonly byteOffset: number;
  readonly mask: number;
}

/** The parameters of {@link Mappings}. */
export interface MappingParts {
  readonly scheme: HostCode;
  readonly buffers: ProtectedBuffers;
  /**
   * The number of times that damaged data is sent again, and true if data that stays damaged is
   * refused.
   */
  readonly retries: number;
  readonly refuses: boolean;
  /** Copies the contents of a mirror to its buffer again. */
  send(owner: ProtectedBuffer): void;
  /**
   * Writes the initial contents to the mirror, if there is one, and their check words to the arena.
   */
  initialize(owner: ProtectedBuffer, bytes: Uint8Array<ArrayBuffer>, checks: Uint32Array<ArrayBuffer>): void;
  /** Records that the host replaced a range of a buffer. */
  replaced(range: BufferRange): void;
  corrected(owner: ProtectedBuffer, count: number): void;
  /** Emits an event for damaged granules, and returns the error that names them. */
  damaged(owner: ProtectedBuffer, granules: readonly number[], outcome: MemoryOutcome): MemoryFaultError;
}

/** The mapping of a buffer. */
interface Mapping {
  /** The range that the program mapped. */
  readonly offset: number;
  readonly size: number;
  /** The byte offset of the first granule in the range. */
  readonly start: number;
  /**
   * The bytes of all granules in the range. They are the device's memory if the host reads, and
   * memory of the host's own if it writes.
   */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isWritten: boolean;
  /** The array buffers that `getMappedRange` returned. */
  readonly returned: { readonly offset: number; readonly buffer: ArrayBuffer }[];
}

/** The state of a buffer's mapping. */
interface HostSide {
  readonly owner: ProtectedBuffer;
  /** The arguments of the program's latest `mapAsync`. */
  requested: { readonly mode: number; readonly offset: number; readonly size: number };
  mapping: Mapping | undefined;
  /** True if the buffer is mapped at creation. */
  isFirst: boolean;
}

const nothingRequested = { mode: 0, offset: 0, size: 0 };

/**
 * Verifies data that the host reads from mapped buffers, and computes check words of data that it
 * writes to them. Written data stays in the host's memory until unmapped, as reading GPU memory
 * that is mapped for writing takes the host seconds.
 */
export class Mappings {
  /**
   * The bit flips to inject into buffers on the host. Each of them strikes when its word is mapped
   * next.
   */
  readonly #flips = new WeakMap<ProtectedBuffer, readonly PendingFlip[]>();
  readonly #parts: MappingParts;
  readonly #written = new WeakMap<ProtectedBuffer, Uint8Array<ArrayBuffer>>();
  readonly #overlay: Overlay<GPUBuffer, HostSide>;

  constructor(parts: MappingParts) {
    this.#parts = parts;
    const end = (side: HostSide, native: GPUBuffer) => this.#end(side, native);
    this.#overlay = new Overlay((native, sideOf) => ({
      mapAsync(mode, offset = 0, requested) {
        // WebGPU validation rejects invalid arguments.
        if (!isMappable(this, mode, offset, requested))
          return native.mapAsync.call(this, mode, offset, requested);
        const size = requested ?? this.size - offset;
        const isUnmapped = Reflect.get(native, "mapState", this) === "unmapped";
        // The device rejects a call for a buffer that is mapped or destroyed. An earlier mapping
        // continues.
        if (!isUnmapped || !parts.buffers.of(this)) return native.mapAsync.call(this, mode, offset, size);
        if (this.mapState === "unmapped") sideOf(this).requested = { mode, offset, size };
        return native.mapAsync.call(this, mode);
      },
      getMappedRange(offset = 0, size?) {
        const { mapping } = sideOf(this);
        const returned = mapping && mappedRange(mapping, this, offset, size);
        if (returned) return returned;
        // The native mapping is larger than the program's, so a range outside of the program's must
        // fail here.
        const isNumber = offset >= 0 && (size ?? 0) >= 0;
        return native.getMappedRange.call(this, ...(isNumber ? [OFFSET_BEYOND_BUFFERS, 0] : [offset, size]));
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

  /** Attaches the overlay to a buffer that can be mapped, or is mapped at creation. */
  attach(owner: ProtectedBuffer, isMappedNow: boolean): void {
    const { buffer } = owner;
    const mapping = isMappedNow ? this.#begin(owner, buffer, 0, buffer.size, true) : undefined;
    this.#overlay.attach(buffer, { owner, requested: nothingRequested, mapping, isFirst: isMappedNow });
  }

  /**
   * Verifies a mapping before the program sees it. Corrects the contents, copies damaged contents
   * again, and rejects if they stay damaged.
   */
  async verifyMapping(buffer: GPUBuffer): Promise<void> {
    const side = this.#overlay.stateOf(buffer);
    if (!side) return;
    const { owner, requested } = side;
    const { mode, offset, size } = requested;
    const native = this.#overlay.below(buffer);
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

  /**
   * Flips bits of a buffer's memory on the host when the word is mapped next. Only the host writes
   * to a buffer that is mapped for writing, so that one is struck when it is unmapped.
   */
  flipNext(owner: ProtectedBuffer, flip: PendingFlip): void {
    const mapping = this.#overlay.stateOf(owner.buffer)?.mapping;
    if (owner.mapped === "write" && !(mapping && isInside(mapping, flip)))
      throw new TypeError(
        `bits of a buffer with MAP_WRITE can be flipped only where it is mapped, not at ${flip.byteOffset}`,
      );
    this.#flips.set(owner, [...(this.#flips.get(owner) ?? []), flip]);
  }

  /** Applies the pending bit flips of a range that begins at the byte `start`. */
  #strike(owner: ProtectedBuffer, start: number, bytes: Uint8Array): void {
    const flips = this.#flips.get(owner) ?? [];
    const isMapped = (flip: PendingFlip) => isInside({ start, bytes }, flip);
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
    for (const { buffer: part } of mapping?.returned ?? []) {
      const isAll = part === mapping?.bytes.buffer;
      // The device detaches its own memory. Transferring it would copy it.
      if (isAll && !mapping?.isWritten) continue;
      const taken = detach(part);
      // The next mapping for writing shows what was written before.
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
    return { offset, size, start, bytes, isWritten, returned: [] };
  }

  /** Returns the bytes that the host wrote to a buffer. They are zero at first. */
  #writtenTo(owner: ProtectedBuffer): Uint8Array<ArrayBuffer> {
    const written = this.#written.get(owner) ?? new Uint8Array(Math.ceil(owner.buffer.size / 4) * 4);
    this.#written.set(owner, written);
    return written;
  }

  /**
   * Returns the check words of a mapping, in the device's memory. Undefined if the buffer does not
   * contain its check words.
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

  /** Corrects the mapped bytes. Returns the granules that are damaged. */
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

  /** Copies the program's bytes and their check words to the device's memory. */
  #finish(owner: ProtectedBuffer, mapping: Mapping, native: GPUBuffer, isFirst: boolean): void {
    const { start, bytes, returned } = mapping;
    if (bytes.length === 0) return;
    for (const { offset, buffer } of returned) {
      if (buffer !== bytes.buffer) bytes.set(new Uint8Array(buffer), offset - start);
    }
    const { scheme } = this.#parts;
    const checks = this.#checksOf(owner, mapping, native);
    // Check words that are read again are computed in the host's own memory.
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

/** Returns true if a mapping contains the word of a flip. */
const isInside = (
  { start, bytes }: { readonly start: number; readonly bytes: Uint8Array },
  { byteOffset }: PendingFlip,
): boolean => byteOffset >= start && byteOffset < start + bytes.length;

/**
 * Returns a range of the mapping by the rules of `getMappedRange`: the whole memory itself, or a
 * copy of a part. Undefined if the rules reject the range.
 */
function mappedRange(
  { offset: first, size: all, start, bytes, returned }: Mapping,
  buffer: GPUBuffer,
  offset = 0,
  size = Math.max(0, buffer.size - offset),
): ArrayBuffer | undefined {
  const isInside = offset >= first && offset + size <= first + all;
  const isTaken = returned.some(
    (part) => offset < part.offset + part.buffer.byteLength && part.offset < offset + size,
  );
  if (!isInside || isTaken || offset % 8 !== 0 || size % 4 !== 0) return undefined;
  const isAll = offset === start && size === bytes.buffer.byteLength;
  const part = isAll ? bytes.buffer : bytes.slice(offset - start, offset - start + size).buffer;
  returned.push({ offset, buffer: part as ArrayBuffer });
  return part as ArrayBuffer;
}

/**
 * Detaches the program's array buffer as WebGPU does when a buffer is unmapped. Returns the same
 * memory as a new array buffer.
 */
function detach(buffer: ArrayBuffer): ArrayBuffer {
  return structuredClone(buffer, { transfer: [buffer] });
}
