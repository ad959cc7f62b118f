import { GpuTimer } from "../../bench/measuring/gpuTimer.js";
import { readBuffers } from "../../workloads/buffers.js";
import type { CapturedDispatch } from "./captured.js";
import { RunnableDispatch } from "./runnableDispatch.js";

/** The times of a dispatch in milliseconds. */
export interface DispatchTimes {
  /** The time on the GPU. */
  readonly gpu: number;
  /** The time from the first command to a mapped result. */
  readonly waiting: number;
  /** The host's part of it, to the end of the last submission. */
  readonly host: number;
}

/** The work of a timed run. */
export interface RunSize {
  /** The dispatches of a submission. */
  readonly dispatches: number;
  /** The submissions before a result is mapped. */
  readonly submissions: number;
}

/** A captured dispatch on a device, with numbers in its storage buffers. */
export class TimedDispatch {
  readonly #device: GPUDevice;
  readonly #size: RunSize;
  readonly #runnable: RunnableDispatch;
  readonly #timer: GpuTimer;
  readonly #word: GPUBuffer;

  constructor(device: GPUDevice, dispatch: CapturedDispatch, size: RunSize) {
    this.#device = device;
    this.#size = size;
    this.#runnable = new RunnableDispatch(device, dispatch);
    this.#runnable.fillAll();
    this.#timer = new GpuTimer(device);
    const { MAP_READ, COPY_DST } = GPUBufferUsage;
    this.#word = device.createBuffer({ size: 4, usage: MAP_READ | COPY_DST });
  }

  /** Runs the dispatches twice: for the times of the host, and for that of the GPU. */
  async time(): Promise<DispatchTimes> {
    const { dispatches, submissions } = this.#size;
    const count = dispatches * submissions;
    const start = performance.now();
    for (let i = 0; i < submissions; i++) {
      const encoder = this.#device.createCommandEncoder();
      this.#encode(encoder);
      encoder.copyBufferToBuffer(this.#runnable.output, 0, this.#word, 0, 4);
      this.#device.queue.submit([encoder.finish()]);
    }
    const submitted = performance.now();
    await this.#word.mapAsync(GPUMapMode.READ);
    this.#word.unmap();
    const end = performance.now();
    const gpu = await this.#timer.time((encoder) => this.#encode(encoder));
    return { gpu: gpu / dispatches, waiting: (end - start) / count, host: (submitted - start) / count };
  }

  /** Returns the words of the results. */
  async results(): Promise<Uint32Array> {
    return new Uint32Array(await readBuffers(this.#device, this.#runnable.output));
  }

  #encode(encoder: GPUCommandEncoder): void {
    const pass = encoder.beginComputePass();
    for (let i = 0; i < this.#size.dispatches; i++) this.#runnable.encode(pass);
    pass.end();
  }
}
