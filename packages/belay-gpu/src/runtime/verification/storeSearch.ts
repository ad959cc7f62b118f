/**
 * Finds the store that a fault strikes each time, where replicas are compared as hashes: work that
 * runs again runs kernels that compare before each store. They are made when a fault has come back,
 * and never before.
 */

import { type ReportArena, rangeOf } from "../context/reportArena.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { armingWords } from "../injection/injector.ts";
import { addedPoints } from "../pipelines/addedPoints.ts";
import type { BindGroups } from "../pipelines/bindGroups.ts";
import { namedByReport } from "../pipelines/doubledGrid.ts";
import type { PipelineVariant } from "../pipelines/pipelineRecord.ts";
import type { ProtectedPipelines } from "../pipelines/pipelines.ts";
import type { Kernels, ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { makeSilently, membersOf } from "../webgpu/nativeObjects.ts";
import { Overlay } from "../webgpu/overlay.ts";
import type { SetGroup, SetGroups } from "../webgpu/passCommands.ts";
import { type AnyMethod, copyOffsets } from "../webgpu/replayStep.ts";
import { type CheckResult, isHashed } from "./checkResult.ts";
import type { Epoch } from "./epoch.ts";

/** A pipeline that compares before each store, in place of one that compares hashes. */
interface Substitute {
  readonly kernel: ProtectedKernel;
  readonly pipeline: GPUComputePipeline;
  /** The layouts of the bind groups that do not fit it as they are. */
  readonly layouts: ReadonlyMap<number, GPUBindGroupLayout>;
}

/** What runs in place of kernels and of their pipelines. */
export interface Substitution {
  readonly kernels: ReadonlyMap<ProtectedKernel, ProtectedKernel>;
  readonly pipelines: ReadonlyMap<GPUComputePipeline, Substitute>;
}

/** A compute pass that runs again, and what is set in it. */
interface PassAgain {
  readonly substitution: Substitution;
  pipeline: GPUComputePipeline | undefined;
  readonly groups: Map<number, SetGroup>;
}

export class StoreSearch {
  readonly #device: GPUDevice;
  readonly #kernels: Kernels;
  readonly #bindGroups: BindGroups;
  readonly #arena: ReportArena;
  readonly #made = new WeakMap<GPUComputePipeline, Promise<Substitute | undefined>>();
  readonly #forsaken = new WeakSet<ProtectedKernel>();
  readonly #encoders: Overlay<GPUCommandEncoder, Substitution>;

  constructor({ device, reports }: RuntimeContext, { kernels, bindGroups }: ProtectedPipelines) {
    this.#device = device;
    this.#kernels = kernels;
    this.#bindGroups = bindGroups;
    this.#arena = reports;
    const inPlace = this.#inPlace.bind(this);
    const passes = new Overlay<GPUComputePassEncoder, PassAgain>((native, stateOf) => ({
      setPipeline(pipeline) {
        stateOf(this).pipeline = pipeline;
        native.setPipeline.call(this, pipeline);
      },
      setBindGroup(index: number, group: GPUBindGroup | null | undefined, ...offsets: unknown[]): undefined {
        stateOf(this).groups.set(index, { group: group ?? null, offsets: copyOffsets(offsets) });
        (native.setBindGroup as AnyMethod).call(this, index, group, ...offsets);
      },
      dispatchWorkgroups(...grid) {
        inPlace(this, native, stateOf(this), () => native.dispatchWorkgroups.call(this, ...grid));
      },
      dispatchWorkgroupsIndirect(buffer, offset) {
        inPlace(this, native, stateOf(this), () =>
          native.dispatchWorkgroupsIndirect.call(this, buffer, offset),
        );
      },
    }));
    this.#encoders = new Overlay((native, stateOf) => ({
      beginComputePass(descriptor) {
        const pass = native.beginComputePass.call(this, descriptor);
        passes.attach(pass, { substitution: stateOf(this), pipeline: undefined, groups: new Map() });
        return pass;
      },
    }));
  }

  /**
   * Makes what compares before stores in place of the kernels of whose faults only hashes are
   * known, and of those that have run so `before`; undefined where nothing can.
   */
  async prepare(
    epochs: readonly Epoch[],
    { kernels: found }: CheckResult,
    before: Substitution | undefined,
  ): Promise<Substitution | undefined> {
    const hashed = [...found].flatMap(([kernel, { faults }]) => (faults.some(isHashed) ? [kernel] : []));
    const wanted = new Set([...hashed, ...(before?.kernels.keys() ?? [])]);
    const variants = new Map<PipelineVariant, ProtectedKernel>();
    for (const event of epochs.flatMap(({ events }) => events))
      if ("record" in event)
        for (const [variant, kernel] of event.record.variants) variants.set(variant, kernel);
    const kernels = new Map<ProtectedKernel, ProtectedKernel>();
    const pipelines = new Map<GPUComputePipeline, Substitute>();
    for (const [variant, kernel] of variants) {
      const isSought = wanted.has(kernel) && !this.#forsaken.has(kernel);
      const storing = isSought ? this.#kernels.withStoreChecks(kernel) : undefined;
      if (!storing) continue;
      const { pipeline } = variant;
      const making = this.#made.get(pipeline) ?? this.#substitute(variant, kernel, storing);
      this.#made.set(pipeline, making);
      const made = await making;
      if (!made) continue;
      pipelines.set(pipeline, made);
      kernels.set(kernel, storing);
    }
    return pipelines.size > 0 ? { kernels, pipelines } : undefined;
  }

  /**
   * Has faults that are armed strike the kernels that run in place of others. Call when these are
   * about to run.
   */
  begin({ kernels }: Substitution): void {
    for (const [kernel, storing] of kernels)
      if (kernel.protection.faultSites.length > 0) this.#arena.copy(kernel.slot, storing.slot, armingWords);
  }

  /** Gives up on kernels that run in place of others and tell nothing. */
  forsake({ kernels }: Substitution): void {
    for (const kernel of kernels.keys()) this.#forsaken.add(kernel);
  }

  /** Lets an encoder that encodes commands again encode the substitutes. */
  follow(encoder: GPUCommandEncoder, substitution: Substitution): void {
    this.#encoders.attach(encoder, substitution);
  }

  async #substitute(
    { descriptor }: PipelineVariant,
    kernel: ProtectedKernel,
    storing: ProtectedKernel,
  ): Promise<Substitute | undefined> {
    if (!descriptor) return undefined;
    const { doubling } = kernel.interGroup ?? {};
    // Its own report does not say on which grid it runs.
    if (doubling !== undefined && descriptor.compute.constants?.[doubling] === namedByReport)
      return undefined;
    const compute = { ...membersOf(descriptor.compute), module: storing.module };
    const making = this.#device.createComputePipelineAsync({ ...descriptor, compute });
    const pipeline = await making.catch(() => undefined);
    if (!pipeline) return undefined;
    // Pipelines share an explicit layout, and none that is made for them.
    const own = descriptor.layout === "auto" ? this.#kernels.groupsOf(kernel) : [];
    const { group } = kernel.protection.layout!;
    const indices = new Set([group, ...addedPoints(kernel).map((point) => point.group), ...own]);
    const layouts = new Map([...indices].map((index) => [index, pipeline.getBindGroupLayout(index)]));
    return { kernel: storing, pipeline, layouts };
  }

  /** Dispatches the substitute of the pipeline that is set, if it has one, with what is set. */
  #inPlace(
    pass: GPUComputePassEncoder,
    native: GPUComputePassEncoder,
    { substitution, pipeline, groups }: PassAgain,
    dispatch: () => void,
  ): void {
    const substitute = pipeline && substitution.pipelines.get(pipeline);
    const regrouped = substitute && this.#regroup(substitute, groups);
    if (!pipeline || !regrouped) {
      dispatch();
      return;
    }
    const set = (pipeline: GPUComputePipeline, wanted: SetGroups) => {
      native.setPipeline.call(pass, pipeline);
      for (const [index, { group, offsets }] of wanted)
        (native.setBindGroup as AnyMethod).call(pass, index, group, ...offsets);
    };
    set(substitute.pipeline, regrouped);
    dispatch();
    set(pipeline, new Map([...regrouped.keys()].map((index) => [index, groups.get(index)!])));
  }

  /**
   * The bind groups that are set, for the layouts of a substitute, with its report; undefined where
   * one is not known.
   */
  #regroup({ kernel, layouts }: Substitute, groups: SetGroups): SetGroups | undefined {
    const { group: reportGroup, binding } = kernel.protection.layout!;
    const regrouped = new Map<number, SetGroup>();
    for (const [index, layout] of layouts) {
      const set = groups.get(index);
      const entries = set?.group && this.#bindGroups.nativeEntriesOf(set.group);
      if (!entries) return undefined;
      const own = entries.map((entry) =>
        index === reportGroup && entry.binding === binding
          ? { binding, resource: rangeOf(kernel.slot) }
          : entry,
      );
      const { made } = makeSilently(this.#device, () =>
        this.#device.createBindGroup({ label: "belay: run again", layout, entries: own }),
      );
      regrouped.set(index, { group: made, offsets: set.offsets });
    }
    return regrouped;
  }
}
