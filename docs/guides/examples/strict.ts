/**
 * Creates a pipeline whose kernel is not covered in full, on a device that refuses such kernels.
 */
import { readFileSync } from "node:fs";
import { harden, ProtectionError, requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";

const code = readFileSync(new URL("count.wgsl", import.meta.url), "utf8");
const { adapter, close } = await openGpu();
const device = harden(await requestFullDevice(adapter), { strict: true });
try {
  const module = device.createShaderModule({ code });
  device.createComputePipeline({ layout: "auto", compute: { module } });
} catch (error) {
  if (!(error instanceof ProtectionError)) throw error;
  console.log(error.code, error.message);
  for (const { code, line } of error.coverage.diagnostics) console.log(`line ${line}: ${code}`);
}
close();
