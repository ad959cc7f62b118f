import type { HostCode } from "../../codes/scheme.ts";
import { Layer } from "../webgpu/layer.ts";
import { flags, isBufferUsage, makeSilently } from "../webgpu/nativeObjects.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { CheckArena } from "./checkArena.ts";
import {
  type Granules,
  granulesFor,
  granulesIn,
  type MemoryCounts,
  type ProtectedBuffer,
} from "./granules.ts";

/** Why a buffer has no check words: its usage, its size, or that of all buffers together. */
export type Unprotected = "mappedAndBound" | "tooLarge" | "arenaIsFull";

/** What goes with a buffer. */
interface Belongings {
  readonly first: number;
  readonly words: number;
  /** The mirror, once something has used it. */
  mirror: GPUBuffer | undefined;
  readonly owner: WeakRef<ProtectedBuffer>;
}

/**
 * A protected buffer, of which programs may have many: what not each one needs is made when it is
 * first asked for.
 */
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
    this.#counts ??= { corrected: 0, correctedLoads: 0, uncorrectable: 0, verifiedBytes: 0 };
    return this.#counts;
  }
}

const MAP = flags.bufferMapRead | flags.bufferMapWrite;
const COPY = flags.bufferCopySrc | flags.bufferCopyDst;

/** The program's buffers that have check words, and how both are allocated. */
export class ProtectedBuffers {
  readonly arena: CheckArena;
  /** Words that the check of a granule takes. */
  readonly checkWords: number;
  readonly #granuleBytes: number;
  readonly #device: GPUDevice;
  /** By their first word of the arena. */
  readonly #alive = new Map<number, Belongings>();
  /** One function for all owners. */
  readonly #mirrorOf = (owner: Owner) => this.#makeMirror(owner);
  readonly #layer: Layer<GPUBuffer, ProtectedBuffer>;
  /** Destroyed buffers, whose place in the arena may be another buffer's. */
  readonly #destroyed = new WeakSet<GPUBuffer>();
  /** Programs may leave buffers to the garbage collector. */
  readonly #collected = new FinalizationRegistry<Belongings>((belongings) => this.#discard(belongings));
  #mirrorBytes = 0;
  #mirrorsFailed: Promise<GPUError | null> = Promise.resolve(null);

  constructor(
    device: GPUDevice,
    { granuleBytes, checkWords }: Pick<HostCode, "granuleBytes" | "checkWords">,
  ) {
    this.#device = device;
    this.#granuleBytes = granuleBytes;
    this.checkWords = checkWords;
    this.arena = new CheckArena(device);
    const discard = (buffer: GPUBuffer) => {
      const owner = this.of(buffer);
      if (!owner) return;
      this.#destroyed.add(buffer);
      this.#discard(this.#alive.get(owner.first)!);
    };
    this.#layer = new Layer((native) => ({
      destroy() {
        native.destroy.call(this);
        discard(this);
      },
    }));
  }

  /**
   * Bytes of GPU memory besides what the program's buffers take: the arena, and the mirrors of
   * those that are mapped.
   */
  get held(): number {
    return this.arena.buffer.size + this.#mirrorBytes;
  }

  /** The error, if the device has no memory for that. */
  get failed(): Promise<GPUError | null> {
    return Promise.all([this.arena.failed, this.#mirrorsFailed]).then(([arena, mirrors]) => arena ?? mirrors);
  }

  of(buffer: GPUBuffer): ProtectedBuffer | undefined {
    return this.#destroyed.has(buffer) ? undefined : this.#layer.stateOf(buffer);
  }

  /** The granules that have a byte in a part of a buffer; undefined when it has no check words. */
  granulesIn(range: BufferRange): Granules | undefined {
    const owner = this.of(range.buffer);
    return owner && granulesIn(owner, range);
  }

  *[Symbol.iterator](): Generator<ProtectedBuffer> {
    for (const belongings of this.#alive.values()) {
      const owner = belongings.owner.deref();
      if (owner) yield owner;
    }
  }

  /** The buffer that a check word of the arena belongs to, while it exists. */
  ownerOf(word: number): ProtectedBuffer | undefined {
    return [...this].find(
      ({ first, granules }) => first <= word && word < first + granules * this.checkWords,
    );
  }

  /**
   * Bytes to allocate for a buffer: whole granules, and behind them the check words of one that can
   * be mapped. Undefined for a buffer that gets no check words, as it is empty, left to the device
   * to refuse, or for a reason that `protect` tells.
   */
  allocationOf({ size, usage, mappedAtCreation }: GPUBufferDescriptor): number | undefined {
    const isPlausible = Number.isInteger(size) && size > 0 && usage > 0;
    if (!isPlausible || (mappedAtCreation && size % 4 !== 0) || isMappedAndBound(usage)) return undefined;
    const { granules, granuleBytes } = granulesFor(size, this.#granuleBytes);
    const bytes = granules * (granuleBytes + (usage & MAP ? 4 * this.checkWords : 0));
    const fits = bytes <= this.#device.limits.maxBufferSize && this.arena.hasRoom(granules * this.checkWords);
    return fits ? bytes : undefined;
  }

  /** Where the check words stand in a buffer that can be mapped. */
  checksOf({ granules, granuleBytes }: ProtectedBuffer): { readonly offset: number; readonly size: number } {
    return { offset: granules * granuleBytes, size: 4 * granules * this.checkWords };
  }

  /** Gives check words to a buffer that was allocated as above, or tells why it gets none. */
  protect(buffer: GPUBuffer, isAllocated: boolean): ProtectedBuffer | Unprotected | undefined {
    const { size, usage } = buffer;
    if (size === 0 || !isBufferUsage(usage)) return undefined;
    const { granules, granuleBytes } = granulesFor(size, this.#granuleBytes);
    const words = granules * this.checkWords;
    if (!isAllocated) {
      const reason = this.arena.hasRoom(words) ? "tooLarge" : "arenaIsFull";
      return isMappedAndBound(usage) ? "mappedAndBound" : reason;
    }
    const first = this.arena.allocate(words);
    const owner = new Owner(buffer, { granules, granuleBytes }, first, this.#mirrorOf);
    const belongings: Belongings = { first, words, mirror: undefined, owner: new WeakRef(owner) };
    this.#alive.set(first, belongings);
    this.#collected.register(buffer, belongings);
    this.#layer.attach(buffer, owner);
    return owner;
  }

  /** Makes the mirror of a buffer that can be mapped. */
  #makeMirror(owner: Owner): GPUBuffer {
    const { buffer, first, granules, granuleBytes } = owner;
    const usage = flags.bufferStorage | COPY;
    const size = granules * granuleBytes;
    const { made, failed } = makeSilently(this.#device, () =>
      this.#device.createBuffer({ label: `belay: mirror of ${buffer.label}`, size, usage }),
    );
    this.#mirrorsFailed = Promise.all([this.#mirrorsFailed, failed]).then(([before, now]) => before ?? now);
    const belongings = this.#alive.get(first);
    // What stands there may belong to another buffer by now.
    if (belongings?.owner.deref() === owner) {
      belongings.mirror = made;
      this.#mirrorBytes += size;
    }
    return made;
  }

  #discard(belongings: Belongings): void {
    const { first, words, mirror } = belongings;
    if (this.#alive.get(first) !== belongings) return;
    this.#alive.delete(first);
    this.arena.release({ first, words });
    if (!mirror) return;
    this.#mirrorBytes -= mirror.size;
    mirror.destroy();
  }
}

/**
 * Devices may offer mapping of buffers that shaders use as well; those have no place for a mirror.
 */
export function isMappedAndBound(usage: number): boolean {
  const others = usage & ~MAP;
  if (usage & flags.bufferMapRead) return (others & ~flags.bufferCopyDst) !== 0 || (usage & MAP) === MAP;
  return (usage & flags.bufferMapWrite) !== 0 && (others & ~flags.bufferCopySrc) !== 0;
}
