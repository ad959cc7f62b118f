/**
 * Runs square.wgsl on a hardened device, and strikes one multiplication. With the argument
 * `permanent`, the fault comes back whenever the work runs again.
 */
import { readFileSync } from "node:fs";
import { harden, requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";

const { adapter, close } = await openGpu();
const device = harden(await requestFullDevice(adapter), { injectFaults: true });
for (const type of ["detection", "recovery", "giveUp", "fault"] as const)
  device.belay.addEventListener(type, ({ message }) => console.log(`${type}: ${message}`));

const code = readFileSync(new URL("square.wgsl", import.meta.url), "utf8");
const module = device.createShaderModule({ code });
const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const x = device.createBuffer({ size: 1024, usage: STORAGE | COPY_SRC | COPY_DST });
const result = device.createBuffer({ size: 1024, usage: COPY_DST | MAP_READ });
const numbers = Float32Array.from({ length: 256 }, (_, i) => i);

// The fault flips bit 20 of the product that replica 0 of invocation 7 computes.
const product = code.indexOf("x[id.x] *=");
const site = device.belay.faultSites()[0]!.sites.find(({ span }) => span.start === product)!.id;
const permanent = process.argv.includes("permanent");
const struck = { workgroup: [0, 0, 0], localIndex: 7, replica: 0 } as const;
device.belay.arm({ kernel: "square", site, effect: { xor: 1 << 20 }, ...struck, permanent });

device.queue.writeBuffer(x, 0, numbers);
const encoder = device.createCommandEncoder();
const pass = encoder.beginComputePass();
const entries = [{ binding: 0, resource: { buffer: x } }];
pass.setPipeline(pipeline);
pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
pass.dispatchWorkgroups(4);
pass.end();
encoder.copyBufferToBuffer(x, 0, result, 0, 1024);
device.queue.submit([encoder.finish()]);

await show();
if (permanent) {
  // A write that replaces all of the buffer makes it readable again.
  device.queue.writeBuffer(result, 0, numbers);
  await show();
}
const { snapshots, checks, replays } = await device.belay.report();
console.log(
  `snapshots: ${snapshots.taken} of ${snapshots.bytes} bytes, checks: ${checks}, replays: ${replays}`,
);
close();

/** Prints element 7 of the result, or the reason why it cannot be read. */
async function show() {
  try {
    await result.mapAsync(GPUMapMode.READ);
    console.log("read:", new Float32Array(result.getMappedRange())[7]);
    result.unmap();
  } catch (error) {
    console.log("refused:", (error as Error).message);
  }
}
