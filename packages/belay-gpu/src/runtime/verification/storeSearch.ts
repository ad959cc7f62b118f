/**
 * Replaces kernels in re-executed work, for three purposes. These replacements are created only
 * when they are needed.
 *
 * - A recurring fault whose store is unknown, as replicas compare hashes: the replacement compares
 *   before each store.
 * - A wait that ran out, which is no fault: the replicas of the replacement wait for nobody. If
 *   they need each other's results, they first wait much longer. If that does not help, both
 *   replicas run in one workgroup, on the grid of the program.
 * - Subgroups that mixed the replicas, which is no fault: the replicas of the replacement run in
 *   passes.
 */

import type { BindingPoint } from "../../compiler/contract.ts";
import type { Grid } from "../context/dispatchCall.ts";
import { type ReportArena, rangeOf } from "../context/reportArena.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { armingWords } from "../injection/injector.ts";
import { addedPoints } from "../pipelines/addedPoints.ts";
import { type BindGroups, boundRange } from "../pipelines/bindGroups.ts";
import { namedByReport } from "../pipelines/doubledGrid.ts";
import type { PipelineVariant } from "../pipelines/pipelineRecord.ts";
import type { ProtectedPipelines } from "../pipelines/pipelines.ts";
import type { Kernels, ProtectedKernel } from "../pipelines/protectedKernels.ts";
import type { ShadowBuffers } from "../pipelines/shadowBuffers.ts";
import { makeSilently } from "../webgpu/nativeObjects.ts";
import { Overlay } from "../webgpu/overlay.ts";
import { PassCommands, type SetGroup, type SetGroups } from "../webgpu/passCommands.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { type CheckResult, isHashed } from "./checkResult.ts";
import type { Epoch } from "./epoch.ts";
import { SubstituteGrids } from "./substituteGrids.ts";

/** A pipeline for use in place of another one. */
interface Substitute {
  readonly kernel: ProtectedKernel;
  readonly replaced: ProtectedKernel;
  readonly pipeline: GPUComputePipeline;
  /** The dimension in which the dispatches of the replaced pipeline are doubled, if they are. */
  readonly doubled: number | undefined;
  /** The layouts of bind groups that must be created anew for the pipeline. */
  readonly layouts: ReadonlyMap<number, GPUBindGroupLayout>;
  /** True if these layouts have no bindings for the shadows of the replaced kernel. */
  readonly lacksShadows: boolean;
}

/** The kernels and pipelines that run in place of others. */
export interface Substitution {
  /** The replaced kernels, with the kernels that have a report of their own. */
  readonly kernels: ReadonlyMap<ProtectedKernel, ProtectedKernel>;
  /** The kernels that run with more patience. */
  readonly patient: ReadonlySet<ProtectedKernel>;
  readonly pipelines: ReadonlyMap<GPUComputePipeline, Substitute>;
}

/** Returns whether a substitution runs a pipeline that an earlier one did not. */
export function differs({ pipelines }: Substitution, before: Substitution | undefined): boolean {
  return [...pipelines].some(([replaced, made]) => before?.pipelines.get(replaced) !== made);
}

/** The state of a compute pass that is encoded again. */
interface PassAgain {
  readonly substitution: Substitution;
  readonly commands: PassCommands;
  pipeline: GPUComputePipeline | undefined;
  readonly groups: (SetGroup | undefined)[];
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
  readonly #shadows: ShadowBuffers;
  readonly #arena: ReportArena;
  readonly #grids: SubstituteGrids;
  readonly #made = new WeakMap<GPUComputePipeline, Map<ProtectedKernel, Promise<Substitute | undefined>>>();
  readonly #excluded = new WeakSet<ProtectedKernel>();
  /** The kernels whose replicas waited in vain even with long patience. */
  readonly #hopeless = new WeakSet<ProtectedKernel>();
  readonly #encoders: Overlay<GPUCommandEncoder, Substitution>;

  constructor({ device, reports }: RuntimeContext, { kernels, bindGroups, shadows }: ProtectedPipelines) {
    this.#device = device;
    this.#kernels = kernels;
    this.#bindGroups = bindGroups;
    this.#shadows = shadows;
    this.#arena = reports;
    this.#grids = new SubstituteGrids(device);
    const dispatch = this.#dispatch.bind(this);
    const dispatchIndirect = this.#dispatchIndirect.bind(this);
    // Dispatches set what they need.
    const passes = new Overlay<GPUComputePassEncoder, PassAgain>((_, stateOf) => ({
      setPipeline(pipeline) {
        stateOf(this).pipeline = pipeline;
      },
      setBindGroup(index: number, group: GPUBindGroup | null | undefined, ...offsets: unknown[]): undefined {
        stateOf(this).groups[index] = { group: group ?? null, offsets };
      },
      dispatchWorkgroups(x, y = 1, z = 1) {
        dispatch(stateOf(this), [x, y, z]);
      },
      dispatchWorkgroupsIndirect(buffer, offset) {
        dispatchIndirect(stateOf(this), buffer, offset);
      },
    }));
    this.#encoders = new Overlay((native, stateOf) => ({
      beginComputePass(descriptor) {
        const pass = native.beginComputePass.call(this, descriptor);
        const commands = new PassCommands(pass);
        passes.attach(pass, {
          substitution: stateOf(this),
          commands,
          pipeline: undefined,
          groups: [],
        });
        return pass;
      },
    }));
  }

  /**
   * Creates substitutes for kernels whose replicas waited in vain or mixed in subgroups, and for
   * those that had a substitute `before`. If the fault `comesBack`, also for kernels whose faults
   * are known only by hashes. Undefined if none can be created.
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
      const isPatient = before?.patient.has(kernel) ?? false;
      const waitsInVain = unverified.some(({ cause }) => cause === "waitedTooLong");
      if (isPatient && waitsInVain) this.#hopeless.add(kernel);
      const waited = isPatient || waitsInVain;
      const isMixed = unverified.some(({ cause }) => cause === "subgroupsMixed");
      const mayWait = kernel.interGroup?.patience !== undefined && !this.#hopeless.has(kernel);
      return [
        !this.#excluded.has(kernel) && usual,
        waited && this.#kernels.withoutWaits(kernel),
        waited && mayWait && kernel,
        (waited || isMixed) && this.#kernels.withinWorkgroups(kernel),
      ];
    };
    const variants = new Map<PipelineVariant, ProtectedKernel>();
    for (const event of epochs.flatMap(({ events }) => events))
      if ("record" in event)
        for (const { variant, kernel } of event.record.uses()) if (kernel) variants.set(variant, kernel);
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
   * Copies the armed faults of kernels to their substitutes. Call it before the substitutes run.
   */
  prepareReports({ kernels }: Substitution): void {
    for (const [kernel, substitute] of kernels)
      if (kernel.protection.faultSites.length > 0)
        this.#arena.copy(kernel.slot, substitute.slot, armingWords);
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
    const constants = { ...descriptor.compute.constants };
    const doubled = doubling === undefined ? undefined : constants[doubling];
    if (isPatient) constants[patience] = longPatience;
    if (doubling !== undefined && !substitute.interGroup) delete constants[doubling];
    const compute = { ...descriptor.compute, module: substitute.module, constants };
    const making = this.#device.createComputePipelineAsync({ ...descriptor, compute });
    const pipeline = await making.catch(() => undefined);
    if (!pipeline) return undefined;
    // Pipelines share an explicit layout. A default layout belongs to one pipeline.
    const groups = descriptor.layout === "auto" ? this.#kernels.groupsOf(kernel) : [];
    const { group } = kernel.protection.layout!;
    const indices = new Set([group, ...addedPoints(kernel).map((point) => point.group), ...groups]);
    const layouts = new Map([...indices].map((index) => [index, pipeline.getBindGroupLayout(index)]));
    const lacksShadows = descriptor.layout === "auto" && !substitute.interGroup;
    return { kernel: substitute, replaced: kernel, pipeline, doubled, layouts, lacksShadows };
  }

  /** Encodes a dispatch of the current pipeline or its substitute, with the current bind groups. */
  #dispatch(state: PassAgain, grid: Grid): void {
    const { commands } = state;
    const found = this.#substituteIn(state);
    this.#use(state, found);
    if (found && !sharesGrid(found.substitute)) {
      const { doubled } = found.substitute;
      const halved = grid.map((size, i) => (i === doubled ? size / 2 : size));
      commands.dispatchWorkgroups(halved);
      this.#bringShadowsUpToDate(state, found.substitute);
    } else commands.dispatchWorkgroups(grid);
  }

  /** Encodes the same for a grid that only the GPU knows. */
  #dispatchIndirect(state: PassAgain, buffer: GPUBuffer, offset: number): void {
    const { commands } = state;
    const found = this.#substituteIn(state);
    const { replaced, kernel, doubled } = found?.substitute ?? {};
    if (!found || !replaced || !kernel || replaced === kernel || doubled !== namedByReport) {
      this.#use(state, found);
      commands.dispatchWorkgroupsIndirect(buffer, offset);
    } else if (sharesGrid(found.substitute)) {
      this.#grids.tell(commands, replaced.slot, kernel.slot);
      this.#use(state, found);
      commands.dispatchWorkgroupsIndirect(buffer, offset);
    } else {
      const asked = this.#grids.undouble(commands, buffer, replaced.slot);
      this.#use(state, found);
      commands.dispatchWorkgroupsIndirect(asked, 0);
      this.#bringShadowsUpToDate(state, found.substitute);
    }
  }

  #use({ commands, pipeline, groups }: PassAgain, found: FoundSubstitute | undefined): void {
    const runs = found?.substitute.pipeline ?? pipeline;
    if (runs) commands.use(runs, found?.regrouped ?? groups);
  }

  /** Returns the substitute of the current pipeline, if one fits the current bind groups. */
  #substituteIn({ substitution, pipeline, groups }: PassAgain): FoundSubstitute | undefined {
    const substitute = pipeline && substitution.pipelines.get(pipeline);
    const regrouped = substitute && this.#regroup(substitute, groups);
    return regrouped && { substitute, regrouped };
  }

  /**
   * Encodes updates of the shadows of a replaced kernel, to which its substitute has not stored.
   * Later kernels rely on them.
   */
  #bringShadowsUpToDate({ commands, groups }: PassAgain, { replaced }: Substitute): void {
    for (const { of, at } of replaced.interGroup?.shadows ?? []) {
      const [original, shadow] = [this.#rangeAt(of, groups), this.#rangeAt(at, groups)];
      if (original && shadow) this.#shadows.bringUpToDate(commands, { ...shadow, buffer: original.buffer });
    }
  }

  /** Returns the range that is bound at a binding point, without its dynamic offset. */
  #rangeAt({ group, binding }: BindingPoint, groups: SetGroups): BufferRange | undefined {
    const set = groups[group]?.group;
    const entries = set && this.#bindGroups.nativeEntriesOf(set);
    const entry = entries?.find((each) => each.binding === binding);
    return entry && boundRange(entry.resource);
  }

  /**
   * Returns the current bind groups for the layouts of a substitute, with its report. Undefined if
   * a bind group is unknown.
   */
  #regroup(
    { kernel, replaced, layouts, lacksShadows }: Substitute,
    groups: SetGroups,
  ): SetGroups | undefined {
    const { group: reportGroup, binding } = kernel.protection.layout!;
    const shadows = lacksShadows ? (replaced.interGroup?.shadows ?? []) : [];
    const regrouped = [...groups];
    for (const [index, layout] of layouts) {
      const set = groups[index];
      const entries = set?.group && this.#bindGroups.nativeEntriesOf(set.group);
      if (!entries) return undefined;
      const own = entries
        .filter((entry) => !shadows.some(({ at }) => at.group === index && at.binding === entry.binding))
        .map((entry) =>
          index === reportGroup && entry.binding === binding
            ? { binding, resource: rangeOf(kernel.slot) }
            : entry,
        );
      const { made } = makeSilently(this.#device, () =>
        this.#device.createBindGroup({ label: "belay: run again", layout, entries: own }),
      );
      regrouped[index] = { group: made, offsets: set.offsets };
    }
    return regrouped;
  }
}

/** A substitute, and the bind groups to set for it. */
interface FoundSubstitute {
  readonly substitute: Substitute;
  readonly regrouped: SetGroups;
}

/** Returns whether a substitute runs on the doubled grid of the pipeline that it replaces. */
const sharesGrid = ({ kernel, doubled }: Substitute): boolean =>
  kernel.interGroup !== undefined || doubled === undefined;
