/** Runs kernels on a device. Each error becomes a rejection, and no buffer is left. */
import type { BindingPoint } from "../analysis/bindings.ts";
import { messageOf } from "../diagnostics/messageOf.ts";
import type { ReferenceSource } from "../reference/referenceKernel.ts";

/** A buffer of a kernel on a device. */
export interface DeviceBuffer {
  readonly group: number;
  readonly binding: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly usage: "uniform" | "storage";
  /** True if the kernel may store to the buffer, so that its contents are read. */
  readonly isOutput: boolean;
}

/** The resources of a dispatch that are no buffers. */
export interface OtherResources {
  /** Creates the resources. */
  create(device: GPUDevice): (BindingPoint & { readonly resource: GPUBindingResource })[];
  /** Encodes copies of their contents after the dispatch. */
  copy(device: GPUDevice, encoder: GPUCommandEncoder): void;
  /** Keeps the copied contents. */
  read(): Promise<void>;
  destroy(): void;
}

/** The milliseconds after which a device that finishes nothing counts as stuck. */
const patience = 60_000;

/**
 * A device that is being tried. Its promises reject when it is lost or stuck, or when a signal
 * aborts.
 */
export class TriedDevice {
  readonly device: GPUDevice;
  readonly #signal: AbortSignal | undefined;
  readonly #ended: Promise<never>;
  #end: (reason: unknown) => void = () => {};
  #abort = () => {};
  /** The number of promises that are waited for. */
  #awaited = 0;
  #watch: ReturnType<typeof setInterval> | undefined;

  constructor(device: GPUDevice, signal: AbortSignal | undefined) {
    this.device = device;
    this.#signal = signal;
    this.#ended = new Promise((_, reject) => {
      this.#end = reject;
      this.#abort = () => reject(signal?.reason);
      signal?.addEventListener("abort", this.#abort);
      void device.lost.then(({ message }) =>
        reject(new Error(`the device is lost${message && `: ${message}`}`)),
      );
    });
    this.#ended.catch(() => {});
  }

  throwIfAborted(): void {
    this.#signal?.throwIfAborted();
  }

  /** Removes the listener of the signal. */
  end(): void {
    this.#signal?.removeEventListener("abort", this.#abort);
  }

  /** Compiles a kernel. Rejects with the message of the device. */
  async compile({ source, entryPoint, constants }: ReferenceSource): Promise<GPUComputePipeline> {
    const { device } = this;
    const { result, errors } = this.#scoped(() => {
      const module = device.createShaderModule({ code: source });
      const compute = { module, ...(entryPoint && { entryPoint }), ...(constants && { constants }) };
      return device.createComputePipelineAsync({ layout: "auto", compute });
    });
    // The error of the module says more than that of the pipeline.
    result.catch(() => {});
    await this.#first(errors);
    return this.#first(result);
  }

  /** Runs a kernel. Returns the contents of the output buffers, in their order. */
  async run(
    pipeline: GPUComputePipeline,
    workgroups: readonly [number, number, number],
    buffers: readonly DeviceBuffer[],
    others?: OtherResources,
  ): Promise<Uint32Array[]> {
    const made: GPUBuffer[] = [];
    try {
      const { result, errors } = this.#scoped(() =>
        this.#submit(pipeline, workgroups, buffers, made, others),
      );
      const mapped = result.mapAsync(GPUMapMode.READ);
      mapped.catch(() => {});
      await this.#first(errors);
      await this.#first(mapped);
      if (others) await this.#first(others.read());
      const words = new Uint32Array(result.getMappedRange().slice(0));
      let end = 0;
      return buffers
        .filter(({ isOutput }) => isOutput)
        .map(({ bytes }) => {
          end += bytes.length / 4;
          return words.subarray(end - bytes.length / 4, end);
        });
    } finally {
      for (const buffer of made) buffer.destroy();
      others?.destroy();
    }
  }

  #submit(
    pipeline: GPUComputePipeline,
    workgroups: readonly [number, number, number],
    buffers: readonly DeviceBuffer[],
    made: GPUBuffer[],
    others: OtherResources | undefined,
  ): GPUBuffer {
    const { device } = this;
    const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const create = (size: number, usage: number) => {
      const buffer = device.createBuffer({ size, usage });
      made.push(buffer);
      return buffer;
    };
    const filled = buffers.map(({ bytes, usage }) => {
      const buffer = create(bytes.length, (usage === "uniform" ? UNIFORM : STORAGE | COPY_SRC) | COPY_DST);
      device.queue.writeBuffer(buffer, 0, bytes);
      return buffer;
    });
    const resources = [
      ...buffers.map(({ group, binding }, i) => ({ group, binding, resource: { buffer: filled[i]! } })),
      ...(others?.create(device) ?? []),
    ];
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    for (const group of new Set(resources.map((each) => each.group))) {
      const entries = resources.filter((each) => each.group === group);
      pass.setBindGroup(
        group,
        device.createBindGroup({ layout: pipeline.getBindGroupLayout(group), entries }),
      );
    }
    pass.dispatchWorkgroups(...workgroups);
    pass.end();
    others?.copy(device, encoder);
    const outputs = filled.filter((_, i) => buffers[i]!.isOutput);
    const staging = create(Math.max(4, sizeOfAll(outputs)), MAP_READ | COPY_DST);
    let offset = 0;
    for (const output of outputs) {
      encoder.copyBufferToBuffer(output, 0, staging, offset, output.size);
      offset += output.size;
    }
    device.queue.submit([encoder.finish()]);
    return staging;
  }

  /** Waits for a promise, the loss of the device, or the signal. Notices a device that is stuck. */
  async #first<T>(promise: Promise<T>): Promise<T> {
    this.throwIfAborted();
    this.#awaited++;
    this.#beginToWatch();
    try {
      return await Promise.race([promise, this.#ended]);
    } finally {
      this.#awaited--;
      this.#beginToWatch();
    }
  }

  /**
   * Ends all waits once no promise settles for some time. Two turns have to pass, as the executor
   * may have held up the first one.
   */
  #beginToWatch(): void {
    clearInterval(this.#watch);
    if (this.#awaited === 0) return;
    let turns = 0;
    this.#watch = setInterval(() => {
      if (++turns === 2) this.#end(new Error(`the device has finished nothing for ${patience / 1000} s`));
    }, patience / 2);
  }

  /** Calls `body` within error scopes, which belong to nobody else as `body` does not wait. */
  #scoped<T>(body: () => T): { readonly result: T; readonly errors: Promise<void> } {
    const { device } = this;
    const filters = ["validation", "out-of-memory", "internal"] as const;
    for (const filter of filters) device.pushErrorScope(filter);
    const popped: Promise<GPUError | null>[] = [];
    const pop = () => {
      for (const _ of filters) popped.push(device.popErrorScope());
    };
    let result: T;
    try {
      result = body();
    } catch (error) {
      pop();
      for (const each of popped) each.catch(() => {});
      throw error;
    }
    pop();
    const errors = Promise.all(popped).then((all) => {
      const error = all.find((each) => each !== null);
      if (error) throw new Error(messageOf(error));
    });
    errors.catch(() => {});
    return { result, errors };
  }
}

function sizeOfAll(buffers: readonly GPUBuffer[]): number {
  return buffers.reduce((bytes, { size }) => bytes + size, 0);
}
