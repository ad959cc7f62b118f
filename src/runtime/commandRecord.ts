import type { Access } from "./bindGroups.ts";
import type { Kernel } from "./kernel.ts";
import type { RunCounts } from "./kernels.ts";
import { MemoryState } from "./memory/memoryState.ts";
import { RangeSet } from "./rangeSet.ts";
import { isTexture, type Resource } from "./resources.ts";
import type { StoredPlace } from "./storedDifference.ts";

/** What a command buffer does: what verification needs to know of it, and how to encode it again. */
export class CommandRecord {
  /** What its results depend on. */
  readonly read = new Set<Resource>();
  readonly written = new Set<Resource>();
  /** What it fills anew before anything else: what was there before does not matter to it. */
  readonly replaced = new Set<Resource>();
  /** The protected kernels that it dispatches. */
  readonly kernels = new Set<Kernel>();
  /** What each of them stores to; null where that is not known. */
  readonly stored = new Map<Kernel, StoredPlace[] | null>();
  /** How often it dispatches each kernel, whether protected or not. */
  readonly dispatches = new Map<RunCounts, number>();
  /** The commands, to be encoded again in this order. */
  readonly steps: ((encoder: GPUCommandEncoder) => void)[] = [];
  /**
   * While commands are recorded: the parts of buffers that have a shadow which equals them. An Inter-Group kernel keeps the two
   * alike, as its replicas store the same into both; whatever else writes the buffer does not.
   */
  readonly shadowSync = new RangeSet();
  readonly memory = new MemoryState();
  /** Whether a pass has begun and not ended: until then, whatever else the encoder is asked for makes its commands invalid. */
  isInPass = false;
  /** Why the commands cannot be encoded again, if so. */
  obstacle?: string;

  readonly #added = new Set<Access>();

  add(access: Access): void {
    if (this.#added.has(access)) return;
    this.#added.add(access);
    const { read, written } = access;
    for (const resource of read) this.read.add(resource);
    for (const resource of written) this.written.add(resource);
  }

  /** A kernel stores to places; null stands for unknown ones. */
  addStored(kernel: Kernel, places: readonly StoredPlace[] | null): void {
    const known = this.stored.get(kernel);
    if (known === null) return;
    if (known && places) known.push(...places);
    else this.stored.set(kernel, places && [...places]);
  }

  /** Data moves from `source` into `destination`; `whole`: all of it is replaced. */
  transfer(source: Resource | undefined, destination: Resource, whole: boolean): void {
    if (source) this.read.add(source);
    const isNew = !this.read.has(destination) && !this.written.has(destination);
    if (whole && isNew) this.replaced.add(destination);
    this.written.add(destination);
    if (!isTexture(destination)) this.shadowSync.removeAll(destination);
  }

  /** Everything the commands use. */
  *touched(): Generator<Resource> {
    yield* this.read;
    for (const resource of this.written) if (!this.read.has(resource)) yield resource;
  }
}
