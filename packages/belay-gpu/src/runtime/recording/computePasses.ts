import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { EncodingPoint } from "../memory/checkWordEncoder.ts";
import type { GuardedUse } from "../memory/dispatchGuard.ts";
import type { DispatchSums } from "../memory/kernelSums.ts";
import type { MemoryProtection } from "../memory/memoryProtection.ts";
import type { BoundGroups } from "../pipelines/addedBindings.ts";
import type { BindGroups } from "../pipelines/bindGroups.ts";
import { type Doubling, doubleGrid, namedByReport } from "../pipelines/doubledGrid.ts";
import type { PipelineRecord, PipelineVariant } from "../pipelines/pipelineRecord.ts";
import type { ProtectedPipelines } from "../pipelines/pipelines.ts";
import type { ShadowBuffers } from "../pipelines/shadowBuffers.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { Overlay } from "../webgpu/overlay.ts";
import { PassCommands, type SetGroup } from "../webgpu/passCommands.ts";
import { copyOffsets, type ReplayStep } from "../webgpu/replayStep.ts";
import type { BufferRange, GpuResource } from "../webgpu/resources.ts";
import { BoundPipeline } from "./boundPipeline.ts";
import { type BoundPlace, type CommandRecord, DispatchEffect, type Effect } from "./commandRecord.ts";
import { DispatchCounter } from "./dispatchCounter.ts";
import { type FilledRanges, workgroupsOf } from "./filled.ts";
import { BYTES_OF_ARGUMENTS, IndirectDispatch } from "./indirectDispatch.ts";
import { SequentialReplicas } from "./sequentialReplicas.ts";

/** The parts of the runtime that prepare dispatches. */
interface PassParts {
  readonly bindGroups: BindGroups;
  readonly shadows: ShadowBuffers;
  readonly indirect: IndirectDispatch;
  readonly sequentialReplicas: SequentialReplicas;
  readonly memory: MemoryProtection;
  readonly filled: FilledRanges;
  /** Counts dispatches, if faults can be injected into single dispatches. */
  readonly counter: DispatchCounter | undefined;
  /** The device's limit on workgroups per dimension. */
  readonly limit: number;
}

type Grid = Parameters<PassCommands["dispatchWorkgroups"]>;

/**
 * The prepared state of dispatches. It is valid until the program sets another pipeline or bind
 * group.
 */
interface Prepared {
  readonly runs: BoundPipeline;
  readonly places: readonly BoundPlace[];
  /** The pipeline that runs in place of the program's, and its added bind groups. */
  readonly variant: PipelineVariant;
  readonly bound: BoundGroups | undefined;
  /** The uses of protected memory. */
  readonly guarded: readonly GuardedUse[];
  /** The effect for an unknown grid. */
  readonly effect: Effect;
  /** The effect for the grid of the latest dispatch. */
  onGrid?: { readonly grid: readonly number[]; readonly effect: Effect };
  /** The buffers that no dispatch has used before the next one, and that it only stores to. */
  unused: ReadonlySet<GpuResource>;
  /** The ranges that the kernel writes without a shadow, once they were needed. */
  written?: readonly BufferRange[];
}

const noResources: ReadonlySet<GpuResource> = new Set();

/** A compute pass. It prepares each dispatch of a protected kernel. */
class ComputePass {
  readonly #commands: PassCommands;
  readonly #record: CommandRecord;
  readonly #parts: PassParts;
  /** The pipeline that the program set, and the variant that runs with the bound buffers. */
  #pipeline: BoundPipeline | undefined;
  #running: BoundPipeline | undefined;
  readonly #groups = new Map<number, SetGroup>();
  #prepared: Prepared | undefined;
  /** The sums of the dispatch that is being encoded. */
  #sums: DispatchSums | undefined;
  readonly #site: EncodingPoint;

  constructor(commands: PassCommands, record: CommandRecord, parts: PassParts) {
    this.#commands = commands;
    this.#record = record;
    this.#parts = parts;
    this.#site = { state: record.memory, run: (encode) => encode(commands) };
  }

  // Setting an unchanged pipeline or bind group encodes nothing: each dispatch sets what it needs.
  setPipeline(pipeline: PipelineRecord): void {
    if (this.#pipeline?.record === pipeline) return;
    this.#commands.setPipeline(pipeline.variant(0).pipeline);
    this.#reset();
    this.#pipeline = new BoundPipeline(pipeline, this.#groups, this.#parts.bindGroups);
  }

  setBindGroup(index: number, set: SetGroup): void {
    const before = this.#groups.get(index);
    if (before && before.group === set.group && before.offsets === set.offsets) return;
    this.#commands.setBindGroup(index, set);
    this.#reset();
    this.#groups.set(index, set);
  }

  pushDebugGroup(label: string): void {
    this.#commands.pushDebugGroup(label);
  }

  popDebugGroup(): void {
    this.#commands.popDebugGroup();
  }

  end(): void {
    this.#commands.end();
    this.#record.isInPass = false;
  }

  #reset(): void {
    this.#prepared = undefined;
    this.#running = undefined;
    this.#sums = undefined;
  }

  dispatch(grid: readonly unknown[]): void {
    const counts = workgroupsOf(grid);
    const runs = this.#choose(counts);
    // WebGPU validation rejects a dispatch without a pipeline.
    if (!runs) {
      this.#commands.dispatchWorkgroups(...(grid as Grid));
      return;
    }
    const kernel = runs.kernelToDouble;
    const { limit } = this.#parts;
    const mostWorkgroups = kernel?.interGroup?.mostWorkgroups;
    const doubled = kernel && doubleGrid(grid, { kernel: kernel.name, limit, mostWorkgroups });
    const prepared = this.#prepare(runs, doubled?.doubling ?? 0);
    const effect = this.#effectOn(prepared, counts);
    this.#verify(prepared, this.#filledBy(effect));
    if (doubled) this.#bringShadowsUpToDate(prepared);
    const isSequential = doubled?.doubling === namedByReport;
    const workgroups = (doubled?.grid ?? grid) as Grid;
    this.#run(this.#withSlots(prepared), isSequential, () =>
      this.#commands.dispatchWorkgroups(...workgroups),
    );
    this.#record.addEffect(effect);
    this.#recordWrites(prepared);
  }

  dispatchIndirect(buffer: GPUBuffer, offset: number): void {
    const runs = this.#choose();
    if (!runs) {
      this.#commands.dispatchWorkgroupsIndirect(buffer, offset);
      return;
    }
    const { indirect, memory } = this.#parts;
    const kernel = runs.kernelToDouble;
    // WebGPU validation rejects a kernel that writes its own indirect arguments.
    const isSequential = kernel?.interGroup?.mostWorkgroups !== undefined;
    const isDoubled = kernel && !isSequential && indirect.accepts(buffer, offset) && !runs.mayWrite(buffer);
    const prepared = this.#prepare(runs, isDoubled || isSequential ? namedByReport : 0);
    let [from, at] = [buffer, offset];
    memory.verifyIn(this.#site, { buffer, offset, size: BYTES_OF_ARGUMENTS });
    this.#verify(prepared, noResources);
    if (isDoubled) {
      this.#bringShadowsUpToDate(prepared);
      [from, at] = [indirect.double(this.#commands, buffer, offset, kernel.slot), 0];
    }
    this.#run(prepared, isSequential, () => this.#commands.dispatchWorkgroupsIndirect(from, at));
    this.#record.read.add(buffer);
    const grid = { buffer, offset, size: BYTES_OF_ARGUMENTS };
    this.#record.addEffect({ ...prepared.effect, read: [...prepared.effect.read, grid] });
    prepared.unused = noResources;
    this.#recordWrites(prepared);
  }

  /**
   * Returns the variant to run, if the program set a pipeline. Passes verify its memory if a buffer
   * has no check words for the kernel's own checks, or if no sum is useful on the grid.
   */
  #choose(grid?: readonly number[]): BoundPipeline | undefined {
    const own = this.#pipeline;
    const { memory } = this.#parts;
    if (own?.isSumming) {
      const summing = grid && own.summing(memory, grid);
      this.#sums = summing?.sums;
      const running = summing?.sums ? summing.runs : own.verifiedByPasses;
      // The sums may change between dispatches, and the slots always do.
      if (this.#sums || this.#running?.record !== running.record) this.#prepared = undefined;
      this.#running = running;
    }
    this.#running ??= own?.lacksChecks(memory) ? own.verifiedByPasses : own;
    return this.#running;
  }

  #prepare(runs: BoundPipeline, doubling: Doubling): Prepared {
    const { kernels, dispatches } = this.#record;
    const { kernel } = runs;
    const { counts } = runs.record;
    if (kernel) kernels.add(kernel);
    if (counts) dispatches.set(counts, (dispatches.get(counts) ?? 0) + 1);
    const variant = runs.record.variant(doubling);
    if (this.#prepared?.variant === variant && !this.#isOutdated(this.#prepared)) return this.#prepared;
    const places = runs.places();
    for (const { group } of this.#groups.values()) {
      for (const resource of group ? this.#parts.bindGroups.resourcesIn(group) : [])
        this.#record.bound.add(resource);
    }
    const isKnown = kernel && runs.isKnown;
    if (kernel) this.#record.variants.set(variant, kernel);
    if (kernel) this.#record.addStored(kernel, isKnown ? places.filter(({ mode }) => mode !== "read") : null);
    this.#prepared = {
      places,
      ...this.#record.use(kernel, places),
      runs,
      variant,
      bound: this.#sums ? undefined : variant.added?.bindFor(this.#groups),
      guarded: this.#parts.memory.guarded(runs, this.#sums),
    };
    return this.#prepared;
  }

  /** Returns the effect on a known grid. Returns the same object for the same grid. */
  #effectOn(prepared: Prepared, grid: readonly number[]): Effect {
    const known = prepared.onGrid;
    if (known?.grid.every((count, i) => count === grid[i])) return known.effect;
    const { runs, unused } = prepared;
    const kernel = runs.record.source;
    const effect =
      kernel && runs.isPlaced
        ? new DispatchEffect(prepared.effect, { kernel, grid, bound: prepared.places }, unused)
        : prepared.effect;
    prepared.onGrid = { grid, effect };
    prepared.unused = noResources;
    return effect;
  }

  /** Returns whether the arena of check words is another one than the bound arena. */
  #isOutdated({ bound }: Prepared): boolean {
    return bound?.arena !== undefined && bound.arena !== this.#parts.memory.arena;
  }

  /** Returns the prepared state with slots for the sums of the kernel. */
  #withSlots(prepared: Prepared): Prepared {
    const { memory } = this.#parts;
    if (!this.#sums) return prepared;
    const slot = memory.reserve(this.#site, this.#sums);
    return { ...prepared, bound: prepared.variant.added?.bindFor(this.#groups, slot) };
  }

  /**
   * Returns the buffers that a dispatch overwrites completely, if its uniform buffers keep their
   * current contents until the submission.
   */
  #filledBy(effect: Effect): ReadonlySet<GpuResource> {
    const { memory, filled } = this.#parts;
    if (!memory.canFindDamage || !(effect instanceof DispatchEffect) || effect.unused.size === 0)
      return noResources;
    return new Set(effect.overwritten(filled.of(effect.call)));
  }

  #verify({ guarded }: Prepared, filled: ReadonlySet<GpuResource>): void {
    const canWait = [...(this.#sums?.values() ?? [])].some((sum) => sum?.doubt);
    this.#parts.memory.beforeDispatch(this.#site, guarded, { canWait, filled });
  }

  #bringShadowsUpToDate({ bound }: Prepared): void {
    const { shadowSync } = this.#record;
    for (const range of bound?.shadowed ?? []) {
      if (shadowSync.has(range)) continue;
      this.#parts.shadows.bringUpToDate(this.#commands, range);
      shadowSync.add(range);
    }
  }

  /** Encodes the dispatch, or one dispatch for each replica if they run one after the other. */
  #run({ runs: { kernel }, variant, bound }: Prepared, isSequential: boolean, dispatch: () => void): void {
    if (kernel) this.#parts.counter?.count(this.#commands, kernel.slot);
    const run = () => {
      this.#commands.use(variant.pipeline, this.#groups, bound?.groups);
      dispatch();
    };
    if (isSequential && kernel) this.#parts.sequentialReplicas.each(this.#commands, kernel.slot, run);
    else run();
  }

  #recordWrites(prepared: Prepared): void {
    const { shadowSync } = this.#record;
    const { runs, guarded } = prepared;
    this.#parts.memory.afterDispatch(this.#site, guarded, this.#sums);
    if (shadowSync.isEmpty) return;
    if (!runs.isKnown) {
      shadowSync.clear();
      return;
    }
    prepared.written ??= runs.unshadowed();
    for (const range of prepared.written) shadowSync.remove(range);
  }
}

/** The compute passes of a device. Records their commands and adds those of protection. */
export class ComputePasses {
  readonly #parts: PassParts;
  readonly #overlay: Overlay<GPUComputePassEncoder, ComputePass>;

  constructor(
    { device, owners, policy, usages }: RuntimeContext,
    memory: MemoryProtection,
    pipelines: ProtectedPipelines,
    filled: FilledRanges,
  ) {
    const { bindGroups, shadows } = pipelines;
    this.#parts = {
      bindGroups,
      shadows,
      indirect: new IndirectDispatch(device),
      sequentialReplicas: new SequentialReplicas(device),
      memory,
      filled,
      counter: policy.injectFaults ? new DispatchCounter(device) : undefined,
      limit: device.limits.maxComputeWorkgroupsPerDimension,
    };
    const overlay = new Overlay<GPUComputePassEncoder, ComputePass>((_, passOf) => ({
      setPipeline(pipeline) {
        passOf(this).setPipeline(pipelines.recordOf(owners.accept(pipeline)));
      },
      setBindGroup(index: number, group: GPUBindGroup | null | undefined, ...offsets: unknown[]): undefined {
        const set = { group: owners.accept(group) ?? null, offsets: copyOffsets(offsets) };
        passOf(this).setBindGroup(index, bindGroups.asDeclared(set));
      },
      dispatchWorkgroups(...grid) {
        passOf(this).dispatch(grid);
      },
      dispatchWorkgroupsIndirect(given, offset) {
        const buffer = owners.accept(given);
        const end = offset + BYTES_OF_ARGUMENTS;
        passOf(this).dispatchIndirect(usages.used(buffer, flags.bufferIndirect, end), offset);
      },
      pushDebugGroup(label) {
        passOf(this).pushDebugGroup(label);
      },
      popDebugGroup() {
        passOf(this).popDebugGroup();
      },
      end() {
        passOf(this).end();
        // WebGPU validation rejects commands after the end; they are not recorded.
        overlay.detach(this);
      },
    }));
    this.#overlay = overlay;
  }

  /** Returns the steps of the pass. The array grows as commands are recorded. */
  follow(pass: GPUComputePassEncoder, record: CommandRecord): readonly ReplayStep<GPUComputePassEncoder>[] {
    const commands = new PassCommands(pass);
    this.#overlay.attach(pass, new ComputePass(commands, record, this.#parts));
    return commands.steps;
  }
}
