import { moving } from "../policy/tuning.ts";
import { DeviceFailure } from "./deviceFailure.ts";

const { chunk, uploadChunks, smallUpload } = moving;

/**
 * Moves data to a device through staging memory that stays mapped: getting fresh memory takes
 * longer than filling it.
 */
export class Uploads {
  readonly #device: GPUDevice;
  /** Mapped, and ready to be filled. */
  #ready: GPUBuffer[] = [];
  /** Who waits for one to be ready. */
  readonly #waiting: ((staging: GPUBuffer | null) => void)[] = [];
  #chunks = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /**
   * Writes bytes into a buffer from a multiple of four on; up to three bytes more are set to zero,
   * to fill a word. Resolves when what is submitted from then on finds them there, or their memory
   * has been given away; rejects with a `DeviceFailure`.
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

  /** A staging buffer; null when the device is lost. */
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

  /** Lets the next one have a staging buffer that is ready, or know that there is none. */
  #giveBack(staging: GPUBuffer | null): void {
    const next = this.#waiting.shift();
    if (next) next(staging);
    else if (staging) this.#ready.push(staging);
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

/**
 * Returns part of an array; null when its memory has been given away. Asks by taking the part:
 * optimized code of V8 was seen to tell the old length of an array just after.
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
