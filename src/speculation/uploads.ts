/** Bytes of a staging buffer. */
const chunk = 2 ** 23;
/** Staging buffers that exist at once at most; what is more goes the slower way. */
const mostChunks = 32;
/** Below this, the queue's own way is as good. */
const small = 2 ** 16;

/** Moves data to a device through staging memory that stays mapped: getting fresh memory takes longer than filling it. */
export class Uploads {
  readonly #device: GPUDevice;
  /** Mapped, and ready to be filled. */
  #ready: GPUBuffer[] = [];
  #chunks = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Writes bytes into a buffer from a multiple of four on; up to three bytes more are set to zero, to fill a word. */
  write(buffer: GPUBuffer, offset: number, bytes: Uint8Array): void {
    const encoder = this.#device.createCommandEncoder();
    const used: GPUBuffer[] = [];
    for (let start = 0; start < bytes.length; start += chunk) {
      const piece = bytes.subarray(start, start + chunk);
      const staging = piece.length < small ? undefined : this.#take();
      if (staging) {
        const size = Math.ceil(piece.length / 4) * 4;
        const mapped = new Uint8Array(staging.getMappedRange(0, size));
        mapped.fill(0, piece.length);
        mapped.set(piece);
        staging.unmap();
        encoder.copyBufferToBuffer(staging, 0, buffer, offset + start, size);
        used.push(staging);
      } else {
        this.#writeDirectly(buffer, offset + start, piece);
      }
    }
    if (used.length === 0) return;
    this.#device.queue.submit([encoder.finish()]);
    for (const staging of used) void this.#makeReady(staging);
  }

  destroy(): void {
    for (const staging of this.#ready) staging.destroy();
    this.#chunks -= this.#ready.length;
    this.#ready = [];
  }

  #take(): GPUBuffer | undefined {
    const ready = this.#ready.pop();
    if (ready || this.#chunks === mostChunks) return ready;
    this.#chunks++;
    const usage = GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC;
    return this.#device.createBuffer({ size: chunk, usage, mappedAtCreation: true });
  }

  async #makeReady(staging: GPUBuffer): Promise<void> {
    try {
      await staging.mapAsync(GPUMapMode.WRITE);
      this.#ready.push(staging);
    } catch {
      // The device is lost.
      this.#chunks--;
    }
  }

  /** The last bytes go through a copy when they do not fill a word. */
  #writeDirectly(buffer: GPUBuffer, offset: number, bytes: Uint8Array): void {
    const { queue } = this.#device;
    const whole = bytes.length & ~3;
    if (whole > 0) queue.writeBuffer(buffer, offset, bytes.buffer, bytes.byteOffset, whole);
    if (whole === bytes.length) return;
    const rest = new Uint8Array(4);
    rest.set(bytes.subarray(whole));
    queue.writeBuffer(buffer, offset + whole, rest);
  }
}
