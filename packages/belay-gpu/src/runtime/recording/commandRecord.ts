import type { BindingPoint } from "../../compiler/contract.ts";
import { MemoryState } from "../memory/memoryState.ts";
import type { ResourceAccess, UsedResourceRange } from "../pipelines/bindGroups.ts";
import type { PipelineVariant } from "../pipelines/pipelineRecord.ts";
import type { ProtectedKernel, RunCounts } from "../pipelines/protectedKernels.ts";
import { RangeSet } from "../webgpu/rangeSet.ts";
import {
  type BufferRange,
  type GpuResource,
  isTexture,
  isWhole,
  type ResourceRange,
  resourceOf,
} from "../webgpu/resources.ts";
import type { FilledRanges, KnownCall, UniformWords } from "./filled.ts";

/** A bound resource that a kernel may store to, with its binding point. */
export interface StoredRange {
  readonly of: BindingPoint;
  readonly place: BufferRange | GPUTexture;
}

/** A bound range of a buffer or a texture, with its binding point and the kind of its use. */
export interface BoundPlace extends StoredRange {
  readonly mode: UsedResourceRange["mode"];
}

/** The effect of one command, or of all commands of a render pass, on the contents of resources. */
export interface Effect {
  /** The protected kernel of the command. */
  readonly kernel?: ProtectedKernel | undefined;
  /** The resources that the results depend on. */
  readonly read: Iterable<ResourceRange>;
  readonly written: Iterable<ResourceRange>;
  /** The resources that are overwritten completely, whatever they contained before. */
  readonly replaced: Iterable<ResourceRange>;
}

/** The effect of a dispatch on a known grid. */
export class DispatchEffect implements Effect {
  readonly kernel: ProtectedKernel | undefined;
  readonly read: Iterable<ResourceRange>;
  readonly written: Iterable<ResourceRange>;
  /** The ranges that are overwritten completely. They are known once the commands are submitted. */
  replaced: readonly BufferRange[] = [];
  readonly call: KnownCall;
  /** The buffers that the dispatch only stores to, and that no earlier command uses. */
  readonly unused: ReadonlySet<GpuResource>;

  constructor({ kernel, read, written }: Effect, call: KnownCall, unused: ReadonlySet<GpuResource>) {
    this.kernel = kernel;
    this.read = read;
    this.written = written;
    this.call = call;
    this.unused = unused;
  }

  /** Returns the buffers that these ranges cover completely and that no earlier command uses. */
  overwritten(ranges: readonly BufferRange[]): GPUBuffer[] {
    return ranges.flatMap((range) => (isWhole(range) && this.unused.has(range.buffer) ? [range.buffer] : []));
  }
}

/** The resources that commands use. */
export class UsedResources implements ResourceAccess {
  /** The resources that the results depend on. */
  readonly read = new Set<GpuResource>();
  readonly written = new Set<GpuResource>();
  readonly #added = new Set<ResourceAccess>();

  add(access: ResourceAccess): void {
    if (this.#added.has(access)) return;
    this.#added.add(access);
    for (const resource of access.read) this.read.add(resource);
    for (const resource of access.written) this.written.add(resource);
  }
}

/**
 * The record of a command buffer: its effects, for verification, and its commands, to encode them
 * again.
 */
export class CommandRecord extends UsedResources {
  /** The effects on resources, in the order of the commands. */
  readonly effects: Effect[] = [];
  /**
   * The resources that are overwritten completely before any other use. Their earlier contents do
   * not matter.
   */
  readonly replaced = new Set<GpuResource>();
  /** The resources of bind groups. A dispatch needs them to exist, used or not. */
  readonly bound = new Set<GpuResource>();
  /** The buffers that dispatches overwrite completely before any other use. */
  readonly filled = new Set<GpuResource>();
  /** The protected kernels of the dispatches. */
  readonly kernels = new Set<ProtectedKernel>();
  /** The resources that each kernel stores to; null if unknown. */
  readonly stored = new Map<ProtectedKernel, StoredRange[] | null>();
  /** The pipelines of the dispatches, with their kernels. */
  readonly variants = new Map<PipelineVariant, ProtectedKernel>();
  /** The number of dispatches of each kernel, protected or not. */
  readonly dispatches = new Map<RunCounts, number>();
  /** The commands in their order, as functions that encode them again. */
  readonly steps: ((encoder: GPUCommandEncoder) => void)[] = [];
  /**
   * The ranges of buffers that equal their shadows, while commands are recorded. The replicas of an
   * Inter-Group kernel store the same values to a buffer and its shadow. All other writes make the
   * two differ.
   */
  readonly shadowSync = new RangeSet();
  readonly memory = new MemoryState();
  /**
   * True between the beginning and the end of a pass. WebGPU validation rejects the command buffer
   * if the encoder is used in between.
   */
  isInPass = false;
  /** The reason why the commands cannot be executed again, if there is one. */
  obstacle?: string;

  /**
   * Records the resources that a dispatch uses. Returns its effect for an unknown grid, and the
   * buffers that it only stores to and that no earlier command uses.
   */
  use(kernel: ProtectedKernel | undefined, places: readonly BoundPlace[]) {
    const [read, written]: [ResourceRange[], ResourceRange[]] = [[], []];
    const unused = new Set<GpuResource>();
    for (const { place, mode } of places) {
      const resource = resourceOf(place);
      if (mode !== "write") read.push(place);
      if (mode === "read") continue;
      written.push(place);
      if (!this.read.has(resource) && !this.written.has(resource)) unused.add(resource);
    }
    for (const place of read) {
      this.read.add(resourceOf(place));
      unused.delete(resourceOf(place));
    }
    for (const place of written) this.written.add(resourceOf(place));
    return { effect: { kernel, read, written, replaced: [] }, unused };
  }

  /** Records the effect of the next command. */
  addEffect(effect: Effect): void {
    // The same effect twice in a row adds no dependence.
    if (this.effects.at(-1) !== effect) this.effects.push(effect);
  }

  /**
   * Finds the ranges that dispatches overwrite completely. Call it when the commands are submitted,
   * as the contents of uniform buffers decide it.
   */
  findFilled(ranges: FilledRanges, contents: UniformWords): void {
    for (const effect of this.effects) {
      if (!(effect instanceof DispatchEffect)) continue;
      effect.replaced = ranges.of(effect.call, contents);
      for (const buffer of effect.overwritten(effect.replaced)) this.filled.add(buffer);
    }
    this.memory.verifyUnfilled(this.filled);
  }

  /** Records the resources that a kernel stores to; null if they are unknown. */
  addStored(kernel: ProtectedKernel, places: readonly StoredRange[] | null): void {
    const known = this.stored.get(kernel);
    if (known === null) return;
    if (known && places) known.push(...places);
    else this.stored.set(kernel, places && [...places]);
  }

  /**
   * Records a transfer of data from `source` to `destination`. With `replaces`, it overwrites all
   * of the destination.
   */
  transfer(source: ResourceRange | undefined, destination: ResourceRange, replaces: boolean): void {
    this.fill(source && resourceOf(source), destination, replaces);
    const written = [destination];
    this.addEffect({ read: source ? [source] : [], written, replaced: replaces ? written : [] });
  }

  /** Records the resources of a transfer whose effect is recorded elsewhere. */
  fill(source: GpuResource | undefined, destination: ResourceRange, replaces: boolean): void {
    if (source) this.read.add(source);
    const resource = resourceOf(destination);
    const isNew = !this.read.has(resource) && !this.written.has(resource);
    if (replaces && isNew && isWhole(destination)) this.replaced.add(resource);
    this.written.add(resource);
    if (!isTexture(resource)) this.shadowSync.removeAll(resource);
  }

  /** Yields each resource that the commands use or bind once. */
  *touched(): Generator<GpuResource> {
    yield* this.read;
    for (const resource of this.written) if (!this.read.has(resource)) yield resource;
    for (const resource of this.bound)
      if (!this.read.has(resource) && !this.written.has(resource)) yield resource;
  }
}
