/** Runs a captured dispatch by itself, alone and with the check of its results. */
import {
  findSumsOfProducts,
  type Operand,
  SumsCheck,
  type SumsOfProducts,
  type SumsVerdict,
} from "belay-gpu/algebra";
import { GpuTimer } from "../../bench/measuring/gpuTimer.js";
import type { CapturedDispatch } from "./captured.js";

/** Returns what a dispatch is found to store. */
export function sumsIn({ source, entryPoint, constants, grid, bindings }: CapturedDispatch) {
  const at = (of: { readonly group: number; readonly binding: number }) =>
    bindings.find(({ group, binding }) => group === of.group && binding === of.binding);
  return findSumsOfProducts(
    { source, ...(entryPoint !== undefined && { entryPoint }), constants },
    {
      grid,
      sizeOf: (of) => at(of)?.size,
      wordAt: (of, offset) => {
        const uniform = at(of)?.uniform;
        return uniform && new DataView(uniform.buffer, uniform.byteOffset).getUint32(offset, true);
      },
    },
  );
}

/** The GPU's own times of a dispatch, in milliseconds. */
export interface ProductTimes {
  readonly alone: number;
  readonly checked: number;
}

/** A dispatch with buffers of its own. */
export class RunnableProduct {
  readonly #device: GPUDevice;
  readonly #dispatch: CapturedDispatch;
  readonly #sums: SumsOfProducts;
  readonly #pipeline: GPUComputePipeline;
  readonly #groups: readonly GPUBindGroup[];
  readonly #buffers = new Map<string, GPUBuffer>();
  readonly #check: SumsCheck;

  constructor(device: GPUDevice, dispatch: CapturedDispatch, sums: SumsOfProducts) {
    this.#device = device;
    this.#dispatch = dispatch;
    this.#sums = sums;
    const { source, entryPoint, constants, bindings } = dispatch;
    const module = device.createShaderModule({ code: source });
    const compute = { module, ...(entryPoint !== undefined && { entryPoint }), constants };
    this.#pipeline = device.createComputePipeline({ layout: "auto", compute });
    const { STORAGE, UNIFORM, COPY_DST, COPY_SRC } = GPUBufferUsage;
    for (const { group, binding, size, uniform } of bindings) {
      const usage = uniform ? UNIFORM : STORAGE;
      const buffer = device.createBuffer({ size, usage: usage | COPY_DST | COPY_SRC });
      if (uniform) device.queue.writeBuffer(buffer, 0, uniform);
      this.#buffers.set(`${group} ${binding}`, buffer);
    }
    this.fill(() => Math.random() * 2 - 1);
    const count = Math.max(...bindings.map(({ group }) => group)) + 1;
    this.#groups = Array.from({ length: count }, (_, group) =>
      device.createBindGroup({
        layout: this.#pipeline.getBindGroupLayout(group),
        entries: bindings
          .filter((each) => each.group === group)
          .map(({ binding }) => ({
            binding,
            resource: { buffer: this.#buffers.get(`${group} ${binding}`)! },
          })),
      }),
    );
    this.#check = new SumsCheck(device, sums, this.output.size);
  }

  get output(): GPUBuffer {
    return this.#bufferOf(this.#sums.output);
  }

  /** The multiplications of the check, as a fraction of those of the dispatch. */
  get work(): number {
    return this.#check.work;
  }

  /** Fills the operands with numbers. Repeats a pattern where they are long. */
  fill(next: (operand: number) => number): void {
    const { left, right, added } = this.#sums;
    for (const [i, each] of [left, right, added].entries()) {
      if (each?.format !== "f32") continue;
      const buffer = this.#bufferOf(each);
      const piece = Float32Array.from({ length: Math.min(65_521, buffer.size / 4) }, () => next(i));
      for (let at = 0; at < buffer.size; at += piece.byteLength)
        this.#device.queue.writeBuffer(buffer, at, piece, 0, Math.min(piece.length, (buffer.size - at) / 4));
    }
  }

  /** Runs the dispatch with its check, and returns the verdict. */
  async verdict(): Promise<SumsVerdict> {
    const encoder = this.#device.createCommandEncoder();
    this.#encode(encoder, true, 1);
    this.#device.queue.submit([encoder.finish()]);
    return this.#check.verdict();
  }

  /** Returns the least times of a dispatch within some seconds. */
  async times(seconds: number): Promise<ProductTimes> {
    const timer = new GpuTimer(this.#device);
    const least = { alone: Number.POSITIVE_INFINITY, checked: Number.POSITIVE_INFINITY };
    const end = performance.now() + 1000 * seconds;
    // Clocks of an idle GPU are low, so that it needs work before the first time counts.
    for (let round = 0; round < 3 || performance.now() < end; round++) {
      for (const kind of ["alone", "checked"] as const) {
        const repeats = 8;
        const time = await timer.time((encoder) => this.#encode(encoder, kind === "checked", repeats));
        if (round > 0) least[kind] = Math.min(least[kind], time / repeats);
      }
    }
    await this.#check.verdict();
    return least;
  }

  destroy(): void {
    for (const buffer of this.#buffers.values()) buffer.destroy();
    this.#check.destroy();
  }

  #encode(encoder: GPUCommandEncoder, isChecked: boolean, repeats: number): void {
    const { left, right, output, added } = this.#sums;
    const at = (operand: Operand) => ({ buffer: this.#bufferOf(operand) });
    const buffers = {
      left: at(left),
      right: at(right),
      output: at(output),
      ...(added && { added: at(added) }),
    };
    const pass = encoder.beginComputePass();
    for (let i = 0; i < repeats; i++) {
      if (isChecked) this.#check.before(pass, buffers);
      pass.setPipeline(this.#pipeline);
      for (const [group, each] of this.#groups.entries()) pass.setBindGroup(group, each);
      pass.dispatchWorkgroups(...this.#dispatch.grid);
      if (isChecked) this.#check.after(pass, buffers);
    }
    pass.end();
  }

  #bufferOf({ of: { group, binding } }: Operand): GPUBuffer {
    return this.#buffers.get(`${group} ${binding}`)!;
  }
}
