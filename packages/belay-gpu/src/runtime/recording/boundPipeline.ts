import type { BindingPoint, ProtectedBinding } from "../../compiler/contract.ts";
import type { Use } from "../memory/dispatchGuard.ts";
import type { DispatchSums } from "../memory/kernelSums.ts";
import type { CheckWordBindings, CommandGuard } from "../memory/memoryProtection.ts";
import type { Access, BindGroups, UsedPlace } from "../pipelines/bindGroups.ts";
import type { Kernel, LessMemory } from "../pipelines/kernels.ts";
import type { PipelineRecord } from "../pipelines/pipelineRecord.ts";
import type { SetGroups } from "../webgpu/passCommands.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import type { Effect, StoredPlace } from "./commandRecord.ts";
import { filledBy } from "./filled.ts";

/** A part of a buffer, where it is bound, and whether the pipeline may store to it. */
interface BoundRange {
  readonly of: BindingPoint;
  readonly range: BufferRange;
  readonly stores: boolean;
}

/** A pipeline with the bind groups that are set: what a dispatch may do to which resources. */
export class BoundPipeline {
  readonly record: PipelineRecord;
  readonly #groups: SetGroups;
  readonly #bindGroups: BindGroups;

  /** `groups` may change: answers are about what is set when they are asked for. */
  constructor(record: PipelineRecord, groups: SetGroups, bindGroups: BindGroups) {
    this.record = record;
    this.#groups = groups;
    this.#bindGroups = bindGroups;
  }

  get kernel(): Kernel | undefined {
    return this.record.kernel;
  }

  /** The same without checks of the kernel's own: passes verify what it uses. */
  get verifiedByPasses(): BoundPipeline {
    return this.#with("none");
  }

  /** Whether the kernel adds up what it accesses. */
  get isSumming(): boolean {
    return this.kernel?.memory?.bindings.some(({ mode }) => mode === "summed") ?? false;
  }

  /**
   * The same where the kernel adds up what is of use on a grid, as far as that is known; and what
   * it adds up, if that is of use.
   */
  summing(memory: CommandGuard, grid: readonly number[]) {
    let runs: BoundPipeline = this;
    for (;;) {
      const { variant: less, sums } = memory.sumsOn(runs, grid);
      if (!less) return { runs, sums };
      runs = this.#with(less);
    }
  }

  #with(memory: LessMemory): BoundPipeline {
    return new BoundPipeline(this.record.with(memory), this.#groups, this.#bindGroups);
  }

  /**
   * The kernel if it is to run on twice the grid; the device refuses the dispatch where a bind
   * group is missing.
   */
  get kernelToDouble(): Kernel | undefined {
    const isComplete = this.record.groups.every((index) => this.#groups.get(index)?.group);
    return this.kernel?.interGroup && isComplete ? this.kernel : undefined;
  }

  /** Whether it is known what stands in all bind groups: some may come from elsewhere. */
  get isKnown(): boolean {
    return [...this.#groups.values()].every(({ group }) => !group || this.#bindGroups.layoutOf(group));
  }

  /** Whether the kernel checks a buffer itself that has no check words for it. */
  lacksChecks(memory: CheckWordBindings): boolean {
    const bindings = this.kernel?.memory?.bindings ?? [];
    return bindings.some(({ of, mode }) => {
      const range = mode === "checked" ? this.rangeAt(of) : undefined;
      return range !== undefined && memory.lacksChecks(range);
    });
  }

  rangeAt({ group, binding }: BindingPoint): BufferRange | undefined {
    const set = this.#groups.get(group);
    return set && this.#bindGroups.rangeAt(set, binding);
  }

  accesses(): Access[] {
    return [...this.#groups].flatMap(([index, { group }]) => {
      const access = group && this.#bindGroups.accessOf(group, this.record.accessOf(index));
      return access ?? [];
    });
  }

  /** Returns what it may store to. */
  stored(): StoredPlace[] {
    return this.#places().flatMap(({ of, place, mode }) => (mode === "read" ? [] : [{ of, place }]));
  }

  /** Returns the effect of a dispatch on what is bound, as far as nothing is known of its grid. */
  effect(): Effect {
    const places = this.#places();
    const placesOf = (isMeant: (mode: UsedPlace["mode"]) => boolean) =>
      places.flatMap(({ place, mode }) => (isMeant(mode) ? [place] : []));
    return {
      kernel: this.kernel,
      read: placesOf((mode) => mode !== "write"),
      written: placesOf((mode) => mode !== "read"),
      replaced: [],
    };
  }

  mayWrite(buffer: GPUBuffer): boolean {
    return this.accesses().some(({ written }) => written.has(buffer));
  }

  /**
   * What it uses of buffers. `sums`: what the kernel adds up meanwhile, which is as good as a
   * check.
   */
  uses(sums: DispatchSums | undefined): Use[] {
    const bindings = this.kernel?.memory?.bindings ?? [];
    const pointsOf = (wanted: readonly ProtectedBinding[]) => wanted.map(({ of }) => of);
    const checked = pointsOf(bindings.filter(({ mode, index }) => mode === "checked" || sums?.get(index)));
    const doubted = pointsOf(bindings.filter(({ stores, index }) => stores && sums?.get(index)?.doubt));
    return this.#ranges().map(({ of, range, stores }) => ({
      range,
      stores,
      isChecked: has(checked, of),
      mayLeaveWords: has(doubted, of),
    }));
  }

  /** What it fills on a grid. */
  filled(grid: readonly number[]): BufferRange[] {
    return filledBy(this.record.fills, grid, (of) => this.rangeAt(of));
  }

  /** What it may store to without a shadow that follows. */
  unshadowed(): BufferRange[] {
    const shadows = this.kernel?.interGroup?.shadows ?? [];
    const followed = shadows.filter(({ hasAtomics }) => !hasAtomics).map(({ of }) => of);
    return this.#ranges()
      .filter(({ of, stores }) => stores && !has(followed, of))
      .map(({ range }) => range);
  }

  #places() {
    return [...this.#groups].flatMap(([group, set]) =>
      this.#bindGroups
        .places(set, this.record.accessOf(group))
        .map(({ binding, place, mode }) => ({ of: { group, binding }, place, mode })),
    );
  }

  #ranges(): BoundRange[] {
    return [...this.#groups].flatMap(([group, set]) =>
      this.#bindGroups
        .ranges(set, this.record.accessOf(group))
        .map(({ binding, range, mode }) => ({ of: { group, binding }, range, stores: mode !== "read" })),
    );
  }
}

function has(points: readonly BindingPoint[], { group, binding }: BindingPoint): boolean {
  return points.some((each) => each.group === group && each.binding === binding);
}
