import type { HostCode } from "../../ecc/scheme.ts";
import { flags, isBufferUsage, makeSilently } from "../webgpu/nativeObjects.ts";
import { Overlay } from "../webgpu/overlay.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { CheckArena } from "./checkArena.ts";
import {
  type GranuleRange,
  granulesFor,
  granulesIn,
  type MemoryCounts,
  type ProtectedBuffer,
} from "./granules.ts";

/**
 * The reason why a buffer has no check words: its usage, its size, or the size of all buffers
 * together.
 */
export type Unprotected = "mappedAndBound" | "tooLarge" | "arenaIsFull";

/** The memory that Belay allocated for a buffer. */
interface Allocation {
  readonly first: number;
  readonly words: number;
  /** The mirror of the buffer, once one was needed. */
  mirror: GPUBuffer | undefined;
  readonly owner: WeakRef<ProtectedBuffer>;
}

/**
 * A buffer that has no check words any more. A report may still name them, so they go to another
 * buffer only if the arena would have to grow otherwise.
 */
interface FormerOwner extends Pick<Allocation, "first" | "words"> {
  areWordsFree: boolean;
  /** Undefined if the buffer was left to the garbage collector. */
  readonly owner: ProtectedBuffer | undefined;
  /** The number of the check that covers its last work. */
  readonly check: number;
}

/** A protected buffer. Programs may have many, so rarely needed parts are created on first use. */
class Owner implements ProtectedBuffer {
  readonly buffer: GPUBuffer;
  readonly mapped: ProtectedBuffer["mapped"];
  readonly granuleBytes: number;
  readonly granules: number;
  readonly first: number;
  readonly #makeMirror: (owner: Owner) => GPUBuffer;
  #mirror: GPUBuffer | undefined;
  #counts: MemoryCounts | undefined;

  constructor(
    buffer: GPUBuffer,
    { granules, granuleBytes }: Pick<ProtectedBuffer, "granules" | "granuleBytes">,
    first: number,
    makeMirror: (owner: Owner) => GPUBuffer,
  ) {
    const { usage } = buffer;
    this.buffer = buffer;
    this.mapped = usage & flags.bufferMapRead ? "read" : usage & flags.bufferMapWrite ? "write" : undefined;
    this.granuleBytes = granuleBytes;
    this.granules = granules;
    this.first = first;
    this.#makeMirror = makeMirror;
  }

  get contents(): GPUBuffer {
    if (!this.mapped) return this.buffer;
    this.#mirror ??= this.#makeMirror(this);
    return this.#mirror;
  }

  get counts(): MemoryCounts {
    this.#counts ??= { corrected: 0, correctedLoads: 0, uncorrectable: 0, verifiedBytes: 0, trustedBytes: 0 };
    return this.#counts;
  }
}

const MAP = flags.bufferMapRead | flags.bufferMapWrite;
const COPY = flags.bufferCopySrc | flags.bufferCopyDst;

/** The buffers of the program that have check words, and the allocation of both. */
export class ProtectedBuffers {
  readonly arena: CheckArena;
  /** The number of check words of a granule. */
  readonly checkWords: number;
  readonly #granuleBytes: number;
  readonly #device: GPUDevice;
  /** The allocations by their first word in the arena. */
  readonly #allocations = new Map<number, Allocation>();
  /** One function for all owners, to save memory. */
  readonly #mirrorOf = (owner: Owner) => this.#makeMirror(owner);
  readonly #overlay: Overlay<GPUBuffer, ProtectedBuffer>;
  /** The destroyed buffers. Their words of the arena may belong to another buffer by now. */
  readonly #destroyed = new WeakSet<GPUBuffer>();
  /** Programs may leave buffers to the garbage collector. */
  readonly #collected = new FinalizationRegistry<Allocation>((allocation) => this.#discard(allocation));
  #former: FormerOwner[] = [];
  /** The number of the check that covers the work from now on. */
  #next = 1;
  #mirrorBytes = 0;
  #mirrorsFailed: Promise<GPUError | null> = Promise.resolve(null);

  /** `leaving` is called with the owner of a buffer before it is destroyed. */
  constructor(
    device: GPUDevice,
    { granuleBytes, checkWords }: Pick<HostCode, "granuleBytes" | "checkWords">,
    leaving: (owner: ProtectedBuffer) => void,
  ) {
    this.#device = device;
    this.#granuleBytes = granuleBytes;
    this.checkWords = checkWords;
    this.arena = new CheckArena(device);
    const ownerOf = (buffer: GPUBuffer) => this.of(buffer);
    const discard = (buffer: GPUBuffer) => {
      const owner = this.of(buffer);
      if (!owner) return;
      this.#destroyed.add(buffer);
      this.#discard(this.#allocations.get(owner.first)!);
    };
    this.#overlay = new Overlay((native) => ({
      destroy() {
        const owner = ownerOf(this);
        if (owner) leaving(owner);
        native.destroy.call(this);
        discard(this);
      },
    }));
  }

  /** The GPU memory in addition to the program's buffers, in bytes: the arena and all mirrors. */
  get held(): number {
    return this.arena.buffer.size + this.#mirrorBytes;
  }

  /** The error if the device had no memory for the arena or a mirror, otherwise null. */
  get failed(): Promise<GPUError | null> {
    return Promise.all([this.arena.failed, this.#mirrorsFailed]).then(([arena, mirrors]) => arena ?? mirrors);
  }

  of(buffer: GPUBuffer): ProtectedBuffer | undefined {
    return this.#destroyed.has(buffer) ? undefined : this.#overlay.stateOf(buffer);
  }

  /**
   * Returns the granules that have a byte in a range. Undefined if the buffer has no check words.
   */
  granulesIn(range: BufferRange): GranuleRange | undefined {
    const owner = this.of(range.buffer);
    return owner && granulesIn(owner, range);
  }

  *[Symbol.iterator](): Generator<ProtectedBuffer> {
    for (const allocation of this.#allocations.values()) {
      const owner = allocation.owner.deref();
      if (owner) yield owner;
    }
  }

  /**
   * Returns the buffer to which a check word of the arena belongs, according to a report. Undefined
   * if the word may have belonged to several buffers since the work of the report began.
   */
  ownerOf(word: number): ProtectedBuffer | undefined {
    const isIn = ({ first, words }: Pick<Allocation, "first" | "words">) =>
      first <= word && word < first + words;
    const existing = [...this.#allocations.values()].filter(isIn).map(({ owner }) => owner.deref());
    const former = this.#former.filter(isIn).map(({ owner }) => owner);
    const [owner, ...others] = [...existing, ...former];
    return others.length === 0 ? owner : undefined;
  }

  /** Takes it that the check with this number covers the work so far. */
  beginCheck(check: number): void {
    this.#next = check + 1;
  }

  /** Forgets the destroyed buffers that no report can name from this check on. */
  forgetBefore(check: number): void {
    this.#freeWords(({ check: last }) => last < check);
    this.#former = this.#former.filter((each) => each.check >= check);
  }

  #freeWords(isIncluded: (former: FormerOwner) => boolean): void {
    for (const former of this.#former) {
      if (former.areWordsFree || !isIncluded(former)) continue;
      former.areWordsFree = true;
      this.arena.release(former);
    }
  }

  /** Returns whether the arena has room for this many words, also those of destroyed buffers. */
  #hasRoom(words: number): boolean {
    if (!this.arena.fits(words)) this.#freeWords(() => true);
    return this.arena.hasRoom(words);
  }

  /**
   * Returns the number of bytes to allocate for a buffer: whole granules, and then the check words
   * if the buffer can be mapped. Returns undefined if the buffer gets no check words. Such a buffer
   * is empty or invalid, or `protect` returns the reason.
   */
  allocationOf({ size, usage, mappedAtCreation }: GPUBufferDescriptor): number | undefined {
    const isPlausible = Number.isInteger(size) && size > 0 && usage > 0;
    if (!isPlausible || (mappedAtCreation && size % 4 !== 0) || isMappedAndBound(usage)) return undefined;
    const { granules, granuleBytes } = granulesFor(size, this.#granuleBytes);
    const bytes = granules * (granuleBytes + (usage & MAP ? 4 * this.checkWords : 0));
    const fits = bytes <= this.#device.limits.maxBufferSize && this.#hasRoom(granules * this.checkWords);
    return fits ? bytes : undefined;
  }

  /** Returns the byte range of the check words within a mappable buffer. */
  checksOf({ granules, granuleBytes }: ProtectedBuffer): { readonly offset: number; readonly size: number } {
    return { offset: granules * granuleBytes, size: 4 * granules * this.checkWords };
  }

  /**
   * Gives check words to a buffer with memory for whole granules (`isAllocated`), or returns the
   * reason why it gets none.
   */
  protect(buffer: GPUBuffer, isAllocated: boolean): ProtectedBuffer | Unprotected | undefined {
    const { size, usage } = buffer;
    if (size === 0 || !isBufferUsage(usage)) return undefined;
    const { granules, granuleBytes } = granulesFor(size, this.#granuleBytes);
    const words = granules * this.checkWords;
    if (!isAllocated) {
      const reason = this.#hasRoom(words) ? "tooLarge" : "arenaIsFull";
      return isMappedAndBound(usage) ? "mappedAndBound" : reason;
    }
    const first = this.arena.allocate(words);
    const owner = new Owner(buffer, { granules, granuleBytes }, first, this.#mirrorOf);
    const allocation: Allocation = { first, words, mirror: undefined, owner: new WeakRef(owner) };
    this.#allocations.set(first, allocation);
    this.#collected.register(buffer, allocation);
    this.#overlay.attach(buffer, owner);
    return owner;
  }

  /** Creates the mirror of a mappable buffer. */
  #makeMirror(owner: Owner): GPUBuffer {
    const { buffer, first, granules, granuleBytes } = owner;
    const usage = flags.bufferStorage | COPY;
    const size = granules * granuleBytes;
    const { made, failed } = makeSilently(this.#device, () =>
      this.#device.createBuffer({ label: `belay: mirror of ${buffer.label}`, size, usage }),
    );
    this.#mirrorsFailed = Promise.all([this.#mirrorsFailed, failed]).then(([before, now]) => before ?? now);
    const allocation = this.#allocations.get(first);
    // The words of the arena may belong to another buffer by now.
    if (allocation?.owner.deref() === owner) {
      allocation.mirror = made;
      this.#mirrorBytes += size;
    }
    return made;
  }

  #discard(allocation: Allocation): void {
    const { first, words, mirror } = allocation;
    if (this.#allocations.get(first) !== allocation) return;
    this.#allocations.delete(first);
    const owner = allocation.owner.deref();
    this.#former.push({ first, words, owner, check: this.#next, areWordsFree: false });
    if (!mirror) return;
    this.#mirrorBytes -= mirror.size;
    mirror.destroy();
  }
}

/**
 * Returns whether shaders can use a mappable buffer. Some devices offer that as an extension. Such
 * buffers cannot have a mirror.
 */
export function isMappedAndBound(usage: number): boolean {
  const others = usage & ~MAP;
  if (usage & flags.bufferMapRead) return (others & ~flags.bufferCopyDst) !== 0 || (usage & MAP) === MAP;
  return (usage & flags.bufferMapWrite) !== 0 && (others & ~flags.bufferCopySrc) !== 0;
}
