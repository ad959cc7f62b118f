import { type ReportLayout, reportWords } from "../../compiler/contract.ts";
import { mapToRead } from "../../diagnostics/explainAbort.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import type { BufferRange } from "../webgpu/resources.ts";

/** The report buffer of one kernel: a range of a page. */
export interface ReportSlot {
  readonly page: Page;
  readonly offset: number;
  readonly bytes: number;
  /** The same as in `ReportLayout`. */
  readonly cells: number;
  readonly ranOut?: number | undefined;
  readonly counts?: number | undefined;
}

interface Page {
  readonly buffer: GPUBuffer;
  used: number;
  /**
   * The bytes to read back: all in use, or only the head of a large report whose rest only kernels
   * read.
   */
  readBack: number;
  /** The buffers for reading the page back that wait for reuse. */
  readonly idleStaging: GPUBuffer[];
}

/** Returns the words of a report in a snapshot, up to the last of its cells. */
export type ReportSnapshot = (slot: ReportSlot) => Uint32Array;

const PAGE_BYTES = 64 * 1024;
/** An offset alignment that every device accepts for storage buffers. */
const SLOT_ALIGNMENT = 256;
/**
 * The size of the consecutive counters of findings: disagreements, and granules that do not match
 * their check words.
 */
const FINDINGS_BYTES = 4 * (reportWords.suspect + 1 - reportWords.detections);
/**
 * The size of the words before the records of a report. A snapshot has those of all reports one
 * after the other, as mapped memory is slow to read in many places.
 */
const COUNTERS_BYTES = 4 * reportWords.records;
const COUNTERS_OF_PAGE = (PAGE_BYTES / SLOT_ALIGNMENT) * COUNTERS_BYTES;

/**
 * The report buffers of all protected kernels of a device. They are packed so that one small copy
 * reads many.
 */
export class ReportArena {
  readonly #device: GPUDevice;
  readonly #pages: Page[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Reserves a zeroed report buffer. */
  allocate(layout: Pick<ReportLayout, "bytes" | "cells" | "ranOut" | "counts">): ReportSlot {
    const { bytes, cells, ranOut, counts } = layout;
    const rounded = Math.ceil(bytes / SLOT_ALIGNMENT) * SLOT_ALIGNMENT;
    const isLarge = rounded > PAGE_BYTES;
    let page = this.#pages.findLast(({ buffer, used }) => used + rounded <= buffer.size);
    page ??= this.#addPage(Math.max(PAGE_BYTES, rounded));
    const slot = { page, offset: page.used, bytes, cells, ranOut, counts };
    page.used += rounded;
    page.readBack = isLarge ? headBytes(slot) : page.used;
    return slot;
  }

  /** Writes words to a report, in queue order. */
  write({ page, offset }: ReportSlot, firstWord: number, words: Iterable<number>): void {
    const data = Uint32Array.from(words);
    this.#device.queue.writeBuffer(page.buffer, offset + 4 * firstWord, data);
  }

  /** Copies words of a report to another one, in queue order. */
  copy(from: ReportSlot, to: ReportSlot, { first, count }: { first: number; count: number }): void {
    const encoder = this.#device.createCommandEncoder({ label: "belay: copy a report" });
    const [source, target] = [from.offset + 4 * first, to.offset + 4 * first];
    // Not all devices can copy within one buffer.
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

  /** Reads words of a report, after all work submitted so far. */
  async read({ page, offset }: ReportSlot, firstWord: number, words: number): Promise<Uint32Array> {
    const usage = flags.bufferMapRead | flags.bufferCopyDst;
    const staging = this.#device.createBuffer({ label: "belay: counts read back", size: 4 * words, usage });
    const encoder = this.#device.createCommandEncoder({ label: "belay: read counts" });
    encoder.copyBufferToBuffer(page.buffer, offset + 4 * firstWord, staging, 0, 4 * words);
    this.#device.queue.submit([encoder.finish()]);
    await mapToRead(this.#device, staging);
    const read = new Uint32Array(staging.getMappedRange().slice());
    staging.destroy();
    return read;
  }

  /**
   * Clears the words that replicas exchange through a report, as a fault may have interrupted the
   * exchange.
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
   * Copies the reports after all work submitted so far, and clears them in the same submission, so
   * that each detection is read exactly once. Replicas then wait for each other again, so a wait
   * that ran out never outlives its record. Rejects if the device is lost.
   */
  async takeSnapshot(slots: Iterable<ReportSlot>): Promise<ReportSnapshot> {
    const encoder = this.#device.createCommandEncoder({ label: "belay: read reports" });
    const all = [...new Set(slots)];
    const copies = [...new Set(all.map(({ page }) => page))].map((page) => {
      const staging = page.idleStaging.pop() ?? this.#createStaging(page);
      const ofPage = all.filter((slot) => slot.page === page);
      for (const [i, { offset }] of ofPage.entries())
        encoder.copyBufferToBuffer(page.buffer, offset, staging, i * COUNTERS_BYTES, COUNTERS_BYTES);
      const start = ofPage.length * COUNTERS_BYTES;
      encoder.copyBufferToBuffer(page.buffer, 0, staging, start, page.readBack);
      return { page, staging, ofPage, start, bytes: start + page.readBack };
    });
    for (const { page, offset, cells, ranOut } of all) {
      encoder.clearBuffer(page.buffer, offset + 4 * reportWords.detections, FINDINGS_BYTES);
      if (cells > 0) encoder.clearBuffer(page.buffer, offset + 4 * reportWords.total, 4 * cells);
      if (ranOut !== undefined) encoder.clearBuffer(page.buffer, offset + ranOut, 4);
    }
    this.#device.queue.submit([encoder.finish()]);
    const heads = new Map<ReportSlot, Uint32Array>();
    const readings = copies.map(async ({ page, staging, ofPage, start, bytes }) => {
      await staging.mapAsync(flags.mapRead, 0, bytes);
      const words = new Uint32Array(staging.getMappedRange(0, bytes));
      const counters = words.slice(0, start / 4);
      for (const [i, slot] of ofPage.entries())
        heads.set(slot, headOf(slot, counters.subarray(i * reportWords.records), words.subarray(start / 4)));
      staging.unmap();
      page.idleStaging.push(staging);
    });
    await Promise.all(readings);
    return (slot) => heads.get(slot)!;
  }

  #addPage(size: number): Page {
    const usage = flags.bufferStorage | flags.bufferCopySrc | flags.bufferCopyDst;
    const buffer = this.#device.createBuffer({ label: "belay: reports", size, usage });
    const page: Page = { buffer, used: 0, readBack: 0, idleStaging: [] };
    this.#pages.push(page);
    return page;
  }

  #createStaging({ buffer, readBack }: Page): GPUBuffer {
    const size = COUNTERS_OF_PAGE + (buffer.size > PAGE_BYTES ? readBack : buffer.size);
    const usage = flags.bufferMapRead | flags.bufferCopyDst;
    return this.#device.createBuffer({ label: "belay: reports read back", size, usage });
  }
}

/** Returns the range to bind for a report. */
export function rangeOf({ page, offset, bytes }: ReportSlot): BufferRange {
  return { buffer: page.buffer, offset, size: bytes };
}

/**
 * Returns a copy of a report up to the last of its cells. `counters` begins with its words before
 * the records. Mapped memory can be slow to read, so its records are only read if there are any.
 */
function headOf(slot: ReportSlot, counters: Uint32Array, page: Uint32Array): Uint32Array {
  const { detections, suspect, records, total } = reportWords;
  const head = new Uint32Array(headBytes(slot) / 4);
  head.set(counters.subarray(0, records));
  const isClean = head.subarray(detections, suspect + 1).every((count) => count === 0);
  const first = isClean ? total : records;
  const start = slot.offset / 4;
  if (head.length > first) head.set(page.subarray(start + first, start + head.length), first);
  return head;
}

/** Returns the size of a report up to the last of its cells, in bytes. */
function headBytes({ bytes, cells }: Pick<ReportSlot, "bytes" | "cells">): number {
  return Math.min(bytes, 4 * (reportWords.total + cells));
}
