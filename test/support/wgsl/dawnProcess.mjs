/**
 * The process that `dawnValidator.ts` starts. It answers each request with Dawn's error text, or
 * with null if there is none. It is plain JavaScript, as Node 20 starts it without a TypeScript
 * loader.
 */
import { create } from "webgpu";

// Dawn crashes at a garbage collection once this object is unreachable. The flag offers extensions
// that are not final.
globalThis.dawn = create(["backend=null", "enable-dawn-features=allow_unsafe_apis"]);
const adapter = await globalThis.dawn.requestAdapter();
const requiredLimits = {};
for (const limit in adapter.limits) requiredLimits[limit] = adapter.limits[limit];
const device = await adapter.requestDevice({ requiredFeatures: [...adapter.features], requiredLimits });

async function errorOf({ code, pipeline }) {
  device.pushErrorScope("validation");
  try {
    const module = device.createShaderModule({ code });
    if (pipeline) device.createComputePipeline({ layout: "auto", compute: { module, ...pipeline } });
  } catch (error) {
    await device.popErrorScope();
    return String(error);
  }
  const error = await device.popErrorScope();
  return error?.message ?? null;
}

// Requests run one after the other. The first unanswered one is then the one at which the process
// died.
let last = Promise.resolve();
process.on("message", (request) => {
  last = last.then(async () => process.send(await errorOf(request)));
});
process.on("disconnect", () => process.exit(0));
process.send("ready");
