import type { Grid } from "../context/dispatchCall.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { EncodingPoint } from "../memory/checkWordEncoder.ts";
import type { GuardedUse } from "../memory/dispatchGuard.ts";
import type { DispatchSums, KnownUniforms } from "../memory/kernelSums.ts";
import type { MemoryProtection } from "../memory/memoryProtection.ts";
import type { MemoryState } from "../memory/memoryState.ts";
import type { BoundGroups } from "../pipelines/addedBindings.ts";
import type { BindGroups, ProgramGroup, ProgramGroups } from "../pipelines/bindGroups.ts";
import { type Doubling, doubleGrid, namedByReport } from "../pipelines/doubledGrid.ts";
import type { PipelineRecord, PipelineVariant } from "../pipelines/pipelineRecord.ts";
import type { ProtectedPipelines } from "../pipelines/pipelines.ts";
import type { ShadowBuffers } from "../pipelines/shadowBuffers.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { type Methods, noting, Overlay } from "../webgpu/overlay.ts";
import { LARGEST_INDEX, PassCommands, type RecordedPass } from "../webgpu/passCommands.ts";
import { copyOffsets } from "../webgpu/replayStep.ts";
import type { BufferRange, GpuResource } from "../webgpu/resources.ts";
import { BoundPipeline } from "./boundPipeline.ts";
import type { CommandRecord } from "./commandRecord.ts";
import { DispatchCounter } from "./dispatchCounter.ts";
import type { DispatchUse, Effect } from "./dispatchUse.ts";
import type { FilledRanges } from "./filled.ts";
import { BYTES_OF_ARGUMENTS, IndirectDispatch } from "./indirectDispatch.ts";
import { SequentialReplicas } from "./sequentialReplicas.ts";
import type { CheckedDispatch, SumsChecking, WordAt } from "./sumsChecking.ts";

/** The parts of the runtime that prepare dispatches. */
interface PassParts {
  readonly bindGroups: BindGroups;
  readonly shadows: ShadowBuffers;
  readonly indirect: IndirectDispatch;
  readonly sequentialReplicas: SequentialReplicas;
  readonly memory: MemoryProtection;
  readonly filled: FilledRanges;
  /** The checks by algebra, if the policy has a checker. */
  readonly algebra: SumsChecking | undefined;
  /** Counts dispatches, if faults can be injected into single dispatches. */
  readonly counter: DispatchCounter | undefined;
  /** The device's limit on workgroups per dimension. */
  readonly limit: number;
}

/** The place of the arguments of an indirect dispatch. */
interface ArgumentsPlace {
  readonly buffer: GPUBuffer;
  readonly offset: number;
}

/** The arguments of a dispatch, or the place of its workgroups. */
type Workgroups = Grid | ArgumentsPlace;

/**
 * The prepared state of dispatches. It is valid until the program sets another pipeline or bind
 * group.
 */
interface Prepared {
  readonly runs: BoundPipeline;
  readonly use: DispatchUse;
  /** The pipeline that runs in place of the program's, and its added bind groups. */
  readonly variant: PipelineVariant;
  readonly bound: BoundGroups | undefined;
  /** The uses of protected memory. */
  readonly guarded: readonly GuardedUse[];
  /** The ranges that the kernel writes without a shadow, once they were needed. */
  written: readonly BufferRange[] | undefined;
}

/** A prepared dispatch, with the bind groups that the program has set. */
interface PreparedDispatch {
  readonly prepared: Prepared;
  readonly groups: ProgramGroups;
  readonly isSequential: boolean;
  /** True if the program has set each bind group that the kernel uses. */
  readonly isComplete?: boolean;
  readonly workgroups: Workgroups;
}

const noResources: ReadonlySet<GpuResource> = new Set();

/** A compute pass. It prepares each dispatch of a protected kernel. */
class ComputePass implements EncodingPoint {
  readonly #commands: PassCommands;
  readonly record: CommandRecord;
  readonly #parts: PassParts;
  /** The pipeline that the program set, and the variant that runs with the bound buffers. */
  #pipeline: BoundPipeline | undefined;
  #running: BoundPipeline | undefined;
  readonly #groups: (ProgramGroup | undefined)[] = [];
  /** Undefined until it is known if the device rejects dispatches with the bound buffers. */
  #isRejected: boolean | undefined;
  #prepared: Prepared | undefined;
  /** The prepared state of dispatches without redundancy, whose results are checked by algebra. */
  #alone: Prepared | undefined;
  /** True if the pipeline is set, and no dispatch has used it yet. */
  #isPipelineUnused = false;
  /** The pipeline that is not encoded until it is known if its dispatch is checked by algebra. */
  #waiting: PipelineRecord | undefined;
  /** The indices of the bind groups that are set and that no dispatch has used yet, as bits. */
  #unusedGroups = 0;
  /** The sums of the dispatch that is being encoded. */
  #sums: DispatchSums | undefined;
  /** The contents of the uniform buffers that no earlier command writes. */
  #uniforms: KnownUniforms | undefined;

  constructor(commands: PassCommands, record: CommandRecord, parts: PassParts) {
    this.#commands = commands;
    this.record = record;
    this.#parts = parts;
  }

  get state(): MemoryState {
    return this.record.memory;
  }

  /** Returns the contents of the uniform buffers that no earlier command writes. */
  #knownUniforms(): KnownUniforms {
    this.#uniforms ??= {
      versionOf: (buffer) => this.#unwritten(buffer)?.versionOf(buffer),
      textOf: (range) => this.#unwritten(range.buffer)?.textOf(range),
    };
    return this.#uniforms;
  }

  /** Returns a function that returns words of these uniform buffers. */
  #uniformWords(): WordAt {
    return (range, byte) =>
      this.record.written.has(range.buffer) ? undefined : this.#parts.filled.uniforms.wordAt(range, byte);
  }

  #unwritten(buffer: GPUBuffer): KnownUniforms | undefined {
    return this.record.written.has(buffer) ? undefined : this.#parts.filled.uniforms;
  }

  run(encode: (commands: PassCommands) => void): void {
    encode(this.#commands);
  }

  // Setting an unchanged pipeline or bind group encodes nothing: each dispatch sets what it needs.
  setPipeline(pipeline: PipelineRecord): void {
    if (this.#pipeline?.record === pipeline) return;
    // The device may reject an earlier pipeline or bind group, on which no dispatch depends.
    if (this.#isPipelineUnused) this.record.isUnusual = true;
    this.#setWaiting();
    this.#isPipelineUnused = true;
    this.#waiting = pipeline;
    if (!this.#parts.algebra || !pipeline.kernel) this.#setWaiting();
    this.#reset();
    this.#pipeline = new BoundPipeline(pipeline, this.#groups, this.#parts.bindGroups);
  }

  /** Encodes the pipeline that waits. */
  #setWaiting(): void {
    if (this.#waiting) this.#commands.setPipeline(this.#waiting.variant(0).pipeline);
    this.#waiting = undefined;
  }

  setBindGroup(index: number, set: ProgramGroup): void {
    if (this.#groups[index] === set) return;
    const bit = 1 << index;
    if (this.#unusedGroups & bit || index > LARGEST_INDEX) {
      this.record.isUnusual = true;
      this.#setUnused();
    }
    // Dispatches set what they need, which may be another bind group in its place. The device tells
    // the program of mistakes at once.
    const canWait = set.offsets.length === 0 && set.contents?.isMistake === false;
    if (!canWait || index > LARGEST_INDEX) this.#commands.setBindGroup(index, set);
    if (index > LARGEST_INDEX) return;
    this.#unusedGroups |= bit;
    this.#reset();
    this.#groups[index] = set;
  }

  /** Encodes the bind groups that no dispatch has used. The device may reject them. */
  #setUnused(): void {
    for (const [index, set] of this.#groups.entries())
      if (set && this.#unusedGroups & (1 << index)) this.#commands.ensure(index, set);
  }

  setImmediates(args: readonly unknown[]): void {
    this.record.isUnusual = true;
    this.#commands.setImmediates(args);
  }

  pushDebugGroup(label: string): void {
    this.record.isUnusual = true;
    this.#commands.pushDebugGroup(label);
  }

  popDebugGroup(): void {
    this.record.isUnusual = true;
    this.#commands.popDebugGroup();
  }

  end(): void {
    if (this.#isPipelineUnused || this.#unusedGroups !== 0) this.record.isUnusual = true;
    this.#setWaiting();
    this.#setUnused();
    this.#parts.memory.endPass(this);
    this.record.addGroups(this.#commands.added);
    this.#commands.end();
    this.record.isInPass = false;
  }

  #reset(): void {
    this.#prepared = undefined;
    this.#alone = undefined;
    this.#running = undefined;
    this.#isRejected = undefined;
    this.#sums = undefined;
  }

  /**
   * Sets the program's pipeline and bind groups if the device rejects dispatches with them. The
   * program then gets the error that it gets without Belay.
   */
  #setRejected(): boolean {
    const own = this.#pipeline;
    this.#isRejected ??= own?.isTooSmall ?? false;
    if (!own || !this.#isRejected) return false;
    this.record.isUnusual = true;
    this.#setWaiting();
    this.#commands.use(own.record.plain, this.#groups);
    return true;
  }

  dispatch(grid: Grid): void {
    if (this.#setRejected()) {
      this.#commands.dispatchWorkgroups(grid);
      return;
    }
    const own = this.#pipeline;
    const checked = own && this.#parts.algebra?.checkOf(own, grid, this.#uniformWords());
    // Variants of the pipeline take its place.
    if (checked) this.#waiting = undefined;
    else this.#setWaiting();
    const runs = checked ? this.#chooseAgain(own, checked) : this.#choose(grid);
    // WebGPU validation rejects a dispatch without a pipeline.
    if (!runs) {
      this.record.isUnusual = true;
      this.#commands.dispatchWorkgroups(grid);
      return;
    }
    this.#isPipelineUnused = false;
    this.#unusedGroups = 0;
    const kernel = runs.kernelToDouble;
    const { limit } = this.#parts;
    const mostWorkgroups = kernel?.interGroup?.mostWorkgroups;
    const doubled = kernel && doubleGrid(grid, { kernel: kernel.name, limit, mostWorkgroups });
    // Each checked dispatch is one of the program's kernel.
    const prepared = this.#prepare(runs, doubled?.doubling ?? 0, checked ? own.record : runs.record);
    const effect = prepared.use.effectOn(grid);
    this.#verify(prepared, this.#filledBy(effect));
    if (doubled && !checked) this.#bringShadowsUpToDate(prepared);
    const isSequential = doubled?.doubling === namedByReport;
    const workgroups = doubled?.grid ?? grid;
    if (checked) this.#runChecked(checked, own, grid, { prepared, isSequential, workgroups });
    else this.#run({ prepared: this.#withSlots(prepared), groups: this.#groups, isSequential, workgroups });
    if (!effect.dispatch) this.record.unknownDispatches++;
    this.record.addEffect(effect);
    this.#recordWrites(prepared);
  }

  dispatchIndirect(buffer: GPUBuffer, offset: number): void {
    this.record.isUnusual = true;
    this.#setWaiting();
    const runs = this.#setRejected() ? undefined : this.#choose();
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
    let from: ArgumentsPlace = { buffer, offset };
    memory.verifyIn(this, { buffer, offset, size: BYTES_OF_ARGUMENTS });
    this.#verify(prepared, noResources);
    if (isDoubled) {
      this.#bringShadowsUpToDate(prepared);
      from = { buffer: indirect.double(this.#commands, buffer, offset, kernel.slot), offset: 0 };
    }
    this.#run({ prepared, groups: this.#groups, isSequential, workgroups: from });
    const grid = { buffer, offset, size: BYTES_OF_ARGUMENTS };
    const { effect } = prepared.use;
    this.record.unknownDispatches++;
    this.record.addEffect({ ...effect, read: [...effect.read, grid] });
    this.#recordWrites(prepared);
  }

  /**
   * Returns the variant to run, if the program set a pipeline. Passes verify its memory if a buffer
   * has no check words for the kernel's own checks, or if no sum is useful on the grid.
   */
  #choose(grid?: Grid): BoundPipeline | undefined {
    const own = this.#pipeline;
    const { memory } = this.#parts;
    if (own?.isSumming) {
      const summing = grid && own.summing(memory, grid, this.#knownUniforms());
      for (const each of summing?.expected ?? []) this.state.expected.add(each);
      this.#sums = summing?.sums;
      const running = summing?.sums ? summing.runs : own.verifiedByPasses;
      // The sums may change between dispatches, and the slots always do.
      if (this.#sums || this.#running?.record !== running.record) this.#prepared = undefined;
      this.#running = running;
    }
    this.#running ??= own?.lacksChecks(memory) ? own.verifiedByPasses : own;
    return this.#running;
  }

  /** Returns the variant to run if the results of a checked dispatch are not right. */
  #chooseAgain(own: BoundPipeline, { again }: CheckedDispatch): BoundPipeline {
    if (this.#sums) this.#prepared = undefined;
    this.#sums = undefined;
    this.#running = undefined;
    return own.checkedBy(again);
  }

  #prepare(runs: BoundPipeline, doubling: Doubling, { counts } = runs.record): Prepared {
    if (counts) this.record.dispatches.count(counts);
    this.#prepared = this.#preparedFor(this.#prepared, runs, doubling);
    return this.#prepared;
  }

  /** Returns the prepared state of dispatches, which is the one before if it is still valid. */
  #preparedFor(before: Prepared | undefined, runs: BoundPipeline, doubling: Doubling): Prepared {
    const variant = runs.record.variant(doubling);
    if (before?.variant === variant && !this.#isOutdated(before.bound)) return before;
    const use = runs.use(variant);
    if (!use.isLasting) this.record.isUnusual = true;
    return {
      use,
      written: undefined,
      runs,
      variant,
      bound: this.#sums ? undefined : this.#boundFor(use),
      guarded: use.guardedWith(this.#sums, () => this.#parts.memory.guarded(runs, this.#sums)),
    };
  }

  /** Returns the bind groups of dispatches without sums; undefined if Belay adds none. */
  #boundFor(use: DispatchUse): BoundGroups | undefined {
    if (!use.bound || this.#isOutdated(use.bound)) use.bound = use.variant.added?.bindFor(this.#groups);
    return use.bound;
  }

  /** Returns whether the arena of check words is another one than the bound arena. */
  #isOutdated(bound: BoundGroups | undefined): boolean {
    return bound?.arena !== undefined && bound.arena !== this.#parts.memory.arena;
  }

  /** Returns the prepared state with slots for the sums of the kernel. */
  #withSlots(prepared: Prepared): Prepared {
    const { memory } = this.#parts;
    if (!this.#sums) return prepared;
    const slot = memory.reserve(this, this.#sums);
    return { ...prepared, bound: prepared.variant.added?.bindFor(this.#groups, slot) };
  }

  /**
   * Returns the buffers that a dispatch overwrites completely, if its uniform buffers keep their
   * current contents until the submission, and that no earlier command uses.
   */
  #filledBy({ dispatch, use }: Effect): ReadonlySet<GpuResource> {
    const { memory, filled } = this.#parts;
    if (!memory.canFindDamage || !dispatch || !use) return noResources;
    const unused = this.record.unusedBefore(use);
    if (unused.size === 0) return noResources;
    const buffers = dispatch.filling(filled, filled.uniforms).filled.filter((buffer) => unused.has(buffer));
    return buffers.length === unused.size ? unused : new Set(buffers);
  }

  #verify({ guarded }: Prepared, filled: ReadonlySet<GpuResource>): void {
    this.#parts.memory.beforeDispatch(this, guarded, filled);
  }

  #bringShadowsUpToDate({ bound }: Prepared): void {
    const { shadowSync } = this.record;
    for (const range of bound?.shadowed ?? []) {
      if (shadowSync.has(range)) continue;
      this.#parts.shadows.bringUpToDate(this.#commands, range);
      shadowSync.add(range);
    }
  }

  /**
   * Encodes a dispatch without redundancy, a check of its results, and one that repairs them, which
   * is `repairing`.
   */
  #runChecked(
    checked: CheckedDispatch,
    own: BoundPipeline,
    workgroups: Grid,
    repairing: Omit<PreparedDispatch, "groups">,
  ): void {
    const prepared = this.#preparedFor(this.#alone, own.checkedBy(checked.alone), 0);
    this.#alone = prepared;
    this.record.addAlone(prepared.use);
    const groups = this.#groups;
    const alone = () => this.#run({ prepared, groups, isSequential: false, isComplete: true, workgroups });
    // The program may set other bind groups before work runs again.
    checked.run(this.#commands, alone, encoding(this.#parts, { ...repairing, groups: [...groups] }));
    const { bound } = repairing.prepared;
    if (bound?.shadowed.length || repairing.isSequential) this.record.isUnusual = true;
    // The first execution has not stored to shadows.
    for (const range of bound?.shadowed ?? []) this.record.shadowSync.remove(range);
    this.record.addSums(checked.findings);
  }

  #run(dispatch: PreparedDispatch): void {
    const { prepared, isSequential } = dispatch;
    const { bound } = prepared;
    if (this.#parts.counter || isSequential || bound?.shadowed.length) this.record.isUnusual = true;
    // The slots of the sums differ from dispatch to dispatch. A dispatch that is checked has not
    // always been.
    if (bound && (this.#sums || prepared === this.#alone))
      for (const set of bound.groups) if (set?.group) this.#commands.noteAdded(set.group);
    encode(this.#commands, this.#parts, dispatch);
  }

  #recordWrites(prepared: Prepared): void {
    const { shadowSync } = this.record;
    const { runs, guarded } = prepared;
    this.#parts.memory.afterDispatch(this, guarded, this.#sums);
    if (shadowSync.isEmpty) return;
    if (!runs.isKnown) {
      shadowSync.clear();
      return;
    }
    prepared.written ??= runs.unshadowed();
    for (const range of prepared.written) shadowSync.remove(range);
  }
}

/**
 * Returns a function that encodes a dispatch into any pass, and brings shadows up to date before
 * it. The function keeps no native pass alive.
 */
const encoding = (parts: PassParts, dispatch: PreparedDispatch) => (commands: PassCommands) => {
  for (const range of dispatch.prepared.bound?.shadowed ?? []) parts.shadows.bringUpToDate(commands, range);
  encode(commands, parts, dispatch);
};

/** Encodes a dispatch, or one dispatch for each replica if they run one after the other. */
function encode(
  commands: PassCommands,
  { counter, sequentialReplicas }: PassParts,
  { prepared: { runs, variant, bound }, groups, isSequential, isComplete, workgroups }: PreparedDispatch,
): void {
  const { kernel } = runs;
  const dispatch = () => {
    commands.use(variant.pipeline, bound?.groups ?? groups, isComplete);
    if ("buffer" in workgroups) commands.dispatchWorkgroupsIndirect(workgroups.buffer, workgroups.offset);
    else commands.dispatchWorkgroups(workgroups);
  };
  if (kernel) counter?.count(commands, kernel.slot);
  if (isSequential && kernel) sequentialReplicas.each(commands, kernel.slot, dispatch);
  else dispatch();
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
    algebra: SumsChecking | undefined,
  ) {
    const { bindGroups, shadows } = pipelines;
    this.#parts = {
      bindGroups,
      shadows,
      indirect: new IndirectDispatch(device),
      sequentialReplicas: new SequentialReplicas(device),
      memory,
      filled,
      algebra,
      counter: policy.injectFaults ? new DispatchCounter(device) : undefined,
      limit: device.limits.maxComputeWorkgroupsPerDimension,
    };
    const overlay = new Overlay<GPUComputePassEncoder, ComputePass>((native, passOf) => {
      const methods: Methods<GPUComputePassEncoder> = {
        setPipeline(pipeline) {
          passOf(this).setPipeline(pipelines.recordOf(owners.accept(pipeline)).current);
        },
        setBindGroup(
          index: number,
          group: GPUBindGroup | null | undefined,
          ...offsets: unknown[]
        ): undefined {
          const set = bindGroups.toSet(owners.accept(group) ?? null, copyOffsets(offsets));
          passOf(this).setBindGroup(index, set);
        },
        setImmediates(...args) {
          passOf(this).setImmediates(args);
        },
        dispatchWorkgroups(x, y = 1, z = 1) {
          passOf(this).dispatch([x, y, z]);
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
          const pass = passOf(this);
          pass.end();
          overlay.detach(this);
          ended.attach(this, pass.record);
        },
      };
      const others = noting(native, Object.keys(methods), (pass, name) =>
        passOf(pass).record.noteUnknown(name),
      );
      return { ...others, ...methods };
    });
    // WebGPU validation rejects commands after the end; they are not recorded. The device may
    // reject the command buffer too.
    const ended = new Overlay<GPUComputePassEncoder, CommandRecord>((native, recordOf) =>
      noting(native, [], (pass) => {
        recordOf(pass).isUnusual = true;
      }),
    );
    this.#overlay = overlay;
  }

  /**
   * Returns the commands of the pass. They grow as more are recorded. `descriptor` must not change
   * any more.
   */
  follow(
    pass: GPUComputePassEncoder,
    descriptor: GPUComputePassDescriptor | undefined,
    record: CommandRecord,
  ): RecordedPass {
    const commands = new PassCommands(pass, descriptor);
    this.#overlay.attach(pass, new ComputePass(commands, record, this.#parts));
    return commands.recorded;
  }
}
