/** Memory with more errors than its code corrects, and memory that cannot be protected. */
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { until } from "../../../../../test/support/until.ts";
import { MemoryFaultError } from "../context/memoryFault.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import type { HardenedDevice } from "../hardenedDevice.ts";
import { CheckArena } from "./checkArena.ts";
import { UnprotectedBufferError } from "./unprotectedBuffer.ts";

const { sharedDevice } = testDevices();

const WORDS = 16;
const STEP = `
@group(0) @binding(0) var<storage, read> input: array<vec4u>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4u>;
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3u) {
  output[id.x] = output[id.x] * 3 + input[id.x];
}`;

/** A kernel that changes a buffer in place in each run. */
class Program {
  readonly device: HardenedDevice;
  readonly input: GPUBuffer;
  readonly output: GPUBuffer;
  readonly staging: GPUBuffer;
  readonly #pipeline: GPUComputePipeline;
  readonly #group: GPUBindGroup;

  /** Calls `afterInput` when only the input exists. */
  constructor(device: HardenedDevice, afterInput: () => void = () => {}) {
    this.device = device;
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const make = (label: string, usage: number) => device.createBuffer({ label, size: 4 * WORDS, usage });
    this.input = make("input", STORAGE | COPY_DST);
    afterInput();
    this.output = make("output", STORAGE | COPY_SRC | COPY_DST);
    this.staging = make("staging", MAP_READ | COPY_DST);
    const compute = { module: device.createShaderModule({ code: STEP }) };
    this.#pipeline = device.createComputePipeline({ layout: "auto", compute });
    const entries = [this.input, this.output].map((buffer, binding) => ({ binding, resource: { buffer } }));
    this.#group = device.createBindGroup({ layout: this.#pipeline.getBindGroupLayout(0), entries });
    device.queue.writeBuffer(this.input, 0, new Uint32Array(WORDS).fill(1));
  }

  step(): void {
    const encoder = this.device.createCommandEncoder();
    encodeDispatch(encoder, this.#pipeline, this.#group, 1);
    this.device.queue.submit([encoder.finish()]);
  }

  async read(): Promise<number[]> {
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.output, this.staging);
    this.device.queue.submit([encoder.finish()]);
    await this.staging.mapAsync(GPUMapMode.READ);
    const words = [...new Uint32Array(this.staging.getMappedRange())];
    this.staging.unmap();
    return words;
  }
}

async function newProgram(policy: Policy, native?: GPUDevice): Promise<Program> {
  const device = await harden(native ?? (await sharedDevice()), {
    redundancy: "intra+lds",
    injectFaults: true,
    ...policy,
  });
  return new Program(device);
}

const stepsTo = (steps: number) => new Array(WORDS).fill((3 ** steps - 1) / 2);

describe.each(["none", "intra+lds", "inter"] as const)("under redundancy %s", (redundancy) => {
  it.each(["secded128", "secded32", "detect", "checksum"] as const)(
    "two flips are always reported, %s",
    async (memory) => {
      const program = await newProgram({ redundancy, memory });
      const { device } = program;
      let steps = 0;
      const bit = fc.nat(31);
      const strike = fc.record({
        where: fc.constantFrom("input", "output", "staging"),
        word: fc.nat(WORDS - 1),
        bits: fc.tuple(bit, bit),
      });
      for (const { where, word, bits } of fc.sample(strike, 3)) {
        program.step();
        const mask = ((1 << bits[0]) | (1 << bits[1])) >>> 0;
        device.belay.flip(program[where as "input"], 4 * word, mask);
        program.step();
        steps += 2;
        try {
          expect(await program.read()).toEqual(stepsTo(steps));
        } catch (error) {
          if (!(error instanceof MemoryFaultError)) throw error;
          // Re-execution does not restore inputs: the program has to provide them again.
          expect(where).toBe("input");
          device.queue.writeBuffer(program.input, 0, new Uint32Array(WORDS).fill(1));
          device.queue.writeBuffer(program.output, 0, new Uint32Array(WORDS));
          steps = 0;
        }
      }
      device.destroy();
    },
  );
});

it("is restored with its check words", async () => {
  const program = await newProgram({ redundancy: "none", memory: "secded128" });
  program.step();
  await program.read();
  program.step();
  program.device.belay.flip(program.output, 0, 3);
  program.step();
  expect(await program.read()).toEqual(stepsTo(3));
  const { recoveries, memory } = await program.device.belay.report();
  expect([recoveries, memory!.uncorrectable > 0]).toEqual([1, true]);
  program.device.destroy();
});

it("is found at rest by scrubbing, on demand and at intervals", async () => {
  const program = await newProgram({ redundancy: "none", memory: "secded64", scrubIntervalMs: 5 });
  const { device, input } = program;
  device.belay.flip(input, 4, 1 << 8);
  await device.belay.scrub();
  const corrected = async () => (await device.belay.report()).memory!.corrected;
  expect(await corrected()).toBe(1);
  device.belay.flip(input, 4, 1 << 9);
  await until(async () => (await corrected()) === 2);
  device.destroy();
  const other = await newProgram({ redundancy: "none", memory: "secded64" });
  other.device.belay.flip(other.input, 4, 3);
  await expect(other.device.belay.scrub()).rejects.toThrow('buffer "input", bytes 0 to 7');
  other.device.destroy();
});

it("is reported and released, if the policy says so", async () => {
  const program = await newProgram({ redundancy: "none", memory: "secded128", onFault: "report" });
  program.step();
  program.device.belay.flip(program.output, 0, 3);
  expect(await program.read()).not.toEqual(stepsTo(1));
  const { memoryFaults } = await program.device.belay.report();
  expect(memoryFaults).toMatchObject([
    { buffer: "output", byteOffset: 0, outcome: "reported" },
    { buffer: "staging", byteOffset: 0, outcome: "reported" },
  ]);
  program.device.destroy();
});

describe("memory that cannot be protected", () => {
  afterEach(() => vi.restoreAllMocks());
  const full = () => vi.spyOn(CheckArena.prototype, "hasRoom").mockReturnValue(false);

  it("is reported, and used as it is by kernels that passes verify", async () => {
    full();
    const program = await newProgram({ redundancy: "none", memory: "secded1024" });
    program.step();
    expect(await program.read()).toEqual(stepsTo(1));
    const { memory } = await program.device.belay.report();
    expect(memory).toMatchObject({
      buffers: [],
      unprotected: [{ buffer: "input", code: "BELAY335" }, { buffer: "output" }, { buffer: "staging" }],
    });
    program.device.destroy();
  });

  it.each(["none", "intra+lds", "inter"] as const)(
    "is used as it is by kernels with their own checks, whose other buffers passes verify (%s)",
    async (redundancy) => {
      const hasRoom = vi.spyOn(CheckArena.prototype, "hasRoom");
      const device = await harden(await sharedDevice(), {
        redundancy,
        memory: "secded128",
        injectFaults: true,
      });
      const program = new Program(device, () => hasRoom.mockReturnValue(false));
      device.belay.flip(program.input, 20, 1 << 7);
      program.step();
      program.step();
      expect(await program.read()).toEqual(stepsTo(2));
      const { memory, kernels } = await device.belay.report();
      expect(memory).toMatchObject({
        buffers: [{ label: "input", corrected: 1 }],
        unprotected: [{ buffer: "output" }, { buffer: "staging" }],
      });
      const [checking, passVerified] = kernels;
      expect(checking!.diagnostics.map(({ code }) => code)).not.toContain("BELAY337");
      expect(passVerified!.diagnostics.map(({ code }) => code)).toContain("BELAY337");
      expect(passVerified!.redundancy).toBe(redundancy);
      device.destroy();
    },
  );

  it("is rejected by strict policies", async () => {
    full();
    const strict = await harden(await sharedDevice(), {
      redundancy: "intra+lds",
      memory: "secded128",
      strict: true,
    });
    const make = () => strict.createBuffer({ size: 16, usage: GPUBufferUsage.STORAGE });
    expect(make).toThrow(UnprotectedBufferError);
    strict.destroy();
  });
});

describe("a kernel that loads damaged memory", () => {
  const HALF = 256;
  const COPY = `
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> half: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { half[id.x] = source[id.x] + 1; }`;

  /** Runs a kernel for each half of a buffer. Only the first loads damaged memory. */
  async function runHalves(policy: Policy, isDynamic: boolean) {
    const device = await harden(await sharedDevice(), { ...policy, injectFaults: true });
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const { COMPUTE } = GPUShaderStage;
    const sources = [5, 6].map((value) => {
      const source = device.createBuffer({ size: HALF, usage: STORAGE | COPY_DST });
      device.queue.writeBuffer(source, 0, new Uint32Array(HALF / 4).fill(value));
      return source;
    });
    const halves = device.createBuffer({ size: 2 * HALF, usage: STORAGE | COPY_SRC });
    const layout = device.createBindGroupLayout({
      entries: [
        { binding: 0, visibility: COMPUTE, buffer: { type: "read-only-storage" } },
        { binding: 1, visibility: COMPUTE, buffer: { type: "storage", hasDynamicOffset: isDynamic } },
      ],
    });
    const pipeline = device.createComputePipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: device.createShaderModule({ code: COPY }) },
    });
    device.belay.flip(sources[0]!, 8, 3);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    // The kernel that loads damaged memory runs last, so nothing replaces the words that it taints.
    for (const i of [1, 0]) {
      const offset = isDynamic ? 0 : HALF * i;
      const entries = [
        { binding: 0, resource: { buffer: sources[i]! } },
        { binding: 1, resource: { buffer: halves, offset, size: HALF } },
      ];
      pass.setBindGroup(0, device.createBindGroup({ layout, entries }), isDynamic ? [HALF * i] : []);
      pass.dispatchWorkgroups(1);
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
    const read = async (half: 0 | 1) => {
      const staging = device.createBuffer({ size: HALF, usage: MAP_READ | COPY_DST });
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(halves, HALF * half, staging, 0, HALF);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(GPUMapMode.READ);
      return [...new Uint32Array(staging.getMappedRange())];
    };
    return { device, read };
  }

  it.each(
    (["secded128", "detect", "checksum"] as const).flatMap((memory) =>
      (["none", "intra+lds", "inter"] as const).flatMap((redundancy) =>
        [false, true].map((isDynamic) => ({ memory, redundancy, isDynamic })),
      ),
    ),
  )("taints only its bound ranges: $memory, $redundancy, dynamic offsets $isDynamic", async (options) => {
    const { isDynamic, ...policy } = options;
    const { device, read } = await runHalves(policy, isDynamic);
    await expect(read(0)).rejects.toBeInstanceOf(MemoryFaultError);
    expect(await read(1)).toEqual(new Array(HALF / 4).fill(7));
    await expect(read(0)).rejects.toBeInstanceOf(MemoryFaultError);
    device.destroy();
  });
});

it.each([0, 1, 2])(
  "refuses results of damaged data that is destroyed, and %i buffers follow",
  async (count) => {
    const program = await newProgram({ memory: "secded128", redundancy: "none", onFault: "throw" });
    program.step();
    program.device.belay.flip(program.input, 4, 3);
    program.step();
    const { label, usage } = program.input;
    program.input.destroy();
    // The second of them needs more check words than are left.
    for (const size of [4 * WORDS, 2 ** 20].slice(0, count))
      program.device.createBuffer({ label, size, usage });
    await expect(program.read()).rejects.toThrow(count < 2 ? /"input", bytes 0 to 15/ : MemoryFaultError);
  },
);
