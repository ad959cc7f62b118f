/** Buffers with a checksum each, which kernels add up as they go. */
import { describe, expect, it } from "vitest";
import { testDevices } from "../../../test/testDevices.ts";
import { harden } from "../harden.ts";
import type { Policy } from "../policy.ts";
import type { MemoryFault } from "./memoryFault.ts";

const { newDevice } = testDevices({ full: true });

const kernel = (type: string, body: string, size = "8") => `
@group(0) @binding(0) var<storage, read> a: array<${type}>;
@group(0) @binding(1) var<storage, read_write> b: array<${type}>;
@compute @workgroup_size(${size}) fn main(
  @builtin(global_invocation_id) id: vec3u,
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) local: vec3u,
) { ${body} }`;

/** Applies a kernel twice, from one buffer to another, and keeps running. */
class Program {
  readonly buffers: readonly GPUBuffer[];
  readonly faults: MemoryFault[] = [];
  readonly #device;
  readonly #native;
  readonly #steps: readonly { pipeline: GPUComputePipeline; group: GPUBindGroup }[];
  readonly #grid: readonly number[];

  static async create(code: string, words: number, grid: readonly number[], policy: Policy = {}) {
    const native = await newDevice();
    const device = await harden(native, { redundancy: "none", memory: "checksum", ...policy });
    return new Program(device, native, { code, words, grid });
  }

  constructor(
    device: Awaited<ReturnType<typeof harden>>,
    native: GPUDevice,
    { code, words, grid }: { code: string; words: number; grid: readonly number[] },
  ) {
    this.#device = device;
    this.#native = native;
    this.#grid = grid;
    device.belay.on("memoryFault", (fault) => this.faults.push(fault));
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    this.buffers = ["first", "second", "third"].map((label) =>
      device.createBuffer({ label, size: 4 * words, usage: STORAGE | COPY_SRC | COPY_DST }),
    );
    const compute = { module: device.createShaderModule({ code }) };
    this.#steps = [0, 1].map((i) => {
      const pipeline = device.createComputePipeline({ layout: "auto", compute });
      const entries = [0, 1].map((binding) => ({
        binding,
        resource: { buffer: this.buffers[i + binding]! },
      }));
      return { pipeline, group: device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }) };
    });
    const contents = Uint32Array.from({ length: words }, (_, i) => Math.imul(i + 1, 0x9e3779b9));
    device.queue.writeBuffer(this.buffers[0]!, 0, contents);
  }

  run(steps = this.#steps): void {
    const encoder = this.#device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (const { pipeline, group } of steps) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(...(this.#grid as [number]));
    }
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
  }

  runStep(i: number): void {
    this.run([this.#steps[i]!]);
  }

  async read(buffer = 2): Promise<number[]> {
    const { size } = this.buffers[buffer]!;
    const staging = this.#device.createBuffer({
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.buffers[buffer]!, 0, staging, 0, size);
    this.#device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    return [...new Uint32Array(staging.getMappedRange())];
  }

  /** Flips bits of a word at rest. */
  async flip(buffer: number, word: number, mask: number): Promise<void> {
    const code = `@group(0) @binding(0) var<storage, read_write> words: array<u32>;
      @compute @workgroup_size(1) fn main() { words[${word}] ^= ${mask >>> 0}u; }`;
    const native = Object.getPrototypeOf(this.#native) as GPUDevice;
    const module = native.createShaderModule.call(this.#native, { code });
    const pipeline = native.createComputePipeline.call(this.#native, { layout: "auto", compute: { module } });
    const group = native.createBindGroup.call(this.#native, {
      layout: pipeline.getBindGroupLayout(0),
      entries: [{ binding: 0, resource: { buffer: this.buffers[buffer]! } }],
    });
    const encoder = native.createCommandEncoder.call(this.#native);
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
    pass.end();
    this.#native.queue.submit([encoder.finish()]);
  }

  async report() {
    const { memory, memoryFaults, replays, faults } = await this.#device.belay.report();
    return {
      verified: memory!.buffers.map(({ verifiedBytes }) => verifiedBytes),
      memoryFaults,
      replays,
      faults,
    };
  }

  [Symbol.dispose](): void {
    this.#device.destroy();
  }
}

const COPY = kernel("u32", "if (id.x < arrayLength(&a)) { b[id.x] = a[id.x] + 1u; }");
const expected = (words: number) =>
  Array.from({ length: words }, (_, i) => (Math.imul(i + 1, 0x9e3779b9) + 2) >>> 0);

describe("checksums", () => {
  it("are added up by kernels once they are known to access all of a buffer", async () => {
    using program = await Program.create(COPY, 41, [6]);
    program.run();
    expect(await program.read()).toEqual(expected(41));
    const { verified } = await program.report();
    program.run();
    expect(await program.read()).toEqual(expected(41));
    const after = await program.report();
    expect(after.verified[1]).toBe(verified[1]);
    expect(after).toMatchObject({ memoryFaults: [], replays: 0, faults: [] });
  });

  it("tell a flip in what kernels load, by the name of the buffer", async () => {
    using program = await Program.create(COPY, 41, [6], { onFault: "report" });
    program.run();
    await program.read();
    expect(program.faults).toEqual([]);
    await program.flip(0, 40, 1 << 31);
    program.run();
    await program.read();
    expect(program.faults).toMatchObject([
      { buffer: "first", byteOffset: 0, granuleBytes: 176, outcome: "reported" },
    ]);
  });
});
