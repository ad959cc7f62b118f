import type { BindingAccess, Fill } from "../../compiler/contract.ts";
import type { AddedBindings } from "./addedBindings.ts";
import { addedPoints } from "./addedPoints.ts";
import type { GroupAccess } from "./bindGroups.ts";
import type { Doubling } from "./doubledGrid.ts";
import type { Kernel, KernelChoice, LessMemory, RunCounts } from "./kernels.ts";
import type { LayoutRecord } from "./pipelineLayouts.ts";

/** A protected kernel, and how pipelines are made from it. */
export interface Guarded {
  readonly kernel: Kernel;
  readonly descriptor: GPUComputePipelineDescriptor;
  /** The device's error about the layout that was made for it, if there is one. */
  readonly layoutFailed?: Promise<GPUError | null> | undefined;
  /** The program's bind groups to which something is added. */
  readonly shared: ReadonlySet<number>;
}

/** A pipeline that runs in place of the program's. */
export interface Variant {
  readonly pipeline: GPUComputePipeline;
  /** None when the kernel is left alone. */
  readonly added: AddedBindings | undefined;
  /** How it was made; absent when the kernel is left alone. */
  readonly descriptor?: GPUComputePipelineDescriptor;
}

/** What is known of the program's pipeline when it is made. */
interface Known {
  readonly choice?: Pick<KernelChoice, "bindings" | "fills" | "runs">;
  /** Its explicit layout. */
  readonly explicit?: LayoutRecord | undefined;
}

/** Returns whether no grid is doubled: one pipeline then runs the replicas one after the other. */
export const runsSequentially = ({ interGroup }: Kernel): boolean => interGroup?.mostWorkgroups === 0;

/** A pipeline of the program's, and the pipelines that run in its place. */
export class PipelineRecord {
  readonly #device: GPUDevice;
  /** The pipeline that the program asked for. */
  readonly #own: GPUComputePipeline;
  readonly #explicit: LayoutRecord | undefined;
  readonly #bindings: readonly BindingAccess[] | undefined;
  /** What its stores fill. */
  readonly fills: readonly Fill[];
  /** Counts its dispatches; absent for a pipeline that was not made by the hardened device. */
  readonly counts: RunCounts | undefined;
  /** The program's bind groups that the kernel uses, as far as that is known. */
  readonly groups: readonly number[];
  readonly #accesses = new Map<number, GroupAccess>();
  /** The default bind group layouts that the program was given. */
  readonly #given = new WeakSet<GPUBindGroupLayout>();
  #guarded: Guarded | undefined;
  readonly #variants = new Map<Doubling, Variant>();
  #makeVariant: ((doubling: Doubling) => Variant) | undefined;
  readonly #withLess = new Map<LessMemory, PipelineRecord>();
  #makeWith: ((memory: LessMemory) => PipelineRecord) | undefined;

  constructor(device: GPUDevice, own: GPUComputePipeline, { choice, explicit }: Known) {
    this.#device = device;
    this.#own = own;
    this.#explicit = explicit;
    this.#bindings = choice?.bindings;
    this.fills = choice?.fills ?? [];
    this.counts = choice?.runs;
    this.groups = [...new Set(this.#bindings?.map(({ group }) => group))];
    this.#variants.set(0, { pipeline: own, added: undefined });
  }

  /** The protected kernel, unless it is left alone. */
  get kernel(): Kernel | undefined {
    return this.#guarded?.kernel;
  }

  get hasDefaultLayout(): boolean {
    return this.#explicit === undefined;
  }

  /** `makeWith`: of the same kernel where it does less about memory. */
  protect(
    guarded: Guarded,
    primary: Variant,
    makeVariant: (doubling: Doubling) => Variant,
    makeWith: (memory: LessMemory) => PipelineRecord,
  ): void {
    this.#guarded = guarded;
    this.#variants.set(0, primary);
    if (guarded.kernel.interGroup && !runsSequentially(guarded.kernel)) this.#makeVariant = makeVariant;
    this.#makeWith = makeWith;
  }

  fallBack(): void {
    this.#guarded = undefined;
    this.#makeVariant = undefined;
    this.#makeWith = undefined;
    this.#variants.clear();
    this.#variants.set(0, { pipeline: this.#own, added: undefined });
  }

  /**
   * What runs on a grid that is doubled in this dimension; the same for all where grids stay as
   * they are.
   */
  variant(doubling: Doubling): Variant {
    const known = this.#variants.get(doubling);
    if (known) return known;
    const made = this.#makeVariant ? this.#makeVariant(doubling) : this.variant(0);
    this.#variants.set(doubling, made);
    return made;
  }

  /** What runs where the kernel is to do less about memory; the same for the same object. */
  with(memory: LessMemory): PipelineRecord {
    const known = this.#withLess.get(memory);
    if (known) return known;
    const made = this.#makeWith?.(memory) ?? this;
    this.#withLess.set(memory, made);
    return made;
  }

  /** The bind group layout that the program sees. */
  layoutAt(
    index: number,
    layoutOf: (pipeline: GPUComputePipeline) => GPUBindGroupLayout,
  ): GPUBindGroupLayout {
    const runs = this.variant(0).pipeline;
    if (this.#explicit) {
      // Where the device has none to give, it says so.
      const given = layoutOf(this.#own);
      return this.#explicit.groups[index] ?? given;
    }
    const isAdded = this.#guarded && addedPoints(this.#guarded.kernel).some(({ group }) => group === index);
    const isShared = this.#guarded?.shared.has(index);
    if (isAdded && !isShared) return this.#device.createBindGroupLayout({ entries: [] });
    const layout = layoutOf(isShared ? this.#own : runs);
    this.#given.add(layout);
    return layout;
  }

  /**
   * Whether a bind group of this layout fits the pipeline that the program knows, as far as Belay
   * has to judge.
   */
  accepts(layout: GPUBindGroupLayout): boolean {
    return this.#explicit !== undefined || this.#given.has(layout);
  }

  /** What the kernel does with the bindings of a group; undefined when that is not known. */
  accessOf(group: number): GroupAccess {
    if (!this.#accesses.has(group)) {
      const inGroup = this.#bindings?.filter((each) => each.group === group);
      this.#accesses.set(group, inGroup && new Map(inGroup.map(({ binding, access }) => [binding, access])));
    }
    return this.#accesses.get(group);
  }
}
