/** The tokens that a transformer generates, as a workload for commands. */
import { createDecode } from "./programs.ts";
import { shapes } from "./shape.ts";

export default (device: GPUDevice) =>
  createDecode({
    shape: shapes.campaign,
    precision: device.features.has("shader-f16") ? "f16" : "f32",
  }).workload(device);
