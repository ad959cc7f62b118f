import { flags } from "../webgpu/nativeObjects.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import type { CheckWordEncoder } from "./checkWordEncoder.ts";
import { bytesOf, type Granules, splitWrite } from "./granules.ts";
import type { EncoderSite } from "./memoryCommands.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** What a command that moves data does to buffers. */
export interface Transfer {
  readonly source?: BufferRange;
  readonly target?: BufferRange;
  /** What the target holds then: the source's bytes, zeros, or else anything. */
  readonly result?: "copy" | "zeros";
  /** Whether the target keeps some of its bytes, somewhere in between. */
  readonly leavesGaps?: boolean;
}

/** The buffers to encode the command with, where it has any. */
export interface StandIns {
  readonly source: GPUBuffer;
  readonly target: GPUBuffer;
}

/**
 * Keeps check words right where commands outside of passes move data. Check words move along where
 * data fills granules as it did before; what is joined to other data, or leaves protected memory,
 * is verified first.
 */
export class GuardedTransfers {
  readonly #buffers: ProtectedBuffers;
  readonly #words: CheckWordEncoder;

  constructor(buffers: ProtectedBuffers, words: CheckWordEncoder) {
    this.#buffers = buffers;
    this.#words = words;
  }

  /** Encodes what has to happen around a command, and has the command encoded in between. */
  around(site: EncoderSite, transfer: Transfer, encode: (buffers: StandIns) => void): void {
    const { source, target } = transfer;
    // What the device is going to refuse, it has to see as it is.
    const isAccepted = (!source || canTake(source)) && (!target || canReplace(target));
    const from = isAccepted && source ? this.#buffers.granulesIn(source) : undefined;
    const to = isAccepted && target ? this.#buffers.granulesIn(target) : undefined;
    if (from?.owner.mapped) this.#fetch(site, from);
    const finish = to ? this.#write(site, to, transfer, from) : undefined;
    if (from && !to) this.#words.ensureVerified(site, from);
    encode({
      source: (from ? from.owner.contents : source?.buffer) as GPUBuffer,
      target: (to ? to.owner.contents : target?.buffer) as GPUBuffer,
    });
    finish?.();
  }

  /**
   * Verifies what a write leaves of granules, and what it takes parts of; returns what is to be
   * done after it.
   */
  #write(
    site: EncoderSite,
    to: Granules,
    { source, target, result, leavesGaps = false }: Transfer,
    from: Granules | undefined,
  ): () => void {
    const words = this.#words;
    const { body, edges } = splitWrite(to.owner, target!);
    const shift =
      result === "copy" && from?.owner.granuleBytes === to.owner.granuleBytes
        ? shiftOf(source!, target!, to.owner.granuleBytes)
        : undefined;
    const counterpart = ({ first, count }: Granules) => ({
      owner: from!.owner,
      first: first + shift!,
      count,
    });
    words.encodeRaw(site, to);
    // What the host is going to read is verified where it comes from, so that errors are put right,
    // and named, there.
    if (from && (shift === undefined || to.owner.mapped)) {
      words.ensureVerified(site, from);
    } else if (from) {
      words.encodeRaw(site, from);
      for (const edge of edges) words.ensureVerified(site, counterpart(edge));
    }
    const kept = leavesGaps ? [to] : edges;
    for (const granules of kept) words.beginParts(site, granules);
    return () => {
      words.wrote(site.state, to);
      if (!leavesGaps) {
        words.clearPadding(site, body);
        if (result === "zeros" && body.count > 0) site.clear(words.checksAt(site, body));
        else if (shift === undefined) words.encode(site, body);
        else words.move(site, counterpart(body), body);
      }
      for (const granules of kept) words.endParts(site, granules);
      if (to.owner.mapped) this.flush(site, to);
    };
  }

  /** Brings the mirror of a buffer that the host has written up to date. */
  #fetch(site: EncoderSite, granules: Granules): void {
    const { owner } = granules;
    const data = bytesOf(granules);
    site.copy(data, owner.contents, data.offset);
    const { buffer, offset, size } = this.#words.checksAt(site, granules);
    const checks = this.#buffers.checksOf(owner).offset + 4 * granules.first;
    site.copy({ buffer: owner.buffer, offset: checks, size }, buffer, offset);
    this.#words.wrote(site.state, granules);
  }

  /** Brings a buffer that the host is going to read up to date with its mirror, which is right. */
  flush(site: EncoderSite, granules: Granules): void {
    const { owner } = granules;
    const data = bytesOf(granules);
    site.copy({ ...data, buffer: owner.contents }, owner.buffer, data.offset);
    const checks = this.#buffers.checksOf(owner).offset + 4 * granules.first;
    site.copy(this.#words.checksAt(site, granules), owner.buffer, checks);
  }
}

/** How many granules further the source of a copy is, if its granules are those of the target. */
function shiftOf(source: BufferRange, target: BufferRange, granuleBytes: number): number | undefined {
  const shift = (source.offset - target.offset) / granuleBytes;
  const end = target.offset + target.size;
  const endsAlike = end % granuleBytes === 0 || end < target.buffer.size || isAtEnd(source);
  return Number.isInteger(shift) && endsAlike ? shift : undefined;
}

function isAtEnd({ buffer, offset, size }: BufferRange): boolean {
  return offset + size === buffer.size;
}

/** Whether data can be copied from a range, as far as the device does not judge it by itself. */
function canTake(range: BufferRange): boolean {
  return isInside(range) && fitsMirror(range.buffer, flags.bufferMapWrite | flags.bufferCopySrc);
}

/** As `canTake`, for copies to it. */
export function canReplace(range: BufferRange): boolean {
  return isInside(range) && fitsMirror(range.buffer, flags.bufferMapRead | flags.bufferCopyDst);
}

/** The device does not see copies from and to buffers that have a mirror. */
function fitsMirror({ usage }: GPUBuffer, needed: number): boolean {
  return (usage & (flags.bufferMapRead | flags.bufferMapWrite)) === 0 || usage === needed;
}

function isInside({ buffer, offset, size }: BufferRange): boolean {
  const isAligned = offset % 4 === 0 && (size % 4 === 0 || offset + size === buffer.size);
  return isAligned && offset >= 0 && size >= 0 && offset + size <= buffer.size;
}
