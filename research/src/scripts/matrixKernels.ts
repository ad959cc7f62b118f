/**
 * Multiplies with subgroup matrices on a hardened device, in each configuration that the adapter
 * has, and compares the products with the CPU's. Then strikes random values, one in each run.
 *
 *   node research/dist/scripts/matrixKernels.js [--time-limit 60] [--runs 200] [--faults 100]
 *       [--patience 10] [--validate] [--json FILE]
 *
 * All work is done in a child process. If it says nothing for `--patience` seconds, it is killed:
 * the fault counts as a hang, and another process goes on with the next one. Ends with an error
 * when a product is wrong, or an alarm is raised, or a run hangs, without a fault. With
 * `--validate`, Dawn's null backend judges the emitted code, and nothing is computed.
 */
import { type ChildProcess, fork } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
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
    patience: { type: "string", default: "10" },
    validate: { type: "boolean", default: false },
    json: { type: "string" },
    /** The place at which a child process begins. */
    from: { type: "string" },
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

/** The next thing that a child process does: a trial of a configuration, or a fault in it. */
interface Place {
  readonly config: number;
  /** The number of the policy, or that of {@link policies} for the trial with faults. */
  readonly policy: number;
  readonly fault: number;
}

/** The outcome of a run with a fault. `missed` is a fault whose site no lane executed. */
type Outcome = "wrong" | "refused" | "recovered" | "masked" | "missed" | "hung";

interface Message {
  /** Tells what comes next, and how many configurations there are. */
  readonly next?: Place;
  readonly configs?: readonly MatrixConfig[];
  readonly trial?: Record<string, unknown>;
  readonly outcome?: Outcome;
  readonly errors?: readonly string[];
}

const policies: readonly Policy[] = [
  {},
  { redundancy: "inter", check: "store" },
  { memory: "secded128" },
  { redundancy: "none", memory: "checksum" },
];

/** Does all trials from a place on, and tells the parent process of each. */
async function work(from: Place, say: (message: Message) => void): Promise<void> {
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
  native.addEventListener("uncapturederror", ({ error }) => say({ errors: [error.message] }));
  const configs = configsOf(adapter);
  say({ configs });
  for (const [number, config] of configs.entries()) {
    if (number < from.config) continue;
    const product = productOf(config);
    const isFirst = number === from.config;
    for (let policy = isFirst ? from.policy : 0; policy < policies.length; policy++) {
      say({ next: { config: number, policy, fault: 0 } });
      say({ trial: { ...config, ...(await runWithout(native, product, policies[policy]!)) } });
    }
    await strikeFrom(native, product, isFirst ? from.fault : 0, (fault, outcome) => {
      say({ ...(outcome && { outcome }), next: { config: number, policy: policies.length, fault } });
    });
  }
  native.destroy();
  destroyDevices(gpu);
}

function configsOf(adapter: GPUAdapter): MatrixConfig[] {
  if (flags.validate)
    return [
      { componentType: "f32", resultComponentType: "f32", M: 8, N: 8, K: 8 },
      { componentType: "f16", resultComponentType: "f32", M: 16, N: 16, K: 16 },
      { componentType: "u8", resultComponentType: "u32", M: 16, N: 8, K: 32 },
    ];
  const { subgroupMatrixConfigs = [] } = adapter.info as { subgroupMatrixConfigs?: readonly MatrixConfig[] };
  return subgroupMatrixConfigs.map(({ componentType, resultComponentType, M, N, K }) => {
    return { componentType, resultComponentType, M, N, K };
  });
}

/** Multiplies without a fault under a policy. */
async function runWithout(native: GPUDevice, product: Product, policy: Policy) {
  const trial = {
    policy,
    plain: flags.validate || isSame(await prepare(native, product)(), product.expected),
  };
  try {
    const device = harden(native, flags.validate ? { ...policy, onFault: "report" } : policy);
    const run = prepare(device, product);
    let [runs, right] = [0, true];
    for (; runs < Number(flags.runs) && performance.now() < end; runs++)
      right &&= isSame(await run(), product.expected);
    const { faults, giveUps, kernels } = await device.belay.report();
    return { ...trial, runs, right, alarms: faults.length + giveUps, redundancy: kernels[0]?.redundancy };
  } catch (error) {
    return { ...trial, failure: messageOf(error) };
  }
}

/** Strikes one value in each run. Tells of each fault before it, and of its outcome. */
async function strikeFrom(
  native: GPUDevice,
  product: Product,
  from: number,
  tell: (next: number, outcome?: Outcome) => void,
): Promise<void> {
  tell(from);
  const device = harden(native, { injectFaults: true, ...(flags.validate && { onFault: "report" }) });
  const run = prepare(device, product);
  await run();
  const [first] = device.belay.faultSites();
  const values = first?.sites.filter(({ kind }) => kind === "value") ?? [];
  if (flags.validate || values.length === 0) return;
  for (let i = from; i < Number(flags.faults) && performance.now() < end; i++) {
    tell(i);
    device.belay.arm({
      kernel: first!.kernel,
      site: values[randomBelow(values.length, 7, 4 * i)]!.id,
      replica: (randomWord(7, 4 * i + 1) & 1) as 0 | 1,
      effect: { xor: 1 << randomBelow(32, 7, 4 * i + 2) },
      workgroup: [1, 0, 0],
      localIndex: randomBelow(32 * SUBGROUPS, 7, 4 * i + 3),
    });
    tell(i + 1, await outcomeOf(device, run, product.expected));
  }
}

async function outcomeOf(
  device: HardenedDevice,
  run: () => Promise<Uint32Array>,
  expected: Uint32Array,
): Promise<Outcome> {
  const before = (await device.belay.report()).faults.length;
  const product = await run().catch(() => undefined);
  const isStruck = (await device.belay.strikes()) > 0;
  device.belay.disarm();
  if (!product) return "refused";
  if (!isSame(product, expected)) return "wrong";
  if (!isStruck) return "missed";
  return (await device.belay.report()).faults.length > before ? "recovered" : "masked";
}

/** Starts a child process at a place. Resolves to the place where it hung; undefined at its end. */
function runChild(from: Place, hear: (message: Message) => void): Promise<Place | undefined> {
  const args = [...process.argv.slice(2), "--from", JSON.stringify(from)];
  const seconds = String(Math.max(1, (end - performance.now()) / 1000));
  const child = fork(fileURLToPath(import.meta.url), [...args, "--time-limit", seconds], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  let place = from;
  let timer = killLater(child);
  child.on("message", (message: Message) => {
    clearTimeout(timer);
    timer = killLater(child);
    place = message.next ?? place;
    hear(message);
  });
  return new Promise((resolve) => {
    child.on("exit", (code) => {
      clearTimeout(timer);
      resolve(code === 0 ? undefined : place);
    });
  });
}

const killLater = (child: ChildProcess) =>
  setTimeout(() => child.kill("SIGKILL"), 1000 * Number(flags.patience));

/** Runs child processes until all trials are done, and reports them. */
async function supervise(): Promise<void> {
  let configs: readonly MatrixConfig[] = [];
  const errors: string[] = [];
  const trials: Record<string, unknown>[] = [];
  /** The outcomes of faults, by configuration. */
  const struck = new Map<number, Partial<Record<Outcome, number>>>();
  const count = ({ config }: Place, outcome: Outcome) => {
    const counts = struck.get(config) ?? {};
    struck.set(config, { ...counts, [outcome]: (counts[outcome] ?? 0) + 1 });
  };
  const keep = (trial: Record<string, unknown>) => {
    trials.push(trial);
    console.error(JSON.stringify(trial));
  };
  const hear = (message: Message) => {
    configs = message.configs ?? configs;
    errors.push(...(message.errors ?? []));
    if (message.trial) keep(message.trial);
    if (message.outcome && message.next) count(message.next, message.outcome);
  };
  let place: Place | undefined = { config: 0, policy: 0, fault: 0 };
  let hangsInARow = 0;
  while (place && performance.now() < end) {
    const before = place;
    const hung = await runChild(place, hear);
    if (!hung) break;
    const isFault = hung.policy === policies.length;
    if (isFault) count(hung, "hung");
    else keep({ ...configs[hung.config], policy: policies[hung.policy], failure: "hung, or ended early" });
    hangsInARow = hung.config === before.config && hung.fault === before.fault ? hangsInARow + 1 : 0;
    // A kernel that hangs without a fault, in the run before them, hangs again.
    place = !isFault
      ? { ...hung, policy: hung.policy + 1 }
      : hangsInARow < 2
        ? { ...hung, fault: hung.fault + 1 }
        : { config: hung.config + 1, policy: 0, fault: 0 };
    if (place.config >= configs.length) break;
  }
  for (const [config, outcomes] of struck) keep({ ...configs[config], outcomes });
  const isSound =
    configs.length > 0 &&
    trials.every(
      ({ failure, plain, right, alarms }) => !failure && (!plain || flags.validate || (right && !alarms)),
    );
  console.log(JSON.stringify({ isSound, configs: configs.length, errors: errors.slice(0, 3), trials }));
  if (flags.json) writeFileSync(flags.json, JSON.stringify({ isSound, configs, errors, trials }));
  process.exitCode = isSound && errors.length === 0 ? 0 : 1;
}

if (flags.from === undefined) await supervise();
else {
  await work(JSON.parse(flags.from), (message) => process.send!(message));
  process.disconnect();
}
