/**
 * A hardened device computes the same bytes as a plain one for any sequence of commands, with
 * faults too.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { harden } from "../harden.ts";

const { sharedDevice } = testDevices();

const WORDS = 96;
const ENTRY_POINTS = ["add", "scatter", "count", "fill"] as const;
type EntryPoint = (typeof ENTRY_POINTS)[number];

/**
 * Kernels that read and write, only write, write a part, and count. Both buffers may be the same.
 */
const CODE = `
struct Factor { value: u32 }
@group(0) @binding(0) var<storage, read_write> target_: array<u32>;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;
@group(1) @binding(0) var<uniform> factor: Factor;
@compute @workgroup_size(8) fn add(@builtin(global_invocation_id) id: vec3u) {
  target_[id.x] = target_[id.x] * factor.value + source[id.x % arrayLength(&source)] + id.x;
}
@compute @workgroup_size(8) fn scatter(@builtin(global_invocation_id) id: vec3u) {
  target_[(id.x * 7u + source[0]) % arrayLength(&target_)] = source[id.x % arrayLength(&source)] ^ factor.value;
}
@compute @workgroup_size(8) fn count(@builtin(global_invocation_id) id: vec3u) {
  atomicAdd(&counts[source[id.x % arrayLength(&source)] % arrayLength(&counts)], factor.value);
}
@compute @workgroup_size(8) fn fill(@builtin(global_invocation_id) id: vec3u) { target_[id.x] = id.x * factor.value; }`;

/** A range of a buffer, in words. */
const buffer = fc.nat({ max: 2 });
const part = fc.record({ first: fc.nat({ max: 40 }), words: fc.integer({ min: 1, max: 40 }) });
const dispatch = fc.record({
  do: fc.constant("dispatch" as const),
  entryPoint: fc.constantFrom(...ENTRY_POINTS),
  to: buffer,
  from: buffer,
  half: fc.boolean(),
  factor: fc.nat({ max: 1 }),
  indirect: fc.boolean(),
});
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      dispatches: fc.array(dispatch, { maxLength: 4 }),
    }),
  },
  fc.record({ do: fc.constant("copy" as const), from: buffer, to: buffer, part }),
  fc.record({ do: fc.constant("copyAll" as const), from: buffer, to: buffer }),
  fc.record({ do: fc.constant("clear" as const), to: buffer, part: fc.option(part) }),
);
const action = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("submit" as const),
      encoders: fc.array(fc.array(command, { maxLength: 4 }), { minLength: 1, maxLength: 2 }),
    }),
  },
  fc.record({
    do: fc.constant("write" as const),
    to: buffer,
    part: fc.option(part),
    value: fc.nat({ max: 99 }),
  }),
  fc.record({ do: fc.constant("factor" as const), value: fc.nat({ max: 9 }) }),
  fc.record({ do: fc.constant("read" as const), from: buffer, wait: fc.boolean() }),
  fc.record({ do: fc.constant("replaceBuffer" as const), which: buffer }),
  fc.record({ do: fc.constant("misuse" as const), of: buffer, dispatch }),
  fc.record({
    do: fc.constant("arm" as const),
    kernel: fc.constantFrom(...ENTRY_POINTS),
    site: fc.nat(),
    localIndex: fc.nat({ max: 7 }),
  }),
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;
type Dispatch = typeof dispatch extends fc.Arbitrary<infer T> ? T : never;
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

class Player {
  readonly #device: GPUDevice;
  readonly #pipelines: Record<EntryPoint, GPUComputePipeline>;
  readonly #layouts: GPUBindGroupLayout[];
  readonly #factors: GPUBuffer;
  readonly #grid: GPUBuffer;
  readonly #buffers: GPUBuffer[];

  constructor(device: GPUDevice) {
    this.#device = device;
    const visibility = GPUShaderStage.COMPUTE;
    this.#layouts = [
      device.createBindGroupLayout({
        entries: (["storage", "read-only-storage", "storage"] as const).map((type, binding) => ({
          binding,
          visibility,
          buffer: { type },
        })),
      }),
      device.createBindGroupLayout({
        entries: [{ binding: 0, visibility, buffer: { type: "uniform", hasDynamicOffset: true } }],
      }),
    ];
    const layout = device.createPipelineLayout({ bindGroupLayouts: this.#layouts });
    const module = device.createShaderModule({ code: CODE });
    const pipelines = ENTRY_POINTS.map((entryPoint) => [
      entryPoint,
      device.createComputePipeline({ layout, compute: { module, entryPoint } }),
    ]);
    this.#pipelines = Object.fromEntries(pipelines);
    const { UNIFORM, INDIRECT, COPY_DST } = GPUBufferUsage;
    this.#factors = device.createBuffer({ size: 512, usage: UNIFORM | COPY_DST });
    this.#grid = device.createBuffer({ size: 12, usage: INDIRECT | COPY_DST });
    device.queue.writeBuffer(this.#factors, 256, new Uint32Array([3]));
    device.queue.writeBuffer(this.#grid, 0, new Uint32Array([3, 1, 1]));
    this.#buffers = [0, 1, 2].map(() => this.#newBuffer());
  }

  #newBuffer(): GPUBuffer {
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    return this.#device.createBuffer({ size: 4 * WORDS + 256, usage: STORAGE | COPY_SRC | COPY_DST });
  }

  act(action: Exclude<Action, { do: "arm" | "read" }>): void {
    const { queue } = this.#device;
    if (action.do === "submit") queue.submit(action.encoders.map((commands) => this.#encode(commands)));
    else if (action.do === "misuse") this.#misuse(action);
    else if (action.do === "factor") queue.writeBuffer(this.#factors, 0, new Uint32Array([action.value]));
    else if (action.do === "replaceBuffer") {
      this.#buffers[action.which]!.destroy();
      this.#buffers[action.which] = this.#newBuffer();
    } else {
      const { first, words } = action.part ?? { first: 0, words: WORDS + 64 };
      // The data is in the middle of a larger view, which the program overwrites right afterwards.
      const data = new Uint32Array(words + 2).fill(action.value);
      queue.writeBuffer(this.#buffers[action.to]!, 4 * first, data, 1, words);
      data.fill(0);
    }
  }

  /** The device rejects all of these commands, except the pass before its end. */
  #misuse({ of, dispatch }: Extract<Action, { do: "misuse" }>): void {
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const [size, usage] = [4 * WORDS, STORAGE | COPY_SRC | COPY_DST];
    const mapped = this.#device.createBuffer({ size, usage, mappedAtCreation: true });
    const encode = (behind: boolean) => {
      const encoder = this.#device.createCommandEncoder();
      const pass = this.#encodePass(encoder, [dispatch]);
      if (!behind) encoder.copyBufferToBuffer(mapped, 0, this.#buffers[of]!, 0, 16);
      const commands = encoder.finish();
      if (behind) encoder.clearBuffer(this.#buffers[of]!);
      if (behind) pass.dispatchWorkgroups(1);
      return commands;
    };
    this.#device.queue.writeBuffer(mapped, 0, new Uint32Array(WORDS).fill(5));
    this.#device.queue.submit([encode(false)]);
    mapped.unmap();
    this.#device.queue.submit([encode(true)]);
  }

  #encode(commands: readonly Command[]): GPUCommandBuffer {
    const encoder = this.#device.createCommandEncoder();
    for (const command of commands) {
      if (command.do === "pass") this.#encodePass(encoder, command.dispatches);
      else if (command.do === "clear") {
        const { first, words } = command.part ?? { first: 0, words: undefined };
        encoder.clearBuffer(this.#buffers[command.to]!, 4 * first, words && 4 * words);
      } else if (command.from !== command.to) {
        const [from, to] = [this.#buffers[command.from]!, this.#buffers[command.to]!];
        if (command.do === "copyAll") encoder.copyBufferToBuffer(from, to);
        else encoder.copyBufferToBuffer(from, 4 * command.part.first, to, 0, 4 * command.part.words);
      }
    }
    return encoder.finish();
  }

  #encodePass(encoder: GPUCommandEncoder, dispatches: readonly Dispatch[]): GPUComputePassEncoder {
    const pass = encoder.beginComputePass();
    const factors = this.#device.createBindGroup({
      layout: this.#layouts[1]!,
      entries: [{ binding: 0, resource: { buffer: this.#factors, size: 4 } }],
    });
    for (const { entryPoint, to, from, half, factor, indirect } of dispatches) {
      if (to === from) continue;
      pass.setPipeline(this.#pipelines[entryPoint]);
      const spare = [0, 1, 2].find((each) => each !== to && each !== from)!;
      const resources = [
        { buffer: this.#buffers[to]!, offset: half ? 256 : 0 },
        { buffer: this.#buffers[from]!, size: 4 * WORDS },
        { buffer: this.#buffers[spare]! },
      ];
      const entries = resources.map((resource, binding) => ({ binding, resource }));
      pass.setBindGroup(0, this.#device.createBindGroup({ layout: this.#layouts[0]!, entries }));
      pass.setBindGroup(1, factors, [256 * factor]);
      if (indirect) pass.dispatchWorkgroupsIndirect(this.#grid, 0);
      else pass.dispatchWorkgroups(half ? 9 : 12);
    }
    pass.end();
    return pass;
  }

  async read(from: number): Promise<number[]> {
    const source = this.#buffers[from]!;
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const readBack = this.#device.createBuffer({ size: source.size, usage });
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(source, readBack);
    this.#device.queue.submit([encoder.finish()]);
    await readBack.mapAsync(GPUMapMode.READ);
    const words = [...new Uint32Array(readBack.getMappedRange())];
    readBack.destroy();
    return words;
  }
}

async function play(
  device: GPUDevice,
  actions: readonly Action[],
  arm: (action: Extract<Action, { do: "arm" }>) => void,
): Promise<number[][]> {
  const player = new Player(device);
  const readings: Promise<number[]>[] = [];
  for (const each of actions) {
    if (each.do === "arm") arm(each);
    else if (each.do === "read") {
      readings.push(player.read(each.from));
      if (each.wait) await readings.at(-1);
    } else player.act(each);
  }
  readings.push(...[0, 1, 2].map((which) => player.read(which)));
  return Promise.all(readings);
}

it.each([
  { name: "without faults", redundancy: "intra+lds", inject: false },
  { name: "with faults", redundancy: "intra+lds", inject: true },
  { name: "without faults", redundancy: "inter", inject: false },
  { name: "with faults", redundancy: "inter", inject: true },
] as const)("computes the same bytes, $redundancy, $name", async ({ redundancy, inject }) => {
  const plain = await sharedDevice({ errorsAreExpected: true });
  const device = await harden(await sharedDevice({ errorsAreExpected: true }), {
    redundancy,
    injectFaults: inject,
  });
  let armed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 14 }), async (actions) => {
      const expected = await play(plain, actions, () => {});
      const actual = await play(device, actions, ({ kernel, site, localIndex }) => {
        const sites = device.belay.faultSites().find(({ entryPoint }) => entryPoint === kernel)?.sites ?? [];
        if (sites.length === 0) return;
        armed++;
        const { id } = sites[site % sites.length]!;
        const place = { replica: 1, effect: { xor: 2 }, workgroup: [0, 0, 0], localIndex } as const;
        device.belay.arm({ kernel, site: id, ...place });
      });
      if (inject) device.belay.disarm();
      expect(actual).toEqual(expected);
    }),
    { numRuns: 40, seed: 1 },
  );
  const { replays, faults, kernels, giveUps } = await device.belay.report();
  expect(kernels.map((kernel) => kernel.redundancy)).toEqual(ENTRY_POINTS.map(() => redundancy));
  expect(giveUps).toBe(0);
  expect(armed > 0).toBe(inject);
  if (inject) expect(replays).toBeGreaterThan(0);
  else expect(faults).toEqual([]);
  plain.destroy();
  device.destroy();
});
