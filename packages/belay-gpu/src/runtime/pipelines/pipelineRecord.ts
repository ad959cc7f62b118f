import type { AppliedRedundancy, BindingAccess } from "../../compiler/contract.ts";
import type { KernelSource } from "../../compiler/filledBytes.ts";
import { rangeOf } from "../context/reportArena.ts";
import type { AddedBindings } from "./addedBindings.ts";
import { addedPoints } from "./addedPoints.ts";
import { type BindingKinds, type GroupAccess, kindsIn, type LayoutExtension } from "./bindGroups.ts";
import type { Doubling } from "./doubledGrid.ts";
import type { LayoutRecord } from "./pipelineLayouts.ts";
import {
  type KernelChoice,
  type KernelVariant,
  mixesReplicas,
  type ProtectedKernel,
  type RunCounts,
} from "./protectedKernels.ts";

/** A protected kernel with the descriptor of its pipelines. */
export interface GuardedPipeline {
  readonly kernel: ProtectedKernel;
  readonly descriptor: GPUComputePipelineDescriptor;
  /** The device's error about the extended layout, if there is one. */
  readonly layoutFailed?: Promise<GPUError | null> | undefined;
  /** The program's bind groups that are replaced by extended ones. */
  readonly shared: ReadonlySet<number>;
  /**
   * The program's bind group that has the report from its creation on, as the program has the
   * default layout of the protected pipeline.
   */
  readonly withReport: number | undefined;
}

/** A pipeline that runs in place of the program's. */
export interface PipelineVariant {
  readonly pipeline: GPUComputePipeline;
  /** The added bindings; undefined if the kernel is unprotected. */
  readonly added: AddedBindings | undefined;
  /** The descriptor of the pipeline; absent if the kernel is unprotected. */
  readonly descriptor?: GPUComputePipelineDescriptor;
}

/** The functions that make the other pipelines of a protected one. */
export interface PipelineMakers {
  /** Resolves to the program's own pipeline, if it is compiled and valid. */
  readonly compiled: Promise<GPUComputePipeline | undefined> | undefined;
  /** Makes a pipeline of the program's kernel with a default layout of its own. */
  makeOwn(): Promise<GPUComputePipeline>;
  /** Makes a pipeline of the program's kernel. */
  makePlain(): GPUComputePipeline;
  makeVariant(doubling: Doubling): PipelineVariant;
  /** Makes the record of a variant with fewer checks. */
  makeWith(variant: KernelVariant): PipelineRecord;
  /** Makes the record that runs if subgroups mix the replicas of the kernel. */
  makeUnmixed(): PipelineRecord;
}

/** The known properties of the program's pipeline at its creation. */
interface Known {
  readonly choice?: Pick<KernelChoice, "bindings" | "coverage" | "runs" | "trustsRest">;
  readonly request?: KernelSource;
  /** The explicit layout of the pipeline. */
  readonly explicit?: LayoutRecord | undefined;
}

/**
 * Returns true if no grid of the kernel is doubled. One pipeline then runs the replicas one after
 * the other.
 */
export const runsSequentially = ({ interGroup }: ProtectedKernel): boolean =>
  interGroup?.mostWorkgroups === 0;

/** A pipeline of the program, and the pipelines that run in its place. */
export class PipelineRecord {
  readonly #device: GPUDevice;
  /** The pipeline that the program requested, or the protected one that the program has for it. */
  #own: GPUComputePipeline;
  readonly #explicit: LayoutRecord | undefined;
  readonly #bindings: readonly BindingAccess[] | undefined;
  /** The program's kernel. Absent for a pipeline that the hardened device did not create. */
  readonly source: KernelSource | undefined;
  /**
   * The number of its dispatches. Absent for a pipeline that the hardened device did not create.
   */
  readonly counts: RunCounts | undefined;
  /** The redundancy of the protected kernel. */
  readonly redundancy: AppliedRedundancy | undefined;
  /** True if data at rest needs no verification before the kernel. */
  readonly trustsRest: boolean;
  /** The program's bind groups that the kernel uses, if they are known. */
  readonly groups: readonly number[];
  readonly #accesses = new Map<number, GroupAccess>();
  /** The keys of default bind group layouts, by index. */
  readonly #layoutKeys = new Map<number, object>();
  /** The default bind group layouts that the program got. */
  readonly #given = new WeakSet<GPUBindGroupLayout>();
  #guarded: GuardedPipeline | undefined;
  /** The bind groups to which protection adds bindings. */
  #added: ReadonlySet<number> = new Set();
  readonly #kinds = new Map<number, BindingKinds | undefined>();
  readonly #variants = new Map<Doubling, PipelineVariant>();
  #makers: Partial<PipelineMakers> = {};
  #plain: GPUComputePipeline | undefined;
  readonly #kernelVariants = new Map<KernelVariant, PipelineRecord>();
  #unmixed: PipelineRecord | undefined;

  constructor(device: GPUDevice, own: GPUComputePipeline, { choice, request, explicit }: Known) {
    this.#device = device;
    this.#own = own;
    this.#explicit = explicit;
    this.#bindings = choice?.bindings;
    this.source = request;
    this.counts = choice?.runs;
    this.redundancy = choice?.coverage.redundancy;
    this.trustsRest = choice?.trustsRest ?? false;
    this.groups = [...new Set(this.#bindings?.map(({ group }) => group))];
    this.#variants.set(0, { pipeline: own, added: undefined });
  }

  /** The protected kernel; undefined if the pipeline is unprotected. */
  get kernel(): ProtectedKernel | undefined {
    return this.#guarded?.kernel;
  }

  get hasDefaultLayout(): boolean {
    return this.#explicit === undefined;
  }

  /** Makes a protected pipeline run in place of the program's. */
  protect(guarded: GuardedPipeline, primary: PipelineVariant, makers: PipelineMakers): void {
    this.#guarded = guarded;
    this.#added = new Set(addedPoints(guarded.kernel).map(({ group }) => group));
    this.#variants.set(0, primary);
    this.#makers = makers;
  }

  /** The record to run: another one once subgroups are known to mix the replicas of the kernel. */
  get current(): PipelineRecord {
    const { kernel } = this;
    if (kernel && mixesReplicas(kernel)) this.#unmixed ??= this.#makers.makeUnmixed?.();
    return this.#unmixed?.current ?? this;
  }

  /** Makes another pipeline with added bindings run in place of the program's. */
  run(variant: PipelineVariant): void {
    this.#variants.set(0, variant);
  }

  /** The pipeline of the program's kernel, for dispatches that the device rejects. */
  get plain(): GPUComputePipeline {
    this.#plain ??= this.#makers.makePlain?.() ?? this.#own;
    return this.#plain;
  }

  /** Makes the program's own pipeline run. */
  fallBack(own: GPUComputePipeline): void {
    this.#own = own;
    this.#plain = own;
    this.#guarded = undefined;
    this.#added = new Set();
    this.#makers = {};
    this.#layoutKeys.clear();
    this.#variants.clear();
    this.#variants.set(0, { pipeline: this.#own, added: undefined });
  }

  /**
   * Returns the pipeline for a grid that is doubled in this dimension. All are the same if grids
   * are not doubled.
   */
  variant(doubling: Doubling): PipelineVariant {
    const known = this.#variants.get(doubling);
    if (known) return known;
    const isDoubled = this.kernel?.interGroup && !runsSequentially(this.kernel);
    const made = (isDoubled && this.#makers.makeVariant?.(doubling)) || this.variant(0);
    this.#variants.set(doubling, made);
    return made;
  }

  /**
   * Returns the record of a variant with fewer checks. The same object gives the same record.
   */
  with(variant: KernelVariant): PipelineRecord {
    const known = this.#kernelVariants.get(variant);
    if (known) return known;
    const made = this.#makers.makeWith?.(variant) ?? this;
    this.#kernelVariants.set(variant, made);
    return made;
  }

  /** Returns the bind group layout that the program sees. */
  layoutAt(
    index: number,
    layoutOf: (pipeline: GPUComputePipeline) => GPUBindGroupLayout,
  ): GPUBindGroupLayout {
    const runs = this.variant(0).pipeline;
    if (this.#explicit) {
      // The device reports an error if the pipeline is invalid, or has no such layout.
      const isKnown = index < this.#explicit.groups.length;
      const given = layoutOf(isKnown ? this.#own : this.plain);
      return this.#explicit.groups[index] ?? given;
    }
    const isShared = this.#guarded?.shared.has(index);
    const isOwn = this.#added.has(index) && index !== this.#guarded?.withReport;
    if (isOwn && !isShared) return this.#device.createBindGroupLayout({ entries: [] });
    const layout = layoutOf(isShared ? this.#own : runs);
    this.#given.add(layout);
    return layout;
  }

  /** Returns the extension of the program's bind groups at an index, from their creation on. */
  extensionAt(index: number): LayoutExtension | undefined {
    const { kernel, withReport } = this.#guarded ?? {};
    const { makeOwn } = this.#makers;
    if (!kernel || !makeOwn || index !== withReport) return undefined;
    const { binding } = kernel.protection.layout!;
    const extension: LayoutExtension = {
      entries: [{ binding, resource: rangeOf(kernel.slot) }],
      declared: undefined,
      makeDeclared: async () => (await makeOwn()).getBindGroupLayout(index),
    };
    void this.#makers.compiled?.then((pipeline) => {
      extension.declared = pipeline?.getBindGroupLayout(index);
    });
    return extension;
  }

  /**
   * Returns an object that default layouts have in common if they fit the same pipelines. The
   * program gets other layouts after `fallBack`.
   */
  layoutKeyAt(index: number): object {
    const key = this.#layoutKeys.get(index) ?? {};
    this.#layoutKeys.set(index, key);
    return key;
  }

  /**
   * Returns whether a bind group of this layout fits the pipeline that the program knows. The
   * device checks explicit layouts itself.
   */
  accepts(layout: GPUBindGroupLayout): boolean {
    return this.#explicit !== undefined || this.#given.has(layout);
  }

  /** Returns the kinds of the bindings of a group; undefined if unknown. */
  kindsOf(group: number): BindingKinds | undefined {
    if (!this.#kinds.has(group)) this.#kinds.set(group, this.#bindings && kindsIn(this.#bindings, group));
    return this.#kinds.get(group);
  }

  /** Returns the kernel's access to the bindings of a group; undefined if unknown. */
  accessOf(group: number): GroupAccess {
    if (!this.#accesses.has(group)) {
      const inGroup = this.#bindings?.filter((each) => each.group === group);
      this.#accesses.set(group, inGroup && new Map(inGroup.map(({ binding, access }) => [binding, access])));
    }
    return this.#accesses.get(group);
  }
}
