import type { BindingPoint } from "../../compiler/contract.ts";
import { MemoryState } from "../memory/memoryState.ts";
import type { Access } from "../pipelines/bindGroups.ts";
import type { Kernel, RunCounts } from "../pipelines/kernels.ts";
import type { Variant } from "../pipelines/pipelineRecord.ts";
import { RangeSet } from "../webgpu/rangeSet.ts";
import {
  type BufferRange,
  isTexture,
  isWhole,
  type Place,
  type Resource,
  resourceOf,
} from "../webgpu/resources.ts";

/** What a kernel may store to: where it is bound, and what is bound there. */
export interface StoredPlace {
  readonly of: BindingPoint;
  readonly place: BufferRange | GPUTexture;
}

/** The effect of one command, or of all commands of a render pass, on contents. */
export interface Effect {
  /** The protected kernel that it runs. */
  readonly kernel?: Kernel | undefined;
  /** What its results depend on. */
  readonly read: Iterable<Place>;
  readonly written: Iterable<Place>;
  /** What it fills anew, whatever was there before. */
  readonly replaced: Iterable<Place>;
}

/** The resources that commands use. */
export class Uses implements Access {
  /** What their results depend on. */
  readonly read = new Set<Resource>();
  readonly written = new Set<Resource>();
  readonly #added = new Set<Access>();

  add(access: Access): void {
    if (this.#added.has(access)) return;
    this.#added.add(access);
    for (const resource of access.read) this.read.add(resource);
    for (const resource of access.written) this.written.add(resource);
  }
}

/**
 * What a command buffer does: what verification needs to know of it, and how to encode it again.
 */
export class CommandRecord extends Uses {
  /** What it does to contents, in the order of its commands. */
  readonly effects: Effect[] = [];
  /** What it fills anew before anything else: what was there before does not matter to it. */
  readonly replaced = new Set<Resource>();
  /** The protected kernels that it dispatches. */
  readonly kernels = new Set<Kernel>();
  /** What each of them stores to; null where that is not known. */
  readonly stored = new Map<Kernel, StoredPlace[] | null>();
  /** The pipelines that run them. */
  readonly variants = new Map<Variant, Kernel>();
  /** How often it dispatches each kernel, whether protected or not. */
  readonly dispatches = new Map<RunCounts, number>();
  /** The commands, to be encoded again in this order. */
  readonly steps: ((encoder: GPUCommandEncoder) => void)[] = [];
  /**
   * While commands are recorded: the parts of buffers that have a shadow which equals them. An
   * Inter-Group kernel keeps the two alike, as its replicas store the same into both; whatever else
   * writes the buffer does not.
   */
  readonly shadowSync = new RangeSet();
  readonly memory = new MemoryState();
  /**
   * Whether a pass has begun and not ended: until then, whatever else the encoder is asked for
   * makes its commands invalid.
   */
  isInPass = false;
  /** Why the commands cannot be encoded again, if so. */
  obstacle?: string;

  /** Notes the effect of what comes next. */
  addEffect(effect: Effect): void {
    // The same dispatch once more changes nothing of what depends on what.
    if (this.effects.at(-1) !== effect) this.effects.push(effect);
  }

  /** A kernel stores to places; null stands for unknown ones. */
  addStored(kernel: Kernel, places: readonly StoredPlace[] | null): void {
    const known = this.stored.get(kernel);
    if (known === null) return;
    if (known && places) known.push(...places);
    else this.stored.set(kernel, places && [...places]);
  }

  /**
   * Notes that data moves from `source` into `destination`, all of which is replaced if `replaces`.
   */
  transfer(source: Place | undefined, destination: Place, replaces: boolean): void {
    this.fill(source && resourceOf(source), destination, replaces);
    const written = [destination];
    this.addEffect({ read: source ? [source] : [], written, replaced: replaces ? written : [] });
  }

  /** As `transfer`, as a part of an effect that is noted elsewhere. */
  fill(source: Resource | undefined, destination: Place, replaces: boolean): void {
    if (source) this.read.add(source);
    const resource = resourceOf(destination);
    const isNew = !this.read.has(resource) && !this.written.has(resource);
    if (replaces && isNew && isWhole(destination)) this.replaced.add(resource);
    this.written.add(resource);
    if (!isTexture(resource)) this.shadowSync.removeAll(resource);
  }

  /** Everything the commands use. */
  *touched(): Generator<Resource> {
    yield* this.read;
    for (const resource of this.written) if (!this.read.has(resource)) yield resource;
  }
}
