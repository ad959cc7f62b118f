import { flags } from "../webgpu/nativeObjects.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import type { CheckWordEncoder } from "./checkWordEncoder.ts";
import { bytesOf, type GranuleRange, splitWrite } from "./granules.ts";
import type { EncoderPoint } from "./memoryCommands.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** The effect on buffers of a command that moves data. */
export interface Transfer {
  readonly source?: BufferRange;
  readonly target?: BufferRange;
  /**
   * The new contents of the target: the source's bytes, or zeros. Undefined for all other contents.
   */
  readonly result?: "copy" | "zeros";
  /** True if the target keeps some of its bytes in the middle of the range. */
  readonly leavesGaps?: boolean;
}

/** The buffers to encode the command with. Each is present if the transfer has it. */
export interface StandIns {
  readonly source: GPUBuffer;
  readonly target: GPUBuffer;
}

/**
 * Keeps check words up to date when commands outside of passes move data. Check words are copied if
 * the data keeps its division into granules. Data is verified first if it is joined with other data
 * or leaves protected memory.
 */
export class GuardedTransfers {
  readonly #buffers: ProtectedBuffers;
  readonly #words: CheckWordEncoder;

  constructor(buffers: ProtectedBuffers, words: CheckWordEncoder) {
    this.#buffers = buffers;
    this.#words = words;
  }

  /** Encodes a command together with the check-word updates that it needs. */
  encode(point: EncoderPoint, transfer: Transfer, encode: (buffers: StandIns) => void): void {
    const { source, target } = transfer;
    // WebGPU validation must see a command that it rejects with the program's own buffers.
    const isAccepted = (!source || isValidSource(source)) && (!target || isValidTarget(target));
    const from = isAccepted && source ? this.#buffers.granulesIn(source) : undefined;
    const to = isAccepted && target ? this.#buffers.granulesIn(target) : undefined;
    if (from?.owner.mapped) this.#fetch(point, from);
    const finish = to ? this.#write(point, to, transfer, from) : undefined;
    if (from && !to) this.#words.ensureVerified(point, from);
    encode({
      source: (from ? from.owner.contents : source?.buffer) as GPUBuffer,
      target: (to ? to.owner.contents : target?.buffer) as GPUBuffer,
    });
    finish?.();
  }

  /**
   * Prepares a write: verifies the bytes that it keeps, and sources whose check words cannot be
   * copied. Returns a function that encodes the updates after the write.
   */
  #write(
    point: EncoderPoint,
    to: GranuleRange,
    { source, target, result, leavesGaps = false }: Transfer,
    from: GranuleRange | undefined,
  ): () => void {
    const words = this.#words;
    const { body, edges } = splitWrite(to.owner, target!);
    const shift =
      result === "copy" && from?.owner.granuleBytes === to.owner.granuleBytes
        ? shiftOf(source!, target!, to.owner.granuleBytes)
        : undefined;
    const counterpart = ({ first, count }: GranuleRange) => ({
      owner: from!.owner,
      first: first + shift!,
      count,
    });
    words.encodeRaw(point, to);
    // Data for the host is verified at its source, so that errors are corrected, and named, there.
    if (from && (shift === undefined || to.owner.mapped)) {
      words.ensureVerified(point, from);
    } else if (from) {
      words.encodeRaw(point, from);
      for (const edge of edges) words.ensureVerified(point, counterpart(edge));
    }
    const kept = leavesGaps ? [to] : edges;
    for (const granules of kept) words.beginParts(point, granules);
    return () => {
      words.wrote(point.state, to);
      if (!leavesGaps) {
        words.clearPadding(point, body);
        if (result === "zeros" && body.count > 0) point.clear(words.checksAt(point, body));
        else if (shift === undefined) words.encode(point, body);
        else words.move(point, counterpart(body), body);
      }
      for (const granules of kept) words.endParts(point, granules);
      if (to.owner.mapped) this.flush(point, to);
    };
  }

  /**
   * Copies the contents and check words of a buffer that the host has written into its mirror and
   * the arena.
   */
  #fetch(point: EncoderPoint, granules: GranuleRange): void {
    const { owner } = granules;
    const data = bytesOf(granules);
    point.copy(data, owner.contents, data.offset);
    const { buffer, offset, size } = this.#words.checksAt(point, granules);
    const checks = this.#buffers.checksOf(owner).offset + 4 * granules.first;
    point.copy({ buffer: owner.buffer, offset: checks, size }, buffer, offset);
    this.#words.wrote(point.state, granules);
  }

  /**
   * Copies the mirror and the check words into a buffer that the host is going to read. The mirror
   * must be verified.
   */
  flush(point: EncoderPoint, granules: GranuleRange): void {
    const { owner } = granules;
    const data = bytesOf(granules);
    point.copy({ ...data, buffer: owner.contents }, owner.buffer, data.offset);
    const checks = this.#buffers.checksOf(owner).offset + 4 * granules.first;
    point.copy(this.#words.checksAt(point, granules), owner.buffer, checks);
  }
}

/**
 * Returns the offset from target granules to source granules, in granules. Undefined if the copied
 * granules differ from the target's.
 */
function shiftOf(source: BufferRange, target: BufferRange, granuleBytes: number): number | undefined {
  const shift = (source.offset - target.offset) / granuleBytes;
  const end = target.offset + target.size;
  const endsAlike = end % granuleBytes === 0 || end < target.buffer.size || isAtEnd(source);
  return Number.isInteger(shift) && endsAlike ? shift : undefined;
}

function isAtEnd({ buffer, offset, size }: BufferRange): boolean {
  return offset + size === buffer.size;
}

/**
 * Returns whether a copy from the range is valid, as far as the device cannot check it. The device
 * checks only the buffers of the encoded command.
 */
function isValidSource(range: BufferRange): boolean {
  return isInside(range) && fitsMirror(range.buffer, flags.bufferMapWrite | flags.bufferCopySrc);
}

/** Returns whether a copy to the range is valid, as far as the device cannot check it. */
export function isValidTarget(range: BufferRange): boolean {
  return isInside(range) && fitsMirror(range.buffer, flags.bufferMapRead | flags.bufferCopyDst);
}

/**
 * Returns whether the usage of a buffer allows the copy. The device does not see the buffer if its
 * mirror is used.
 */
function fitsMirror({ usage }: GPUBuffer, needed: number): boolean {
  return (usage & (flags.bufferMapRead | flags.bufferMapWrite)) === 0 || usage === needed;
}

function isInside({ buffer, offset, size }: BufferRange): boolean {
  const isAligned = offset % 4 === 0 && (size % 4 === 0 || offset + size === buffer.size);
  return isAligned && offset >= 0 && size >= 0 && offset + size <= buffer.size;
}
