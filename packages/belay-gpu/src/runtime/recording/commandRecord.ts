import { MemoryState } from "../memory/memoryState.ts";
import type { ResourceAccess } from "../pipelines/bindGroups.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { GrowingSet, type Members } from "../webgpu/growingSet.ts";
import { RecordedPass, type RecordedStep } from "../webgpu/passCommands.ts";
import { RangeSet } from "../webgpu/rangeSet.ts";
import { RecordedCopy } from "../webgpu/recordedCopy.ts";
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
export class CommandRecord implements ResourceAccess {
  /** The effects on resources, in the order of the commands. */
  effects: Effect[] = [];
  /** The number of effects whose resources are among the used ones. They are added when needed. */
  #followed = 0;
  readonly #used = new UsedResources();
  /**
   * The resources that a dispatch writes without reading, and that no earlier command uses, by the
   * index of its effect.
   */
  #unused: Map<number, ReadonlySet<GpuResource>> | undefined = undefined;
  readonly #replaced = new GrowingSet<GpuResource>();
  #filled: ReadonlySet<GpuResource> = noResources;
  /** The uses of dispatches without redundancy. Each runs together with one that has an effect. */
  #alone: Set<DispatchUse> | undefined = undefined;
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
  /** The protected kernels of this many effects. */
  #kernels: { readonly effects: number; readonly all: ReadonlySet<ProtectedKernel> } | undefined = undefined;

  get memory(): MemoryState {
    this.#memory ??= new MemoryState();
    return this.#memory;
  }

  /** The resources that the results depend on. */
  get read(): GrowingSet<GpuResource> {
    return this.#follow().read;
  }

  get written(): GrowingSet<GpuResource> {
    return this.#follow().written;
  }

  /**
   * The resources that commands other than dispatches overwrite completely before any other use.
   * Their earlier contents do not matter.
   */
  get replaced(): Members<GpuResource> {
    this.#follow();
    return this.#replaced;
  }

  /**
   * The buffers that dispatches overwrite completely before any other use. `findFilled` finds them.
   */
  get filled(): ReadonlySet<GpuResource> {
    this.#follow();
    if (this.#filled === noResources && this.#unused) {
      const filled = new Set<GpuResource>();
      for (const [i, unused] of this.#unused)
        for (const buffer of this.effects[i]!.filled ?? []) if (unused.has(buffer)) filled.add(buffer);
      this.#filled = filled;
    }
    return this.#filled;
  }

  /** True if a kernel of the commands is protected. */
  get isProtected(): boolean {
    for (const { kernel } of this.effects) if (kernel) return true;
    return false;
  }

  /** True if replicas of a kernel of the commands wait for each other. */
  get hasWaits(): boolean {
    for (const { kernel } of this.effects) if (kernel?.interGroup?.blocking) return true;
    return false;
  }

  /**
   * True if the device has accepted each of the dispatches before, with the same objects, and the
   * buffers of each copy. It accepts them again unless a resource is destroyed or mapped.
   */
  get isFamiliar(): boolean {
    const isComplete = !this.isInPass && this.obstacle === undefined;
    if (!isComplete || this.isUnusual || this.#memory?.isUpdated) return false;
    for (const step of this.steps) if (typeof step === "function" || !step.isFamiliar) return false;
    for (const { use, dispatch } of this.effects) if (use && !dispatch?.isAccepted) return false;
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
      if (typeof step === "function") step(encoder);
      else step.encodeAgain(encoder);
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
    for (const step of this.steps) if (step instanceof RecordedCopy) step.accept();
    for (const group of this.#added ?? []) acceptedGroups.add(group);
  }

  /** The protected kernels that the commands dispatch. */
  get kernels(): ReadonlySet<ProtectedKernel> {
    const { length } = this.effects;
    if (this.#kernels?.effects !== length) {
      const all = new Set<ProtectedKernel>();
      for (const { kernel } of this.effects) if (kernel) all.add(kernel);
      // Each of these runs together with a command that has an effect.
      for (const { kernel } of this.#alone ?? []) if (kernel) all.add(kernel);
      this.#kernels = { effects: length, all };
    }
    return this.#kernels.all;
  }

  /** Yields the pipelines of the dispatches, with their bind groups, maybe more than once. */
  *uses(): Generator<DispatchUse> {
    for (const { use } of this.effects) if (use) yield use;
    if (this.#alone) yield* this.#alone;
  }

  /** Returns the resources that a kernel stores to; null if they are unknown. */
  storedBy(kernel: ProtectedKernel): readonly StoredRange[] | null {
    const all: StoredRange[] = [];
    for (const use of new Set(this.uses())) {
      if (use.kernel !== kernel) continue;
      if (!use.stored) return null;
      all.push(...use.stored);
    }
    return all;
  }

  /** Adds the resources of all effects so far to the used ones, in the order of the commands. */
  #follow(): UsedResources {
    const used = this.#used;
    for (; this.#followed < this.effects.length; this.#followed++) {
      const { use, dispatch, read, written, replaced } = this.effects[this.#followed]!;
      if (use && dispatch) {
        const unused = this.#unusedOf(use.onlyWritten);
        if (unused.size > 0) {
          this.#unused ??= new Map();
          this.#unused.set(this.#followed, unused);
        }
        used.add(use);
        continue;
      }
      for (const place of read) used.read.add(resourceOf(place));
      for (const place of replaced)
        if (isWhole(place) && this.#isUnused(resourceOf(place))) this.#replaced.add(resourceOf(place));
      for (const place of written) used.written.add(resourceOf(place));
    }
    return used;
  }

  #isUnused(resource: GpuResource): boolean {
    return !this.#used.read.has(resource) && !this.#used.written.has(resource);
  }

  /** Returns the resources that no followed command uses. */
  #unusedOf(resources: ReadonlySet<GpuResource>): ReadonlySet<GpuResource> {
    let unused = resources;
    for (const resource of resources) {
      if (this.#isUnused(resource)) continue;
      if (resources.size === 1) return noResources;
      if (unused === resources) unused = new Set(resources);
      (unused as Set<GpuResource>).delete(resource);
    }
    return unused;
  }

  /**
   * Returns the resources that the next dispatch writes without reading, and that no earlier
   * command uses.
   */
  unusedBefore({ onlyWritten }: DispatchUse): ReadonlySet<GpuResource> {
    this.#follow();
    return this.#unusedOf(onlyWritten);
  }

  /** Records a dispatch without redundancy that runs together with the next one. */
  addAlone(use: DispatchUse): void {
    this.#alone ??= new Set();
    this.#alone.add(use);
  }

  /** Records the effect of the next command. */
  addEffect(effect: Effect): void {
    // The same effect twice in a row adds no dependence.
    if (this.effects.at(-1) === effect) {
      this.#repeated ??= new Set();
      this.#repeated.add(effect);
    } else {
      this.effects.push(effect);
    }
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
      if (effect instanceof DispatchEffect) this.effects[i] = effect.filling(ranges, contents);
    }
    this.#filled = noResources;
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
    const written = [destination];
    this.addEffect({ read: source ? [source] : [], written, replaced: replaces ? written : [] });
    const resource = resourceOf(destination);
    if (!isTexture(resource)) this.shadowSync.removeAll(resource);
  }

  /** Adds the written buffers whose words may be known, which are uniform buffers. */
  addWrittenUniforms(to: Set<GPUBuffer>): void {
    for (const { use, written } of this.effects) {
      for (const place of use ? use.writtenUniforms : written) {
        const resource = resourceOf(place);
        if (!isTexture(resource)) to.add(resource);
      }
    }
  }

  /** Calls `visit` with each resource that the commands use or bind, maybe more than once. */
  forEachTouched(visit: (resource: GpuResource) => void): void {
    this.touchesSome((resource) => {
      visit(resource);
      return false;
    });
  }

  /**
   * Returns whether the commands use or bind a resource of which something is true. Skips
   * dispatches of which `isFalse` tells that it is true of none.
   */
  touchesSome(isTrue: (resource: GpuResource) => boolean, isFalse?: (use: DispatchUse) => boolean): boolean {
    for (const { use, dispatch, read, written } of this.effects) {
      if (use && dispatch && isFalse?.(use)) continue;
      if (use) for (const resource of use.touched) if (isTrue(resource)) return true;
      if (use && dispatch) continue;
      for (const place of read) if (isTrue(resourceOf(place))) return true;
      for (const place of written) if (isTrue(resourceOf(place))) return true;
    }
    return false;
  }
}
