import { reportWords } from "../compiler/contract.ts";
import { flags } from "./nativeObjects.ts";

/** One kernel's report buffer: a range of a page. */
export interface ReportSlot {
  readonly page: Page;
  readonly offset: number;
  readonly bytes: number;
}

interface Page {
  readonly buffer: GPUBuffer;
  used: number;
  /** Buffers for reading the page back, waiting to be used again. */
  readonly idleStaging: GPUBuffer[];
}

/** The reports as the device had them at one moment. */
export type ReportSnapshot = (slot: ReportSlot) => Uint32Array;

const PAGE_BYTES = 64 * 1024;
/** Every device accepts storage buffer offsets of this alignment. */
const SLOT_ALIGNMENT = 256;

/** The report buffers of all protected kernels of a device, packed so that one small copy reads them all. */
export class ReportArena {
  readonly #device: GPUDevice;
  readonly #pages: Page[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Reserves a zeroed report buffer. */
  allocate(bytes: number): ReportSlot {
    const rounded = Math.ceil(bytes / SLOT_ALIGNMENT) * SLOT_ALIGNMENT;
    let page = this.#pages.at(-1);
    if (!page || page.used + rounded > page.buffer.size) {
      page = this.#addPage(Math.max(PAGE_BYTES, rounded));
    }
    const slot = { page, offset: page.used, bytes };
    page.used += rounded;
    return slot;
  }

  /** Writes words into a report, in queue order. */
  write(slot: ReportSlot, firstWord: number, words: readonly number[]): void {
    const data = Uint32Array.from(words, (word) => word >>> 0);
    this.#device.queue.writeBuffer(slot.page.buffer, slot.offset + 4 * firstWord, data);
  }

  /**
   * Copies the reports behind all work submitted so far, and starts them afresh in the same submission, so that each
   * detection is read exactly once. Rejects when the device is lost.
   */
  async takeSnapshot(slots: Iterable<ReportSlot>): Promise<ReportSnapshot> {
    const encoder = this.#device.createCommandEncoder({ label: "belay: read reports" });
    const stagings = new Map<Page, GPUBuffer>();
    for (const { page, offset } of slots) {
      if (!stagings.has(page)) {
        const staging = page.idleStaging.pop() ?? this.#createStaging(page);
        encoder.copyBufferToBuffer(page.buffer, 0, staging, 0, page.used);
        stagings.set(page, staging);
      }
      encoder.clearBuffer(page.buffer, offset + 4 * reportWords.detections, 4);
    }
    this.#device.queue.submit([encoder.finish()]);
    const words = new Map<Page, Uint32Array>();
    const readings = [...stagings].map(async ([page, staging]) => {
      const bytes = page.used;
      await staging.mapAsync(flags.mapRead, 0, bytes);
      words.set(page, new Uint32Array(staging.getMappedRange(0, bytes)).slice());
      staging.unmap();
      page.idleStaging.push(staging);
    });
    await Promise.all(readings);
    return ({ page, offset, bytes }) => words.get(page)!.subarray(offset / 4, (offset + bytes) / 4);
  }

  #addPage(size: number): Page {
    const usage = flags.bufferStorage | flags.bufferCopySrc | flags.bufferCopyDst;
    const buffer = this.#device.createBuffer({ label: "belay: reports", size, usage });
    const page: Page = { buffer, used: 0, idleStaging: [] };
    this.#pages.push(page);
    return page;
  }

  #createStaging(page: Page): GPUBuffer {
    const usage = flags.bufferMapRead | flags.bufferCopyDst;
    return this.#device.createBuffer({ label: "belay: reports read back", size: page.buffer.size, usage });
  }
}
