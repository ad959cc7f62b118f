import type { BindingPoint } from "../../compiler/contract.ts";
import type { KernelSource } from "../../compiler/filledBytes.ts";
import type { Grid } from "../context/dispatchCall.ts";
import type { GuardedUse } from "../memory/dispatchGuard.ts";
import type { DispatchSums } from "../memory/kernelSums.ts";
import type { BoundGroups } from "../pipelines/addedBindings.ts";
import type { ProgramGroups, UsedResourceRange } from "../pipelines/bindGroups.ts";
import type { PipelineVariant } from "../pipelines/pipelineRecord.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { flags } from "../webgpu/nativeObjects.ts";
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
export interface BoundPlace extends StoredRange, Pick<UsedResourceRange, "mode" | "view"> {}

/** The effect of one command, or of all commands of a render pass, on the contents of resources. */
export interface Effect {
  /** The protected kernel of the command. */
  readonly kernel?: ProtectedKernel | undefined;
  /** The resources that the results depend on. */
  readonly read: Iterable<ResourceRange>;
  readonly written: Iterable<ResourceRange>;
  /** The resources that are overwritten completely, whatever they contained before. */
  readonly replaced: Iterable<ResourceRange>;
  /** The dispatch that has the effect; absent for other commands, and for unknown grids. */
  readonly dispatch?: DispatchEffect;
  /** The pipeline and the bind groups of the dispatch; absent for other commands. */
  readonly use?: DispatchUse | undefined;
  /** The buffers that the dispatch overwrites completely, if they are known. */
  readonly filled?: readonly GPUBuffer[];
}

/** A dispatch whose bound places have the kinds of their uses. */
interface PlacedCall extends KnownCall {
  readonly bound: readonly BoundPlace[];
}

/** An effect with its known overwritten ranges, and the buffers that these cover completely. */
interface KnownEffect extends Effect {
  readonly replaced: readonly BufferRange[];
  readonly filled: readonly GPUBuffer[];
}

/** The effect of a dispatch on a known grid. */
export class DispatchEffect implements Effect {
  readonly kernel: ProtectedKernel | undefined;
  readonly read: Iterable<ResourceRange>;
  readonly written: Iterable<ResourceRange>;
  readonly replaced: readonly BufferRange[] = [];
  readonly dispatch = this;
  readonly use: DispatchUse | undefined;
  /** True once the device has accepted a submission of the dispatch. */
  isAccepted = false;
  readonly call: PlacedCall;
  /** The grid of the call. */
  readonly #x: number;
  readonly #y: number;
  readonly #z: number;
  /** False if the dispatch also reads all that it stores to. Its results depend on that. */
  readonly #canReplace: boolean;
  #latest: KnownEffect | undefined = undefined;

  constructor({ kernel, use, read, written }: Effect, call: PlacedCall) {
    this.kernel = kernel;
    this.use = use;
    this.read = read;
    this.written = written;
    this.call = call;
    [this.#x, this.#y, this.#z] = call.grid;
    this.#canReplace = call.bound.some(({ mode }) => mode === "write");
  }

  /**
   * Returns the effect with the ranges that the dispatch overwrites completely. They depend on the
   * contents of uniform buffers.
   */
  filling(ranges: FilledRanges, contents: UniformWords): KnownEffect {
    const replaced = this.#canReplace ? ranges.of(this.call, contents) : this.replaced;
    if (this.#latest?.replaced !== replaced) {
      const { kernel, use, read, written } = this;
      const filled = [...new Set(replaced.filter(isWhole).map(({ buffer }) => buffer))];
      this.#latest = { kernel, use, read, written, replaced, filled, dispatch: this };
    }
    return this.#latest;
  }

  isOn([x, y, z]: Grid): boolean {
    return this.#x === x && this.#y === y && this.#z === z;
  }
}

/** The known properties of dispatches with one pipeline and its bind groups. */
export interface DispatchUseDescriptor {
  readonly variant: PipelineVariant;
  /** The protected kernel; undefined if the pipeline is unprotected. */
  readonly kernel: ProtectedKernel | undefined;
  /** The program's kernel; undefined if it or an offset of a bind group is unknown. */
  readonly source: KernelSource | undefined;
  readonly groups: ProgramGroups;
  /** The resources that the dispatches use. */
  readonly places: readonly BoundPlace[];
  /** All resources of the bind groups. A dispatch needs them to exist, used or not. */
  readonly bound: Iterable<GpuResource>;
  /** True if the contents of all bind groups are known. */
  readonly isKnown: boolean;
  /** True if only `destroy` and mappings can make the resources of the bind groups unusable. */
  readonly isLasting: boolean;
}

/**
 * The effects of dispatches with one pipeline and its bind groups. Command buffers share it if they
 * dispatch the same.
 */
export class DispatchUse {
  readonly variant: PipelineVariant;
  readonly kernel: ProtectedKernel | undefined;
  readonly #source: KernelSource | undefined;
  readonly groups: ProgramGroups;
  readonly #places: readonly BoundPlace[];
  /** The resources that the results depend on. */
  readonly read: ReadonlySet<GpuResource>;
  readonly written: ReadonlySet<GpuResource>;
  /** The buffers and textures that are written and not read. */
  readonly onlyWritten: ReadonlySet<GpuResource>;
  /** The written buffers that can be uniform buffers. */
  readonly writtenUniforms: readonly GpuResource[];
  /** All resources of the bind groups. */
  readonly touched: ReadonlySet<GpuResource>;
  /** The resources that the kernel stores to; null if they are unknown. */
  readonly stored: readonly StoredRange[] | null;
  readonly isLasting: boolean;
  /** The effect on an unknown grid. */
  readonly effect: Effect;
  /** The number of destructions after which no resource was known to be destroyed. */
  aliveAt = -1;
  /** True once no resource can be mapped any more. */
  isUnmappable = false;
  /** The bind groups to set for a dispatch without sums, once they were needed. */
  bound: BoundGroups | undefined = undefined;
  /** The effect on the grid of the latest dispatch. */
  #latest: DispatchEffect | undefined = undefined;
  /** The latest uses of protected memory. */
  #guarded: { readonly sums: DispatchSums | undefined; readonly uses: readonly GuardedUse[] } | undefined;

  constructor(descriptor: DispatchUseDescriptor) {
    const { variant, kernel, source, groups, places, bound, isKnown, isLasting } = descriptor;
    this.isLasting = isLasting;
    this.variant = variant;
    this.kernel = kernel;
    this.#source = source;
    this.groups = groups;
    this.#places = places;
    const read = places.flatMap(({ place, mode }) => (mode !== "write" ? [place] : []));
    const stored = places.filter(({ mode }) => mode !== "read");
    const written = stored.map(({ place }) => place);
    this.read = new Set(read.map(resourceOf));
    this.written = new Set(written.map(resourceOf));
    this.writtenUniforms = [...this.written].filter(canBeUniform);
    this.onlyWritten = new Set([...this.written].filter((resource) => !this.read.has(resource)));
    this.touched = new Set([...this.read, ...this.written, ...bound]);
    this.stored = isKnown ? stored : null;
    this.effect = { kernel, use: this, read, written, replaced: [] };
  }

  /** Returns the uses of protected memory by dispatches with these sums. `find` finds them. */
  guardedWith(sums: DispatchSums | undefined, find: () => readonly GuardedUse[]): readonly GuardedUse[] {
    if (!this.#guarded || this.#guarded.sums !== sums) this.#guarded = { sums, uses: find() };
    return this.#guarded.uses;
  }

  /** Returns the effect on a known grid. Returns the same object for the same grid. */
  effectOn(grid: Grid): Effect {
    if (!this.#source) return this.effect;
    if (!this.#latest?.isOn(grid))
      this.#latest = new DispatchEffect(this.effect, { kernel: this.#source, grid, bound: this.#places });
    return this.#latest;
  }
}

function canBeUniform(resource: GpuResource): boolean {
  return !isTexture(resource) && (resource.usage & flags.bufferUniform) !== 0;
}
