import { type ReportLayout, reportWords } from "../../compiler/contract.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import type { BufferRange } from "../webgpu/resources.ts";

/** One kernel's report buffer: a range of a page. */
export interface ReportSlot {
  readonly page: Page;
  readonly offset: number;
  readonly bytes: number;
  /** As in `ReportLayout`. */
  readonly cells: number;
  readonly counts?: number | undefined;
}

interface Page {
  readonly buffer: GPUBuffer;
  used: number;
  /**
   * Bytes that are read back: all in use, or the head of one report that goes on with what only
   * kernels read.
   */
  readBack: number;
  /** Buffers for reading the page back, waiting to be used again. */
  readonly idleStaging: GPUBuffer[];
}

/** The reports as the device had them at one moment, each up to the last of its cells. */
export type ReportSnapshot = (slot: ReportSlot) => Uint32Array;

const PAGE_BYTES = 64 * 1024;
/** Every device accepts storage buffer offsets of this alignment. */
const SLOT_ALIGNMENT = 256;
/**
 * The counters of what was found, which follow each other: disagreements, and granules that do not
 * fit their check words.
 */
const FINDINGS_BYTES = 4 * (reportWords.suspect + 1 - reportWords.detections);

/**
 * The report buffers of all protected kernels of a device, packed so that one small copy reads
 * many.
 */
export class ReportArena {
  readonly #device: GPUDevice;
  readonly #pages: Page[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Reserves a zeroed report buffer. */
  allocate({ bytes, cells, counts }: Pick<ReportLayout, "bytes" | "cells" | "counts">): ReportSlot {
    const rounded = Math.ceil(bytes / SLOT_ALIGNMENT) * SLOT_ALIGNMENT;
    const isLarge = rounded > PAGE_BYTES;
    let page = this.#pages.findLast(({ buffer, used }) => used + rounded <= buffer.size);
    page ??= this.#addPage(Math.max(PAGE_BYTES, rounded));
    const slot = { page, offset: page.used, bytes, cells, counts };
    page.used += rounded;
    page.readBack = isLarge ? headBytes(slot) : page.used;
    return slot;
  }

  /** Writes words into a report, in queue order. */
  write({ page, offset }: ReportSlot, firstWord: number, words: Iterable<number>): void {
    const data = Uint32Array.from(words);
    this.#device.queue.writeBuffer(page.buffer, offset + 4 * firstWord, data);
  }

  /** Copies words of a report into another, in queue order. */
  copy(from: ReportSlot, to: ReportSlot, { first, count }: { first: number; count: number }): void {
    const encoder = this.#device.createCommandEncoder({ label: "belay: copy a report" });
    const [source, target] = [from.offset + 4 * first, to.offset + 4 * first];
    // A buffer takes no copy of itself on all devices.
    const between = this.#device.createBuffer({
      label: "belay: a part of a report",
      size: 4 * count,
      usage: flags.bufferCopySrc | flags.bufferCopyDst,
    });
    encoder.copyBufferToBuffer(from.page.buffer, source, between, 0, 4 * count);
    encoder.copyBufferToBuffer(between, 0, to.page.buffer, target, 4 * count);
    this.#device.queue.submit([encoder.finish()]);
    between.destroy();
  }

  /** Reads words of a report, behind all work submitted so far. */
  async read({ page, offset }: ReportSlot, firstWord: number, words: number): Promise<Uint32Array> {
    const usage = flags.bufferMapRead | flags.bufferCopyDst;
    const staging = this.#device.createBuffer({ label: "belay: counts read back", size: 4 * words, usage });
    const encoder = this.#device.createCommandEncoder({ label: "belay: read counts" });
    encoder.copyBufferToBuffer(page.buffer, offset + 4 * firstWord, staging, 0, 4 * words);
    this.#device.queue.submit([encoder.finish()]);
    await staging.mapAsync(flags.mapRead);
    const read = new Uint32Array(staging.getMappedRange().slice());
    staging.destroy();
    return read;
  }

  /**
   * Starts afresh what replicas tell each other through a report, where a fault has left them in
   * the middle.
   */
  forgetExchange(slot: ReportSlot): void {
    const { page, offset, bytes, counts = bytes } = slot;
    const head = headBytes(slot);
    if (head >= counts) return;
    const encoder = this.#device.createCommandEncoder({ label: "belay: start reports afresh" });
    encoder.clearBuffer(page.buffer, offset + head, counts - head);
    this.#device.queue.submit([encoder.finish()]);
  }

  /**
   * Copies the reports behind all work submitted so far, and starts them afresh in the same
   * submission, so that each detection is read exactly once. Rejects when the device is lost.
   */
  async takeSnapshot(slots: Iterable<ReportSlot>): Promise<ReportSnapshot> {
    const encoder = this.#device.createCommandEncoder({ label: "belay: read reports" });
    const stagings = new Map<Page, GPUBuffer>();
    for (const { page, offset, cells } of slots) {
      if (!stagings.has(page)) {
        const staging = page.idleStaging.pop() ?? this.#createStaging(page);
        encoder.copyBufferToBuffer(page.buffer, 0, staging, 0, page.readBack);
        stagings.set(page, staging);
      }
      encoder.clearBuffer(page.buffer, offset + 4 * reportWords.detections, FINDINGS_BYTES);
      if (cells > 0) encoder.clearBuffer(page.buffer, offset + 4 * reportWords.total, 4 * cells);
    }
    this.#device.queue.submit([encoder.finish()]);
    const words = new Map<Page, Uint32Array>();
    const readings = [...stagings].map(async ([page, staging]) => {
      const bytes = page.readBack;
      await staging.mapAsync(flags.mapRead, 0, bytes);
      words.set(page, new Uint32Array(staging.getMappedRange(0, bytes)).slice());
      staging.unmap();
      page.idleStaging.push(staging);
    });
    await Promise.all(readings);
    return (slot) => words.get(slot.page)!.subarray(slot.offset / 4, (slot.offset + headBytes(slot)) / 4);
  }

  #addPage(size: number): Page {
    const usage = flags.bufferStorage | flags.bufferCopySrc | flags.bufferCopyDst;
    const buffer = this.#device.createBuffer({ label: "belay: reports", size, usage });
    const page: Page = { buffer, used: 0, readBack: 0, idleStaging: [] };
    this.#pages.push(page);
    return page;
  }

  #createStaging({ buffer, readBack }: Page): GPUBuffer {
    const size = buffer.size > PAGE_BYTES ? readBack : buffer.size;
    const usage = flags.bufferMapRead | flags.bufferCopyDst;
    return this.#device.createBuffer({ label: "belay: reports read back", size, usage });
  }
}

/** A report as it is bound. */
export function rangeOf({ page, offset, bytes }: ReportSlot): BufferRange {
  return { buffer: page.buffer, offset, size: bytes };
}

/** Bytes of a report up to the last of its cells. */
function headBytes({ bytes, cells }: Pick<ReportSlot, "bytes" | "cells">): number {
  return Math.min(bytes, 4 * (reportWords.total + cells));
}
