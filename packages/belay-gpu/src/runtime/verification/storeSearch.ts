/**
 * Finds the store that a recurring fault strikes, if replicas are compared by hashes. Re-executed
 * work then runs kernels that compare before each store. These kernels are created only when a
 * fault has come back.
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

/** A pipeline that compares before each store, for use in place of one that compares hashes. */
interface Substitute {
  readonly kernel: ProtectedKernel;
  readonly pipeline: GPUComputePipeline;
  /** The layouts of bind groups that must be created anew for the pipeline. */
  readonly layouts: ReadonlyMap<number, GPUBindGroupLayout>;
}

/** The kernels and pipelines that run in place of others. */
export interface Substitution {
  readonly kernels: ReadonlyMap<ProtectedKernel, ProtectedKernel>;
  readonly pipelines: ReadonlyMap<GPUComputePipeline, Substitute>;
}

/** The state of a compute pass that is encoded again. */
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
  readonly #excluded = new WeakSet<ProtectedKernel>();
  readonly #encoders: Overlay<GPUCommandEncoder, Substitution>;

  constructor({ device, reports }: RuntimeContext, { kernels, bindGroups }: ProtectedPipelines) {
    this.#device = device;
    this.#kernels = kernels;
    this.#bindGroups = bindGroups;
    this.#arena = reports;
    const dispatchSubstitute = this.#dispatchSubstitute.bind(this);
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
        dispatchSubstitute(this, native, stateOf(this), () => native.dispatchWorkgroups.call(this, ...grid));
      },
      dispatchWorkgroupsIndirect(buffer, offset) {
        dispatchSubstitute(this, native, stateOf(this), () =>
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
   * Creates substitutes for kernels whose faults are known only by hashes, and for those that had a
   * substitute `before`. Undefined if none can be created.
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
        for (const { variant, kernel } of event.record.uses) if (kernel) variants.set(variant, kernel);
    const kernels = new Map<ProtectedKernel, ProtectedKernel>();
    const pipelines = new Map<GPUComputePipeline, Substitute>();
    for (const [variant, kernel] of variants) {
      const isSought = wanted.has(kernel) && !this.#excluded.has(kernel);
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
   * Copies the armed faults of kernels to their substitutes. Call it before the substitutes run.
   */
  copyArmedFaults({ kernels }: Substitution): void {
    for (const [kernel, storing] of kernels)
      if (kernel.protection.faultSites.length > 0) this.#arena.copy(kernel.slot, storing.slot, armingWords);
  }

  /** Excludes kernels from substitution, as their substitutes gave no result. */
  giveUpOn({ kernels }: Substitution): void {
    for (const kernel of kernels.keys()) this.#excluded.add(kernel);
  }

  /** Makes an encoder, which encodes commands again, use the substitutes. */
  substituteIn(encoder: GPUCommandEncoder, substitution: Substitution): void {
    this.#encoders.attach(encoder, substitution);
  }

  async #substitute(
    { descriptor }: PipelineVariant,
    kernel: ProtectedKernel,
    storing: ProtectedKernel,
  ): Promise<Substitute | undefined> {
    if (!descriptor) return undefined;
    const { doubling } = kernel.interGroup ?? {};
    // The substitute's own report does not contain the grid on which it runs.
    if (doubling !== undefined && descriptor.compute.constants?.[doubling] === namedByReport)
      return undefined;
    const compute = { ...membersOf(descriptor.compute), module: storing.module };
    const making = this.#device.createComputePipelineAsync({ ...descriptor, compute });
    const pipeline = await making.catch(() => undefined);
    if (!pipeline) return undefined;
    // Pipelines share an explicit layout. A default layout belongs to one pipeline.
    const own = descriptor.layout === "auto" ? this.#kernels.groupsOf(kernel) : [];
    const { group } = kernel.protection.layout!;
    const indices = new Set([group, ...addedPoints(kernel).map((point) => point.group), ...own]);
    const layouts = new Map([...indices].map((index) => [index, pipeline.getBindGroupLayout(index)]));
    return { kernel: storing, pipeline, layouts };
  }

  /**
   * Dispatches the substitute of the current pipeline, if there is one, with the current bind
   * groups.
   */
  #dispatchSubstitute(
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
   * Returns the current bind groups for the layouts of a substitute, with its report. Undefined if
   * a bind group is unknown.
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
