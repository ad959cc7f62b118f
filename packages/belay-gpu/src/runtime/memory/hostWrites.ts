import type { HostCode } from "../../codes/scheme.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import type { CheckWordEncoder } from "./checkWordEncoder.ts";
import { type ProtectedBuffer, paddingBehind, splitWrite } from "./granules.ts";
import { canReplace, type GuardedTransfers } from "./guardedTransfers.ts";
import { checkWordsOf, encodeBytes } from "./hostCodes.ts";
import type { EncoderSite } from "./memoryCommands.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

interface HostWriteParts {
  readonly queue: GPUQueue;
  readonly scheme: HostCode;
  readonly buffers: ProtectedBuffers;
  readonly words: CheckWordEncoder;
  readonly transfers: GuardedTransfers;
  /** Submits commands of Belay's own. */
  readonly submit: (encode: (site: EncoderSite) => void) => void;
}

/**
 * Check words that are written at once: few enough for the processor's cache to keep them until the
 * queue has taken them.
 */
const mostAtOnce = 2 ** 18;

/**
 * Writes of the host's through the queue: their check words are made of the bytes that the program
 * gives.
 */
export class HostWrites {
  readonly #parts: HostWriteParts;
  #checks: Uint32Array<ArrayBuffer> = new Uint32Array();

  constructor(parts: HostWriteParts) {
    this.#parts = parts;
  }

  /**
   * Writes to a part of a buffer; undefined when it has no check words, or the device is going to
   * refuse the write.
   */
  into(range: BufferRange): ((bytes: Uint8Array<ArrayBuffer>) => void) | undefined {
    const isGuarded = canReplace(range) && this.#parts.buffers.of(range.buffer) !== undefined;
    return isGuarded ? (bytes) => this.#write(range, bytes) : undefined;
  }

  /**
   * Writes bytes and check words. Granules that keep some of their bytes are verified before, and
   * stay damaged if they are.
   */
  #write(range: BufferRange, bytes: Uint8Array<ArrayBuffer>): void {
    const { queue, buffers, words, transfers, submit } = this.#parts;
    const granules = buffers.granulesIn(range)!;
    const { owner } = granules;
    const { body, edges } = splitWrite(owner, range);
    const beginParts = (site: EncoderSite) => {
      for (const edge of edges) words.beginParts(site, edge);
    };
    if (edges.length > 0) submit(beginParts);
    queue.writeBuffer(owner.contents, range.offset, bytes);
    if (body.count > 0) {
      const start = body.first * owner.granuleBytes - range.offset;
      const granulesBytes = bytes.subarray(start, start + body.count * owner.granuleBytes);
      this.#writeChecks(owner.first + body.first, granulesBytes);
    }
    if (edges.length === 0 && !owner.mapped && !paddingBehind(body)) return;
    submit((site) => {
      words.clearPadding(site, body);
      for (const edge of edges) words.endParts(site, edge);
      if (owner.mapped) transfers.flush(site, granules);
    });
  }

  /** Writes the check words of bytes from one of the arena on. */
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
   * Writes what a buffer was mapped with when it was made; `bytes` stay where they are in one that
   * has no mirror.
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
