/** A bit flip that a buffer finds when it is mapped. */
interface PendingFlip {
  readonly byteOffset: number;
  readonly mask: number;
}

/** Bit flips in the memory of buffers on the host: each strikes when its word is mapped next. */
import type { ProtectedBuffer } from "./granules.ts";
export class MappedFlips {
  readonly #pending = new WeakMap<ProtectedBuffer, PendingFlip[]>();

  add(owner: ProtectedBuffer, flip: PendingFlip): void {
    this.#pending.set(owner, [...(this.#pending.get(owner) ?? []), flip]);
  }

  /** Flips what is to be flipped in a part of a buffer, from the byte `start` on. */
  strike(owner: ProtectedBuffer, start: number, bytes: Uint8Array): void {
    const flips = this.#pending.get(owner) ?? [];
    const isMapped = ({ byteOffset }: PendingFlip) =>
      byteOffset >= start && byteOffset < start + bytes.length;
    this.#pending.set(
      owner,
      flips.filter((flip) => !isMapped(flip)),
    );
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (const { byteOffset, mask } of flips.filter(isMapped)) {
      const word = view.getUint32(byteOffset - start, true);
      view.setUint32(byteOffset - start, word ^ mask, true);
    }
  }
}
