import type { BindingPoint } from "belay-gpu/algebra";
import type { CapturedDispatch } from "./captured.js";

/** A captured dispatch on a device, with a pipeline and buffers of its own. */
export class RunnableDispatch {
  readonly #device: GPUDevice;
  readonly #dispatch: CapturedDispatch;
  readonly #pipeline: GPUComputePipeline;
  readonly #groups: readonly GPUBindGroup[];
  readonly #buffers = new Map<string, GPUBuffer>();

  constructor(device: GPUDevice, dispatch: CapturedDispatch) {
    this.#device = device;
    this.#dispatch = dispatch;
    const { source, entryPoint, constants, bindings } = dispatch;
    const module = device.createShaderModule({ code: source });
    const compute = { module, ...(entryPoint !== undefined && { entryPoint }), constants };
    this.#pipeline = device.createComputePipeline({ layout: "auto", compute });
    const { STORAGE, UNIFORM, COPY_DST, COPY_SRC } = GPUBufferUsage;
    for (const { group, binding, size, uniform } of bindings) {
      const usage = uniform ? UNIFORM : STORAGE;
      const buffer = device.createBuffer({ size, usage: usage | COPY_DST | COPY_SRC });
      if (uniform) device.queue.writeBuffer(buffer, 0, uniform);
      this.#buffers.set(keyOf({ group, binding }), buffer);
    }
    const count = Math.max(...bindings.map(({ group }) => group)) + 1;
    this.#groups = Array.from({ length: count }, (_, group) =>
      device.createBindGroup({
        layout: this.#pipeline.getBindGroupLayout(group),
        entries: bindings
          .filter((each) => each.group === group)
          .map(({ binding }) => ({ binding, resource: { buffer: this.bufferAt({ group, binding }) } })),
      }),
    );
  }

  bufferAt(of: BindingPoint): GPUBuffer {
    return this.#buffers.get(keyOf(of))!;
  }

  /** The buffer of the first variable to which the kernel may store. */
  get output(): GPUBuffer {
    const point = /@group\((\d+)\) *@binding\((\d+)\) *var<storage, *read_write>/;
    const [, group, binding] = point.exec(this.#dispatch.source)!;
    return this.bufferAt({ group: Number(group), binding: Number(binding) });
  }

  /** Fills the storage buffers with numbers that look random, and are the same each time. */
  fillAll(): void {
    for (const { group, binding, uniform } of this.#dispatch.bindings) {
      let i = binding * 1000;
      if (!uniform) this.fill({ group, binding }, () => Math.sin(1 + i++ * 12.9898));
    }
  }

  /** Fills a buffer with numbers. Repeats a pattern where it is long. */
  fill(of: BindingPoint, next: () => number): void {
    const buffer = this.bufferAt(of);
    const piece = Float32Array.from({ length: Math.min(65_521, buffer.size / 4) }, next);
    for (let at = 0; at < buffer.size; at += piece.byteLength)
      this.#device.queue.writeBuffer(buffer, at, piece, 0, Math.min(piece.length, (buffer.size - at) / 4));
  }

  encode(pass: GPUComputePassEncoder): void {
    pass.setPipeline(this.#pipeline);
    for (const [group, each] of this.#groups.entries()) pass.setBindGroup(group, each);
    pass.dispatchWorkgroups(...this.#dispatch.grid);
  }

  destroy(): void {
    for (const buffer of this.#buffers.values()) buffer.destroy();
  }
}

const keyOf = ({ group, binding }: BindingPoint) => `${group} ${binding}`;
