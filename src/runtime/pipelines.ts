import { leftAlone, ProtectionError } from "./coverage.ts";
import type { Kernel, KernelChoice, KernelRequest, Kernels } from "./kernels.ts";
import { flags, makeSilently } from "./nativeObjects.ts";

/** The report buffer as a pipeline sees it. */
export interface ReportBinding {
  readonly kernel: Kernel;
  readonly group: number;
  readonly bindGroup: GPUBindGroup;
}

interface LayoutRecord {
  readonly descriptor: GPUPipelineLayoutDescriptor;
  readonly groups: readonly (GPUBindGroupLayout | null | undefined)[];
}

interface Plan {
  readonly descriptor: GPUComputePipelineDescriptor;
  readonly choice: KernelChoice;
  /** Absent when the kernel's module or layout is unknown. */
  readonly request?: KernelRequest;
}

/** Makes compute pipelines from protected kernels, and knows which report each of them writes. */
export class Pipelines {
  readonly #device: GPUDevice;
  readonly #kernels: Kernels;
  readonly #strict: boolean;
  readonly #sources = new WeakMap<GPUShaderModule, string>();
  readonly #layouts = new WeakMap<GPUPipelineLayout, LayoutRecord>();
  /** Storage buffers of an explicit bind group layout that compute shaders see. */
  readonly #storageBuffers = new WeakMap<GPUBindGroupLayout, number>();
  readonly #kernelOf = new WeakMap<GPUComputePipeline, Kernel>();
  readonly #bindings = new WeakMap<GPUComputePipeline, ReportBinding>();

  constructor(device: GPUDevice, kernels: Kernels, strict: boolean) {
    this.#device = device;
    this.#kernels = kernels;
    this.#strict = strict;
  }

  trackModule(module: GPUShaderModule, source: string): void {
    this.#sources.set(module, source);
  }

  trackGroupLayout(layout: GPUBindGroupLayout, entries: readonly GPUBindGroupLayoutEntry[]): void {
    const isStorage = ({ buffer, visibility }: GPUBindGroupLayoutEntry) =>
      (visibility & flags.shaderStageCompute) !== 0 && (buffer?.type ?? "uniform") !== "uniform";
    this.#storageBuffers.set(layout, entries.filter(isStorage).length);
  }

  trackPipelineLayout(layout: GPUPipelineLayout, descriptor: GPUPipelineLayoutDescriptor): void {
    this.#layouts.set(layout, { descriptor, groups: [...descriptor.bindGroupLayouts] });
  }

  /** Throws a `ProtectionError` in strict mode. */
  create(descriptor: GPUComputePipelineDescriptor): GPUComputePipeline {
    const plan = this.#plan(descriptor);
    return this.#adopt(this.#device.createComputePipeline(plan.descriptor), plan);
  }

  /** Falls back to the program's own kernel when the device refuses the protected one. */
  async createAsync(descriptor: GPUComputePipelineDescriptor): Promise<GPUComputePipeline> {
    const plan = this.#plan(descriptor);
    try {
      return this.#adopt(await this.#device.createComputePipelineAsync(plan.descriptor), plan);
    } catch (error) {
      if (!plan.request || !plan.choice.kernel) throw error;
      // When the mistake is the program's, this one fails too, with a message about the program's own code.
      const plain = await this.#device.createComputePipelineAsync(descriptor);
      const reason = leftAlone.refusedByDriver(error instanceof Error ? error.message : String(error));
      this.#checkStrict(this.#kernels.leaveAlone(plan.request, reason));
      return plain;
    }
  }

  /** The report to bind before a pipeline's dispatch; none when its kernel is left alone. */
  reportBinding(pipeline: GPUComputePipeline): ReportBinding | undefined {
    const kernel = this.#kernelOf.get(pipeline);
    if (!kernel) return undefined;
    let binding = this.#bindings.get(pipeline);
    if (!binding) {
      binding = this.#bindReport(pipeline, kernel);
      this.#bindings.set(pipeline, binding);
    }
    return binding;
  }

  #plan(descriptor: GPUComputePipelineDescriptor): Plan {
    const { compute, layout, label } = descriptor;
    const source = this.#sources.get(compute.module);
    const record = layout === "auto" ? undefined : this.#layouts.get(layout);
    const request: KernelRequest = {
      source: source ?? "",
      entryPoint: compute.entryPoint,
      label: label ?? "",
      constants: { ...compute.constants },
      reservedGroups: record?.groups.length ?? 0,
    };
    const leave = (reason: Parameters<Kernels["leaveAlone"]>[1]): Plan => ({
      descriptor,
      choice: this.#checkStrict(this.#kernels.leaveAlone(request, reason)),
    });
    if (source === undefined) return leave(leftAlone.unknownModule());
    if (layout !== "auto" && !record) return leave(leftAlone.unknownLayout());
    const limit = this.#device.limits.maxStorageBuffersPerShaderStage;
    if (record && this.#countStorageBuffers(record) >= limit) return leave(leftAlone.layoutIsFull(limit));

    const choice = this.#checkStrict(this.#kernels.choose(request));
    if (!choice.kernel) return { descriptor, choice, request };
    const { entryPoint, module } = choice.kernel;
    return {
      descriptor: {
        ...descriptor,
        layout: record ? this.#extend(record, choice.kernel) : "auto",
        compute: { ...compute, module, entryPoint },
      },
      choice,
      request,
    };
  }

  #checkStrict(choice: KernelChoice): KernelChoice {
    const { coverage } = choice;
    const uncovered =
      coverage.redundancy === "none" || coverage.diagnostics.some(({ severity }) => severity !== "info");
    if (this.#strict && uncovered) throw new ProtectionError(coverage);
    return choice;
  }

  #countStorageBuffers({ groups }: LayoutRecord): number {
    return groups.reduce((sum, group) => sum + ((group && this.#storageBuffers.get(group)) ?? 0), 0);
  }

  /** The program's pipeline layout with the report's bind group added. */
  #extend({ descriptor, groups }: LayoutRecord, { protection }: Kernel): GPUPipelineLayout {
    const { group, binding } = protection.layout!;
    const report = this.#device.createBindGroupLayout({
      label: "belay: report",
      entries: [{ binding, visibility: flags.shaderStageCompute, buffer: { type: "storage" } }],
    });
    const bindGroupLayouts = [...groups];
    while (bindGroupLayouts.length < group) {
      bindGroupLayouts.push(this.#device.createBindGroupLayout({ entries: [] }));
    }
    bindGroupLayouts[group] = report;
    return this.#device.createPipelineLayout({
      ...descriptor,
      bindGroupLayouts,
    } as GPUPipelineLayoutDescriptor);
  }

  #adopt(pipeline: GPUComputePipeline, { choice }: Plan): GPUComputePipeline {
    if (choice.kernel) this.#kernelOf.set(pipeline, choice.kernel);
    return pipeline;
  }

  #bindReport(pipeline: GPUComputePipeline, kernel: Kernel): ReportBinding {
    const { group, binding } = kernel.protection.layout!;
    const { page, offset, bytes } = kernel.slot;
    // An invalid pipeline has been reported to the program already; what follows from it is not its concern.
    const { made: bindGroup } = makeSilently(this.#device, () =>
      this.#device.createBindGroup({
        label: "belay: report",
        layout: pipeline.getBindGroupLayout(group),
        entries: [{ binding, resource: { buffer: page.buffer, offset, size: bytes } }],
      }),
    );
    return { kernel, group, bindGroup };
  }
}
