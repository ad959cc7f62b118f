import { flags } from "./nativeObjects.ts";
import { type BufferRange, hasWholeWords } from "./resources.ts";

/** The buffers of copies that the device has accepted. */
const accepted = new WeakSet<GPUBuffer>();

/** A copy between two buffers. */
export class RecordedCopy {
  readonly #source: BufferRange;
  readonly #target: BufferRange;

  constructor(source: BufferRange, target: BufferRange) {
    this.#source = source;
    this.#target = target;
  }

  /**
   * True if the device accepts the copy unless a buffer is destroyed or mapped: it has accepted
   * both buffers before, and the ranges follow the rules.
   * Source: WebGPU, 13.5 "Copy Commands".
   */
  get isFamiliar(): boolean {
    const [source, target] = [this.#source, this.#target];
    const areKnown = accepted.has(source.buffer) && accepted.has(target.buffer);
    return (
      areKnown &&
      source.buffer !== target.buffer &&
      (source.buffer.usage & flags.bufferCopySrc) !== 0 &&
      (target.buffer.usage & flags.bufferCopyDst) !== 0 &&
      hasWholeWords(source) &&
      hasWholeWords(target)
    );
  }

  /** Records that the device accepted the copy. */
  accept(): void {
    accepted.add(this.#source.buffer);
    accepted.add(this.#target.buffer);
  }

  /** Encodes the copy in another encoder. */
  encodeAgain(encoder: GPUCommandEncoder): void {
    const { buffer, offset, size } = this.#source;
    encoder.copyBufferToBuffer(buffer, offset, this.#target.buffer, this.#target.offset, size);
  }
}
