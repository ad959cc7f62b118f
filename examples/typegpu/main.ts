/** A kernel of TypeGPU on a hardened device, while one bit of one product flips. */
import { harden, requestFullDevice } from "belay-gpu";
import tgpu from "typegpu";
import * as d from "typegpu/data";

const lines: string[] = [];
const adapter = await navigator.gpu.requestAdapter();
if (!adapter) throw new Error("this browser has no WebGPU");
const device = harden(await requestFullDevice(adapter), { check: "store", injectFaults: true });
device.belay.addEventListener("fault", ({ message }) => lines.push(message));

const root = tgpu.initFromDevice({ device });
const values = root
  .createBuffer(
    d.arrayOf(d.u32, 64),
    Array.from({ length: 64 }, (_, i) => i),
  )
  .$usage("storage");
const layout = tgpu.bindGroupLayout({ values: { storage: d.arrayOf(d.u32), access: "mutable" } });
const triple = tgpu.computeFn({ in: { id: d.builtin.globalInvocationId }, workgroupSize: [64] })`{
  layout.$.values[in.id.x] = 3 * layout.$.values[in.id.x];
}`.$uses({ layout });
const pipeline = root.createComputePipeline({ compute: triple });
const group = root.createBindGroup(layout, { values });
// TypeGPU compiles a pipeline when it is needed first.
root.unwrap(pipeline);

const [kernel] = device.belay.faultSites();
const product = kernel!.sites.findLast(({ kind }) => kind === "value")!;
const invocation = { workgroup: [0, 0, 0], localIndex: 14, replica: 1 } as const;
device.belay.arm({ kernel: kernel!.kernel, site: product.id, effect: { xor: 1 << 9 }, ...invocation });

pipeline.with(group).dispatchWorkgroups(1);
const read = await values.read();
lines.push(`3 * 14 = ${read[14]}`);
document.querySelector("#output")!.textContent = lines.join("\n");
