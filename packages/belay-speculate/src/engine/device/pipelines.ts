import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { type LoopKernel, usesWorkgroupSize, workgroupSize } from "../../loops/kernels/code/kernel.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import { takesLong } from "../../loops/tree/walk.ts";
import { rounds } from "../policy/tuning.ts";
import { DeviceFailure } from "./deviceFailure.ts";

/** A compiled kernel. */
export class LoopPipeline {
  readonly kernel: LoopKernel;
  readonly pipeline: GPUComputePipeline;
  readonly #device: GPUDevice;
  readonly #layout: GPUBindGroupLayout;
  /** The buffers of its last run. Most loops run on the same memory again. */
  #last: { readonly buffers: readonly GPUBuffer[]; readonly group: GPUBindGroup } | null = null;

  constructor(
    device: GPUDevice,
    kernel: LoopKernel,
    pipeline: GPUComputePipeline,
    layout: GPUBindGroupLayout,
  ) {
    this.#device = device;
    this.kernel = kernel;
    this.pipeline = pipeline;
    this.#layout = layout;
  }

  /**
   * Returns a bind group of all buffers that the kernel uses, given by their names in the kernel.
   */
  bind(named: Readonly<Record<string, GPUBuffer>>): GPUBindGroup {
    const buffers = this.kernel.bindings.map(({ name }) => {
      const buffer = named[name];
      if (!buffer) throw new Error(`the kernel ${this.kernel.name} wants a buffer ${name}`);
      return buffer;
    });
    const last = this.#last;
    if (last && buffers.every((buffer, binding) => buffer === last.buffers[binding])) return last.group;
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = this.#device.createBindGroup({ layout: this.#layout, entries });
    this.#last = { buffers, group };
    return group;
  }
}

/** The compiled kernels of a device's loops. */
export class LoopPipelines {
  readonly #device: GPUDevice;
  readonly #compiled = new WeakMap<Loop, Map<string, Promise<LoopPipeline>>>();
  #slowest = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Returns the number of invocations of a workgroup of a loop's kernels. */
  workgroupSizeFor(loop: Loop): number {
    const { maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX } = this.#device.limits;
    const most = Math.min(maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX);
    // A hardened device doubles the workgroup size.
    return Math.min(
      takesLong(loop) ? rounds.longWorkgroup : rounds.workgroup,
      "belay" in this.#device ? most / 2 : most,
    );
  }

  /**
   * Returns the workgroups of a loop's kernels that have at least so many invocations, in two
   * dimensions if one is too short.
   */
  gridFor(loop: Loop, invocations: number): [x: number, y: number] {
    const workgroups = Math.ceil(invocations / this.workgroupSizeFor(loop));
    const rows = Math.max(1, Math.ceil(workgroups / this.#device.limits.maxComputeWorkgroupsPerDimension));
    return [Math.ceil(workgroups / rows), rows];
  }

  /** The milliseconds of the slowest compilation, including simultaneous ones. */
  get slowest(): number {
    return this.#slowest;
  }

  /**
   * Compiles a loop's kernels, each once. Rejects with a `DeviceFailure` if the device rejects one.
   */
  compile(loop: Loop, kernels: readonly LoopKernel[]): Promise<LoopPipeline[]> {
    const compiled = this.#compiled.get(loop) ?? new Map<string, Promise<LoopPipeline>>();
    this.#compiled.set(loop, compiled);
    return Promise.all(
      kernels.map((kernel) => {
        const known = compiled.get(kernel.name) ?? this.#compile(kernel, this.workgroupSizeFor(loop));
        compiled.set(kernel.name, known);
        return known;
      }),
    );
  }

  /** Begins to compile a loop's kernels. A later call of {@link compile} reports what fails. */
  prepare(loop: Loop, kernels: readonly LoopKernel[]): void {
    this.compile(loop, kernels).catch(() => {});
  }

  async #compile(kernel: LoopKernel, invocations: number): Promise<LoopPipeline> {
    const device = this.#device;
    const start = performance.now();
    const types = { uniform: "uniform", read: "read-only-storage", write: "storage" } as const;
    device.pushErrorScope("validation");
    const layout = device.createBindGroupLayout({
      entries: kernel.bindings.map(({ access }, binding) => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: types[access] },
      })),
    });
    const pipelineLayout = device.createPipelineLayout({ bindGroupLayouts: [layout] });
    const module = device.createShaderModule({ code: kernel.code });
    const failed = device.popErrorScope().catch(() => null);
    try {
      const pipeline = await device.createComputePipelineAsync({
        label: kernel.name,
        layout: pipelineLayout,
        compute: {
          module,
          entryPoint: kernel.name,
          constants: usesWorkgroupSize(kernel.code) ? { [workgroupSize]: invocations } : {},
        },
      });
      this.#slowest = Math.max(this.#slowest, performance.now() - start);
      return new LoopPipeline(device, kernel, pipeline, layout);
    } catch (error) {
      // The pipeline's own error may only name an invalid part.
      throw new DeviceFailure(`it refused a kernel: ${messageOf((await failed) ?? error)}`, { cause: error });
    }
  }
}
