/**
 * Random programs compute the same on protected memory as on a plain device, even if bits flip at
 * rest.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { corrects } from "../../ecc/scheme.ts";
import { harden } from "../harden.ts";
import type { HardenedDevice } from "../hardenedDevice.ts";

const { sharedDevice } = testDevices();

/**
 * The sizes of the buffers in bytes: smaller than a granule, not a multiple of one, and larger than
 * a binding.
 */
const SIZES = [4, 20, 64, 296];

type Command =
  | { do: "write"; to: number; at: number; words: readonly number[] }
  | { do: "copy"; from: number; to: number; at: number; toAt: number; size: number }
  | { do: "clear"; to: number; at: number; size: number }
  | { do: "upload"; to: number; at: number; words: readonly number[] }
  | { do: "add"; from: number; to: number; value: number }
  | { do: "submit" }
  | { do: "read"; from: number; at: number; stagingAt: number; size: number; whole: boolean }
  | { do: "flip"; in: number; at: number; bit: number };

const ADD = `
@group(0) @binding(0) var<uniform> value: u32;
@group(0) @binding(1) var<storage, read> more: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
@compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&sums)) { sums[id.x] = sums[id.x] * 5 + more[id.x % arrayLength(&more)] + value; }
}`;

/**
 * Runs random commands with the buffers of one device. Offsets and sizes are clamped to valid
 * values.
 */
class Machine {
  readonly #device: GPUDevice;
  readonly #add: GPUComputePipeline;
  readonly #buffers: GPUBuffer[];
  readonly #staging: GPUBuffer;
  #encoder: GPUCommandEncoder;
  #uploads: GPUBuffer[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const compute = { module: device.createShaderModule({ code: ADD }) };
    this.#add = device.createComputePipeline({ layout: "auto", compute });
    this.#buffers = SIZES.map((size, i) =>
      device.createBuffer({
        label: `${i}`,
        size,
        usage: STORAGE | COPY_SRC | COPY_DST,
        mappedAtCreation: i === 2,
      }),
    );
    new Uint32Array(this.#buffers[2]!.getMappedRange(8, 8)).set([1, 2]);
    new Uint32Array(this.#buffers[2]!.getMappedRange(24, 40)).fill(7);
    this.#buffers[2]!.unmap();
    this.#staging = device.createBuffer({ label: "staging", size: 340, usage: MAP_READ | COPY_DST });
    this.#encoder = device.createCommandEncoder();
  }

  async run(command: Command): Promise<number[]> {
    switch (command.do) {
      case "write": {
        const [to, at] = this.#place(command.to, command.at);
        this.#device.queue.writeBuffer(
          to,
          at,
          Uint32Array.from(command.words),
          0,
          fitting(to, at, command.words),
        );
        return [];
      }
      case "copy": {
        const [from, at] = this.#place(command.from, command.at);
        const [to, toAt] = this.#place(command.to, command.toAt);
        const size = 4 * Math.min(command.size, (from.size - at) / 4, (to.size - toAt) / 4);
        if (from !== to) this.#encoder.copyBufferToBuffer(from, at, to, toAt, size);
        return [];
      }
      case "clear": {
        const [to, at] = this.#place(command.to, command.at);
        this.#encoder.clearBuffer(to, at, 4 * Math.min(command.size, (to.size - at) / 4));
        return [];
      }
      case "upload": {
        const [to, at] = this.#place(command.to, command.at);
        const { MAP_WRITE, COPY_SRC } = GPUBufferUsage;
        const size = 4 * command.words.length + 8;
        const upload = this.#device.createBuffer({ label: "upload", size, usage: MAP_WRITE | COPY_SRC });
        await upload.mapAsync(GPUMapMode.WRITE);
        new Uint32Array(upload.getMappedRange(8)).set(command.words);
        upload.unmap();
        this.#encoder.copyBufferToBuffer(upload, 8, to, at, 4 * fitting(to, at, command.words));
        this.#uploads.push(upload);
        return [];
      }
      case "add": {
        if (command.from === command.to) return [];
        const value = this.#device.createBuffer({
          label: "value",
          size: 4,
          usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
        });
        this.#device.queue.writeBuffer(value, 0, Uint32Array.of(command.value));
        const to = this.#buffers[command.to]!;
        const offset = to.size > 256 && command.value % 2 ? 256 : 0;
        const resources = [
          { buffer: value },
          { buffer: this.#buffers[command.from]! },
          { buffer: to, offset },
        ];
        const pass = this.#encoder.beginComputePass();
        pass.setPipeline(this.#add);
        pass.setBindGroup(
          0,
          this.#device.createBindGroup({
            layout: this.#add.getBindGroupLayout(0),
            entries: resources.map((resource, binding) => ({ binding, resource })),
          }),
        );
        pass.dispatchWorkgroups(2);
        pass.end();
        this.#uploads.push(value);
        return [];
      }
      case "submit":
        this.#submit();
        return [];
      case "read": {
        const [from, at] = this.#place(command.from, command.at);
        const size = 4 * Math.min(command.size, (from.size - at) / 4);
        this.#encoder.copyBufferToBuffer(from, at, this.#staging, 4 * command.stagingAt, size);
        this.#submit();
        const [mapAt, mapSize] = command.whole ? [0, 340] : [8, 24];
        await this.#staging.mapAsync(GPUMapMode.READ, mapAt, mapSize);
        const part = command.whole ? this.#staging.getMappedRange() : this.#staging.getMappedRange(16, 12);
        const words = [...new Uint32Array(part)];
        this.#staging.unmap();
        return words;
      }
      case "flip": {
        this.#submit();
        if (!("belay" in this.#device)) return [];
        const all = [...this.#buffers, this.#staging];
        const buffer = all[command.in % all.length]!;
        const { belay } = this.#device as HardenedDevice;
        belay.flip(buffer, (4 * command.at) % buffer.size, (1 << command.bit) >>> 0);
        // Two flips in one granule are more than the code corrects. A mapping corrects a buffer
        // that scrubbing does not reach.
        if (buffer === this.#staging) {
          await buffer.mapAsync(GPUMapMode.READ);
          buffer.unmap();
        } else await belay.scrub();
        return [];
      }
    }
  }

  destroy(): void {
    this.#submit();
    for (const each of [...this.#buffers, ...this.#uploads, this.#staging]) each.destroy();
  }

  #submit(): void {
    this.#device.queue.submit([this.#encoder.finish()]);
    this.#encoder = this.#device.createCommandEncoder();
  }

  #place(index: number, at: number): [GPUBuffer, number] {
    const buffer = this.#buffers[index]!;
    return [buffer, (4 * at) % buffer.size];
  }
}

function fitting(to: GPUBuffer, at: number, words: readonly number[]): number {
  return Math.min(words.length, (to.size - at) / 4);
}

const index = fc.nat(SIZES.length - 1);
const at = fc.nat(73);
const size = fc.integer({ min: 1, max: 74 });
const words = fc.array(fc.integer({ min: 0, max: 0xffffffff }), { minLength: 1, maxLength: 40 });
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ do: fc.constant("write" as const), to: index, at, words }),
  fc.record({ do: fc.constant("copy" as const), from: index, to: index, at, toAt: at, size }),
  fc.record({ do: fc.constant("clear" as const), to: index, at, size }),
  fc.record({ do: fc.constant("upload" as const), to: index, at, words }),
  fc.record({ do: fc.constant("add" as const), from: index, to: index, value: fc.nat(9) }),
  fc.record({ do: fc.constant("submit" as const) }),
  fc.record({
    do: fc.constant("read" as const),
    from: index,
    at,
    stagingAt: fc.nat(10),
    size,
    whole: fc.boolean(),
  }),
  fc.record({ do: fc.constant("flip" as const), in: fc.nat(4), at, bit: fc.nat(31) }),
);

it.each(["secded32", "secded128", "secded256", "checksum"] as const)("%s", async (memory) => {
  const plain = await sharedDevice();
  const hardened = await harden(await sharedDevice(), { redundancy: "none", memory, injectFaults: true });
  const damaged: unknown[] = [];
  hardened.belay.addEventListener("memoryFault", ({ detail }) => damaged.push(detail));
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 4, maxLength: 24 }), async (all) => {
      const commands = all.filter((each) => each.do !== "flip" || corrects(memory));
      const machines = [new Machine(plain), new Machine(hardened)];
      for (const each of [...commands, ...finalReads]) {
        const [expected, actual] = [await machines[0]!.run(each), await machines[1]!.run(each)];
        expect(actual).toEqual(expected);
      }
      for (const machine of machines) machine.destroy();
      expect(damaged).toEqual([]);
    }),
    { numRuns: 8 },
  );
  for (const device of [plain, hardened]) device.destroy();
});

const finalReads = SIZES.map((_, from) => ({
  do: "read" as const,
  from,
  at: 0,
  stagingAt: 0,
  size: 74,
  whole: true,
}));
