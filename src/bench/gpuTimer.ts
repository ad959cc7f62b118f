/** Times commands on the GPU's own clock, with timestamps before and after them in one command buffer. */
export class GpuTimer {
  readonly #device: GPUDevice;
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #readable: GPUBuffer;

  /** The device must have the feature `timestamp-query`. */
  constructor(device: GPUDevice) {
    this.#device = device;
    this.#queries = device.createQuerySet({ type: "timestamp", count: 2 });
    const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    this.#resolved = device.createBuffer({ size: 16, usage: QUERY_RESOLVE | COPY_SRC });
    this.#readable = device.createBuffer({ size: 16, usage: MAP_READ | COPY_DST });
  }

  /** Submits what `encode` records and returns the milliseconds it took. */
  async time(encode: (encoder: GPUCommandEncoder) => void): Promise<number> {
    const encoder = this.#device.createCommandEncoder();
    this.#stamp(encoder, 0);
    encode(encoder);
    this.#stamp(encoder, 1);
    encoder.resolveQuerySet(this.#queries, 0, 2, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#readable, 0, 16);
    this.#device.queue.submit([encoder.finish()]);
    await this.#readable.mapAsync(GPUMapMode.READ);
    const [begin, end] = new BigUint64Array(this.#readable.getMappedRange());
    const nanoseconds = Number(end! - begin!);
    this.#readable.unmap();
    return nanoseconds / 1e6;
  }

  /** The end of an empty pass: everything recorded before it has finished. */
  #stamp(encoder: GPUCommandEncoder, index: number): void {
    const timestampWrites = { querySet: this.#queries, endOfPassWriteIndex: index };
    encoder.beginComputePass({ timestampWrites }).end();
  }
}
