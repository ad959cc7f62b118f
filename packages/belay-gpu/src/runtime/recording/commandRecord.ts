import { MemoryState } from "../memory/memoryState.ts";
import type { ResourceAccess } from "../pipelines/bindGroups.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { GrowingSet } from "../webgpu/growingSet.ts";
import { RecordedPass, type RecordedStep } from "../webgpu/passCommands.ts";
import { RangeSet } from "../webgpu/rangeSet.ts";
import { type GpuResource, isTexture, isWhole, type ResourceRange, resourceOf } from "../webgpu/resources.ts";
import { DispatchTally } from "./dispatchTally.ts";
import { DispatchEffect, type DispatchUse, type Effect, type StoredRange } from "./dispatchUse.ts";
import type { FilledRanges, UniformWords } from "./filled.ts";
import type { SumsFindings } from "./sumsChecking.ts";

/** The resources that commands use. */
export class UsedResources implements ResourceAccess {
  /** The resources that the results depend on. */
  readonly read = new GrowingSet<GpuResource>();
  readonly written = new GrowingSet<GpuResource>();

  add({ read, written }: ResourceAccess): void {
    this.read.addAll(read);
    this.written.addAll(written);
  }
}

const noResources: ReadonlySet<GpuResource> = new Set();

/**
 * The bind groups of Belay's own that the device has accepted. Each belongs to one pipeline, so the
 * device accepts all dispatches with it.
 */
const acceptedGroups = new WeakSet<GPUBindGroup>();

/**
 * The record of a command buffer: its effects, for verification, and its commands, to encode them
 * again.
 */
export class CommandRecord extends UsedResources {
  /** The effects on resources, in the order of the commands. */
  effects: Effect[] = [];
  /**
   * The buffers that an effect writes without reading, and that no earlier command uses, by the
   * index of the effect.
   */
  #unused: Map<number, ReadonlySet<GpuResource>> | undefined = undefined;
  /**
   * The resources that are overwritten completely before any other use. Their earlier contents do
   * not matter.
   */
  readonly replaced = new GrowingSet<GpuResource>();
  /** The buffers that dispatches overwrite completely before any other use. */
  readonly filled = new GrowingSet<GpuResource>();
  /** The resources of bind groups. A dispatch needs them to exist, used or not. */
  readonly #bound = new GrowingSet<GpuResource>();
  /** The pipelines of the dispatches, with their bind groups. */
  readonly uses = new GrowingSet<DispatchUse>();
  readonly dispatches = new DispatchTally();
  /** The commands in their order. */
  steps: RecordedStep[] = [];
  /**
   * The ranges of buffers that equal their shadows, while commands are recorded. The replicas of an
   * Inter-Group kernel store the same values to a buffer and its shadow. All other writes make the
   * two differ.
   */
  readonly shadowSync = new RangeSet();
  #memory: MemoryState | undefined = undefined;
  /** The bind groups of Belay's own that the device has to accept, too. */
  #added: Set<GPUBindGroup> | undefined = undefined;
  /**
   * True between the beginning and the end of a pass. WebGPU validation rejects the command buffer
   * if the encoder is used in between.
   */
  isInPass = false;
  /** The reason why the commands cannot be executed again, if there is one. */
  obstacle: string | undefined = undefined;
  /** True if a pass has more than dispatches, and the commands that set what these need. */
  isUnusual = false;
  /** The findings of checks by algebra, each with the number of its dispatches. */
  sums: Map<SumsFindings, number> | undefined = undefined;
  /** The number of dispatches of unknown kernels, on unknown grids, or with unknown bind groups. */
  unknownDispatches = 0;
  /** The effects that commands have several times in a row, of which each has one entry. */
  #repeated: Set<Effect> | undefined = undefined;
  /** True once the commands were submitted. The device rejects them a second time. */
  isSubmitted = false;
  /** The protected kernels of this many uses. */
  #kernels: { readonly uses: number; readonly all: ReadonlySet<ProtectedKernel> } | undefined = undefined;

  get memory(): MemoryState {
    this.#memory ??= new MemoryState();
    return this.#memory;
  }

  /** True if a kernel of the commands is protected. */
  get isProtected(): boolean {
    for (const { kernel } of this.uses) if (kernel) return true;
    return false;
  }

  /** True if replicas of a kernel of the commands wait for each other. */
  get hasWaits(): boolean {
    for (const { kernel } of this.uses) if (kernel?.interGroup?.blocking) return true;
    return false;
  }

  /**
   * True if the device has accepted each of the commands before, with the same objects. It accepts
   * them again unless a resource is destroyed or mapped.
   */
  get isFamiliar(): boolean {
    const isComplete = !this.isInPass && this.obstacle === undefined;
    if (!isComplete || this.isUnusual || this.#memory?.isUpdated) return false;
    for (const step of this.steps) if (!(step instanceof RecordedPass && step.isPlain)) return false;
    for (const { dispatch } of this.effects) if (!dispatch?.isAccepted) return false;
    if (this.#added) for (const group of this.#added) if (!acceptedGroups.has(group)) return false;
    return true;
  }

  /**
   * Returns whether two records have the same commands with the same effects, so that one of them
   * can stand for both. Both must be familiar, and their effects those of their submission.
   */
  equals(other: CommandRecord): boolean {
    const { effects, steps } = this;
    if (this.#memory || other.#memory || this.sums || other.sums) return false;
    if (steps.length !== other.steps.length || effects.length !== other.effects.length) return false;
    for (let i = 0; i < effects.length; i++) if (effects[i] !== other.effects[i]) return false;
    for (let i = 0; i < steps.length; i++) {
      const [pass, same] = [steps[i], other.steps[i]];
      if (!(pass instanceof RecordedPass && same instanceof RecordedPass && pass.equals(same))) return false;
    }
    return true;
  }

  /** Encodes the commands again. */
  encodeIn(encoder: GPUCommandEncoder): void {
    for (const step of this.steps) {
      if (step instanceof RecordedPass) step.encodeAgain(encoder);
      else step(encoder);
    }
  }

  /** Records the bind groups of Belay's own that commands use. */
  addGroups(groups: Set<GPUBindGroup> | undefined): void {
    if (this.#added) for (const group of groups ?? []) this.#added.add(group);
    else this.#added = groups;
  }

  /** Frees the memory that is kept for more commands. Call it after the end of the commands. */
  trim(): void {
    this.effects = this.effects.slice();
    this.steps = this.steps.slice();
    for (const step of this.steps) if (step instanceof RecordedPass) step.trim();
  }

  /** Notes a command of which only the name is known. */
  noteUnknown(name: string): void {
    this.isUnusual = true;
    // A marker changes nothing.
    if (name !== "insertDebugMarker") this.obstacle = `it has the command ${name}, which is not recorded`;
  }

  /** Records that the device accepted the commands. */
  accept(): void {
    this.dispatches.accept();
    for (const { dispatch } of this.effects) if (dispatch) dispatch.isAccepted = true;
    for (const group of this.#added ?? []) acceptedGroups.add(group);
  }

  /** The protected kernels that the commands dispatch. */
  get kernels(): ReadonlySet<ProtectedKernel> {
    const { size } = this.uses;
    if (this.#kernels?.uses !== size) {
      const all = new Set<ProtectedKernel>();
      for (const { kernel } of this.uses) if (kernel) all.add(kernel);
      this.#kernels = { uses: size, all };
    }
    return this.#kernels.all;
  }

  /** Returns the resources that a kernel stores to; null if they are unknown. */
  storedBy(kernel: ProtectedKernel): readonly StoredRange[] | null {
    const all: StoredRange[] = [];
    for (const use of this.uses) {
      if (use.kernel !== kernel) continue;
      if (!use.stored) return null;
      all.push(...use.stored);
    }
    return all;
  }

  /**
   * Records the resources that dispatches use. Returns those that the next dispatch writes without
   * reading, and that no earlier command uses.
   */
  use(use: DispatchUse): ReadonlySet<GpuResource> {
    const unused = this.#unusedOf(use.onlyWritten);
    if (!use.isLasting) this.isUnusual = true;
    this.uses.addAll(use.alone);
    this.add(use);
    this.#bound.addAll(use.touched);
    return unused;
  }

  /** Returns the resources that no earlier command uses. */
  #unusedOf(resources: ReadonlySet<GpuResource>): ReadonlySet<GpuResource> {
    let unused = resources;
    for (const resource of resources) {
      if (!this.read.has(resource) && !this.written.has(resource)) continue;
      if (resources.size === 1) return noResources;
      if (unused === resources) unused = new Set(resources);
      (unused as Set<GpuResource>).delete(resource);
    }
    return unused;
  }

  /** Records the effect of the next command. `unused` is the result of `use` for it. */
  addEffect(effect: Effect, unused = noResources): void {
    // The same effect twice in a row adds no dependence.
    if (this.effects.at(-1) === effect) {
      this.#repeated ??= new Set();
      this.#repeated.add(effect);
      return;
    }
    if (unused.size > 0) {
      this.#unused ??= new Map();
      this.#unused.set(this.effects.length, unused);
    }
    this.effects.push(effect);
  }

  /** Records a dispatch whose results are checked by algebra. */
  addSums(findings: SumsFindings): void {
    this.sums ??= new Map();
    this.sums.set(findings, (this.sums.get(findings) ?? 0) + 1);
  }

  /** Returns whether commands have an effect several times in a row. */
  isRepeated(effect: Effect): boolean {
    return this.#repeated?.has(effect) ?? false;
  }

  /**
   * Finds the ranges that dispatches overwrite completely. Call it when the commands are submitted,
   * as the contents of uniform buffers decide it.
   */
  findFilled(ranges: FilledRanges, contents: UniformWords): void {
    for (let i = 0; i < this.effects.length; i++) {
      const effect = this.effects[i]!;
      if (!(effect instanceof DispatchEffect)) continue;
      const filling = effect.filling(ranges, contents);
      this.effects[i] = filling;
      const unused = this.#unused?.get(i);
      if (!unused) continue;
      for (const buffer of filling.filled) if (unused.has(buffer)) this.filled.add(buffer);
    }
    if (!this.#memory) return;
    this.#memory.verifyUnfilled(this.filled);
    this.#memory.confirm(contents, () => this.#usedBuffers());
  }

  /** Yields the buffers that commands use before they overwrite all of them. */
  *#usedBuffers(): Generator<GPUBuffer> {
    for (const resource of [...this.read, ...this.written])
      if (!isTexture(resource) && !this.filled.has(resource) && !this.replaced.has(resource)) yield resource;
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

  /** Calls `visit` with each resource that the commands use or bind, maybe more than once. */
  forEachTouched(visit: (resource: GpuResource) => void): void {
    for (const resource of this.#bound) visit(resource);
    for (const resource of this.read) if (!this.#bound.has(resource)) visit(resource);
    for (const resource of this.written) if (!this.#bound.has(resource)) visit(resource);
  }

  /** Returns whether the commands use or bind a resource of which something is true. */
  touchesSome(isTrue: (resource: GpuResource) => boolean): boolean {
    for (const resource of this.#bound) if (isTrue(resource)) return true;
    for (const resource of this.read) if (!this.#bound.has(resource) && isTrue(resource)) return true;
    for (const resource of this.written) if (!this.#bound.has(resource) && isTrue(resource)) return true;
    return false;
  }
}
