/**
 * Multiplies with subgroup matrices on a hardened device, in each configuration that the adapter
 * has, and compares the products with the CPU's. Then strikes random values, one in each run.
 *
 *   node research/dist/scripts/matrixKernels.js [--time-limit 60] [--runs 200] [--faults 100]
 *       [--validate] [--out FILE]
 *
 * Ends with an error when a product is wrong, or an alarm is raised without a fault. With
 * `--validate`, Dawn's null backend judges the emitted code, and nothing is computed.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Policy } from "belay-gpu";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { harden } from "belay-gpu/internal/runtime/harden";
import type { HardenedDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import { limitsOf } from "belay-gpu/internal/runtime/requestFullDevice";
import { createGpu, destroyDevices } from "belay-node/internal/gpu";
import { bindBuffers, readBuffers, resultBuffer, uploadBuffer } from "../workloads/buffers.ts";
import { randomBelow, randomWord } from "../workloads/random.ts";

const { values: flags } = parseArgs({
  options: {
    "time-limit": { type: "string", default: "60" },
    runs: { type: "string", default: "200" },
    faults: { type: "string", default: "100" },
    validate: { type: "boolean", default: false },
    out: { type: "string" },
  },
});
const end = performance.now() + 1000 * Number(flags["time-limit"]);
// Kernels that a policy leaves alone are counted, not told one by one.
console.warn = () => {};

/** A shape of matrices that the adapter multiplies, as `GPUAdapterInfo` lists it in Dawn. */
interface MatrixConfig {
  readonly componentType: string;
  readonly resultComponentType: string;
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

const WORKGROUPS = 4;
/** The subgroups of a workgroup, of 32 lanes on the GPUs that have such matrices. */
const SUBGROUPS = 4;
const STEPS = 3;
const bytesOf = (type: string) => Number(/\d+/.exec(type)![0]) / 8;
/** The type of array elements in memory. */
const elementOf = (type: string) => (bytesOf(type) === 1 ? "u32" : type);

/** Returns a kernel that adds a product to a matrix in place. */
function kernelOf({ componentType, resultComponentType, M, N, K }: MatrixConfig): string {
  const [element, sums] = [elementOf(componentType), elementOf(resultComponentType)];
  // The numbers in one element of the array.
  const packed = bytesOf(element) / bytesOf(componentType);
  const [inner, columns] = [STEPS * K, SUBGROUPS * N];
  const type = (side: string, component: string, width: number, height: number) =>
    `subgroup_matrix_${side}<${component}, ${width}, ${height}>`;
  const result = type("result", resultComponentType, N, M);
  return /* wgsl */ `enable chromium_experimental_subgroup_matrix;
enable subgroups;
${[componentType, resultComponentType].includes("f16") ? "enable f16;" : ""}
diagnostic(off, chromium.subgroup_matrix_uniformity);
@group(0) @binding(0) var<storage, read> a: array<${element}>;
@group(0) @binding(1) var<storage, read> b: array<${element}>;
@group(0) @binding(2) var<storage, read_write> c: array<${sums}>;

@compute @workgroup_size(${32 * SUBGROUPS})
fn multiply(@builtin(workgroup_id) group: vec3u, @builtin(subgroup_id) column: u32) {
  let place = group.x * ${M * columns}u + column * ${N}u;
  var sum = subgroupMatrixLoad<${result}, row_major>(&c, place, ${columns}u);
  for (var k = 0u; k < ${STEPS}u; k++) {
    let left = subgroupMatrixLoad<${type("left", componentType, K, M)}, row_major>(&a, (group.x * ${M * inner}u + k * ${K}u) / ${packed}u, ${inner / packed}u);
    let right = subgroupMatrixLoad<${type("right", componentType, N, K)}, row_major>(&b, (k * ${K * columns}u + column * ${N}u) / ${packed}u, ${columns / packed}u);
    sum = subgroupMatrixMultiplyAccumulate(left, right, sum);
  }
  subgroupMatrixStore<row_major>(&c, place, sum, ${columns}u);
}`;
}

/** Returns whole numbers so small that each format holds all sums exactly. */
const numberAt = (seed: number, i: number, type: string): number =>
  randomBelow(4, seed, i) - (type.startsWith("u") ? 0 : 2);

const float = new Float32Array(1);
const floatBits = new Uint32Array(float.buffer);

function bitsOf(x: number, type: string): number {
  float[0] = x;
  const bits = floatBits[0]!;
  if (type === "f32") return bits;
  if (type !== "f16") return x & (bytesOf(type) === 1 ? 255 : -1);
  return x === 0
    ? 0
    : ((bits >>> 16) & 0x8000) | ((((bits >>> 23) & 255) - 112) << 10) | ((bits >>> 13) & 1023);
}

/** Returns the words of an array of numbers. */
function wordsOf(numbers: readonly number[], type: string): Uint32Array<ArrayBuffer> {
  const each = 4 / bytesOf(type);
  const words = new Uint32Array(Math.ceil(numbers.length / each));
  numbers.forEach((x, i) => {
    words[Math.floor(i / each)]! |= bitsOf(x, type) << ((i % each) * (32 / each));
  });
  return words;
}

interface Product {
  readonly code: string;
  readonly words: readonly Uint32Array<ArrayBuffer>[];
  readonly expected: Uint32Array;
}

function productOf(config: MatrixConfig): Product {
  const { componentType: input, resultComponentType: output, M, N, K } = config;
  const [rows, columns, inner] = [WORKGROUPS * M, SUBGROUPS * N, STEPS * K];
  const make = (seed: number, count: number, type: string) =>
    Array.from({ length: count }, (_, i) => numberAt(seed, i, type));
  const [a, b, c] = [
    make(1, rows * inner, input),
    make(2, inner * columns, input),
    make(3, rows * columns, output),
  ];
  const sums = c.map((sum, at) => {
    const [row, column] = [Math.floor(at / columns), at % columns];
    let total = sum;
    for (let k = 0; k < inner; k++) total += a[row * inner + k]! * b[k * columns + column]!;
    return total;
  });
  return {
    code: kernelOf(config),
    words: [wordsOf(a, input), wordsOf(b, input), wordsOf(c, output)],
    expected: wordsOf(sums, output),
  };
}

/** Returns a function that multiplies once and resolves to the product. */
function prepare(device: GPUDevice, { code, words: [a, b, c] }: Product): () => Promise<Uint32Array> {
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const sums = resultBuffer(device, c!.byteLength);
  const bindings = bindBuffers(device, pipeline, uploadBuffer(device, a!), uploadBuffer(device, b!), sums);
  return async () => {
    device.queue.writeBuffer(sums, 0, c!);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindings);
    pass.dispatchWorkgroups(WORKGROUPS);
    pass.end();
    device.queue.submit([encoder.finish()]);
    return new Uint32Array(await readBuffers(device, sums));
  };
}

const isSame = (a: Uint32Array, b: Uint32Array) =>
  a.length === b.length && a.every((word, i) => word === b[i]);

async function strike(device: HardenedDevice, run: () => Promise<Uint32Array>, expected: Uint32Array) {
  const count = { struck: 0, detected: 0, wrong: 0, refused: 0 };
  const [first] = device.belay.faultSites();
  const values = first?.sites.filter(({ kind }) => kind === "value") ?? [];
  for (let i = 0; i < Number(flags.faults) && values.length > 0 && performance.now() < end; i++) {
    const before = (await device.belay.report()).faults.length;
    device.belay.arm({
      kernel: first!.kernel,
      site: values[randomBelow(values.length, 7, 4 * i)]!.id,
      replica: (randomWord(7, 4 * i + 1) & 1) as 0 | 1,
      effect: { xor: 1 << randomBelow(32, 7, 4 * i + 2) },
      workgroup: [1, 0, 0],
      localIndex: randomBelow(32 * SUBGROUPS, 7, 4 * i + 3),
    });
    const start = performance.now();
    const product = await run().catch(() => undefined);
    console.error(`fault ${i}: ${(performance.now() - start).toFixed(0)} ms`);
    count.struck += Number((await device.belay.strikes()) > 0);
    device.belay.disarm();
    count.detected += Number((await device.belay.report()).faults.length > before);
    if (!product) count.refused++;
    else if (!isSame(product, expected)) count.wrong++;
  }
  return count;
}

const gpu = await createGpu([
  ...(flags.validate ? ["backend=null"] : []),
  "enable-dawn-features=allow_unsafe_apis,vulkan_enable_f16_on_nvidia",
]);
const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
const feature = "chromium-experimental-subgroup-matrix" as GPUFeatureName;
if (!adapter?.features.has(feature)) throw new Error("no adapter with subgroup matrices");
const requiredFeatures = [feature, "subgroups", "shader-f16"].filter((name) => adapter.features.has(name));
const native = await adapter.requestDevice({
  requiredFeatures: requiredFeatures as GPUFeatureName[],
  requiredLimits: limitsOf(adapter.limits),
});
const errors: string[] = [];
native.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
const listed =
  (adapter.info as { subgroupMatrixConfigs?: readonly MatrixConfig[] }).subgroupMatrixConfigs ?? [];
const configs = flags.validate
  ? [
      { componentType: "f32", resultComponentType: "f32", M: 8, N: 8, K: 8 },
      { componentType: "f16", resultComponentType: "f32", M: 16, N: 16, K: 16 },
      { componentType: "u8", resultComponentType: "u32", M: 16, N: 8, K: 32 },
    ]
  : listed.map(({ componentType, resultComponentType, M, N, K }) => ({
      componentType,
      resultComponentType,
      M,
      N,
      K,
    }));
const policies: readonly Policy[] = [
  {},
  { redundancy: "inter", check: "store" },
  { memory: "secded128" },
  { redundancy: "none", memory: "checksum" },
];

const trials: Record<string, unknown>[] = [];
/** Keeps a trial, and prints it at once: a later one may not end. */
function keep(trial: Record<string, unknown>): void {
  trials.push(trial);
  console.error(JSON.stringify(trial));
}
let isSound = configs.length > 0;
for (const config of configs) {
  const product = productOf(config);
  const plain = flags.validate || isSame(await prepare(native, product)(), product.expected);
  for (const policy of policies) {
    const trial: Record<string, unknown> = { ...config, policy, plain };
    try {
      const device = harden(native, flags.validate ? { ...policy, onFault: "report" } : policy);
      const run = prepare(device, product);
      let [runs, right] = [0, true];
      for (; runs < Number(flags.runs) && performance.now() < end; runs++)
        right &&= isSame(await run(), product.expected);
      const { faults, giveUps, kernels } = await device.belay.report();
      const [alarms, redundancy] = [faults.length + giveUps, kernels[0]?.redundancy];
      Object.assign(trial, { runs, right, alarms, redundancy });
      if (!flags.validate && plain && (!right || alarms > 0)) isSound = false;
    } catch (error) {
      isSound = false;
      trial.failure = messageOf(error);
    }
    keep(trial);
  }
  if (flags.validate) continue;
  const device = harden(native, { injectFaults: true });
  const run = prepare(device, product);
  const start = performance.now();
  const before = isSame(await run(), product.expected);
  console.error(`first run with injected faults: ${(performance.now() - start).toFixed(0)} ms`);
  keep({ ...config, injected: true, before, ...(await strike(device, run, product.expected)) });
}
console.log(JSON.stringify({ isSound, configs: configs.length, errors: errors.slice(0, 3), trials }));
if (flags.out) writeFileSync(flags.out, JSON.stringify({ isSound, listed, errors, trials }));
native.destroy();
destroyDevices(gpu);
process.exitCode = isSound && errors.length === 0 ? 0 : 1;
