/**
 * A timer of commands on the GPU's own clock, with timestamps before and after them in one
 * submission.
 */
export class GpuTimer {
  readonly #device: GPUDevice;
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #readable: GPUBuffer;

  /** Creates a timer; the device must have the feature `timestamp-query`. */
  constructor(device: GPUDevice) {
    this.#device = device;
    this.#queries = device.createQuerySet({ type: "timestamp", count: 2 });
    const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    this.#resolved = device.createBuffer({ size: 16, usage: QUERY_RESOLVE | COPY_SRC });
    this.#readable = device.createBuffer({ size: 16, usage: MAP_READ | COPY_DST });
  }

  /** Submits the commands that `encode` records and returns the milliseconds that they took. */
  async time(encode: (encoder: GPUCommandEncoder) => void): Promise<number> {
    // The commands have a command buffer of their own, as a hardened device may add commands at the
    // end of each.
    const [before, timed, after] = [0, 1, 2].map(() => this.#device.createCommandEncoder());
    this.#stamp(before!, 0);
    encode(timed!);
    this.#stamp(after!, 1);
    after!.resolveQuerySet(this.#queries, 0, 2, this.#resolved, 0);
    after!.copyBufferToBuffer(this.#resolved, 0, this.#readable, 0, 16);
    this.#device.queue.submit([before!, timed!, after!].map((encoder) => encoder.finish()));
    await this.#readable.mapAsync(GPUMapMode.READ);
    const [begin, end] = new BigUint64Array(this.#readable.getMappedRange());
    const nanoseconds = Number(end! - begin!);
    this.#readable.unmap();
    return nanoseconds / 1e6;
  }

  /** Writes a timestamp at the end of an empty pass, when all earlier commands have finished. */
  #stamp(encoder: GPUCommandEncoder, index: number): void {
    const timestampWrites = { querySet: this.#queries, endOfPassWriteIndex: index };
    encoder.beginComputePass({ timestampWrites }).end();
  }
}
