/**
 * The time that protected memory adds to transfers between host and GPU, which Maruyama, Nukada and
 * Matsuoka left out.
 */

import { hostCodeOf } from "belay-gpu/internal/ecc/scheme";
import { median } from "simple-statistics";
import { type ComparedCode, comparedSchemes } from "../../ecc/index.ts";
import { summarize, type Times } from "../measuring/timing.ts";

/** The throughput of the host's side of a code on one core. */

/** The bytes of data per second. */
export interface HostRates {
  readonly encode: number;
  readonly verify: number;
}

/** Returns words that differ. It uses a loop, as `Uint32Array.from` takes many times as long. */
export function anyWords(bytes: number): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(bytes / 4);
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i + 1, 0x9e3779b9);
  return words;
}

/**
 * Times encoding and verifying of `bytes` bytes, a whole number of granules. The first of `runs +
 * 1` runs does not count.
 */
export function measureHostRates(name: ComparedCode, bytes: number, runs: number): HostRates {
  const scheme = hostCodeOf(name, comparedSchemes);
  const data = anyWords(bytes);
  const checks = new Uint32Array(
    Math.ceil(bytes / scheme.granuleBytes) * scheme.checkWords || scheme.checkWords,
  );
  const rate = (work: () => void) => {
    const seconds = Array.from({ length: runs + 1 }, () => {
      const start = performance.now();
      work();
      return (performance.now() - start) / 1000;
    });
    return bytes / median(seconds.slice(1));
  };
  return {
    encode: rate(() => scheme.encode(data, checks)),
    verify: rate(() => {
      const { corrected, uncorrectable } = scheme.verify(data, checks);
      if (corrected > 0 || uncorrectable.length > 0)
        throw new Error(`${name} finds errors where there are none`);
    }),
  };
}

/** The wall-clock milliseconds until the data have arrived and are verified. */
export interface TransferTimes {
  /** The times of uploads by `writeBuffer`; below, those through a mapped buffer. */
  readonly upload: Times;
  readonly mappedUpload: Times;
  /** The times of downloads through a mapped buffer. */
  readonly download: Times;
}

/**
 * Writes and reads back a buffer of `bytes` bytes, a multiple of 4, `runs` times on each device in
 * turn. One unmeasured run comes before.
 */
export async function measureTransfers(
  devices: readonly GPUDevice[],
  bytes: number,
  runs: number,
): Promise<TransferTimes[]> {
  const data = anyWords(bytes);
  const places = devices.map((device) => new Place(device, bytes));
  for (let run = -1; run < runs; run++) {
    for (const place of places) {
      const times = {
        upload: await timed(() => place.write(data)),
        mappedUpload: await timed(() => place.writeMapped(data)),
        download: await timed(() => place.readLast(data.at(-1)!)),
      };
      if (run >= 0) place.times.push(times);
    }
  }
  return places.map((place) => {
    place.destroy();
    const of = (way: keyof TransferTimes) => summarize(place.times.map((times) => times[way]));
    return { upload: of("upload"), mappedUpload: of("mappedUpload"), download: of("download") };
  });
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** A buffer on a device, and the buffers through which the host accesses it. */
class Place {
  readonly times: Record<keyof TransferTimes, number>[] = [];
  readonly #device: GPUDevice;
  readonly #stored: GPUBuffer;
  readonly #writable: GPUBuffer;
  readonly #readable: GPUBuffer;

  constructor(device: GPUDevice, size: number) {
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ, MAP_WRITE } = GPUBufferUsage;
    this.#device = device;
    this.#stored = device.createBuffer({ size, usage: STORAGE | COPY_SRC | COPY_DST });
    this.#writable = device.createBuffer({ size, usage: MAP_WRITE | COPY_SRC });
    this.#readable = device.createBuffer({ size, usage: MAP_READ | COPY_DST });
  }

  async write(data: Uint32Array<ArrayBuffer>): Promise<void> {
    this.#device.queue.writeBuffer(this.#stored, 0, data);
    await this.#device.queue.onSubmittedWorkDone();
  }

  async writeMapped(data: Uint32Array<ArrayBuffer>): Promise<void> {
    await this.#writable.mapAsync(GPUMapMode.WRITE);
    new Uint32Array(this.#writable.getMappedRange()).set(data);
    this.#writable.unmap();
    this.#copy(this.#writable, this.#stored);
    await this.#device.queue.onSubmittedWorkDone();
  }

  /** Reads the buffer back; throws when its last word is not the expected one. */
  async readLast(expected: number): Promise<void> {
    this.#copy(this.#stored, this.#readable);
    await this.#readable.mapAsync(GPUMapMode.READ);
    const last = new Uint32Array(this.#readable.getMappedRange()).at(-1);
    this.#readable.unmap();
    if (last !== expected) throw new Error("the buffer has other contents than were written");
  }

  #copy(from: GPUBuffer, to: GPUBuffer): void {
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(from, to);
    this.#device.queue.submit([encoder.finish()]);
  }

  destroy(): void {
    for (const buffer of [this.#stored, this.#writable, this.#readable]) buffer.destroy();
  }
}
