import {
  type ComparedPolicy,
  type ComparedScheme,
  comparedSchemes,
  hardenWithCodes,
} from "belay-research/internal/ecc/index";
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { MemoryFault } from "../context/memoryFault.ts";
import type { HardenedDevice } from "../hardenedDevice.ts";

const { sharedDevice } = testDevices();

const WORDS = 20;
const STEP = `
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&output)) { output[id.x] += 3 * input[id.x]; }
}`;

/**
 * A program whose buffers can be struck between its submits. Its result shows if a step ran twice.
 */
class Program {
  readonly device;
  readonly buffers: Record<"input" | "output" | "staging", GPUBuffer>;
  readonly #pipeline: GPUComputePipeline;
  readonly #group: GPUBindGroup;

  constructor(device: HardenedDevice) {
    this.device = device;
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const make = (label: string, usage: number) => device.createBuffer({ label, size: 4 * WORDS, usage });
    this.buffers = {
      input: make("input", STORAGE | COPY_DST),
      output: make("output", STORAGE | COPY_SRC | COPY_DST),
      staging: make("staging", MAP_READ | COPY_DST),
    };
    const compute = { module: device.createShaderModule({ code: STEP }) };
    this.#pipeline = device.createComputePipeline({ layout: "auto", compute });
    const entries = [this.buffers.input, this.buffers.output].map((buffer, binding) => ({
      binding,
      resource: { buffer },
    }));
    this.#group = device.createBindGroup({ layout: this.#pipeline.getBindGroupLayout(0), entries });
    device.queue.writeBuffer(
      this.buffers.input,
      0,
      Uint32Array.from({ length: WORDS }, (_, i) => i * i),
    );
  }

  step(): void {
    const encoder = this.device.createCommandEncoder();
    encodeDispatch(encoder, this.#pipeline, this.#group, WORDS / 4);
    this.device.queue.submit([encoder.finish()]);
  }

  async read(): Promise<number[]> {
    const { output, staging } = this.buffers;
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(output, 0, staging, 0, 4 * WORDS);
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const words = [...new Uint32Array(staging.getMappedRange())];
    staging.unmap();
    return words;
  }
}

const afterSteps = (steps: number) => Array.from({ length: WORDS }, (_, i) => 3 * steps * i * i);

async function newProgram(policy: ComparedPolicy): Promise<Program> {
  return new Program(
    hardenWithCodes(await sharedDevice(), { redundancy: "none", injectFaults: true, ...policy }),
  );
}

const correcting: ComparedScheme[] = ["secded32", "secded64", "secded128", "secded1024", "packed32"];

describe("protected memory", () => {
  it.each([...correcting, "detect" as const, "checksum" as const])(
    "reports no error without faults, %s",
    async (memory) => {
      const program = await newProgram({ memory });
      program.step();
      program.step();
      expect(await program.read()).toEqual(afterSteps(2));
      const report = await program.device.belay.report();
      expect(report).toMatchObject({
        memory: { corrected: 0, uncorrectable: 0 },
        memoryFaults: [],
        replays: 0,
      });
      program.device.destroy();
    },
  );

  it.each(correcting)("corrects flips at rest, %s", async (memory) => {
    const program = await newProgram({ memory });
    const { device, buffers } = program;
    const corrected: string[] = [];
    device.belay.addEventListener("corrected", ({ detail }) => {
      corrected.push(...detail.errors.map(({ buffer, byteOffset }) => `${buffer} ${byteOffset}`));
    });
    device.belay.flip(buffers.input, 8, 1 << 7);
    program.step();
    device.belay.flip(buffers.output, 76, 1 << 31);
    program.step();
    device.belay.flip(buffers.output, 4, 1);
    device.belay.flip(buffers.staging, 16, 1 << 3);
    expect(await program.read()).toEqual(afterSteps(2));
    const { memory: report } = await device.belay.report();
    expect(report).toMatchObject({ uncorrectable: 0 });
    const granule = (offset: number) => offset - (offset % comparedSchemes[memory].granuleBytes);
    expect(new Set(corrected)).toEqual(
      new Set([`input ${granule(8)}`, `output ${granule(76)}`, `output ${granule(4)}`, "staging null"]),
    );
    device.destroy();
  });

  it("computes wrong results silently without a code", async () => {
    const program = await newProgram({ memory: "none" });
    program.device.belay.flip(program.buffers.input, 8, 1 << 7);
    program.step();
    expect(await program.read()).not.toEqual(afterSteps(1));
    expect((await program.device.belay.report()).faults).toEqual([]);
    program.device.destroy();
  });
});

describe.each(["secded128", "detect", "checksum"] as const)("damage, %s", (memory) => {
  const granule = (offset: number) => (memory === "checksum" ? 0 : offset - (offset % 16));

  /** The flips that the code cannot correct. */
  const mask = memory === "secded128" ? 3 : 1;

  it("is repaired if the data can be computed again", async () => {
    const program = await newProgram({ memory });
    const faults: MemoryFault[] = [];
    program.device.belay.addEventListener("memoryFault", ({ detail }) => faults.push(detail));
    program.step();
    program.device.belay.flip(program.buffers.output, 64, mask);
    program.device.belay.flip(program.buffers.staging, 16, mask);
    expect(await program.read()).toEqual(afterSteps(1));
    expect(faults).toMatchObject([
      { buffer: "output", byteOffset: granule(64), outcome: "recovered" },
      { buffer: "staging", byteOffset: granule(16), outcome: "recovered" },
    ]);
    program.device.destroy();
  });

  it("is refused otherwise, with the buffer's name and the location", async () => {
    const program = await newProgram({ memory });
    program.device.belay.flip(program.buffers.input, 36, mask);
    program.step();
    await expect(program.read()).rejects.toMatchObject({
      name: "MemoryFaultError",
      code: "BELAY332",
      errors: [{ buffer: "input", byteOffset: granule(36) }],
    });
    program.device.destroy();
  });
});
