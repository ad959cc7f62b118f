/** Flips bits of a buffer at rest whose memory a code protects, and reads the buffer. */
import { harden, requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";

const { adapter, close } = await openGpu();
const device = harden(await requestFullDevice(adapter), { memory: "secded128", injectFaults: true });
for (const type of ["corrected", "memoryFault"] as const)
  device.belay.addEventListener(type, ({ message }) => console.log(`${type}: ${message}`));

const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const x = device.createBuffer({ label: "x", size: 64, usage: STORAGE | COPY_SRC | COPY_DST });
device.queue.writeBuffer(
  x,
  0,
  Float32Array.from({ length: 16 }, (_, i) => i),
);

for (const mask of [1 << 20, 3 << 20]) {
  console.log(`flip ${mask === 1 << 20 ? "one bit" : "two bits"} of word 7`);
  device.belay.flip(x, 4 * 7, mask);
  const result = device.createBuffer({ size: 64, usage: COPY_DST | MAP_READ });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(x, 0, result, 0, 64);
  device.queue.submit([encoder.finish()]);
  try {
    await result.mapAsync(GPUMapMode.READ);
    console.log("read:", new Float32Array(result.getMappedRange())[7]);
  } catch (error) {
    console.log("refused:", (error as Error).message);
  }
}
close();
