/**
 * Measures the GPU time of each kernel of a transformer, plain and in every configuration that
 * covers arithmetic, registers and workgroup memory. Each dispatch gets a pass of its own, so its
 * time contains the start and the end of a pass.
 *
 *     node research/dist/scripts/modelKernels.js [--size full] [--half prefill] [--runs 5]
 *       [--tokens 2] [--json FILE]
 *
 * Marks the configuration that `"auto"` chooses, and ends with the sums of both.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { describeConfiguration } from "belay-gpu/internal/compiler/configurations";
import { harden } from "belay-gpu/internal/runtime/harden";
import { type TunedKernel, tune } from "belay-gpu/internal/runtime/tuning/tune";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { readBuffers } from "../workloads/buffers.ts";
import { shapes } from "../workloads/model/shape.ts";
import { createTransformer, makeModel, type Transformer } from "../workloads/model/transformer.ts";

const { values: flags } = parseArgs({
  options: {
    size: { type: "string", default: "small" },
    half: { type: "string", default: "decode" },
    runs: { type: "string", default: "5" },
    tokens: { type: "string", default: "2" },
    json: { type: "string" },
  },
});
const shape = shapes[flags.size as keyof typeof shapes];
const made = makeModel(shape, 1);

/** Returns an encoder that puts each dispatch into a pass of its own. */
function inOwnPasses(encoder: GPUCommandEncoder): GPUCommandEncoder {
  const beginComputePass = () => {
    let pass: GPUComputePassEncoder;
    return {
      setPipeline(pipeline: GPUComputePipeline) {
        pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
      },
      setBindGroup: (group: number, bindings: GPUBindGroup) => pass.setBindGroup(group, bindings),
      dispatchWorkgroups(x: number, y?: number) {
        pass.dispatchWorkgroups(x, y);
        pass.end();
      },
      end() {},
    };
  };
  return {
    beginComputePass,
    copyBufferToBuffer: encoder.copyBufferToBuffer.bind(encoder),
  } as unknown as GPUCommandEncoder;
}

const transformers = new WeakMap<GPUDevice, Transformer>();

async function run(device: GPUDevice): Promise<{ tokens: Uint32Array }> {
  let transformer = transformers.get(device);
  const encoder = device.createCommandEncoder();
  const split = inOwnPasses(encoder);
  if (!transformer) {
    transformer = createTransformer(device, { shape, precision: "f32", made });
    transformers.set(device, transformer);
    // Tokens rely on the keys and values of the prompt.
    transformer.encodePrompt(split);
  }
  if (flags.half === "prefill") transformer.encodePrompt(split);
  else for (let i = 0; i < Number(flags.tokens); i++) transformer.encodeToken(split, i);
  device.queue.submit([encoder.finish()]);
  return { tokens: new Uint32Array(await readBuffers(device, transformer.tokens)) };
}

/** Returns the configuration that `"auto"` chooses for each kernel. */
async function chosenFor(device: GPUDevice): Promise<Map<string, string>> {
  const hardened = harden(device, { onFault: "throw" });
  await run(hardened);
  const { kernels } = await hardened.belay.report();
  const chosen = new Map(
    kernels.flatMap(({ kernel, chosen }) =>
      chosen ? [[kernel.replace(/#\d+$/, ""), describeConfiguration(chosen)]] : [],
    ),
  );
  device.destroy();
  return chosen;
}

using opened = await openGpu();
const chosen = await chosenFor(await newDevice(opened));
const { kernels } = await tune(run, { newDevice: () => newDevice(opened), runs: Number(flags.runs) });
const ratioOf = ({ milliseconds, unprotected }: TunedKernel["tried"][number]) => milliseconds / unprotected;
const rows = [["kernel", "plain, ms", "auto", "cheapest", "all"]];
const sums = { plain: 0, auto: 0, cheapest: 0 };
for (const { kernel, unprotected, tried } of kernels) {
  const byName = tried.map((each) => [describeConfiguration(each), ratioOf(each)] as const);
  const auto = byName.find(([name]) => name === chosen.get(kernel))?.[1];
  const cheapest = byName[0]![1];
  sums.plain += unprotected;
  sums.auto += unprotected * (auto ?? Number.NaN);
  sums.cheapest += unprotected * cheapest;
  rows.push([
    kernel,
    unprotected.toFixed(3),
    `${auto?.toFixed(2)} ${chosen.get(kernel)}`,
    cheapest.toFixed(2),
    byName.map(([name, ratio]) => `${name} ${ratio.toFixed(2)}`).join(", "),
  ]);
}
const { plain, auto, cheapest } = sums;
rows.push(["all", plain.toFixed(3), (auto / plain).toFixed(2), (cheapest / plain).toFixed(2), ""]);
console.log(alignColumns(rows));
if (flags.json !== undefined)
  writeFileSync(flags.json, JSON.stringify({ ...flags, chosen: [...chosen], kernels }));
