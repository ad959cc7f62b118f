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
}

/**
 * Returns the words of a report in a snapshot, up to the last of its cells. A report without
 * findings and cells ends before its records.
 */
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

/**
 * The report buffers of all protected kernels of a device. They are packed so that one small copy
 * reads many.
 */
export class ReportArena {
  readonly #device: GPUDevice;
  readonly #pages: Page[] = [];
  /** The buffers for reading reports back that wait for reuse. */
  readonly #idleStaging: GPUBuffer[] = [];

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
    /** The places of the copies of pages, after the counters of all reports. */
    const starts = new Map<Page, number>();
    let bytes = all.length * COUNTERS_BYTES;
    for (const { page } of all) {
      if (starts.has(page)) continue;
      starts.set(page, bytes);
      bytes += page.readBack;
    }
    const staging = this.#stagingFor(bytes);
    for (const [i, { page, offset }] of all.entries())
      encoder.copyBufferToBuffer(page.buffer, offset, staging, i * COUNTERS_BYTES, COUNTERS_BYTES);
    for (const [page, start] of starts)
      encoder.copyBufferToBuffer(page.buffer, 0, staging, start, page.readBack);
    for (const { page, offset, cells, ranOut } of all) {
      encoder.clearBuffer(page.buffer, offset + 4 * reportWords.detections, FINDINGS_BYTES);
      if (cells > 0) encoder.clearBuffer(page.buffer, offset + 4 * reportWords.total, 4 * cells);
      if (ranOut !== undefined) encoder.clearBuffer(page.buffer, offset + ranOut, 4);
    }
    this.#device.queue.submit([encoder.finish()]);
    await staging.mapAsync(flags.mapRead, 0, bytes);
    const words = new Uint32Array(staging.getMappedRange(0, bytes));
    const counters = words.slice(0, all.length * reportWords.records);
    const heads = new Map<ReportSlot, Uint32Array>();
    for (const [i, slot] of all.entries()) {
      const own = counters.subarray(i * reportWords.records, (i + 1) * reportWords.records);
      heads.set(slot, headOf(slot, own, words.subarray((starts.get(slot.page)! + slot.offset) / 4)));
    }
    staging.unmap();
    this.#idleStaging.push(staging);
    return (slot) => heads.get(slot)!;
  }

  /** Returns a buffer for reading back so many bytes. */
  #stagingFor(bytes: number): GPUBuffer {
    const idle = this.#idleStaging.pop();
    if (idle && idle.size >= bytes) return idle;
    idle?.destroy();
    const usage = flags.bufferMapRead | flags.bufferCopyDst;
    const size = 2 ** Math.ceil(Math.log2(bytes));
    return this.#device.createBuffer({ label: "belay: reports read back", size, usage });
  }

  #addPage(size: number): Page {
    const usage = flags.bufferStorage | flags.bufferCopySrc | flags.bufferCopyDst;
    const buffer = this.#device.createBuffer({ label: "belay: reports", size, usage });
    const page: Page = { buffer, used: 0, readBack: 0 };
    this.#pages.push(page);
    return page;
  }
}

/** Returns the range to bind for a report. */
export function rangeOf({ page, offset, bytes }: ReportSlot): BufferRange {
  return { buffer: page.buffer, offset, size: bytes };
}

/**
 * Returns a copy of a report up to the last of its cells. `counters` are its words before the
 * records. Mapped memory can be slow to read, so only cells are read of a report without records.
 */
function headOf(slot: ReportSlot, counters: Uint32Array, mapped: Uint32Array): Uint32Array {
  const { detections, suspect, records, total } = reportWords;
  const isClean = counters.subarray(detections, suspect + 1).every((count) => count === 0);
  if (isClean && slot.cells === 0) return counters;
  const head = new Uint32Array(headBytes(slot) / 4);
  head.set(counters);
  const first = isClean ? total : records;
  if (head.length > first) head.set(mapped.subarray(first, head.length), first);
  return head;
}

/** Returns the size of a report up to the last of its cells, in bytes. */
function headBytes({ bytes, cells }: Pick<ReportSlot, "bytes" | "cells">): number {
  return Math.min(bytes, 4 * (reportWords.total + cells));
}
