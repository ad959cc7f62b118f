/**
 * Replaces kernels in re-executed work, for two purposes. These replacements are created only when
 * they are needed.
 *
 * - A recurring fault whose store is unknown, as replicas compare hashes: the replacement compares
 *   before each store.
 * - A wait that ran out, which is no fault: the replicas of the replacement wait for nobody. They
 *   wait much longer if they need each other's results, or if only the device knows the grid.
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

/** A pipeline for use in place of another one. */
interface Substitute {
  readonly kernel: ProtectedKernel;
  readonly pipeline: GPUComputePipeline;
  /** The layouts of bind groups that must be created anew for the pipeline. */
  readonly layouts: ReadonlyMap<number, GPUBindGroupLayout>;
}

/** The kernels and pipelines that run in place of others. */
export interface Substitution {
  /** The replaced kernels, with the kernels that have a report of their own. */
  readonly kernels: ReadonlyMap<ProtectedKernel, ProtectedKernel>;
  /** The kernels that run with more patience. */
  readonly patient: ReadonlySet<ProtectedKernel>;
  readonly pipelines: ReadonlyMap<GPUComputePipeline, Substitute>;
}

/** The state of a compute pass that is encoded again. */
interface PassAgain {
  readonly substitution: Substitution;
  pipeline: GPUComputePipeline | undefined;
  readonly groups: Map<number, SetGroup>;
}

/**
 * The number of polls of a replica that has waited in vain before: about a quarter of a minute on a
 * GPU.
 */
const longPatience = 2 ** 24;

export class StoreSearch {
  readonly #device: GPUDevice;
  readonly #kernels: Kernels;
  readonly #bindGroups: BindGroups;
  readonly #arena: ReportArena;
  readonly #made = new WeakMap<GPUComputePipeline, Map<ProtectedKernel, Promise<Substitute | undefined>>>();
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
   * Creates substitutes for kernels whose replicas waited in vain, and for those that had a
   * substitute `before`. If the fault `comesBack`, also for kernels whose faults are known only by
   * hashes. Undefined if none can be created.
   */
  async prepare(
    epochs: readonly Epoch[],
    { kernels: found }: CheckResult,
    { before, comesBack }: { readonly before: Substitution | undefined; readonly comesBack: boolean },
  ): Promise<Substitution | undefined> {
    const candidatesFor = (kernel: ProtectedKernel) => {
      const { faults = [], unverified = [] } = found.get(kernel) ?? {};
      const isSought = comesBack && faults.some(isHashed);
      const usual = before?.kernels.get(kernel) ?? (isSought && this.#kernels.withStoreChecks(kernel));
      const waited = before?.patient.has(kernel) || unverified.some(({ cause }) => cause === "waitedTooLong");
      return [
        !this.#excluded.has(kernel) && usual,
        waited && this.#kernels.withoutWaits(kernel),
        waited && kernel.interGroup?.patience !== undefined && kernel,
      ];
    };
    const variants = new Map<PipelineVariant, ProtectedKernel>();
    for (const event of epochs.flatMap(({ events }) => events))
      if ("record" in event)
        for (const { variant, kernel } of event.record.uses) if (kernel) variants.set(variant, kernel);
    const kernels = new Map<ProtectedKernel, ProtectedKernel>();
    const patient = new Set<ProtectedKernel>();
    const pipelines = new Map<GPUComputePipeline, Substitute>();
    for (const [variant, kernel] of variants) {
      for (const candidate of candidatesFor(kernel)) {
        const made = candidate && (await this.#madeFor(variant, kernel, candidate));
        if (!made) continue;
        pipelines.set(variant.pipeline, made);
        if (candidate === kernel) patient.add(kernel);
        else kernels.set(kernel, candidate);
        break;
      }
    }
    return pipelines.size > 0 ? { kernels, patient, pipelines } : undefined;
  }

  #madeFor(
    variant: PipelineVariant,
    kernel: ProtectedKernel,
    substitute: ProtectedKernel,
  ): Promise<Substitute | undefined> {
    const made =
      this.#made.get(variant.pipeline) ?? new Map<ProtectedKernel, Promise<Substitute | undefined>>();
    this.#made.set(variant.pipeline, made);
    const making = made.get(substitute) ?? this.#substitute(variant, kernel, substitute);
    made.set(substitute, making);
    return making;
  }

  /**
   * Copies the armed faults of kernels to their substitutes, and lets replicas wait again. Call it
   * before the substitutes run.
   */
  prepareReports({ kernels, patient }: Substitution): void {
    for (const [kernel, substitute] of kernels)
      if (kernel.protection.faultSites.length > 0)
        this.#arena.copy(kernel.slot, substitute.slot, armingWords);
    for (const { slot } of patient) this.#arena.forgetExchange(slot);
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
    substitute: ProtectedKernel,
  ): Promise<Substitute | undefined> {
    if (!descriptor) return undefined;
    const { doubling, patience } = kernel.interGroup ?? {};
    const isPatient = substitute === kernel && patience !== undefined;
    const own = descriptor.compute.constants;
    // A substitute's own report does not contain the grid on which it runs.
    if (!isPatient && doubling !== undefined && own?.[doubling] === namedByReport) return undefined;
    const compute = {
      ...membersOf(descriptor.compute),
      module: substitute.module,
      ...(isPatient && { constants: { ...own, [patience]: longPatience } }),
    };
    const making = this.#device.createComputePipelineAsync({ ...descriptor, compute });
    const pipeline = await making.catch(() => undefined);
    if (!pipeline) return undefined;
    // Pipelines share an explicit layout. A default layout belongs to one pipeline.
    const groups = descriptor.layout === "auto" ? this.#kernels.groupsOf(kernel) : [];
    const { group } = kernel.protection.layout!;
    const indices = new Set([group, ...addedPoints(kernel).map((point) => point.group), ...groups]);
    const layouts = new Map([...indices].map((index) => [index, pipeline.getBindGroupLayout(index)]));
    return { kernel: substitute, pipeline, layouts };
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
