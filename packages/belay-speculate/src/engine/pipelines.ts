import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import type { Loop } from "../loops/ir.ts";
import { type Kernel, usesWorkgroupSize, workgroupSize } from "../loops/kernels/kernel.ts";
import { takesLong } from "../loops/kernels/walk.ts";
import { DeviceFailure } from "./deviceFailure.ts";

/** A compiled kernel. */
export interface LoopPipeline {
  readonly kernel: Kernel;
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

/** The compiled kernels of a device's loops. */
export class Pipelines {
  readonly #device: GPUDevice;
  readonly #compiled = new WeakMap<Loop, Map<string, Promise<LoopPipeline>>>();
  #slowest = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /**
   * Invocations of a workgroup of a loop's kernels. Iterations that take long may be few: small workgroups spread them over all of
   * the device.
   */
  workgroupSizeFor(loop: Loop): number {
    const { maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX } = this.#device.limits;
    const most = Math.min(maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX);
    // A hardened device doubles them.
    return Math.min(takesLong(loop) ? 64 : 256, "belay" in this.#device ? most / 2 : most);
  }

  /** Milliseconds of the compilation that took longest, together with those at the same time. */
  get slowest(): number {
    return this.#slowest;
  }

  /**
   * Compiles a loop's kernels, each once. Rejects with a `DeviceFailure` where the device refuses
   * one.
   */
  compile(loop: Loop, kernels: readonly Kernel[]): Promise<LoopPipeline[]> {
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

  async #compile(kernel: Kernel, invocations: number): Promise<LoopPipeline> {
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
      return { kernel, pipeline, layout };
    } catch (error) {
      // The pipeline's own error may only name a part that is invalid.
      throw new DeviceFailure(`it refused a kernel: ${messageOf((await failed) ?? error)}`, { cause: error });
    }
  }
}
