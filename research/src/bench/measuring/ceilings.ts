/**
 * The measured limits of a device: the lines that figure 3 of the paper compares its kernels with.
 */
import { GpuTimer } from "./gpuTimer.ts";

/** The limits of a device, per second. */
export interface Ceilings {
  /** The bytes read and written by a copy from memory to memory. */
  readonly memory: number;
  /** The bytes read and written by a copy within the last-level cache. */
  readonly cache: number;
  /** The floating-point operations, two for each fused multiply-add. */
  readonly flops: number;
  /** The integer operations, two for each multiply-add. */
  readonly integers: number;
  /** The invocations that copy a word each, which the latency of memory limits. */
  readonly invocations: number;
}

export type CeilingSize = "small" | "full";

/**
 * The words of four bytes in a copy, the invocations of an arithmetic kernel, and the repetitions
 * of their work.
 */
const sizes = {
  small: { memory: 2 ** 18, cache: 2 ** 16, cacheRounds: 4, invocations: 2 ** 10, rounds: 4 },
  full: { memory: 2 ** 27, cache: 2 ** 21, cacheRounds: 256, invocations: 2 ** 21, rounds: 128 },
} as const;

const WORKGROUP = 256;
/** The number of multiply-adds of a vec4 in each round of each chain. */
const UNROLLED = 16;
/** The number of chains that do not depend on each other. */
const CHAINS = 4;

/**
 * Returns a copying kernel. Each round reads elements that invocations of other workgroups read
 * before, so that only a shared cache can hold them.
 */
const copyOf = (type: "f32" | "vec4f") => /* wgsl */ `
struct Shape { rounds: u32, shift: u32 }
@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> source: array<${type}>;
@group(0) @binding(2) var<storage, read_write> copied: array<${type}>;

@compute @workgroup_size(${WORKGROUP})
fn copy(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let index = id.y * groups.x * ${WORKGROUP}u + id.x;
  for (var round = 0u; round < shape.rounds; round++) {
    copied[index] = source[(index + round * shape.shift) % arrayLength(&source)];
  }
}`;

/**
 * Returns an arithmetic kernel. The chains are variables of their own: an array might not stay in
 * registers.
 */
const arithmetic = (type: "f32" | "u32") => {
  const chains = Array.from({ length: CHAINS }, (_, i) => `chain${i}`);
  const step = chains.map((chain) =>
    type === "f32" ? `${chain} = fma(${chain}, factor, term);` : `${chain} = ${chain} * factor + term;`,
  );
  return /* wgsl */ `
struct Numbers { factor: vec4<${type}>, term: vec4<${type}>, rounds: u32 }
@group(0) @binding(0) var<uniform> numbers: Numbers;
@group(0) @binding(1) var<storage, read_write> results: array<vec4<${type}>>;

@compute @workgroup_size(${WORKGROUP})
fn compute(@builtin(global_invocation_id) id: vec3u) {
  let factor = numbers.factor;
  let term = numbers.term;
  ${chains.map((chain, i) => `var ${chain} = vec4(${type}(id.x + ${i}u));`).join("\n  ")}
  for (var round = 0u; round < numbers.rounds; round++) {
    ${Array.from({ length: UNROLLED }, () => step.join(" ")).join("\n    ")}
  }
  results[id.x] = ${chains.join(" + ")};
}`;
};

/**
 * Measures each ceiling as the best of `runs` runs. The device must have the feature
 * `timestamp-query`.
 */
export async function measureCeilings(device: GPUDevice, size: CeilingSize, runs: number): Promise<Ceilings> {
  const { memory, cache, cacheRounds, invocations, rounds } = sizes[size];
  const timer = new GpuTimer(device);
  const operations = invocations * rounds * UNROLLED * CHAINS * 4 * 2;
  const largest = Math.min(device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize) / 4;
  const words = Math.min(memory, 2 ** Math.floor(Math.log2(largest)));
  return {
    memory: (8 * words) / (await timeCopy(device, timer, words, 1, runs)),
    cache: (8 * cache * cacheRounds) / (await timeCopy(device, timer, cache, cacheRounds, runs)),
    invocations: words / 4 / (await timeCopy(device, timer, words / 4, 1, runs, "f32")),
    flops: operations / (await timeArithmetic(device, timer, "f32", { invocations, rounds }, runs)),
    integers: operations / (await timeArithmetic(device, timer, "u32", { invocations, rounds }, runs)),
  };
}

/** Returns the seconds to copy `words` words `rounds` times. */
async function timeCopy(
  device: GPUDevice,
  timer: GpuTimer,
  words: number,
  rounds: number,
  runs: number,
  type: "f32" | "vec4f" = "vec4f",
): Promise<number> {
  const workgroups = words / (type === "f32" ? 1 : 4) / WORKGROUP;
  const grid: [number, number] = [Math.min(workgroups, 2 ** 14), Math.ceil(workgroups / 2 ** 14)];
  // The shift is an odd number of workgroups, about a third of all. An invocation meets its own
  // words again only after many rounds.
  const shift = WORKGROUP * (Math.floor(workgroups / 6) * 2 + 1);
  const shape = uniform(device, Uint32Array.of(rounds, shift));
  const buffers = [0, 1].map(() =>
    device.createBuffer({ size: 4 * words, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST }),
  );
  return best(device, timer, { code: copyOf(type), grid, buffers: [shape, ...buffers] }, runs);
}

/** Returns the seconds of an arithmetic kernel. */
async function timeArithmetic(
  device: GPUDevice,
  timer: GpuTimer,
  type: "f32" | "u32",
  { invocations, rounds }: { readonly invocations: number; readonly rounds: number },
  runs: number,
): Promise<number> {
  // The numbers converge: neither overflow nor denormals slow a chain down.
  const numbers = type === "f32" ? new Float32Array(12).fill(0.5) : new Uint32Array(12).fill(3);
  new Uint32Array(numbers.buffer)[8] = rounds;
  const results = device.createBuffer({ size: 16 * invocations, usage: GPUBufferUsage.STORAGE });
  const buffers = [uniform(device, numbers), results];
  return best(device, timer, { code: arithmetic(type), grid: [invocations / WORKGROUP, 1], buffers }, runs);
}

interface Kernel {
  readonly code: string;
  readonly grid: [number, number];
  readonly buffers: readonly GPUBuffer[];
}

/** Returns the seconds of the fastest of several runs; destroys the buffers. */
async function best(
  device: GPUDevice,
  timer: GpuTimer,
  { code, grid, buffers }: Kernel,
  runs: number,
): Promise<number> {
  const module = device.createShaderModule({ code });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  let fastest = Number.POSITIVE_INFINITY;
  for (let i = 0; i <= runs; i++) {
    const milliseconds = await timer.time((encoder) => {
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(...grid);
      pass.end();
    });
    if (i > 0) fastest = Math.min(fastest, milliseconds);
  }
  for (const buffer of buffers) buffer.destroy();
  return fastest / 1000;
}

function uniform(device: GPUDevice, data: Uint32Array | Float32Array): GPUBuffer {
  const usage = GPUBufferUsage.UNIFORM;
  const buffer = device.createBuffer({ size: Math.max(data.byteLength, 16), usage, mappedAtCreation: true });
  new Uint8Array(buffer.getMappedRange()).set(new Uint8Array(data.buffer));
  buffer.unmap();
  return buffer;
}
