/** The prompt of a transformer, as a workload for commands. */
import { createPrefill } from "./programs.ts";
import { shapes } from "./shape.ts";

export default (device: GPUDevice) =>
  createPrefill({
    shape: shapes.campaign,
    precision: device.features.has("shader-f16") ? "f16" : "f32",
  }).workload(device);
