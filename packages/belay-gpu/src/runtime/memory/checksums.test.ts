/** Buffers with one checksum each, which kernels add up while they run. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { changeKernel } from "../../../../../test/support/devices/changeKernel.ts";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { MemoryFault } from "../context/memoryFault.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";

const { sharedDevice } = testDevices({ full: true });

const kernel = (type: string, body: string, size = "8") => `
@group(0) @binding(0) var<storage, read> a: array<${type}>;
@group(0) @binding(1) var<storage, read_write> b: array<${type}>;
${body.includes("limit") ? "@group(0) @binding(2) var<uniform> limit: u32;" : ""}
${body.includes("&ends") ? "@group(0) @binding(2) var<storage, read_write> ends: array<atomic<u32>>;" : ""}
@compute @workgroup_size(${size}) fn main(
  @builtin(global_invocation_id) id: vec3u,
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) local: vec3u,
) { ${body} }`;

/** A comment in kernels whose limit is written while its buffer is mapped at creation. */
const MAPPED = "// mapped";

/** Applies a kernel twice, from one buffer to another, and repeats that. */
class Program {
  readonly buffers: readonly GPUBuffer[];
  readonly faults: MemoryFault[] = [];
  readonly #device;
  readonly #native;
  readonly #code: string;
  /** The value of `limit` in kernels that have it, or the length of `ends`. */
  #limit: GPUBuffer | undefined;
  readonly #pipelines: readonly GPUComputePipeline[];
  readonly #grid: readonly number[];

  static async create(
    code: string,
    words: number,
    grid: readonly number[],
    policy: Policy = {},
    change = (device: GPUDevice) => device,
  ) {
    const native = change(await sharedDevice());
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
    this.#code = code;
    this.#grid = grid;
    device.belay.addEventListener("memoryFault", ({ detail }) => this.faults.push(detail));
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    this.buffers = ["first", "second", "third"].map((label) =>
      device.createBuffer({ label, size: 4 * words, usage: STORAGE | COPY_SRC | COPY_DST }),
    );
    this.limit(words);
    const compute = { module: device.createShaderModule({ code }) };
    this.#pipelines = [0, 1].map(() => {
      const descriptor: GPUComputePipelineDescriptor = { layout: "auto", compute: { ...compute } };
      const pipeline = device.createComputePipeline(descriptor);
      // Programs may change a descriptor later. Belay makes variants of the pipeline then.
      Object.assign(descriptor.compute, { module: undefined });
      Object.assign(descriptor, { compute: undefined });
      return pipeline;
    });
    device.queue.writeBuffer(this.buffers[0]!, 0, Uint32Array.from(contents(words)));
  }

  /** Sets the `limit`, or the length of `ends`. */
  limit(value: number): void {
    const { UNIFORM, STORAGE, COPY_DST } = GPUBufferUsage;
    if (this.#code.includes("&ends"))
      this.#limit = this.#device.createBuffer({ size: 4 * value, usage: STORAGE });
    if (!this.#code.includes("limit")) return;
    const isFirst = this.#limit === undefined;
    const mappedAtCreation = this.#code.includes(MAPPED);
    const usage = UNIFORM | COPY_DST;
    this.#limit ??= this.#device.createBuffer({ label: "limit", size: 4, usage, mappedAtCreation });
    if (mappedAtCreation && isFirst) {
      new Uint32Array(this.#limit.getMappedRange()).set([value]);
      this.#limit.unmap();
    } else this.#device.queue.writeBuffer(this.#limit, 0, Uint32Array.of(value));
  }

  /** Writes a buffer from the host, so that a replay cannot compute its contents again. */
  write(buffer: number): void {
    const { size } = this.buffers[buffer]!;
    this.#device.queue.writeBuffer(this.buffers[buffer]!, 0, Uint32Array.from(contents(size / 4)));
  }

  /** Changes the limit without Belay's knowledge. */
  damageLimit(value: number): void {
    const { queue } = this.#native;
    const { writeBuffer } = Object.getPrototypeOf(queue) as GPUQueue;
    writeBuffer.call(queue, this.#limit!, 0, Uint32Array.of(value));
  }

  /** Runs both steps this many times in one command buffer. */
  run(times = 1): void {
    this.#submit((pass) => {
      for (let i = 0; i < 2 * times; i++) this.#encode(pass, i % 2);
    });
  }

  /**
   * Runs one step on the first bytes of its buffers, on another grid, or with the grid in a buffer.
   */
  runStep(i: number, how?: { size?: number; indirect?: boolean; grid?: number }): void {
    this.#submit((pass) => this.#encode(pass, i, how));
  }

  /** Encodes one step, and maybe a copy of its result. Returns a function that submits it. */
  encodeStep(i: number, { isRead = false } = {}): () => void {
    const result = this.buffers[i + 1]!;
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const commands = this.#commands(
      (pass) => this.#encode(pass, i),
      (encoder) => {
        if (!isRead) return;
        encoder.copyBufferToBuffer(result, this.#device.createBuffer({ size: result.size, usage }));
      },
    );
    return () => this.#device.queue.submit([commands]);
  }

  #encode(
    pass: GPUComputePassEncoder,
    i: number,
    { size, indirect = false, grid: groups }: { size?: number; indirect?: boolean; grid?: number } = {},
  ): void {
    const dispatched = groups === undefined ? this.#grid : [groups];
    const pipeline = this.#pipelines[i]!;
    const [a, b] = [this.buffers[i]!, this.buffers[i + 1]!].map((buffer) => ({
      buffer,
      ...(size && { size }),
    }));
    const bound = [a!, b!, ...(this.#limit ? [{ buffer: this.#limit }] : [])];
    const entries = bound.map((resource, binding) => ({ binding, resource }));
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.#device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    if (!indirect) {
      pass.dispatchWorkgroups(...(dispatched as [number]));
      return;
    }
    const { INDIRECT, COPY_DST } = GPUBufferUsage;
    const grid = this.#device.createBuffer({ size: 12, usage: INDIRECT | COPY_DST });
    this.#device.queue.writeBuffer(grid, 0, Uint32Array.of(dispatched[0]!, 1, 1));
    pass.dispatchWorkgroupsIndirect(grid, 0);
  }

  #submit(encode: (pass: GPUComputePassEncoder) => void): void {
    this.#device.queue.submit([this.#commands(encode)]);
  }

  #commands(
    encode: (pass: GPUComputePassEncoder) => void,
    encodeAfter?: (encoder: GPUCommandEncoder) => void,
  ): GPUCommandBuffer {
    const encoder = this.#device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    encode(pass);
    pass.end();
    encodeAfter?.(encoder);
    return encoder.finish();
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
    encodeDispatch(encoder, pipeline, group, 1);
    this.#native.queue.submit([encoder.finish()]);
  }

  async report() {
    const { memory, memoryFaults, replays, faults, snapshots } = await this.#device.belay.report();
    return {
      copies: snapshots.taken,
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

const GUARDED = "if (id.x < arrayLength(&a)) { b[id.x] = a[id.x]; }";
const LIMITED = "if (id.x < limit) { b[id.x] = a[id.x]; }";
/** Belay sums the first of the three loads. */
const STENCIL = `if (id.x < arrayLength(&a)) {
  var x = a[id.x];
  if (id.x > 0 && id.x < 40) { x += 0 * (a[id.x - 1] + a[id.x + 1]); }
  b[id.x] = x;
}`;
const COPY = kernel("u32", GUARDED);
const contents = (words: number) =>
  Array.from({ length: words }, (_, i) => Math.imul(i + 1, 0x9e3779b9) >>> 0);

/**
 * The buffers that Belay's passes read once it knows the kernels. Reading the last buffer back
 * takes a pass too.
 */
async function passedOver(program: Program): Promise<boolean[]> {
  // Some accesses must be tried alone.
  for (let i = 0; i < 3; i++) {
    program.run();
    await program.read();
  }
  const before = (await program.report()).verified;
  program.run();
  const after = (await program.report()).verified;
  return [0, 1, 2].map((i) => after[i] !== before[i]);
}

describe("kernels that access a whole buffer sum it, and no pass reads it", () => {
  it.each([
    ["an element each, within bounds", COPY, 41, [6]],
    ["an element each, in the order of their groups", kernel("vec4f", "b[id.x] = a[id.x];"), 96, [3]],
    ["pairs", kernel("vec2u", "b[id.x] = a[id.x];"), 32, [2]],
    [
      "two elements each, far apart",
      kernel("u32", "b[id.x] = a[id.x]; b[id.x + 16] = a[id.x + 16];"),
      32,
      [2],
    ],
    [
      "rows and columns that change places",
      kernel("u32", "let column = id.x % 4; let row = id.x / 4; b[column * 4 + row] = a[column * 4 + row];"),
      16,
      [2],
    ],
    [
      "a loop over them, which all groups but the first take in vain",
      kernel(
        "u32",
        "for (var i = local.x; i < arrayLength(&a); i += 8u) { let value = a[i]; if (group.x == 0) { b[i] = value; } }",
      ),
      24,
      [3],
    ],
    [
      "a return of those that have nothing to do",
      kernel("u32", "if (id.x >= 13u) { return; } b[id.x] = a[id.x];"),
      13,
      [2],
    ],
    [
      "parts of structures",
      `${kernel("S", "b[id.x].x = a[id.x].x; b[id.x].y = a[id.x].y;")} struct S { x: u32, y: f32 }`,
      32,
      [2],
    ],
    ["some elements more often", kernel("u32", "b[id.x] = 0u * a[id.x / 2] + a[id.x];"), 16, [2]],
    ["a stencil", kernel("u32", STENCIL), 41, [6]],
    ["a limit in a uniform buffer", kernel("u32", LIMITED), 41, [6]],
    ["a limit that the program writes to a mapped buffer", kernel("u32", `${LIMITED} ${MAPPED}\n`), 41, [6]],
  ])("%s", async (_, code, words, grid) => {
    using program = await Program.create(code, words, grid);
    expect(await passedOver(program)).toEqual([false, false, false]);
    expect(await program.read()).toEqual(contents(words));
    expect(await program.report()).toMatchObject({ memoryFaults: [], replays: 0, faults: [] });
  });

  it("a condition that memory decides: their outputs are verified before they run", async () => {
    using program = await Program.create(kernel("u32", "if (a[0] != 7) { b[id.x] = a[id.x]; }"), 16, [2]);
    expect(await passedOver(program)).toEqual([false, true, true]);
    expect(await program.read()).toEqual(contents(16));
    expect(await program.report()).toMatchObject({ memoryFaults: [], replays: 0, faults: [] });
  });
});

describe("all other kernels are verified by passes", () => {
  it.each([
    ["one element too few", kernel("u32", "if (id.x < 15) { b[id.x] = a[id.x]; }"), 16, [2]],
    ["one element twice, and one not at all", kernel("u32", "let i = max(id.x, 1u); b[i] = a[i];"), 16, [2]],
    ["strides that overlap", kernel("u32", "let i = group.x * 4 + local.x; b[i] = a[i];"), 16, [2]],
    ["a grid that is too small", COPY, 41, [5]],
    ["parts of vectors", kernel("vec4u", "b[id.x].x = a[id.x].x;"), 32, [1]],
    ["what memory decides", kernel("u32", "b[id.x] = a[(a[0] & 1) + id.x / 2];"), 16, [2]],
  ])("%s", async (_, code, words, grid) => {
    using program = await Program.create(code, words, grid);
    const [first, second] = await passedOver(program);
    expect([first, second]).toEqual([true, true]);
    expect(await program.report()).toMatchObject({ memoryFaults: [], replays: 0, faults: [] });
  });

  it("sums neither parts of buffers nor dispatches of unknown size", async () => {
    using program = await Program.create(COPY, 128, [16]);
    program.run();
    await program.read();
    const passes = async (run: () => void) => {
      const before = (await program.report()).verified[0]!;
      run();
      return (await program.report()).verified[0]! > before;
    };
    expect(await passes(() => program.runStep(0))).toBe(false);
    expect(await passes(() => program.runStep(0, { size: 256 }))).toBe(true);
    expect(await passes(() => program.runStep(0, { indirect: true }))).toBe(true);
    expect(await program.read()).toEqual(contents(128));
    expect(await program.report()).toMatchObject({ memoryFaults: [], replays: 0, faults: [] });
  });
});

describe.each([
  ["whose uniform buffers come to say something else", LIMITED],
  [
    "that come to run with another array of another size",
    "if (id.x < arrayLength(&ends)) { b[id.x] = a[id.x]; }",
  ],
])("runs passes only where kernels need them: kernels %s", (_, body) => {
  const words = 41;
  /** A program whose kernel is known to access all words, and which now accesses one word fewer. */
  const limited = async (policy?: Policy) => {
    const program = await Program.create(kernel("u32", body), words, [6], policy);
    expect(await passedOver(program)).toEqual([false, false, false]);
    program.limit(words - 1);
    return program;
  };

  it("records no error, and computes the right results", async () => {
    using program = await limited();
    program.run(3);
    program.limit(words);
    program.run();
    program.limit(3);
    program.run();
    expect(await program.read()).toEqual(contents(words));
    expect(await program.report()).toMatchObject({ memoryFaults: [], replays: 0, faults: [] });
  });

  it.each([
    ["first", 0, "reported"],
    ["second", 1, "reported"],
  ])(
    "finds flips in the %s buffer, also in words that the kernel does not access",
    async (label, at, outcome) => {
      using program = await limited({ onFault: "report" });
      program.run();
      await program.read();
      for (const word of [0, words - 1]) {
        await program.flip(at, word, 1 << 9);
        program.runStep(at);
        await program.report();
        await program.flip(at, word, 1 << 9);
      }
      const told = program.faults.map(({ buffer, outcome }) => `${buffer} ${outcome}`);
      expect(told).toEqual([`${label} ${outcome}`, `${label} ${outcome}`]);
    },
  );

  it("finds them by the sums of their own stores", async () => {
    using program = await limited({ onFault: "report" });
    program.runStep(0);
    await program.flip(1, words - 1, 1);
    program.limit(words);
    program.runStep(1);
    await program.report();
    expect(program.faults).toMatchObject([{ buffer: "second", outcome: "reported" }]);
  });
});

describe("a kernel whose uniform buffer changes after its commands are encoded", () => {
  const words = 41;
  /** A program whose kernel is known to access all words, as its uniform buffer says. */
  const known = async (policy?: Policy, change?: (device: GPUDevice) => GPUDevice) => {
    const program = await Program.create(kernel("u32", LIMITED), words, [6], policy, change);
    expect(await passedOver(program)).toEqual([false, false, false]);
    return program;
  };
  const submitWithout = (program: Program, missing: number, how?: { isRead: boolean }) => {
    const submit = program.encodeStep(0, how);
    program.limit(words - missing);
    submit();
  };

  it("computes the right results without an alarm, and is expected to change from then on", async () => {
    using program = await known();
    for (const missing of [1, 0, 30]) submitWithout(program, missing, { isRead: missing === 1 });
    program.limit(words);
    program.run();
    expect(await program.read()).toEqual(contents(words));
    expect(await program.report()).toMatchObject({ memoryFaults: [], replays: 0, faults: [] });
  });

  it("raises a false alarm if its sums are not ignored", async () => {
    using program = await known({ onFault: "report" }, (device) =>
      changeKernel(device, "isIgnored = words.w", "isIgnored = 0u", "all"),
    );
    const submit = program.encodeStep(0, { isRead: true });
    program.limit(words - 1);
    submit();
    await program.report();
    expect(program.faults).toMatchObject([{ buffer: "second" }]);
  });

  it.each(["first", "second"])("finds earlier flips in the %s buffer, and later ones", async (label) => {
    const at = ["first", "second"].indexOf(label);
    for (const isEarlier of [true, false]) {
      using program = await known({ onFault: "report" });
      if (isEarlier) await program.flip(at, words - 1, 1 << 9);
      submitWithout(program, 1);
      if (!isEarlier) await program.flip(at, words - 1, 1 << 9);
      program.limit(words);
      program.runStep(at);
      await program.report();
      expect(program.faults.map(({ buffer }) => buffer)).toContain(label);
    }
  });
});

describe("flips at rest", () => {
  it.each([
    ["u32", 41, [6], GUARDED],
    ["f32", 41, [6], GUARDED],
    ["vec2i", 42, [3], GUARDED],
    ["vec4f", 44, [2], GUARDED],
    ["u32 around each word", 41, [6], STENCIL],
  ])(
    "are found by kernels that load %s, and re-execution repairs results of kernels",
    async (type, words, grid, body) => {
      using program = await Program.create(kernel(type.split(" ")[0]!, body), words, grid);
      expect(await passedOver(program)).toEqual([false, false, false]);
      const right = await program.read();
      for (const [word, mask] of [
        [0, 1],
        [words - 1, 1 << 31],
        [7, 0x10001],
        [12, -1],
      ] as const) {
        program.runStep(0);
        await program.flip(1, word, mask);
        program.runStep(1);
        expect(await program.read()).toEqual(right);
      }
      expect(program.faults.map(({ buffer, outcome }) => `${buffer} ${outcome}`)).toEqual(
        new Array(4).fill("second recovered"),
      );
    },
  );

  it("are reported with the buffer's name, and refused if they cannot be repaired", async () => {
    using program = await Program.create(COPY, 41, [6]);
    program.run();
    await program.read();
    await program.flip(0, 40, 1 << 31);
    program.run();
    await expect(program.read()).rejects.toMatchObject({
      name: "MemoryFaultError",
      code: "BELAY332",
      errors: [{ buffer: "first", byteOffset: 0, granuleBytes: 176 }],
    });
  });

  it("are found if two words change places, as each sum depends on the index", async () => {
    using program = await Program.create(COPY, 41, [6], { onFault: "report" });
    program.run();
    await program.read();
    const both = contents(41)[3]! ^ contents(41)[17]!;
    await program.flip(0, 3, both);
    await program.flip(0, 17, both);
    program.run();
    await program.report();
    expect(program.faults).toMatchObject([{ buffer: "first", outcome: "reported" }]);
  });
});

it("verifies loads of other buffers too, after the kernel", async () => {
  using program = await Program.create(kernel("u32", LIMITED), 41, [6], { onFault: "report" });
  expect(await passedOver(program)).toEqual([false, false, false]);
  program.damageLimit(40);
  program.runStep(0);
  await program.report();
  expect(program.faults).toMatchObject([{ buffer: "limit", outcome: "reported" }]);
});

it.each([
  ["nothing flips", "", "checksum", 0],
  ["words flip while the kernel runs", "weights[at] ^= 4u; ", "checksum", 1],
  ["words flip and nothing looks", "weights[at] ^= 4u; ", "none", undefined],
] as const)(
  "verifies what replicas have loaded at the end of a pass: %s",
  async (_, flip, memory, damaged) => {
    const changed = changeKernel(await sharedDevice(), "out[at] = ", `${flip}out[at] = `, "all");
    const device = await harden(changed, { memory, onFault: "throw" });
    const code = `
    @group(0) @binding(0) var<storage, read_write> weights: array<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
      let at = id.x;
      out[at] = weights[at] * 3u;
    }`;
    const module = device.createShaderModule({ code });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const { STORAGE, COPY_DST } = GPUBufferUsage;
    const buffers = ["weights", "out"].map((label) =>
      device.createBuffer({ label, size: 64, usage: STORAGE | COPY_DST }),
    );
    device.queue.writeBuffer(buffers[0]!, 0, new Uint32Array(16).fill(5));
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const encoder = device.createCommandEncoder();
    encodeDispatch(
      encoder,
      pipeline,
      device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
      2,
    );
    device.queue.submit([encoder.finish()]);
    const report = await device.belay.report();
    expect(report.kernels).toMatchObject([{ redundancy: "intra+lds", detections: 0 }]);
    expect(report.memory?.uncorrectable).toBe(damaged);
  },
);

it.each([0, 1])("verifies a loaded buffer before the same pass overwrites it, %i flipped", async (flips) => {
  const device = await harden(await sharedDevice(), {
    redundancy: "none",
    memory: "checksum",
    onFault: "throw",
    injectFaults: true,
  });
  const module = device.createShaderModule({
    code: `
      @group(0) @binding(0) var<uniform> u: array<vec4u, 4>;
      @group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;
      @group(0) @binding(2) var<storage, read_write> all: array<vec4u>;
      @compute @workgroup_size(4) fn load(@builtin(global_invocation_id) id: vec3u) {
        atomicStore(&out[id.x], u[id.x].x);
      }
      @compute @workgroup_size(4) fn store(@builtin(global_invocation_id) id: vec3u) {
        all[id.x] = vec4u(7);
      }`,
  });
  const { UNIFORM, STORAGE, COPY_DST } = GPUBufferUsage;
  const u = device.createBuffer({ label: "u", size: 64, usage: UNIFORM | STORAGE | COPY_DST });
  const out = device.createBuffer({ label: "out", size: 64, usage: STORAGE });
  device.queue.writeBuffer(u, 0, new Uint32Array(16).fill(3));
  if (flips > 0) device.belay.flip(u, 20, 1 << 9);
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  const steps = { load: [u, out], store: [u] };
  for (const [entryPoint, buffers] of Object.entries(steps)) {
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    const first = entryPoint === "load" ? 0 : 2;
    const entries = buffers.map((buffer, i) => ({ binding: first + i, resource: { buffer } }));
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    pass.dispatchWorkgroups(1);
  }
  pass.end();
  device.queue.submit([encoder.finish()]);
  const { memory } = await device.belay.report();
  // A sum of the later contents differs from the checksum, flipped or not.
  expect(memory!.uncorrectable).toBe(flips);
});

describe.each([
  ["small", 16, 1],
  ["large", 16 * 1024 + 4, 2],
])("a kernel that changes two %s buffers in place", (_, size, dispatchesAfter) => {
  const change = async (injectFaults = false) => {
    const policy = { redundancy: "none", memory: "checksum", onFault: "report", injectFaults } as const;
    const device = await harden(await sharedDevice(), policy);
    const code = `
      @group(0) @binding(0) var<uniform> step: u32;
      @group(0) @binding(1) var<storage, read_write> x: array<u32>;
      @group(0) @binding(2) var<storage, read_write> y: array<u32>;
      @compute @workgroup_size(4) fn change(@builtin(global_invocation_id) id: vec3u) {
        x[id.x] += step;
        y[id.x] += x[id.x];
      }`;
    const compute = { module: device.createShaderModule({ code }) };
    const pipeline = device.createComputePipeline({ layout: "auto", compute });
    const { UNIFORM, STORAGE, COPY_DST } = GPUBufferUsage;
    const buffers = ["step", "x", "y"].map((label) =>
      device.createBuffer({ label, size, usage: (label === "step" ? UNIFORM : STORAGE) | COPY_DST }),
    );
    for (const buffer of buffers) device.queue.writeBuffer(buffer, 0, new Uint32Array(4).fill(3));
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const run = () => {
      const encoder = device.createCommandEncoder();
      encodeDispatch(encoder, pipeline, group, 1);
      device.queue.submit([encoder.finish()]);
    };
    run();
    return { device, buffers, run };
  };

  it("is verified by one dispatch before it, and encoded after it", async () => {
    const { device, run } = await change();
    const dispatch = vi.spyOn(OwnKernel.prototype, "dispatch");
    run();
    // The last one compares the sums. It also adds up small buffers.
    expect(dispatch).toHaveBeenCalledTimes(1 + dispatchesAfter);
    dispatch.mockRestore();
    expect((await device.belay.report()).memory!.uncorrectable).toBe(0);
  });

  it.each(["step", "x", "y"])(
    "finds a flip in %s between two submissions, and after the last",
    async (label) => {
      for (const isLast of [false, true]) {
        const { device, buffers, run } = await change(true);
        if (isLast) run();
        device.belay.flip(buffers.find((buffer) => buffer.label === label)!, 4, 1 << 9);
        if (isLast) await device.belay.scrub();
        else run();
        const { memory, memoryFaults } = await device.belay.report();
        expect(memory!.uncorrectable).toBe(1);
        expect(memoryFaults).toMatchObject([{ buffer: label }]);
      }
    },
  );
});

it("watches only submissions with dispatches or sums that the device has not accepted before", async () => {
  let watched = 0;
  const change = (native: GPUDevice) =>
    new Proxy(native, {
      get: (_, name) => {
        const value: unknown = Reflect.get(native, name, native);
        if (name === "pushErrorScope") watched++;
        return typeof value === "function" ? value.bind(native) : value;
      },
    });
  using program = await Program.create(COPY, 41, [6], {}, change);
  const watchedIn = async (act: () => void) => {
    const before = watched;
    act();
    const after = watched;
    await program.read();
    return after - before;
  };
  // The results of trials change the kernel, and a pass of its own compares the sums at first.
  for (let i = 0; i < 4; i++) await watchedIn(() => program.runStep(i % 2));
  for (let i = 0; i < 2; i++) expect(await watchedIn(() => program.runStep(i))).toBe(0);
  // These dispatches add to other slots: Belay makes two bind groups and watches the submission.
  expect(await watchedIn(() => program.run())).toBe(3);
  expect(await watchedIn(() => program.run())).toBe(0);
  expect(await program.read()).toEqual(contents(41));
  expect(await program.report()).toMatchObject({ memoryFaults: [], replays: 0, faults: [] });
});

it("handles more sums than there are slots", async () => {
  using program = await Program.create(COPY, 41, [6]);
  program.run();
  await program.read();
  program.run(50);
  expect(await program.read()).toEqual(contents(41));
  expect(await program.report()).toMatchObject({ memoryFaults: [], replays: 0, faults: [] });
});

it("computes the right results on random sizes and grids", async () => {
  const random = fc.record({
    words: fc.integer({ min: 1, max: 70 }),
    groups: fc.integer({ min: 1, max: 10 }),
  });
  for (const { words, groups } of fc.sample(random, { numRuns: 4, seed: 5 })) {
    using program = await Program.create(COPY, words, [groups]);
    const first = 8 * groups < words;
    expect((await passedOver(program))[0]).toBe(first);
    expect(await program.read()).toEqual(contents(words).map((word, i) => (i < 8 * groups ? word : 0)));
    expect(await program.report()).toMatchObject({ memoryFaults: [], replays: 0, faults: [] });
  }
});

describe.each([
  ["at first", GUARDED, 41, false],
  ["on each grid that it has not run on", GUARDED, 41, true],
  ["as an index says", "if (id.x == 10) { b[10] = a[10]; }", 41, false],
  ["where a limit in a uniform buffer has changed", LIMITED, 41, true],
] as const)("a kernel that stores to a part of a buffer, %s,", (_, body, words, isKnown) => {
  it.each(["checksum", "auto-detect"] as const)(
    "does not add flips outside of the part to the checksum (%s)",
    async (memory) => {
      for (const indirect of [false, true]) {
        using program = await Program.create(kernel("u32", body), words, [6], { memory });
        if (isKnown) await passedOver(program);
        else program.write(1);
        await program.read();
        await program.flip(1, 40, 1 << 9);
        if (body === LIMITED) program.limit(11);
        program.runStep(0, { indirect, ...(body === GUARDED && { grid: 2 }) });
        await expect(program.read(1)).rejects.toMatchObject({ name: "MemoryFaultError" });
        expect(program.faults.map(({ buffer, outcome }) => `${buffer} ${outcome}`)).toContain(
          "second refused",
        );
      }
    },
  );
});

/** The kernel loads several times, so that it keeps no lines. */
const LIMITED_PAIRS = "if (id.x < limit) { b[id.x] = a[id.x] + 0 * a[min(id.x + 1, limit - 1)]; }";

describe.each(["checksum", "secded32", "secded128", "secded1024", "detect"] as const)(
  "under %s",
  (memory) => {
    const words = 64;
    const create = async (body: string) => {
      const program = await Program.create(kernel("u32", body), words, [8], { memory });
      program.run();
      await program.read();
      return program;
    };

    it("neither verifies nor copies what dispatches overwrite as a whole", async () => {
      using program = await create(LIMITED_PAIRS);
      const before = await program.report();
      for (let i = 0; i < 3; i++) program.run();
      const { copies, verified } = await program.report();
      expect([copies - before.copies, verified[2]! - before.verified[2]!]).toEqual([0, 0]);
      expect(await program.read()).toEqual(contents(words));
    });

    it("runs such dispatches again over what the first attempt has left", async () => {
      using program = await create(LIMITED_PAIRS);
      program.runStep(0);
      await program.flip(1, 5, 0b11);
      program.runStep(1);
      expect(await program.read()).toEqual(contents(words));
      expect(program.faults).toMatchObject([{ buffer: "second", outcome: "recovered" }]);
      expect(await program.read(1)).toEqual(contents(words));
    });

    it.each([LIMITED, LIMITED_PAIRS])(
      "verifies what is left over if a uniform buffer changes after the commands are encoded: %s",
      async (body) => {
        using program = await create(body);
        program.write(1);
        await program.read(1);
        await program.flip(1, 40, 0b11);
        const submit = program.encodeStep(0);
        program.limit(11);
        submit();
        await expect(program.read(1)).rejects.toMatchObject({ name: "MemoryFaultError" });
        expect(program.faults.map(({ buffer, outcome }) => `${buffer} ${outcome}`)).toContain(
          "second refused",
        );
      },
    );

    it("restores uniform buffers from the bytes that the host wrote", async () => {
      using program = await create(LIMITED_PAIRS);
      const { copies } = await program.report();
      program.run();
      program.limit(3);
      await program.flip(1, 1, 0b11);
      program.runStep(1);
      expect(await program.read()).toEqual(contents(words));
      expect(program.faults).toMatchObject([{ buffer: "second", outcome: "recovered" }]);
      expect((await program.report()).copies - copies).toBe(0);
    });
  },
);

it("copies buffers whose check words kernels compute from earlier ones", async () => {
  // Lanes keep lines, and update check words out of order.
  using program = await Program.create(kernel("u32", LIMITED), 64, [8], { memory: "secded128" });
  program.run();
  await program.read();
  const { copies } = await program.report();
  program.run();
  expect((await program.report()).copies - copies).toBe(2);
});
