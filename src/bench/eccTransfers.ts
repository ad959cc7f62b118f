/** What protected memory adds to transfers between host and GPU, which Maruyama, Nukada and Matsuoka left out. */
import { anyWords } from "./eccHost.ts";
import { summarize, type Times } from "./timing.ts";

/** Wall-clock milliseconds, until the data are where they belong and verified. */
export interface TransferTimes {
  readonly upload: Times;
  readonly download: Times;
}

/** Writes and reads back a buffer of `bytes` bytes, a multiple of 4, `runs` times on each device in turn, after once unmeasured. */
export async function measureTransfers(
  devices: readonly GPUDevice[],
  bytes: number,
  runs: number,
): Promise<TransferTimes[]> {
  const data = anyWords(bytes);
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const places = devices.map((device) => ({
    device,
    stored: device.createBuffer({ size: bytes, usage: STORAGE | COPY_SRC | COPY_DST }),
    readable: device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST }),
    uploads: [] as number[],
    downloads: [] as number[],
  }));
  for (let run = -1; run < runs; run++) {
    for (const { device, stored, readable, uploads, downloads } of places) {
      const start = performance.now();
      device.queue.writeBuffer(stored, 0, data);
      await device.queue.onSubmittedWorkDone();
      const written = performance.now();
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(stored, readable);
      device.queue.submit([encoder.finish()]);
      await readable.mapAsync(GPUMapMode.READ);
      const last = new Uint32Array(readable.getMappedRange()).at(-1);
      const read = performance.now();
      readable.unmap();
      if (last !== data.at(-1)) throw new Error("the buffer has other contents than were written");
      if (run < 0) continue;
      uploads.push(written - start);
      downloads.push(read - written);
    }
  }
  for (const { stored, readable } of places) {
    stored.destroy();
    readable.destroy();
  }
  return places.map(({ uploads, downloads }) => ({
    upload: summarize(uploads),
    download: summarize(downloads),
  }));
}
