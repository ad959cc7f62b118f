/**
 * Runs kernels on 16-bit floats under codes for memory, with and without flipped bits, and compares
 * their outputs with the CPU's.
 *
 *   node research/dist/scripts/halves.js [--schemes secded128,...] [--json FILE]
 *
 * Dawn offers halves on NVIDIA's GPUs only upon request; software adapters have none. Ends with an
 * error when an output is wrong and unflagged, or when something is reported without a flip.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { createGpu, destroyDevices } from "belay-node/internal/gpu";
import { type ComparedScheme, comparedSchemes, hardenWithCodes } from "../ecc/index.ts";

const { values: flags } = parseArgs({
  options: {
    schemes: { type: "string", default: "secded128,secded64,secded32,detect" },
    json: { type: "string" },
  },
});
const elements = 37;

/**
 * A kernel from array `a` to array `b`, the places of halves in an element, and their new values.
 */
interface Kernel {
  readonly name: string;
  readonly code: string;
  readonly stride: number;
  readonly data: readonly number[];
  /** Returns the new halves, or undefined for halves that do not change. */
  of(values: readonly number[]): readonly (number | undefined)[];
}

function kernel(type: string, body: string, shape: Omit<Kernel, "code" | "name">): Kernel {
  const code = `enable f16;
    struct S { one: f16, pair: vec2h, three: vec3h, all: array<vec4h, 2>, last: f16 }
    @group(0) @binding(0) var<storage, read> a: array<${type}>;
    @group(0) @binding(1) var<storage, read_write> b: array<${type}>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
      let i = id.x;
      if (i < arrayLength(&a)) { ${body} }
    }`;
  return { name: `${type}: ${body}`, code, ...shape };
}

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const double = (values: readonly number[]) => values.map((value) => 2 * value);
const vector = (size: number, stride: number) => ({ stride, data: range(size), of: double });
const record = { stride: 20, data: [0, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16] };

const kernels: readonly Kernel[] = [
  kernel("f16", "b[i] = 2.0h * a[i];", vector(1, 1)),
  kernel("vec2h", "b[i] = 2.0h * a[i];", vector(2, 2)),
  kernel("vec3h", "b[i] = 2.0h * a[i];", vector(3, 4)),
  kernel("vec4h", "b[i] = 2.0h * a[i];", vector(4, 4)),
  kernel("mat3x2h", "b[i] = a[i] * 2.0h;", vector(6, 6)),
  kernel("mat2x3h", "b[i][0] = a[i][1];", {
    stride: 8,
    data: [0, 1, 2, 4, 5, 6],
    of: (v) => [...v.slice(3), undefined, undefined, undefined],
  }),
  kernel("vec4h", "b[i].z = a[i].w + a[i].x;", {
    ...vector(4, 4),
    of: (v) => [undefined, undefined, v[3]! + v[0]!, undefined],
  }),
  kernel("S", "var s = a[i]; s.one *= 2.0h; b[i] = s;", {
    ...record,
    of: (v) => v.map((value, k) => (k === 0 ? 2 * value : value)),
  }),
  kernel("S", "b[i].pair = vec2h(a[i].pair.x, a[i].three.z); b[i].all[1] = 2.0h * a[i].all[1];", {
    ...record,
    of: (v) => v.map((value, k) => [v[1], v[5]][k - 1] ?? (k >= 10 && k <= 13 ? 2 * value : undefined)),
  }),
];

/** Returns the half-precision float of a whole number up to 2048. */
function halfOf(value: number): number {
  if (value === 0) return 0;
  const exponent = Math.floor(Math.log2(Math.abs(value)));
  const mantissa = (Math.abs(value) / 2 ** exponent - 1) * 1024;
  return (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | mantissa;
}

const gpu = await createGpu(["enable-dawn-features=vulkan_enable_f16_on_nvidia"]);
const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
if (!adapter?.features.has("shader-f16")) throw new Error("no adapter with 16-bit floats");
const native = await requestFullDevice(adapter);
const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const results = [];
for (const memory of flags.schemes.split(",") as ComparedScheme[]) {
  const device = hardenWithCodes(native, {
    redundancy: "none",
    memory,
    onFault: "report",
    injectFaults: true,
  });
  for (const { name, code, stride, data, of } of kernels) {
    const size = Math.ceil((2 * elements * stride) / 4) * 4;
    const numbers = range(elements).map((e) => data.map((_, k) => ((e * 31 + k * 7) % 64) - 16));
    const [content, expected] = [new Uint16Array(size / 2), new Map<number, number>()];
    for (const [e, values] of numbers.entries()) {
      const outputs = of(values);
      for (const [k, at] of data.entries()) {
        content[e * stride + at] = halfOf(values[k]!);
        expected.set(e * stride + at, halfOf(outputs[k] ?? 0));
      }
    }
    const make = (usage: number) => device.createBuffer({ size, usage: usage | COPY_DST });
    const [input, output, reader] = [make(STORAGE), make(STORAGE | COPY_SRC), make(MAP_READ)];
    const module = device.createShaderModule({ code });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const layout = pipeline.getBindGroupLayout(0);
    const entries = [input, output].map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = device.createBindGroup({ layout, entries });

    /**
     * Returns the errors found, and the number of wrong outputs, after a flip of a bit of the
     * input.
     */
    const run = async (byteOffset = 0, mask = 0) => {
      device.queue.writeBuffer(input, 0, content);
      device.queue.writeBuffer(output, 0, new Uint16Array(size / 2));
      const before = (await device.belay.report()).memory!;
      if (mask !== 0) device.belay.flip(input, byteOffset, mask);
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(1);
      pass.end();
      encoder.copyBufferToBuffer(output, 0, reader, 0, size);
      device.queue.submit([encoder.finish()]);
      await reader.mapAsync(GPUMapMode.READ);
      const got = new Uint16Array(reader.getMappedRange().slice(0));
      reader.unmap();
      const after = (await device.belay.report()).memory!;
      const wrong = [...expected].filter(([at, half]) => (got[at]! === 0x8000 ? 0 : got[at]) !== half).length;
      const [corrected, uncorrectable] = (["corrected", "uncorrectable"] as const).map(
        (count) => after[count] - before[count],
      );
      return { corrected, uncorrectable, wrong };
    };

    const { corrected, uncorrectable, wrong } = await run();
    const isQuiet = corrected === 0 && uncorrectable === 0 && wrong === 0;
    let [struck, flagged, silent] = [0, 0, 0];
    for (let word = 0; word < (3 * stride) / 2; word++) {
      for (const bit of [(7 * word + 3) % 32, (11 * word + 20) % 32]) {
        const found = await run(4 * word, 2 ** bit);
        struck += 1;
        if (found.uncorrectable) flagged += 1;
        if (
          comparedSchemes[memory].corrects
            ? found.uncorrectable || found.wrong
            : found.wrong && !found.uncorrectable
        )
          silent += 1;
      }
    }
    results.push({ scheme: memory, kernel: name, isQuiet, struck, flagged, silent });
    console.log(
      `${memory} ${name} ${isQuiet && silent === 0 ? "right" : "WRONG"}: ${struck} struck, ${flagged} flagged`,
    );
    for (const buffer of [input, output, reader]) buffer.destroy();
  }
}
if (flags.json) writeFileSync(flags.json, JSON.stringify(results, null, 2));
native.destroy();
destroyDevices(gpu);
process.exitCode = results.every(({ isQuiet, silent }) => isQuiet && silent === 0) ? 0 : 1;
