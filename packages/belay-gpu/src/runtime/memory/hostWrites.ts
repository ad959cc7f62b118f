import type { HostCode } from "../../ecc/scheme.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import type { CheckWordEncoder } from "./checkWordEncoder.ts";
import { type ProtectedBuffer, paddingAfter, splitWrite } from "./granules.ts";
import { type GuardedTransfers, isValidTarget } from "./guardedTransfers.ts";
import { checkWordsOf, encodeBytes } from "./hostCodes.ts";
import type { EncoderPoint } from "./memoryCommands.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

interface HostWriteParts {
  readonly queue: GPUQueue;
  readonly scheme: HostCode;
  readonly buffers: ProtectedBuffers;
  readonly words: CheckWordEncoder;
  readonly transfers: GuardedTransfers;
  /** Submits commands of Belay's own. */
  readonly submit: (encode: (point: EncoderPoint) => void) => void;
}

/**
 * The most check words of one write: few enough to stay in the processor's cache until the queue
 * takes them.
 */
const mostAtOnce = 2 ** 18;

/**
 * Writes of the host through the queue. Their check words are computed on the CPU, from the bytes
 * that the program passes.
 */
export class HostWrites {
  readonly #parts: HostWriteParts;
  #checks: Uint32Array<ArrayBuffer> = new Uint32Array();

  constructor(parts: HostWriteParts) {
    this.#parts = parts;
  }

  /**
   * Returns a function that writes bytes to a range. Undefined if the buffer has no check words, or
   * if the write is invalid and the device will reject it.
   */
  writerFor(range: BufferRange): ((bytes: Uint8Array<ArrayBuffer>) => void) | undefined {
    const isGuarded = isValidTarget(range) && this.#parts.buffers.of(range.buffer) !== undefined;
    return isGuarded ? (bytes) => this.#write(range, bytes) : undefined;
  }

  /**
   * Writes bytes and their check words, and clears the padding after them. Granules that keep some
   * of their bytes are verified first, and damaged ones stay damaged.
   */
  #write(range: BufferRange, bytes: Uint8Array<ArrayBuffer>): void {
    const { queue, buffers, words, transfers, submit } = this.#parts;
    const granules = buffers.granulesIn(range)!;
    const { owner } = granules;
    const { body, edges } = splitWrite(owner, range);
    const beginParts = (point: EncoderPoint) => {
      for (const edge of edges) words.beginParts(point, edge);
    };
    if (edges.length > 0) submit(beginParts);
    const padding = paddingAfter(body);
    const written = padding ? paddedTo(bytes.length + padding.range.size, bytes) : bytes;
    queue.writeBuffer(owner.contents, range.offset, written);
    if (body.count > 0) {
      const start = body.first * owner.granuleBytes - range.offset;
      const end = padding ? written.length : start + body.count * owner.granuleBytes;
      this.#writeChecks(owner.first + body.first, written.subarray(start, end));
    }
    if (edges.length === 0 && !owner.mapped) return;
    submit((point) => {
      for (const edge of edges) words.endParts(point, edge);
      if (owner.mapped) transfers.flush(point, granules);
    });
  }

  /** Writes the check words of bytes to the arena, starting at the word `first`. */
  #writeChecks(first: number, bytes: Uint8Array<ArrayBuffer>): void {
    const { queue, scheme, buffers } = this.#parts;
    const most = mostAtOnce * scheme.granuleBytes;
    for (let at = 0; at < bytes.length; at += most) {
      const piece = bytes.subarray(at, at + most);
      const count = checkWordsOf(scheme, piece);
      if (this.#checks.length < count) this.#checks = new Uint32Array(count);
      const checks = encodeBytes(scheme, piece, this.#checks.subarray(0, count));
      queue.writeBuffer(buffers.arena.buffer, 4 * (first + at / scheme.granuleBytes), checks);
    }
  }

  /**
   * Writes the initial contents and check words of a buffer that was mapped at creation. The
   * contents need no write if the buffer has no mirror.
   */
  initialize(
    { buffer, contents, first }: ProtectedBuffer,
    bytes: Uint8Array<ArrayBuffer>,
    checks: Uint32Array<ArrayBuffer>,
  ): void {
    const { queue, buffers } = this.#parts;
    if (contents !== buffer) queue.writeBuffer(contents, 0, bytes);
    queue.writeBuffer(buffers.arena.buffer, 4 * first, checks);
  }
}

/** Returns the bytes with zeros after them. */
function paddedTo(length: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(length);
  padded.set(bytes);
  return padded;
}
