import type { Refusal } from "../context/recovery.ts";
import type { CommandRecord } from "../recording/commandRecord.ts";
import type { Effect } from "../recording/dispatchUse.ts";
import { type GpuResource, isTexture, type ResourceRange, resourceOf } from "../webgpu/resources.ts";
import type { Blame } from "./checkResult.ts";
import { type Epoch, type QueueEvent, writtenBy } from "./epoch.ts";

/**
 * A byte range of a buffer that a fault may have reached. A whole texture is a range of one byte.
 */
interface Taint {
  readonly offset: number;
  readonly end: number;
  readonly refusal: Refusal;
}

/**
 * The contents that a fault may have reached, with the faults. Ranges that are replaced are trusted
 * again.
 */
export class Taints {
  /** The tainted ranges, which do not overlap. */
  readonly #tainted = new WeakMap<GpuResource, readonly Taint[]>();
  #isUsed = false;

  /** True once there has been a taint. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  of(place: ResourceRange): Refusal | undefined {
    return this.#isUsed ? firstIn(this.#tainted.get(resourceOf(place)) ?? [], place) : undefined;
  }

  /** Returns whether each byte of a range is tainted. */
  coverAll(place: ResourceRange): boolean {
    const { offset, end } = extentOf(place);
    const tainted = [...(this.#tainted.get(resourceOf(place)) ?? [])].sort((a, b) => a.offset - b.offset);
    const reached = tainted.reduce((at, each) => (each.offset <= at ? Math.max(at, each.end) : at), offset);
    return reached >= end;
  }

  add(place: ResourceRange, refusal: Refusal): void {
    const { offset, end } = extentOf(place);
    if (!(offset < end)) return;
    const others = this.#without(place);
    // Adjacent ranges with the same fault are joined.
    const isNext = (each: Taint) => each.refusal === refusal && (each.end === offset || each.offset === end);
    const next = others.filter(isNext);
    const first = Math.min(offset, ...next.map((each) => each.offset));
    const last = Math.max(end, ...next.map((each) => each.end));
    const rest = others.filter((each) => !isNext(each));
    this.#tainted.set(resourceOf(place), [...rest, { offset: first, end: last, refusal }]);
    this.#isUsed = true;
  }

  /** Taints all resources that these epochs wrote. */
  addWritten(epochs: readonly Epoch[], refusal: Refusal): void {
    for (const event of epochs.flatMap(({ events }) => events)) {
      for (const resource of writtenBy(event)) this.add(resource, refusal);
    }
  }

  /**
   * Taints the results of faulty kernels, and all that an epoch computes or copies from tainted
   * contents. Removes the taint of replaced ranges. Rejected events do neither, unless a protected
   * kernel may be the cause.
   */
  propagate({ unchecked, events, rejected }: Epoch, blame: Blame): void {
    if (!this.#isUsed && blame.kernels.size === 0 && blame.damage.length === 0) return;
    for (const event of [...unchecked, ...events]) {
      if (!rejected.has(event)) this.#followEvent(event, blame);
      else if ("record" in event) this.#followLost(event.record, blame);
    }
  }

  /**
   * Taints the resources that the program's commands would have written if the device had not
   * rejected a protected kernel or its buffers.
   */
  #followLost(record: CommandRecord, { kernels }: Blame): void {
    const lost = firstOf(record.kernels, (kernel) => kernel.rejection !== undefined && kernels.get(kernel));
    if (lost) for (const resource of record.written) this.add(resource, lost);
  }

  #followEvent(event: QueueEvent, blame: Blame): void {
    if ("record" in event) for (const effect of event.record.effects) this.#followEffect(effect, blame);
    else if (event.replaced) this.#remove(event.replaced);
  }

  #followEffect({ kernel, read, written, replaced }: Effect, { kernels, damage }: Blame): void {
    const source =
      (kernel && kernels.get(kernel)) ??
      firstOf(read, (place) => this.of(place) ?? damage.find((each) => overlap(each.place, place))?.refusal);
    if (source) for (const place of written) this.add(place, source);
    else for (const place of replaced) this.#remove(place);
  }

  #remove(place: ResourceRange): void {
    const resource = resourceOf(place);
    if (!this.#tainted.has(resource)) return;
    const rest = this.#without(place);
    if (rest.length > 0) this.#tainted.set(resource, rest);
    else this.#tainted.delete(resource);
  }

  /** Returns the taints of a resource outside of a range. */
  #without(place: ResourceRange): Taint[] {
    const { offset, end } = extentOf(place);
    const tainted = this.#tainted.get(resourceOf(place)) ?? [];
    return tainted.flatMap((each) => [
      ...(each.offset < offset ? [{ ...each, end: Math.min(each.end, offset) }] : []),
      ...(each.end > end ? [{ ...each, offset: Math.max(each.offset, end) }] : []),
    ]);
  }
}

/**
 * Returns the bytes of a range that the program can see. Granules may reach past the end of their
 * buffer.
 */
function extentOf(place: ResourceRange): { readonly offset: number; readonly end: number } {
  if ("buffer" in place)
    return { offset: place.offset, end: Math.min(place.offset + place.size, place.buffer.size) };
  return { offset: 0, end: isTexture(place) ? 1 : place.size };
}

function firstIn(tainted: readonly Taint[], place: ResourceRange): Refusal | undefined {
  const { offset, end } = extentOf(place);
  return tainted.find((each) => each.offset < end && offset < each.end)?.refusal;
}

function overlap(a: ResourceRange, b: ResourceRange): boolean {
  if (resourceOf(a) !== resourceOf(b)) return false;
  const [first, second] = [extentOf(a), extentOf(b)];
  return first.offset < second.end && second.offset < first.end;
}

function firstOf<T, R>(items: Iterable<T>, find: (item: T) => R | undefined | false): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found) return found;
  }
  return undefined;
}
