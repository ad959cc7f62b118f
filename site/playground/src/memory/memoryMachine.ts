/** Flips bits in a buffer on the GPU of this machine. */
import { type HardenedDevice, harden, MemoryFaultError } from "belay-gpu";
import type { Heard } from "../kernel/results.ts";
import { newDevice } from "../page/adapter.ts";
import {
  type BitFlip,
  type BufferCode,
  type BufferUse,
  type MemoryResults,
  policyOf,
} from "./memoryResults.ts";
import kernel from "./use.wgsl?raw";

const events = ["corrected", "memoryFault", "recovery", "giveUp"] as const;

/** A device with one buffer. */
interface Opened {
  readonly code: BufferCode;
  readonly device: HardenedDevice;
  readonly pipeline: GPUComputePipeline;
  readonly data: GPUBuffer;
  readonly copy: GPUBuffer;
}

/** The GPU of this machine with one buffer under a code. */
export class MemoryMachine implements MemoryResults {
  #opened: Opened | undefined;
  #heard: Heard[] = [];

  async write(code: BufferCode, words: readonly number[]): Promise<void> {
    if (this.#opened?.code !== code) await this.#open(code, 4 * words.length);
    const { device, data } = this.#opened!;
    device.queue.writeBuffer(data, 0, Uint32Array.from(words));
    await device.belay.verify().catch(() => {});
    this.#heard = [];
  }

  flip(flip: BitFlip): BitFlip {
    const { device, data } = this.#opened!;
    device.belay.flip(data, 4 * flip.word, (2 ** flip.bit) | 0);
    return flip;
  }

  async use(): Promise<BufferUse> {
    const { device, pipeline, data, copy } = this.#opened!;
    this.#heard = [];
    const staging = device.createBuffer({
      size: data.size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const entries = [data, copy].map((buffer, binding) => ({ binding, resource: { buffer } }));
    pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(copy, 0, staging, 0, data.size);
    device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(GPUMapMode.READ);
      return { words: [...new Uint32Array(staging.getMappedRange())], heard: this.#heard };
    } catch (error) {
      if (!(error instanceof MemoryFaultError)) throw error;
      return { words: null, heard: [...this.#heard, { type: "refused", message: error.message }] };
    } finally {
      staging.destroy();
    }
  }

  close(): void {
    this.#opened?.device.destroy();
    this.#opened = undefined;
  }

  async #open(code: BufferCode, size: number): Promise<void> {
    this.close();
    const device = harden(await newDevice(), policyOf(code));
    for (const type of events)
      device.belay.addEventListener(type, ({ message }) => this.#heard.push({ type, message }));
    const module = device.createShaderModule({ code: kernel });
    const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const [data, copy] = ["data", "copy"].map((label) => device.createBuffer({ label, size, usage }));
    this.#opened = { code, device, pipeline, data: data!, copy: copy! };
  }
}
