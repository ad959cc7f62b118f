import type { BindingPoint, ProtectedBinding } from "../../compiler/contract.ts";
import type { Use } from "../memory/dispatchGuard.ts";
import type { DispatchSums, KnownUniforms } from "../memory/kernelSums.ts";
import type { CheckWordBindings, CommandGuard } from "../memory/memoryProtection.ts";
import { type ExpectedUniforms, isAsExpected } from "../memory/memoryState.ts";
import type { BindGroups, GroupContents, ProgramGroup, ProgramGroups } from "../pipelines/bindGroups.ts";
import type { PipelineRecord, PipelineVariant } from "../pipelines/pipelineRecord.ts";
import {
  type CheckedVariant,
  type KernelVariant,
  type ProtectedKernel,
  runsAlone,
} from "../pipelines/protectedKernels.ts";
import { type BufferRange, resourceOf } from "../webgpu/resources.ts";
import { type BoundPlace, DispatchUse } from "./dispatchUse.ts";

/** The kept uses of bind groups. Variants that a checked dispatch needs together have one each. */
type UseName = "use" | "alone" | "again";

/**
 * A bound range of a buffer, with its binding point. `stores` is true if the pipeline may store to
 * it.
 */
interface BoundRange {
  readonly of: BindingPoint;
  readonly range: BufferRange;
  readonly stores: boolean;
}

/** The variant of a pipeline to run, and its sums. The sums are undefined if none is useful. */
interface Summing {
  readonly runs: BoundPipeline;
  readonly sums: DispatchSums | undefined;
  /** The contents of uniform buffers on which this choice depends. */
  readonly expected: readonly ExpectedUniforms[];
}

/** The sums of the latest dispatch, and everything on which they depend. */
class KeptSums {
  readonly record: PipelineRecord;
  readonly groups: ProgramGroups;
  readonly grid: readonly number[];
  readonly decisions: number;
  /** The variant to run. */
  readonly runs: PipelineRecord;
  readonly sums: DispatchSums | undefined;
  readonly expected: readonly ExpectedUniforms[];

  constructor({ record, groups, grid, decisions, runs, sums, expected }: KeptSums) {
    this.record = record;
    this.groups = groups;
    this.grid = grid;
    this.decisions = decisions;
    this.runs = runs;
    this.sums = sums;
    this.expected = expected;
  }
}

/**
 * A pipeline together with its bind groups. It tells which resources a dispatch reads and writes.
 */
export class BoundPipeline {
  readonly record: PipelineRecord;
  readonly #groups: ProgramGroups;
  readonly #bindGroups: BindGroups;
  /** The member with the kept use of the bind groups. */
  readonly #useName: UseName;

  /**
   * The list `groups` may change later. Each answer is about the bind groups that are set at that
   * time.
   */
  constructor(
    record: PipelineRecord,
    groups: ProgramGroups,
    bindGroups: BindGroups,
    useName: UseName = "use",
  ) {
    this.record = record;
    this.#useName = useName;
    this.#groups = groups;
    this.#bindGroups = bindGroups;
  }

  get kernel(): ProtectedKernel | undefined {
    return this.record.kernel;
  }

  /** The variant of the pipeline without checks in the kernel. Passes verify its memory instead. */
  get verifiedByPasses(): BoundPipeline {
    return this.#with("none");
  }

  /** True if the kernel adds up its accesses. */
  get isSumming(): boolean {
    return this.kernel?.memory?.bindings.some(({ mode }) => mode === "summed") ?? false;
  }

  /**
   * Returns the variant of the pipeline whose sums are useful on a grid, as far as trials tell,
   * together with the sums.
   */
  summing(memory: CommandGuard, grid: readonly number[], uniforms: KnownUniforms): Summing {
    const kept = this.#kept;
    const known = kept?.sums;
    if (known instanceof KeptSums && this.#isFor(known, memory, grid, uniforms)) {
      const { sums, expected } = known;
      return { runs: new BoundPipeline(known.runs, this.#groups, this.#bindGroups), sums, expected };
    }
    const { decisions } = memory;
    const expected: ExpectedUniforms[] = [];
    let runs: BoundPipeline = this;
    for (;;) {
      const { variant, sums, expected: own } = memory.sumsOn(runs, grid, uniforms);
      if (own) expected.push(own);
      if (!variant) {
        const { record } = this;
        if (kept && memory.decisions === decisions)
          kept.sums = new KeptSums({
            record,
            groups: [...this.#groups],
            grid,
            decisions,
            runs: runs.record,
            sums,
            expected,
          });
        return { runs, sums, expected };
      }
      runs = this.#with(variant);
    }
  }

  #isFor(
    known: KeptSums,
    { decisions }: CommandGuard,
    [x, y, z]: readonly number[],
    uniforms: KnownUniforms,
  ): boolean {
    const { record, groups, grid } = known;
    const isSame = record === this.record && grid[0] === x && grid[1] === y && grid[2] === z;
    if (!isSame || known.decisions !== decisions || !this.#isBound(groups)) return false;
    return known.expected.every((each) => isAsExpected(each, uniforms));
  }

  /** Returns a variant of the pipeline that runs as a part of a checked dispatch. */
  checkedBy(variant: CheckedVariant): BoundPipeline {
    if (!runsAlone(variant)) return this.#with(variant, "again");
    return new BoundPipeline(this.record.with(variant), this.#groups, this.#bindGroups, "alone");
  }

  #with(variant: KernelVariant, useName?: UseName): BoundPipeline {
    return new BoundPipeline(this.record.with(variant).current, this.#groups, this.#bindGroups, useName);
  }

  /**
   * The kernel if it runs on twice the grid. Undefined if a bind group is missing, as WebGPU
   * validation rejects that dispatch.
   */
  get kernelToDouble(): ProtectedKernel | undefined {
    if (!this.kernel?.interGroup) return undefined;
    const isComplete = this.record.groups.every((index) => this.#groups[index]?.group);
    return isComplete ? this.kernel : undefined;
  }

  /**
   * True if Belay knows the contents of all bind groups. A bind group may come from another device.
   */
  get isKnown(): boolean {
    return this.#groups.every((set) => !set?.group || set.contents);
  }

  /** Returns true if the kernel itself checks a bound buffer that has no check words for it. */
  lacksChecks(memory: CheckWordBindings): boolean {
    const bindings = this.kernel?.memory?.bindings ?? [];
    return bindings.some(({ of, mode }) => {
      const range = mode === "checked" ? this.rangeAt(of) : undefined;
      return range !== undefined && memory.lacksChecks(range);
    });
  }

  /**
   * True if WebGPU rejects a bound buffer as too small for the program's kernel. The protected
   * kernel may take it, as the kernel's own types are gone from there.
   */
  get isTooSmall(): boolean {
    const bindings = this.kernel?.memory?.bindings ?? [];
    return bindings.some(({ of, leastBytes = 0 }) => (this.rangeAt(of)?.size ?? leastBytes) < leastBytes);
  }

  rangeAt({ group, binding }: BindingPoint): BufferRange | undefined {
    const set = this.#groups[group];
    return set && this.#bindGroups.rangeAt(set, binding);
  }

  /** Returns the effects of dispatches with one variant of the pipeline. */
  use(variant: PipelineVariant): DispatchUse {
    const { kernel } = this;
    const kept = this.#kept;
    const known = kept?.[this.#useName];
    if (known instanceof DispatchUse && known.variant === variant && this.#isBound(known.groups))
      return known;
    const groups = this.#groups.filter((set) => set !== undefined);
    const use = new DispatchUse({
      variant,
      kernel,
      source: this.isPlaced ? this.record.source : undefined,
      groups: [...this.#groups],
      places: this.#places(),
      bound: groups.flatMap((set) => this.#bindGroups.resourcesIn(set)),
      isKnown: this.isKnown,
      isLasting: kept !== undefined && groups.every((set) => this.#bindGroups.isLasting(set)),
    });
    if (kept) kept[this.#useName] = use;
    return use;
  }

  /**
   * The contents of the first bind group, which keep facts about these dispatches. Undefined if the
   * bind group is unknown, or if one has dynamic offsets, which may differ each time.
   */
  get #kept(): GroupContents | undefined {
    let first: ProgramGroup | undefined;
    for (const set of this.#groups) {
      if (!set) continue;
      if (set.offsets.length > 0) return undefined;
      if (set.group) first ??= set;
    }
    return first?.contents;
  }

  /** Returns whether these bind groups are set. */
  #isBound(groups: ProgramGroups): boolean {
    const now = this.#groups;
    if (now.length !== groups.length) return false;
    for (let i = 0; i < now.length; i++) if (now[i] !== groups[i]) return false;
    return true;
  }

  /** Returns the resources that a dispatch uses, each with its range and the kind of its use. */
  #places(): BoundPlace[] {
    const places: BoundPlace[] = [];
    for (const [group, set] of this.#groups.entries()) {
      if (!set) continue;
      for (const { binding, ...use } of this.#bindGroups.resources(set, this.record.accessOf(group)))
        places.push({ of: { group, binding }, ...use });
    }
    return places;
  }

  /** True if the ranges of all buffers are known, with dynamic offsets. */
  get isPlaced(): boolean {
    return this.#groups.every((set) => !set || this.#bindGroups.isPlaced(set));
  }

  mayWrite(buffer: GPUBuffer): boolean {
    return this.#places().some(({ place, mode }) => mode !== "read" && resourceOf(place) === buffer);
  }

  /**
   * Returns the buffer ranges that a dispatch uses. A sum in `sums` counts as a check of its range.
   */
  uses(sums: DispatchSums | undefined): Use[] {
    const bindings = this.kernel?.memory?.bindings ?? [];
    const pointsOf = (wanted: readonly ProtectedBinding[]) => wanted.map(({ of }) => of);
    const checked = pointsOf(bindings.filter(({ mode, index }) => mode === "checked" || sums?.get(index)));
    const doubted = pointsOf(bindings.filter(({ stores, index }) => stores && sums?.get(index)?.doubt));
    const inLines = pointsOf(bindings.filter(({ isInLines }) => isInLines));
    return this.#ranges().map(({ of, range, stores }) => ({
      range,
      stores,
      isChecked: has(checked, of),
      mayLeaveWords: has(doubted, of),
      updatesChecks: has(inLines, of),
      trustsRest: this.record.trustsRest && !stores && !has(checked, of),
    }));
  }

  /** Returns the ranges of buffers that a dispatch may use. */
  #ranges(): BoundRange[] {
    return this.#places().flatMap(({ of, place, mode }) =>
      "buffer" in place ? [{ of, range: place, stores: mode !== "read" }] : [],
    );
  }

  /** Returns the ranges that a dispatch may store to without updating a shadow in the same way. */
  unshadowed(): BufferRange[] {
    const shadows = this.kernel?.interGroup?.shadows ?? [];
    const followed = shadows.filter(({ hasAtomics }) => !hasAtomics).map(({ of }) => of);
    return this.#ranges()
      .filter(({ of, stores }) => stores && !has(followed, of))
      .map(({ range }) => range);
  }
}

function has(points: readonly BindingPoint[], { group, binding }: BindingPoint): boolean {
  return points.some((each) => each.group === group && each.binding === binding);
}
