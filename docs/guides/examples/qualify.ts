/** Tries a device that divides wrongly in one kernel of the program. */
import { requestFullDevice } from "belay-gpu";
import { qualify } from "belay-gpu/qualify";
import { openGpu } from "belay-node";

const source = `
  @group(0) @binding(0) var<storage, read> x: array<f32>;
  @group(0) @binding(1) var<storage, read_write> mean: array<f32>;
  @compute @workgroup_size(64) fn blur(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x;
    if (i == 0u || i + 1u >= arrayLength(&x)) { return; }
    mean[i] = (x[i - 1u] + x[i] + x[i + 1u]) / 3.0;
  }`;

const { adapter, close } = await openGpu();
const device = await requestFullDevice(adapter);
// A driver with a mistake: it computes another divisor.
const createShaderModule = device.createShaderModule.bind(device);
device.createShaderModule = ({ code }) =>
  createShaderModule({ code: code.replace("x[i + 1u]) / 3.0", "x[i + 1u]) / 4.0") });

const { verdict, without, reasons } = await qualify(device, { kernels: [{ source, name: "blur" }] });
console.log(verdict, without);
for (const reason of reasons) console.log(reason);
close();
