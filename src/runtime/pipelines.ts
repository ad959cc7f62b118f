import type { BindingAccess, BindingPoint } from "../compiler/contract.ts";
import type { BindGroups, GroupAccess } from "./bindGroups.ts";
import { leftAlone, ProtectionError } from "./coverage.ts";
import type { KernelChoice, KernelRequest, Kernels } from "./kernels.ts";
import { Layer } from "./layer.ts";
import { flags, makeSilently, membersOf } from "./nativeObjects.ts";
import { ReportBinding, type ReportPlace } from "./reportBinding.ts";

interface LayoutRecord {
  readonly descriptor: GPUPipelineLayoutDescriptor;
  readonly groups: readonly (GPUBindGroupLayout | null | undefined)[];
}

/** How a pipeline is made. */
interface Plan {
  readonly choice: KernelChoice;
  readonly request: KernelRequest;
  /** Made from the protected kernel; absent when the program's own is used. */
  readonly guarded?: GPUComputePipelineDescriptor;
  readonly place?: ReportPlace;
  /** The bind group layouts of an explicit layout. */
  readonly groups?: LayoutRecord["groups"];
}

/** What is known of a compute pipeline that the program uses. */
export interface PipelineFacts {
  /** The pipeline that really runs. */
  readonly runs: GPUComputePipeline;
  /** The report to bind before a dispatch; none when the kernel is left alone. */
  readonly report: ReportBinding | undefined;
  /** What the kernel does with the bindings of a group; undefined when that is not known. */
  accessOf(group: number): GroupAccess;
}

/** Makes compute pipelines from protected kernels, and knows what each of them does. */
export class Pipelines {
  readonly #device: GPUDevice;
  readonly #kernels: Kernels;
  readonly #bindGroups: BindGroups;
  readonly #sources = new WeakMap<GPUShaderModule, string>();
  readonly #layouts = new WeakMap<GPUPipelineLayout, LayoutRecord>();
  readonly #pipelines = new Layer<GPUComputePipeline, Facts>((native, factsOf) => ({
    getBindGroupLayout(index) {
      const { runs, report, groups } = factsOf(this);
      const layout = groups?.[index] ?? native.getBindGroupLayout.call(runs, index);
      return report && !groups ? report.layoutFor(index, layout) : layout;
    },
  }));

  constructor(device: GPUDevice, kernels: Kernels, bindGroups: BindGroups) {
    this.#device = device;
    this.#kernels = kernels;
    this.#bindGroups = bindGroups;
  }

  trackModule(module: GPUShaderModule, source: string): void {
    this.#sources.set(module, source);
  }

  trackPipelineLayout(layout: GPUPipelineLayout, descriptor: GPUPipelineLayoutDescriptor): void {
    this.#layouts.set(layout, { descriptor, groups: [...descriptor.bindGroupLayouts] });
  }

  /**
   * Makes the program's own pipeline, which the program gets and whose errors are its own, and one from the protected
   * kernel that runs in its place, unless the device refuses it. Throws a `ProtectionError` in strict mode.
   */
  create(descriptor: GPUComputePipelineDescriptor): GPUComputePipeline {
    const plan = this.#plan(descriptor);
    const own = this.#device.createComputePipeline(descriptor);
    const { guarded } = plan;
    if (!guarded) return this.#adopt(own, new Facts(own, plan));
    const { made, failed } = makeSilently(this.#device, () => this.#device.createComputePipeline(guarded));
    const facts = new Facts(made, plan, this.#reportOf(plan, made));
    const { kernel } = plan.choice;
    const proven = failed.then(async (error) => {
      if (!error) return;
      facts.fallBack(own);
      // When the mistake is the program's, its own pipeline fails too, of which it has been told.
      const { failed } = makeSilently(this.#device, () => this.#device.createComputePipeline(descriptor));
      if (await failed) return;
      this.#kernels.leaveAlone(plan.request, leftAlone.refusedByDriver(error.message));
      if (kernel) kernel.refused = error.message;
    });
    if (kernel) kernel.proving = Promise.all([kernel.proving, proven]).then(() => {});
    return this.#adopt(own, facts);
  }

  /** Falls back to the program's own kernel when the device refuses the protected one. */
  async createAsync(descriptor: GPUComputePipelineDescriptor): Promise<GPUComputePipeline> {
    const plan = this.#plan(descriptor);
    const makeOwn = async () => {
      const own = await this.#device.createComputePipelineAsync(descriptor);
      return this.#adopt(own, new Facts(own, plan));
    };
    if (!plan.guarded) return makeOwn();
    try {
      const made = await this.#device.createComputePipelineAsync(plan.guarded);
      return this.#adopt(made, new Facts(made, plan, this.#reportOf(plan, made)));
    } catch (error) {
      // When the mistake is the program's, this one fails too, with a message about the program's own code.
      const own = await makeOwn();
      const reason = leftAlone.refusedByDriver(error instanceof Error ? error.message : String(error));
      this.#leaveAlone(plan.request, reason);
      return own;
    }
  }

  factsOf(pipeline: GPUComputePipeline): PipelineFacts {
    return this.#pipelines.stateOf(pipeline) ?? new Facts(pipeline, {});
  }

  #plan(descriptor: GPUComputePipelineDescriptor): Plan {
    const { compute, layout, label } = descriptor;
    const source = this.#sources.get(compute.module);
    const record = layout === "auto" ? undefined : this.#layouts.get(layout);
    const room = record && this.#roomIn(record);
    const request: KernelRequest = {
      source: source ?? "",
      entryPoint: compute.entryPoint,
      label: label ?? "",
      constants: membersOf(compute.constants ?? {}),
      reportBinding: room,
    };
    if (source === undefined) return this.#leaveAlone(request, leftAlone.unknownModule());
    if (layout !== "auto" && (!record || !room)) return this.#leaveAlone(request, leftAlone.unknownLayout());
    const limit = this.#device.limits.maxStorageBuffersPerShaderStage;
    if (record && this.#countStorageBuffers(record) >= limit)
      return this.#leaveAlone(request, leftAlone.layoutIsFull(limit));

    const choice = this.#kernels.choose(request);
    checkStrict(choice);
    const { kernel, bindings = [] } = choice;
    const groups = record && { groups: record.groups };
    if (!kernel) return { choice, request, ...groups };
    const point = kernel.protection.layout!;
    const { entryPoint, module } = kernel;
    const guarded = { ...membersOf(descriptor), compute: { ...membersOf(compute), module, entryPoint } };
    if (!record) {
      const isAlone = bindings.every(({ group }) => group !== point.group);
      return { choice, request, guarded, place: isAlone ? "own group" : "hidden in the program's group" };
    }
    const isAlone = this.#entriesAt(record, point.group).length === 0;
    return {
      choice,
      request,
      guarded: { ...guarded, layout: this.#extend(record, point) },
      place: isAlone ? "own group" : "added to the program's group",
      ...groups,
    };
  }

  #leaveAlone(request: KernelRequest, reason: Parameters<Kernels["leaveAlone"]>[1]): Plan {
    const choice = this.#kernels.leaveAlone(request, reason);
    checkStrict(choice);
    return { choice, request };
  }

  /** Where a pipeline layout has room for the report: a group of its own if possible. */
  #roomIn(record: LayoutRecord): BindingPoint | undefined {
    const { groups } = record;
    if (groups.some((group) => group && !this.#bindGroups.entriesOf(group))) return undefined;
    if (groups.length < this.#device.limits.maxBindGroups) return { group: groups.length, binding: 0 };
    const empty = groups.findIndex((_, index) => this.#entriesAt(record, index).length === 0);
    if (empty >= 0) return { group: empty, binding: 0 };
    const group = groups.length - 1;
    const taken = new Set(this.#entriesAt(record, group).map(({ binding }) => binding));
    let binding = 0;
    while (taken.has(binding)) binding++;
    return { group, binding };
  }

  #entriesAt({ groups }: LayoutRecord, index: number): readonly GPUBindGroupLayoutEntry[] {
    const group = groups[index];
    return (group && this.#bindGroups.entriesOf(group)) ?? [];
  }

  #countStorageBuffers(record: LayoutRecord): number {
    const isStorage = ({ buffer, visibility }: GPUBindGroupLayoutEntry) =>
      buffer && (visibility & flags.shaderStageCompute) !== 0 && (buffer.type ?? "uniform") !== "uniform";
    return record.groups.flatMap((_, index) => this.#entriesAt(record, index).filter(isStorage)).length;
  }

  /** The program's pipeline layout with the report added. */
  #extend(record: LayoutRecord, { group, binding }: BindingPoint): GPUPipelineLayout {
    const { made } = makeSilently(this.#device, () => {
      const report: GPUBindGroupLayoutEntry = {
        ...{ binding, visibility: flags.shaderStageCompute, buffer: { type: "storage" } },
      };
      const entries = [...this.#entriesAt(record, group), report];
      const bindGroupLayouts = [...record.groups];
      bindGroupLayouts[group] = this.#device.createBindGroupLayout({ label: "belay: report", entries });
      return this.#device.createPipelineLayout({
        ...record.descriptor,
        bindGroupLayouts,
      } as GPUPipelineLayoutDescriptor);
    });
    return made;
  }

  #reportOf({ choice, place }: Plan, pipeline: GPUComputePipeline): ReportBinding | undefined {
    const { kernel } = choice;
    return kernel && place && new ReportBinding(this.#device, this.#bindGroups, pipeline, kernel, place);
  }

  #adopt(pipeline: GPUComputePipeline, facts: Facts): GPUComputePipeline {
    this.#pipelines.cover(pipeline, facts);
    return pipeline;
  }
}

class Facts implements PipelineFacts {
  runs: GPUComputePipeline;
  report: ReportBinding | undefined;
  readonly groups: LayoutRecord["groups"] | undefined;
  readonly #bindings: readonly BindingAccess[] | undefined;
  readonly #byGroup = new Map<number, GroupAccess>();

  constructor(runs: GPUComputePipeline, { choice, groups }: Partial<Plan>, report?: ReportBinding) {
    this.runs = runs;
    this.report = report;
    this.groups = groups;
    this.#bindings = choice?.bindings;
  }

  fallBack(own: GPUComputePipeline): void {
    this.runs = own;
    this.report = undefined;
  }

  accessOf(group: number): GroupAccess {
    if (!this.#byGroup.has(group)) {
      const inGroup = this.#bindings?.filter((each) => each.group === group);
      this.#byGroup.set(group, inGroup && new Map(inGroup.map(({ binding, access }) => [binding, access])));
    }
    return this.#byGroup.get(group);
  }
}

function checkStrict({ coverage, strict }: KernelChoice): void {
  const uncovered =
    coverage.redundancy === "none" || coverage.diagnostics.some(({ severity }) => severity !== "info");
  if (strict && uncovered) throw new ProtectionError(coverage);
}
