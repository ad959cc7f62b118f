/**
 * Multiplies matrices of f16 in subgroup matrices with sums of f32: on a plain device, under
 * redundancy, and with checks by algebra. Compares products, and strikes values of the kernel.
 *
 *   node research/dist/scripts/matrixProducts.js [--size 2048] [--seconds 9] [--dispatches 20]
 *       [--faults 300] [--limit 60] [--validate] [--json FILE]
 *
 * The devices take turns for `--seconds`. No further fault is injected after `--limit` seconds.
 * Ends with an error if a product is wrong, or if a dispatch without a fault is not checked,
 * repaired or refuted. With `--validate`, Dawn's null backend judges all texts, and nothing is
 * computed.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type HardenedDevice, harden, type Policy } from "belay-gpu";
import { algebra } from "belay-gpu/algebra";
import { limitsOf } from "belay-gpu/internal/runtime/requestFullDevice";
import { createGpu, destroyDevices } from "belay-node/internal/gpu";
import { median } from "simple-statistics";
import { takeTurns } from "../bench/measuring/takeTurns.ts";
import { bindBuffers, readBuffers, resultBuffer, uploadBuffer } from "../workloads/buffers.ts";
import { randomBelow, randomWord } from "../workloads/random.ts";

const { values: flags } = parseArgs({
  options: {
    size: { type: "string", default: "2048" },
    seconds: { type: "string", default: "9" },
    dispatches: { type: "string", default: "20" },
    faults: { type: "string", default: "300" },
    limit: { type: "string", default: "60" },
    validate: { type: "boolean", default: false },
    json: { type: "string" },
  },
});
const size = Number(flags.size);
const dispatches = Number(flags.dispatches);
const end = performance.now() + 1000 * Number(flags.limit);

/** The side of the results of a workgroup. Each of its subgroups computes two by two matrices. */
const SIDE = 64;
const matrix = (side: string, type: string) => `subgroup_matrix_${side}<${type}, 16, 16>`;
const source = /* wgsl */ `enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);
@group(0) @binding(0) var<storage, read> a: array<f16>;
@group(0) @binding(1) var<storage, read> b: array<f16>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<workgroup> rows: array<f16, ${SIDE * 16}>;

@compute @workgroup_size(128) fn multiply(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let row = 32u * (subgroup / 2u);
  let column = ${SIDE}u * group.x + 32u * (subgroup % 2u);
  var sums: array<${matrix("result", "f32")}, 4>;
  for (var k = 0u; k < ${size}u; k += 16u) {
    for (var i = lane; i < ${SIDE * 16}u; i += 128u) {
      rows[i] = a[(${SIDE}u * group.y + i / 16u) * ${size}u + k + i % 16u];
    }
    workgroupBarrier();
    for (var j = 0u; j < 2u; j++) {
      let right = subgroupMatrixLoad<${matrix("right", "f16")}, row_major>(&b, k * ${size}u + column + 16u * j, ${size}u);
      for (var i = 0u; i < 2u; i++) {
        let left = subgroupMatrixLoad<${matrix("left", "f16")}, row_major>(&rows, 16u * (row + 16u * i), 16u);
        sums[2u * i + j] = subgroupMatrixMultiplyAccumulate(left, right, sums[2u * i + j]);
      }
    }
    workgroupBarrier();
  }
  for (var i = 0u; i < 4u; i++) {
    let at = (${SIDE}u * group.y + row + 16u * (i / 2u)) * ${size}u + column + 16u * (i % 2u);
    subgroupMatrixStore<row_major>(&c, at, sums[i], ${size}u);
  }
}`;

/** Returns the bits of a random number of f16 in [-2, 2), and the number. */
function random(seed: number, i: number): { readonly bits: number; readonly number: number } {
  const word = randomWord(seed, i);
  const [sign, exponent, fraction] = [word & 0x8000, 12 + ((word >>> 10) & 3), word & 1023];
  const number = (sign ? -1 : 1) * 2 ** (exponent - 15) * (1 + fraction / 1024);
  return { bits: sign | (exponent << 10) | fraction, number };
}

const factors = [1, 2].map((seed) =>
  Uint16Array.from({ length: size * size }, (_, i) => random(seed, i).bits),
);

/** Returns the largest error of some results, as a multiple of `2^-24` of their magnitudes. */
function errorOf(product: Float32Array): number {
  let largest = 0;
  for (let n = 0; n < 500; n++) {
    const [row, column] = [randomBelow(size, 5, 2 * n), randomBelow(size, 5, 2 * n + 1)];
    let [sum, magnitude] = [0, 0];
    for (let k = 0; k < size; k++) {
      const term = random(1, row * size + k).number * random(2, k * size + column).number;
      sum += term;
      magnitude += Math.abs(term);
    }
    largest = Math.max(largest, Math.abs(product[row * size + column]! - sum) / magnitude);
  }
  return largest * 2 ** 24;
}

/** A device on which the kernel runs. */
class Program {
  readonly #device: GPUDevice;
  readonly #pipeline: GPUComputePipeline;
  readonly #group: GPUBindGroup;
  readonly #product: GPUBuffer;
  readonly #word: GPUBuffer;

  constructor(device: GPUDevice) {
    const module = device.createShaderModule({ code: source });
    this.#device = device;
    this.#pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    this.#product = resultBuffer(device, 4 * size * size);
    this.#word = resultBuffer(device, 4);
    const [a, b] = factors.map((each) => uploadBuffer(device, new Uint32Array(each.buffer)));
    this.#group = bindBuffers(device, this.#pipeline, a!, b!, this.#product);
  }

  submit(count: number): void {
    const encoder = this.#device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.#pipeline);
    pass.setBindGroup(0, this.#group);
    for (let i = 0; i < count; i++) pass.dispatchWorkgroups(size / SIDE, size / SIDE);
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
  }

  async run(): Promise<Float32Array> {
    this.submit(1);
    return new Float32Array(await readBuffers(this.#device, this.#product));
  }

  /** Returns the time of a dispatch in milliseconds, from submissions to a mapped result. */
  async time(): Promise<number> {
    const start = performance.now();
    this.submit(dispatches);
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.#product, 0, this.#word, 0, 4);
    this.#device.queue.submit([encoder.finish()]);
    await readBuffers(this.#device, this.#word);
    return (performance.now() - start) / dispatches;
  }
}

const gpu = await createGpu([
  ...(flags.validate ? ["backend=null"] : []),
  "enable-dawn-features=allow_unsafe_apis,vulkan_enable_f16_on_nvidia",
]);
const features = ["chromium-experimental-subgroup-matrix", "subgroups", "shader-f16"] as GPUFeatureName[];
/** Returns an adapter, which makes one device only. */
const newAdapter = async () => {
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter || !features.every((each) => adapter.features.has(each)))
    throw new Error("no adapter with subgroup matrices");
  return adapter;
};
const errors: string[] = [];
const newDevice = async () => {
  const adapter = await newAdapter();
  const descriptor = { requiredFeatures: features, requiredLimits: limitsOf(adapter.limits) };
  const device = await adapter.requestDevice(descriptor);
  device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
  return device;
};
const redundant: Policy = { redundancy: "inter", check: "store" };
const checked: Policy = {
  ...redundant,
  algebra: algebra({ leastMultiplications: 0, searchesAtOnce: true }),
  ...(flags.validate && { onFault: "report" }),
};

/** Returns the report about the only kernel. */
const kernelOf = async ({ belay }: HardenedDevice) => (await belay.report()).kernels[0]!;

const found: Record<string, unknown> = { size, adapter: (await newAdapter()).info.description };
let isSound = true;
if (flags.validate) {
  const device = harden(await newDevice(), { ...checked, injectFaults: true });
  await new Program(device).run().catch(() => undefined);
  const { redundancy, sums, diagnostics } = await kernelOf(device);
  Object.assign(found, { redundancy, sums, reasons: diagnostics.map(({ message }) => message) });
  isSound = !diagnostics.some(({ code }) => code === "BELAY340");
} else {
  const plain = await newDevice();
  const programs = [new Program(plain)];
  const expected = await programs[0]!.run();
  found.error = errorOf(expected);
  const hardened = [];
  for (const [name, policy] of Object.entries({ redundant, checked })) {
    const device = harden(await newDevice(), policy);
    const program = new Program(device);
    programs.push(program);
    const isSame = (await program.run()).every((x, i) => x === expected[i]);
    hardened.push({ name, device, isSame });
  }
  const runs = programs.map((program) => () => program.time());
  const samples = await takeTurns(plain, runs, { rounds: 3, seconds: Number(flags.seconds) });
  const [ofPlain, ofRedundant, ofChecked] = samples.map(median);
  found.times = { plain: ofPlain, redundant: ofRedundant, checked: ofChecked };
  for (const { name, device, isSame } of hardened) {
    const { faults, giveUps } = await device.belay.report();
    const { dispatches: count, sums, diagnostics } = await kernelOf(device);
    const reasons = diagnostics.map(({ message }) => message);
    found[name] = { isSame, count, alarms: faults.length + giveUps, sums, reasons };
    const wasChecked = !sums || (sums.checked === count && sums.repaired + sums.refuted === 0);
    isSound &&= isSame && faults.length + giveUps === 0 && wasChecked;
    device.destroy();
  }
  found.struck = await strike(expected);
}
console.log(JSON.stringify({ isSound, ...found, errors: errors.slice(0, 3) }, undefined, 1));
if (flags.json) writeFileSync(flags.json, JSON.stringify({ isSound, ...found, errors }));
destroyDevices(gpu);
process.exitCode = isSound && errors.length === 0 ? 0 : 1;

/** Strikes one value of the kernel that runs alone in each run, and counts the outcomes. */
async function strike(expected: Float32Array): Promise<Record<string, number>> {
  const device = harden(await newDevice(), { ...checked, injectFaults: true });
  const { belay } = device;
  const program = new Program(device);
  const before = (await program.run()).every((x, i) => x === expected[i]);
  const counts = {
    same: Number(before),
    injected: 0,
    struck: 0,
    repaired: 0,
    silent: 0,
    largest: 0,
    bound: 0,
  };
  const alone = belay.faultSites().find(({ kernel }) => kernel === "multiply alone");
  const values = alone?.sites.filter(({ kind }) => kind === "value") ?? [];
  for (; counts.injected < Number(flags.faults) && performance.now() < end && alone; counts.injected++) {
    const draw = (below: number, which: number) => randomBelow(below, 7, 8 * counts.injected + which);
    belay.arm({
      kernel: alone.kernel,
      site: values[draw(values.length, 0)]!.id,
      replica: 0,
      effect: { xor: 1 << draw(16, 1) },
      workgroup: [draw(size / SIDE, 2), draw(size / SIDE, 3), 0],
      localIndex: draw(128, 4),
    });
    const product = await program.run();
    counts.struck += Number((await belay.strikes()) > 0);
    belay.disarm();
    let error = 0;
    for (let i = 0; i < product.length; i++) error = Math.max(error, Math.abs(product[i]! - expected[i]!));
    counts.silent += Number(error > 0);
    counts.largest = Math.max(counts.largest, error);
  }
  const { sums } = await kernelOf(device);
  return { ...counts, repaired: sums!.repaired, bound: sums!.bound };
}
