import type { BindingPoint } from "../compiler/contract.ts";
import type { Bound } from "./addedBindings.ts";
import type { BindGroups, SetGroup } from "./bindGroups.ts";
import type { CommandRecord } from "./commandRecord.ts";
import type { DispatchCounter } from "./dispatchCounter.ts";
import { type Doubling, doubleGrid, namedByReport } from "./doubledGrid.ts";
import { BYTES_OF_ARGUMENTS, type IndirectDispatch } from "./indirectDispatch.ts";
import type { Kernel } from "./kernels.ts";
import type { GuardedUse, Use } from "./memory/bracketing.ts";
import type { Site } from "./memory/codeWords.ts";
import type { DispatchSums } from "./memory/kernelSums.ts";
import type { Memory } from "./memory/memory.ts";
import type { PassCommands } from "./passCommands.ts";
import type { PipelineRecord, Variant } from "./pipelineRecord.ts";
import type { BufferRange } from "./resources.ts";
import type { ShadowBuffers } from "./shadowBuffers.ts";
import type { Turns } from "./turns.ts";

/** What passes need to prepare dispatches. */
export interface PassParts {
  readonly bindGroups: BindGroups;
  readonly shadows: ShadowBuffers;
  readonly indirect: IndirectDispatch;
  readonly turns: Turns;
  readonly memory: Memory | undefined;
  /** Where faults may strike in single dispatches. */
  readonly counter: DispatchCounter | undefined;
  /** The device's limit on workgroups per dimension. */
  readonly limit: number;
}

/** What dispatches take until the program sets something else. */
interface Prepared {
  /** The pipeline that runs in place of the program's, and what it has bound. */
  readonly variant: Variant;
  readonly bound: Bound | undefined;
  /** What it uses of protected memory. */
  readonly guarded: readonly GuardedUse[];
  /** What the kernel writes without a shadow, once that matters. */
  written?: readonly BufferRange[];
}

/** One compute pass: prepares each dispatch of a protected kernel. */
export class ComputePass {
  readonly #commands: PassCommands;
  readonly #record: CommandRecord;
  readonly #parts: PassParts;
  /** What the program has set, and what runs with the buffers that it has bound. */
  #pipeline: PipelineRecord | undefined;
  #running: PipelineRecord | undefined;
  readonly #groups = new Map<number, SetGroup>();
  #prepared: Prepared | undefined;
  /** What the dispatch adds up that is being encoded. */
  #sums: DispatchSums | undefined;
  readonly #site: Site;

  constructor(commands: PassCommands, record: CommandRecord, parts: PassParts) {
    this.#commands = commands;
    this.#record = record;
    this.#parts = parts;
    this.#site = { state: record.memory, run: (encode) => encode(commands) };
  }

  // What is set again as it is need not be encoded again: dispatches see to it that it is set.
  setPipeline(pipeline: PipelineRecord): void {
    if (this.#pipeline === pipeline) return;
    this.#commands.setPipeline(pipeline.variant(0).pipeline);
    this.#reset();
    this.#pipeline = pipeline;
  }

  setBindGroup(index: number, set: SetGroup): void {
    const before = this.#groups.get(index);
    if (before && before.group === set.group && before.offsets === set.offsets) return;
    this.#commands.setBindGroup(index, set);
    this.#reset();
    this.#groups.set(index, set);
  }

  #reset(): void {
    this.#prepared = undefined;
    this.#running = undefined;
    this.#sums = undefined;
  }

  dispatch(grid: readonly unknown[]): void {
    this.#chooseSums([0, 1, 2].map((i) => Number(grid[i] ?? 1)));
    const kernel = this.#kernelToDouble();
    const { limit } = this.#parts;
    const mostWorkgroups = kernel?.interGroup?.mostWorkgroups;
    const doubled = kernel && doubleGrid(grid, { kernel: kernel.name, limit, mostWorkgroups });
    const prepared = this.#prepare(doubled?.doubling ?? 0);
    if (prepared) this.#verify(prepared);
    if (prepared && doubled) this.#bringShadowsUpToDate(prepared);
    const workgroups = (doubled?.grid ?? grid) as [number, number, number];
    const isInTurn = doubled?.doubling === namedByReport;
    this.#run(this.#withSlots(prepared), isInTurn, () => this.#commands.dispatchWorkgroups(...workgroups));
    if (prepared) this.#noteWrites(prepared);
  }

  dispatchIndirect(buffer: GPUBuffer, offset: number): void {
    this.#chooseSums();
    const { indirect } = this.#parts;
    const kernel = this.#kernelToDouble();
    // A kernel that writes its own arguments is for the device to refuse.
    const isInTurn = kernel?.interGroup?.mostWorkgroups !== undefined;
    const isDoubled = kernel && !isInTurn && indirect.accepts(buffer, offset) && !this.#writes(buffer);
    const prepared = this.#prepare(isDoubled || isInTurn ? namedByReport : 0);
    let [from, at] = [buffer, offset];
    this.#parts.memory?.verifyIn(this.#site, { buffer, offset, size: BYTES_OF_ARGUMENTS });
    if (prepared) this.#verify(prepared);
    if (prepared && isDoubled) {
      this.#bringShadowsUpToDate(prepared);
      [from, at] = [indirect.double(this.#commands, buffer, offset, kernel.slot), 0];
    }
    this.#run(prepared, isInTurn, () => this.#commands.dispatchWorkgroupsIndirect(from, at));
    this.#record.read.add(buffer);
    if (prepared) this.#noteWrites(prepared);
  }

  /** The pipeline to run: one that checks nothing, where a buffer that it would check has no check words. */
  get #runs(): PipelineRecord | undefined {
    this.#running ??= this.#lacksChecks() ? this.#pipeline?.bracketed : this.#pipeline;
    return this.#running;
  }

  /** What the kernel adds up on a grid, if that is known. Where it is of no use, a kernel runs that adds up nothing. */
  #chooseSums(grid?: readonly number[]): void {
    const { memory, bindGroups } = this.#parts;
    const kernel = this.#pipeline?.kernel;
    if (!kernel?.memory?.bindings.some(({ mode }) => mode === "summed")) return;
    const rangeAt = ({ group, binding }: BindingPoint) => {
      const set = this.#groups.get(group);
      return set && bindGroups.rangeAt(set, binding);
    };
    this.#sums = grid && memory?.sums.of(kernel, grid, rangeAt);
    // The variant is made when it is first asked for.
    const running = this.#sums ? this.#pipeline : this.#pipeline?.bracketed;
    // What is trusted may change, and slots do.
    if (this.#sums || this.#running !== running) this.#prepared = undefined;
    this.#running = running;
  }

  /** The same with slots for what the kernel adds up. */
  #withSlots(prepared: Prepared | undefined): Prepared | undefined {
    const { memory } = this.#parts;
    if (!prepared || !this.#sums || !memory) return prepared;
    const slots = memory.reserve(this.#site, this.#sums);
    return { ...prepared, bound: prepared.variant.added?.bindFor(this.#groups, slots) };
  }

  #lacksChecks(): boolean {
    const { bindGroups, memory } = this.#parts;
    const bindings = this.#pipeline?.kernel?.memory?.bindings ?? [];
    return bindings.some(({ of: { group, binding }, mode }) => {
      const set = mode === "checked" ? this.#groups.get(group) : undefined;
      const range = set && bindGroups.rangeAt(set, binding);
      return range !== undefined && memory?.hasChecksFrom(range) === false;
    });
  }

  /** The kernel that is to run on twice the grid, unless the device is going to refuse it for want of a bind group. */
  #kernelToDouble(): Kernel | undefined {
    const { kernel, groups = [] } = this.#runs ?? {};
    const isDoubled = kernel?.interGroup && groups.every((index) => this.#groups.get(index)?.group);
    return isDoubled ? kernel : undefined;
  }

  /** Undefined as long as the program has set no pipeline. */
  #prepare(doubling: Doubling): Prepared | undefined {
    const pipeline = this.#runs;
    if (!pipeline) return undefined;
    const { dispatches } = this.#record;
    const { kernel } = pipeline;
    if (kernel) dispatches.set(kernel, (dispatches.get(kernel) ?? 0) + 1);
    const variant = pipeline.variant(doubling);
    if (this.#prepared?.variant === variant && !this.#isOutdated(this.#prepared)) return this.#prepared;
    for (const [index, { group }] of this.#groups) {
      const access = group && this.#parts.bindGroups.accessOf(group, pipeline.accessOf(index));
      if (access) this.#record.add(access);
    }
    this.#prepared = {
      ...{ variant, bound: this.#sums ? undefined : variant.added?.bindFor(this.#groups) },
      guarded: this.#parts.memory?.bracketing.guarded(this.#uses()) ?? [],
    };
    return this.#prepared;
  }

  /** Whether there are more check words now than it has bound. */
  #isOutdated({ bound }: Prepared): boolean {
    return bound?.arena !== undefined && bound.arena !== this.#parts.memory?.arena.buffer;
  }

  /** What the pipeline may use of the buffers that are set. */
  #uses(): Use[] {
    const bindings = this.#runs?.kernel?.memory?.bindings ?? [];
    const isTrusted = (row: number) => this.#sums?.trusted.has(row) ?? false;
    const checked = bindings
      .filter(({ mode, index }) => mode === "checked" || isTrusted(index))
      .map(({ of }) => of);
    return [...this.#groups].flatMap(([group, set]) =>
      this.#parts.bindGroups.ranges(set, this.#runs?.accessOf(group)).map(({ binding, range, mode }) => ({
        ...{ range, stores: mode !== "read" },
        isChecked: checked.some((of) => of.group === group && of.binding === binding),
      })),
    );
  }

  #verify({ guarded }: Prepared): void {
    if (guarded.length > 0) this.#parts.memory?.bracketing.before(this.#site, guarded);
  }

  /** Dispatches, in turn once for each replica. */
  #run(prepared: Prepared | undefined, isInTurn: boolean, dispatch: () => void): void {
    const kernel = this.#runs?.kernel;
    if (kernel) this.#parts.counter?.count(this.#commands, kernel.slot);
    const run = () => {
      if (prepared) this.#commands.use(prepared.variant.pipeline, this.#groups, prepared.bound?.groups);
      dispatch();
    };
    if (isInTurn && kernel) this.#parts.turns.each(this.#commands, kernel.slot, run);
    else run();
  }

  /** Whether the kernel may write a buffer. */
  #writes(buffer: GPUBuffer): boolean {
    return [...this.#groups].some(([index, { group }]) => {
      const access = group && this.#parts.bindGroups.accessOf(group, this.#runs?.accessOf(index));
      return access?.written.has(buffer);
    });
  }

  #bringShadowsUpToDate({ bound }: Prepared): void {
    const { shadowSync } = this.#record;
    for (const range of bound?.shadowed ?? []) {
      if (shadowSync.has(range)) continue;
      this.#parts.shadows.bringUpToDate(this.#commands, range);
      shadowSync.add(range);
    }
  }

  #noteWrites(prepared: Prepared): void {
    const { shadowSync, memory } = this.#record;
    if (this.#sums) this.#parts.memory?.added(memory, this.#sums);
    if (prepared.guarded.length > 0) this.#parts.memory?.bracketing.after(memory, prepared.guarded);
    if (shadowSync.isEmpty) return;
    if ([...this.#groups.values()].some(({ group }) => group && !this.#parts.bindGroups.layoutOf(group))) {
      // What stands in a bind group from elsewhere is not known.
      shadowSync.clear();
      return;
    }
    prepared.written ??= this.#unshadowed();
    for (const range of prepared.written) shadowSync.remove(range);
  }

  /** What the kernel writes and a shadow does not follow. */
  #unshadowed(): readonly BufferRange[] {
    const { bindGroups } = this.#parts;
    const shadows = this.#runs?.kernel?.interGroup?.shadows ?? [];
    const followed = shadows.filter(({ hasAtomics }) => !hasAtomics).map(({ of }) => of);
    return [...this.#groups].flatMap(([group, set]) =>
      bindGroups
        .ranges(set, this.#runs?.accessOf(group))
        .filter(({ mode }) => mode !== "read")
        .filter(({ binding }) => !followed.some((of) => of.group === group && of.binding === binding))
        .map(({ range }) => range),
    );
  }
}
