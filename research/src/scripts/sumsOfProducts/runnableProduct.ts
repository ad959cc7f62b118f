/** Runs a captured dispatch by itself, alone and with the check of its results. */
import {
  type CheckedBuffers,
  findSumsOfProducts,
  type Operand,
  SumsCheck,
  type SumsOfProducts,
  type SumsVerdict,
} from "belay-gpu/algebra";
import { drawSize } from "belay-gpu/internal/algebra/checkKernels";
import { newWork, SumsPipelines } from "belay-gpu/internal/algebra/sumsPipelines";
import { GpuTimer } from "../../bench/measuring/gpuTimer.js";
import type { CapturedDispatch } from "./captured.js";
import { RunnableDispatch } from "./runnableDispatch.js";

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

/** The GPU's own times of a dispatch, and of the kernels of its check alone, in milliseconds. */
export interface ProductTimes {
  readonly alone: number;
  readonly checked: number;
  readonly combine: number;
  readonly compare: number;
}

/** A dispatch with buffers of its own, and the check of its results. */
export class RunnableProduct {
  readonly #device: GPUDevice;
  readonly #sums: SumsOfProducts;
  readonly #run: RunnableDispatch;
  readonly #check: SumsCheck;

  constructor(device: GPUDevice, dispatch: CapturedDispatch, sums: SumsOfProducts) {
    this.#device = device;
    this.#sums = sums;
    this.#run = new RunnableDispatch(device, dispatch);
    this.fill(() => Math.random() * 2 - 1);
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
    for (const [i, each] of [left, right, added].entries())
      if (each?.format === "f32") this.#run.fill(each.of, () => next(i));
  }

  /** Runs the dispatch so many times, each with a check of its own, and returns the verdict. */
  async verdict(runs = 1): Promise<SumsVerdict> {
    for (let i = 0; i < runs; i++) {
      const encoder = this.#device.createCommandEncoder();
      this.#encode(encoder, true, 1);
      this.#device.queue.submit([encoder.finish()]);
    }
    return this.#check.verdict();
  }

  /** Returns the least times of a dispatch within some seconds. */
  async times(seconds: number): Promise<ProductTimes> {
    const timer = new GpuTimer(this.#device);
    const kinds = ["alone", "checked", "combine", "compare"] as const;
    const least = { alone: Infinity, checked: Infinity, combine: Infinity, compare: Infinity };
    const pipelines = new SumsPipelines(this.#device, this.#sums, this.output.size);
    const usage = GPUBufferUsage.UNIFORM;
    const work = newWork(this.#device, pipelines.kernels, {
      draw: this.#device.createBuffer({ size: drawSize, usage }),
    });
    const groups = pipelines.groups(this.#buffers(), work);
    const encodeStep = (encoder: GPUCommandEncoder, name: "combine" | "compare", repeats: number) => {
      const pass = encoder.beginComputePass();
      for (const { pipeline, group, workgroups } of pipelines.stepsOf([name])) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, groups[group]);
        for (let i = 0; i < repeats; i++) pass.dispatchWorkgroups(...workgroups);
      }
      pass.end();
    };
    const end = performance.now() + 1000 * seconds;
    // Clocks of an idle GPU are low, so that it needs work before the first time counts.
    for (let round = 0; round < 3 || performance.now() < end; round++) {
      for (const kind of kinds) {
        const repeats = 8;
        const time = await timer.time((encoder) =>
          kind === "combine" || kind === "compare"
            ? encodeStep(encoder, kind, repeats)
            : this.#encode(encoder, kind === "checked", repeats),
        );
        if (round > 0) least[kind] = Math.min(least[kind], time / repeats);
      }
    }
    for (const buffer of [work.combined, work.report.buffer, work.draw]) buffer.destroy();
    await this.#check.verdict();
    return least;
  }

  destroy(): void {
    this.#run.destroy();
    this.#check.destroy();
  }

  #buffers(): CheckedBuffers {
    const { left, right, output, added, scale } = this.#sums;
    const at = (operand: Operand) => ({ buffer: this.#bufferOf(operand) });
    return {
      left: at(left),
      right: at(right),
      output: at(output),
      ...(added && { added: at(added) }),
      ...(scale && { scale: at(scale) }),
    };
  }

  #encode(encoder: GPUCommandEncoder, isChecked: boolean, repeats: number): void {
    const buffers = this.#buffers();
    const pass = encoder.beginComputePass();
    for (let i = 0; i < repeats; i++) {
      if (isChecked) this.#check.before(pass, buffers);
      this.#run.encode(pass);
      if (isChecked) this.#check.after(pass, buffers);
    }
    pass.end();
  }

  #bufferOf({ of }: Operand): GPUBuffer {
    return this.#run.bufferAt(of);
  }
}
