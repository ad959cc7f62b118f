import { flags } from "../webgpu/nativeObjects.ts";
import type { BufferRange } from "../webgpu/resources.ts";

/** A buffer that is divided into copies. */
interface Page {
  readonly buffer: GPUBuffer;
  /** The free ranges, in the order of their offsets. No two of them are adjacent. */
  free: readonly Gap[];
  /** The number of the latest release before which a copy was made here. */
  lastUse: number;
}

interface Gap {
  readonly offset: number;
  readonly size: number;
}

/** The size of the first page in bytes. Each further page is as large as all pages before it. */
const FIRST_PAGE = 64 * 1024;
/** The largest size of a page with several copies, in bytes. */
const LARGEST_SHARED_PAGE = 64 * 1024 * 1024;
/** The number of releases after which an unused page is destroyed. */
const RELEASES_UNTIL_DESTROYED = 64;

/**
 * The GPU memory of snapshots. Copies are ranges of pages, and pages stay for later copies. A
 * program that repeats its work therefore allocates nothing after the first round.
 */
export class SnapshotMemory {
  readonly #device: GPUDevice;
  readonly #budget: number;
  #pages: Page[] = [];
  #used = 0;
  #held = 0;
  #peak = 0;
  #releases = 0;

  /** The copies together take at most `budget` bytes at a time. */
  constructor(device: GPUDevice, budget: number) {
    this.#device = device;
    this.#budget = budget;
  }

  /** The bytes of all copies. */
  get used(): number {
    return this.#used;
  }

  /** The GPU memory of all pages and textures now, and at most so far, in bytes. */
  get held(): number {
    return this.#held;
  }

  get peak(): number {
    return this.#peak;
  }

  /** Returns whether copies of so many bytes stay within a share of the budget. */
  hasRoomFor(bytes: number, share = 1): boolean {
    return this.#used + bytes <= share * this.#budget;
  }

  /** Returns a range for a copy. Its contents are those of an earlier copy. */
  allocate(size: number): BufferRange {
    const page = this.#pages.find(({ free }) => free.some((gap) => gap.size >= size)) ?? this.#addPage(size);
    const gap = page.free.find((each) => each.size >= size)!;
    const rest = { offset: gap.offset + size, size: gap.size - size };
    page.free = page.free.flatMap((each) => (each !== gap ? [each] : rest.size > 0 ? [rest] : []));
    page.lastUse = this.#releases;
    this.#used += size;
    return { buffer: page.buffer, offset: gap.offset, size };
  }

  free({ buffer, offset, size }: BufferRange): void {
    const page = this.#pages.find((each) => each.buffer === buffer)!;
    const before = page.free.find((gap) => gap.offset + gap.size === offset);
    const after = page.free.find((gap) => gap.offset === offset + size);
    const joined = {
      offset: before?.offset ?? offset,
      size: (before?.size ?? 0) + size + (after?.size ?? 0),
    };
    const others = page.free.filter((gap) => gap !== before && gap !== after);
    page.free = [...others, joined].sort((a, b) => a.offset - b.offset);
    this.#used -= size;
  }

  /** Counts a texture that holds a copy. WebGPU cannot place textures in pages. */
  addTexture(bytes: number): void {
    this.#used += bytes;
    this.#hold(bytes);
  }

  removeTexture(bytes: number): void {
    this.#used -= bytes;
    this.#held -= bytes;
  }

  /** Destroys the pages that no copy has used for long. Call it when copies were released. */
  destroyUnused(): void {
    this.#releases++;
    const isUnused = ({ buffer, free, lastUse }: Page) =>
      free[0]?.size === buffer.size && this.#releases - lastUse > RELEASES_UNTIL_DESTROYED;
    for (const { buffer } of this.#pages.filter(isUnused)) {
      this.#held -= buffer.size;
      buffer.destroy();
    }
    this.#pages = this.#pages.filter((page) => !isUnused(page));
  }

  #addPage(atLeast: number): Page {
    const { maxBufferSize } = this.#device.limits;
    const room = Math.max(0, this.#budget - this.#held);
    const shared = Math.min(LARGEST_SHARED_PAGE, maxBufferSize, room, Math.max(FIRST_PAGE, this.#held));
    const size = Math.max(atLeast, shared - (shared % 4));
    const usage = flags.bufferCopySrc | flags.bufferCopyDst;
    const buffer = this.#device.createBuffer({ label: "belay: snapshots", size, usage });
    const page: Page = { buffer, free: [{ offset: 0, size }], lastUse: this.#releases };
    this.#pages.push(page);
    this.#hold(size);
    return page;
  }

  #hold(bytes: number): void {
    this.#held += bytes;
    this.#peak = Math.max(this.#peak, this.#held);
  }
}
