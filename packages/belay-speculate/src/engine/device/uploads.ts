import { moving } from "../policy/tuning.ts";
import { DeviceFailure } from "./deviceFailure.ts";

const { chunk, uploadChunks, smallUpload } = moving;

/**
 * Uploads to a device through staging memory that stays mapped. Allocating memory takes longer than
 * filling it.
 */
export class Uploads {
  readonly #device: GPUDevice;
  /** The staging buffers that are mapped and ready to be filled. */
  #ready: GPUBuffer[] = [];
  /** The uploads that wait for a staging buffer. */
  readonly #waiting: ((staging: GPUBuffer | null) => void)[] = [];
  #chunks = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /**
   * Writes bytes into a buffer from a multiple of four on. Up to three more bytes are set to zero,
   * to fill a word. Resolves when later submissions see the bytes, or when their memory has been
   * given away. Rejects with a `DeviceFailure`.
   */
  async write(buffer: GPUBuffer, offset: number, bytes: Uint8Array): Promise<void> {
    for (let start = 0; start < bytes.length; start += chunk) {
      const size = Math.min(chunk, bytes.length - start);
      const staging = size < smallUpload ? null : await this.#take();
      const piece = pieceOf(bytes, start, size);
      if (!piece) return this.#giveBack(staging);
      if (staging) this.#writeThrough(staging, buffer, offset + start, piece);
      else this.#writeDirectly(buffer, offset + start, piece);
    }
  }

  destroy(): void {
    for (const staging of this.#ready) staging.destroy();
    this.#chunks -= this.#ready.length;
    this.#ready = [];
  }

  #writeThrough(staging: GPUBuffer, buffer: GPUBuffer, offset: number, piece: Uint8Array): void {
    const size = Math.ceil(piece.length / 4) * 4;
    const mapped = new Uint8Array(mappedRange(staging, size));
    mapped.fill(0, piece.length);
    mapped.set(piece);
    staging.unmap();
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(staging, 0, buffer, offset, size);
    this.#device.queue.submit([encoder.finish()]);
    void this.#makeReady(staging);
  }

  /** Returns a staging buffer; null if the device is lost. */
  #take(): GPUBuffer | Promise<GPUBuffer | null> {
    const ready = this.#ready.pop();
    if (ready) return ready;
    if (this.#chunks === uploadChunks) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#chunks++;
    const usage = GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC;
    return this.#device.createBuffer({ size: chunk, usage, mappedAtCreation: true });
  }

  async #makeReady(staging: GPUBuffer): Promise<void> {
    const isMapped = await staging.mapAsync(GPUMapMode.WRITE).then(
      () => true,
      () => false,
    );
    if (!isMapped) this.#chunks--;
    this.#giveBack(isMapped ? staging : null);
  }

  /** Gives a ready staging buffer to the next upload, or tells it that there is none. */
  #giveBack(staging: GPUBuffer | null): void {
    const next = this.#waiting.shift();
    if (next) next(staging);
    else if (staging) this.#ready.push(staging);
  }

  /** Writes bytes with the queue. A copy pads the last bytes if they do not fill a word. */
  #writeDirectly(buffer: GPUBuffer, offset: number, bytes: Uint8Array): void {
    const { queue } = this.#device;
    const whole = bytes.length - (bytes.length % 4);
    if (whole > 0) queue.writeBuffer(buffer, offset, bytes.buffer, bytes.byteOffset, whole);
    if (whole === bytes.length) return;
    const rest = new Uint8Array(4);
    rest.set(bytes.subarray(whole));
    queue.writeBuffer(buffer, offset + whole, rest);
  }
}

/**
 * Returns part of an array; null if its memory has been given away. It takes the part to find out,
 * because optimized code of V8 was seen to report an array's old length for a moment.
 */
function pieceOf(bytes: Uint8Array, start: number, size: number): Uint8Array | null {
  try {
    const piece = bytes.subarray(start, start + size);
    return piece.length === size ? piece : null;
  } catch {
    return null;
  }
}

function mappedRange(staging: GPUBuffer, size: number): ArrayBuffer {
  try {
    return staging.getMappedRange(0, size);
  } catch (cause) {
    throw new DeviceFailure("its memory cannot be written", { cause });
  }
}
