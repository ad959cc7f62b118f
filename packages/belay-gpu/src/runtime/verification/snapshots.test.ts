/** Tests the work that is saved and executed again, and the memory that this takes. */
import { describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import type { HardenedDevice } from "../hardenedDevice.ts";

const { sharedDevice } = testDevices({ full: true });

const WORDS = 64;
const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(8) fn checked(@builtin(global_invocation_id) id: vec3u) { data[id.x] = data[id.x] * 3; }
@compute @workgroup_size(8) fn unchecked(@builtin(global_invocation_id) id: vec3u) { data[id.x] = data[id.x] + 1; }
`;

/** Runs kernels that change buffers in place, so that a result shows if a step ran twice. */
class Program {
  readonly device: HardenedDevice;
  readonly #pipelines: Readonly<Record<"checked" | "unchecked", GPUComputePipeline>>;

  constructor(native: GPUDevice, device: HardenedDevice) {
    this.device = device;
    const pipeline = (on: GPUDevice, entryPoint: string) => {
      const module = on.createShaderModule({ code: CODE });
      return on.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    };
    // A pipeline of the plain device has no sites for faults either.
    this.#pipelines = { checked: pipeline(device, "checked"), unchecked: pipeline(native, "unchecked") };
  }

  static async on(policy: Policy): Promise<Program> {
    const native = await sharedDevice();
    return new Program(native, harden(native, { injectFaults: true, ...policy }));
  }

  buffer(value = 1): GPUBuffer {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const buffer = this.device.createBuffer({ size: 4 * WORDS, usage });
    this.device.queue.writeBuffer(buffer, 0, new Uint32Array(WORDS).fill(value));
    return buffer;
  }

  run(entryPoint: "checked" | "unchecked", buffer: GPUBuffer): void {
    const { device } = this;
    const pipeline = this.#pipelines[entryPoint];
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const entries = [{ binding: 0, resource: { buffer } }];
    pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    pass.dispatchWorkgroups(WORDS / 8);
    pass.end();
    device.queue.submit([encoder.finish()]);
  }

  /** Arms a fault that strikes the checked kernel once. */
  arm(): void {
    const [kernel] = this.device.belay.faultSites().filter(({ entryPoint }) => entryPoint === "checked");
    this.device.belay.arm({
      kernel: kernel!.kernel,
      site: kernel!.sites.findLast(({ kind }) => kind === "value")!.id,
      replica: 0,
      effect: { xor: 8 },
      workgroup: [1, 0, 0],
      localIndex: 2,
    });
  }

  /** Returns the distinct values of a buffer's words. */
  async read(buffer: GPUBuffer): Promise<number[]> {
    const { device } = this;
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const readBack = device.createBuffer({ size: buffer.size, usage });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, readBack);
    device.queue.submit([encoder.finish()]);
    await readBack.mapAsync(GPUMapMode.READ);
    return [...new Set(new Uint32Array(readBack.getMappedRange()))];
  }
}

describe("work that no check can find wrong", () => {
  it("is not saved where nothing is protected", async () => {
    const program = await Program.on({ redundancy: "none", injectFaults: false });
    const buffer = program.buffer();
    for (let i = 0; i < 5; i++) program.run("checked", buffer);
    expect(await program.read(buffer)).toEqual([3 ** 5]);
    const { snapshots, checks, kernels } = await program.device.belay.report();
    expect(snapshots).toMatchObject({ taken: 0, held: 0 });
    expect(checks).toBe(0);
    expect(kernels.find(({ entryPoint }) => entryPoint === "checked")!.dispatches).toBe(5);
    program.device.destroy();
  });

  it("is neither saved nor executed again before the first protected kernel", async () => {
    const program = await Program.on({});
    const [first, second] = [program.buffer(), program.buffer()];
    for (const buffer of [first, second, first]) program.run("unchecked", buffer);
    program.run("checked", first);
    program.arm();
    program.run("checked", first);
    expect(await program.read(first)).toEqual([27]);
    expect(await program.read(second)).toEqual([2]);
    const { recoveries, snapshots } = await program.device.belay.report();
    expect(recoveries).toBe(1);
    // Only the buffer of the protected kernel was saved.
    expect(snapshots.taken).toBe(1);
    program.device.destroy();
  });

  it("is executed again after a protected kernel", async () => {
    const program = await Program.on({});
    const [first, second] = [program.buffer(), program.buffer()];
    program.run("unchecked", first);
    program.arm();
    program.run("checked", first);
    program.run("unchecked", first);
    program.run("unchecked", second);
    program.device.queue.writeBuffer(second, 0, new Uint32Array(WORDS).fill(10));
    program.run("unchecked", second);
    expect(await program.read(first)).toEqual([7]);
    expect(await program.read(second)).toEqual([11]);
    expect((await program.device.belay.report()).recoveries).toBe(1);
    program.device.destroy();
  });

  it("is executed again while a check of earlier work is under way", async () => {
    const program = await Program.on({});
    const [first, second] = [program.buffer(), program.buffer()];
    program.arm();
    program.run("checked", first);
    const checked = program.device.belay.verify();
    // The recovery of the first epoch restores what these commands change.
    program.run("unchecked", first);
    program.run("unchecked", second);
    await checked;
    expect(await program.read(first)).toEqual([4]);
    expect(await program.read(second)).toEqual([2]);
    program.device.destroy();
  });

  it("spreads a fault that was not recovered", async () => {
    const program = await Program.on({ onFault: "throw" });
    const [first, second] = [program.buffer(), program.buffer()];
    program.arm();
    program.run("checked", first);
    await expect(program.read(first)).rejects.toThrow("disagree");
    const encoder = program.device.createCommandEncoder();
    encoder.copyBufferToBuffer(first, second);
    program.device.queue.submit([encoder.finish()]);
    program.run("unchecked", second);
    await expect(program.read(second)).rejects.toThrow("disagree");
    program.device.destroy();
  });
});

it("recovers work whose bind group has a buffer that is not used and then destroyed", async () => {
  const program = await Program.on({});
  const { device } = program;
  const [out, unused] = [program.buffer(), program.buffer()];
  const visibility = GPUShaderStage.COMPUTE;
  const entries = [0, 1].map((binding) => ({ binding, visibility, buffer: { type: "storage" } as const }));
  const layout = device.createBindGroupLayout({ entries });
  const pipeline = device.createComputePipeline({
    label: "explicit",
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute: { module: device.createShaderModule({ code: CODE }), entryPoint: "checked" },
  });
  const kernel = device.belay.faultSites().find((each) => each.kernel === "explicit")!;
  const site = kernel.sites.findLast(({ kind }) => kind === "value")!.id;
  const effect = { xor: 8 };
  device.belay.arm({ kernel: "explicit", site, replica: 0, effect, workgroup: [1, 0, 0], localIndex: 2 });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  const bound = [out, unused].map((buffer, binding) => ({ binding, resource: { buffer } }));
  pass.setBindGroup(0, device.createBindGroup({ layout, entries: bound }));
  pass.dispatchWorkgroups(WORDS / 8);
  pass.end();
  device.queue.submit([encoder.finish()]);
  unused.destroy();
  expect(await program.read(out)).toEqual([3]);
  expect((await device.belay.report()).recoveries).toBe(1);
  device.destroy();
});

describe("a buffer that a dispatch overwrites completely", () => {
  const declarations = `
    struct Size { words: u32, first: u32, two: vec2u }
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @group(0) @binding(1) var<storage, read_write> other: array<u32>;
    @group(0) @binding(2) var<uniform> size: Size;`;
  const code = (body: string) => `${declarations}
    @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) { ${body} }`;

  /** Creates a program with two buffers and a uniform buffer, and runs a kernel for each body. */
  const prepare = (...bodies: readonly string[]) => prepareWith(createSize, bodies);

  const sizeUsage = () => GPUBufferUsage.UNIFORM | GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
  function createSize(device: GPUDevice): GPUBuffer {
    const size = device.createBuffer({ size: 16, usage: sizeUsage() });
    device.queue.writeBuffer(size, 0, Uint32Array.of(WORDS, 0, 2, 2));
    return size;
  }

  async function prepareWith(create: (device: GPUDevice) => GPUBuffer, bodies: readonly string[]) {
    const program = await Program.on({});
    const { device } = program;
    const [out, other] = [program.buffer(5), program.buffer(6)];
    const size = create(device);
    const pipelines = bodies.map((body, i) => {
      const module = device.createShaderModule({ code: code(body) });
      return device.createComputePipeline({ label: `kernel ${i}`, layout: "auto", compute: { module } });
    });
    /** Submits the kernels, after the commands of another encoder if there is one. */
    const run = (before?: GPUCommandEncoder) => {
      const encoder = device.createCommandEncoder();
      for (const [i, pipeline] of pipelines.entries()) {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        const entries = [out, other, size]
          .map((buffer, binding) => ({ binding, resource: { buffer } }))
          .filter(({ binding }) => bodies[i]!.includes(["out", "other", "size"][binding]!));
        pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
        pass.dispatchWorkgroups(WORDS / 8);
        pass.end();
      }
      device.queue.submit([...(before ? [before.finish()] : []), encoder.finish()]);
    };
    return { program, device, out, other, size, run };
  }

  const fill = "if (id.x < size.words) { out[id.x] = 7; }";
  /** Strikes the address of a store, which then overwrites another element. */
  const misdirect = (device: HardenedDevice, kernel: string) => {
    const { sites } = device.belay.faultSites().find((each) => each.kernel === kernel)!;
    const site = sites.findLast(({ kind }) => kind === "address")!.id;
    const effect = { xor: 16 };
    device.belay.arm({ kernel, site, replica: 0, effect, workgroup: [1, 0, 0], localIndex: 2 });
  };

  it("is not saved", async () => {
    const { program, device, out, run } = await prepare(fill);
    for (let i = 0; i < 3; i++) {
      run();
      expect(await program.read(out)).toEqual([7]);
    }
    expect((await device.belay.report()).snapshots).toMatchObject({ taken: 0, held: 0 });
    device.destroy();
  });

  it.each([
    ["all of", 4 * WORDS, 0],
    ["half of", 2 * WORDS, 1],
  ])("is saved as needed if the host wrote a size of %s it at the creation", async (_, bytes, taken) => {
    const createMapped = (device: GPUDevice) => {
      const size = device.createBuffer({ size: 16, usage: sizeUsage(), mappedAtCreation: true });
      new Uint32Array(size.getMappedRange(8)).fill(2);
      new Uint32Array(size.getMappedRange(0, 8))[0] = bytes / 4;
      size.unmap();
      return size;
    };
    const { program, device, out, run } = await prepareWith(createMapped, [fill]);
    misdirect(device, "kernel 0");
    run();
    expect(await program.read(out)).toEqual(taken ? [7, 5] : [7]);
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, snapshots: { taken } });
    device.destroy();
  });

  it("is right after a misdirected store was undone", async () => {
    const { program, device, out, run } = await prepare(fill, "out[id.x] = out[id.x] * 2;");
    misdirect(device, "kernel 1");
    run();
    expect(await program.read(out)).toEqual([14]);
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, snapshots: { taken: 0 } });
    device.destroy();
  });

  it("is right after a misdirected store of the dispatch that overwrites it", async () => {
    const { program, device, out, run } = await prepare(fill);
    misdirect(device, "kernel 0");
    run();
    expect(await program.read(out)).toEqual([7]);
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, snapshots: { taken: 0 } });
    device.destroy();
  });

  it.each([
    ["reads it before", ["other[id.x] = out[id.x];", fill], [5], [7]],
    ["reads a part of it itself", ["out[id.x] = 7; other[id.x] = out[63 - id.x] * 0 + 3;"], [3], [7]],
  ])("is saved if the program %s", async (_, bodies, inOther, inOut) => {
    const { program, device, out, other, run } = await prepare(...bodies);
    misdirect(device, "kernel 0");
    run();
    expect([await program.read(other), await program.read(out)]).toEqual([inOther, inOut]);
    const { recoveries, snapshots } = await device.belay.report();
    expect([recoveries, snapshots.taken]).toEqual([1, 1]);
    device.destroy();
  });

  it("is saved if a size in a uniform buffer leaves a part of it", async () => {
    const { program, device, out, size, run } = await prepare(fill, "out[id.x] = out[id.x] * 2;");
    device.queue.writeBuffer(size, 0, Uint32Array.of(WORDS - 1));
    misdirect(device, "kernel 1");
    run();
    expect(await program.read(out)).toEqual([14, 10]);
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, snapshots: { taken: 1 } });
    device.destroy();
  });

  it("is right after the host wrote the size between two dispatches, which copies nothing", async () => {
    const { program, device, out, size, run } = await prepare(fill, "out[id.x] = out[id.x] + size.words;");
    misdirect(device, "kernel 1");
    run();
    device.queue.writeBuffer(size, 0, Uint32Array.of(3));
    device.queue.writeBuffer(size, 4, Uint32Array.of(9));
    run();
    expect(await program.read(out)).toEqual([10, 74]);
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, snapshots: { taken: 0 } });
    device.destroy();
  });

  it("is right after writes of the same size, which are not recorded", async () => {
    const { program, device, out, size, run } = await prepare(fill, "out[id.x] = out[id.x] + size.first;");
    misdirect(device, "kernel 1");
    for (const first of [1, 1, 4, 4, 1, 4]) {
      device.queue.writeBuffer(size, 4, Uint32Array.of(first));
      run();
    }
    expect(await program.read(out)).toEqual([11]);
    const { checks, recoveries } = await device.belay.report();
    expect(recoveries).toBe(1);
    // An epoch is checked after 256 events.
    const checksOf = async (numberOf: (i: number) => number) => {
      run();
      for (let i = 0; i < 300; i++) device.queue.writeBuffer(size, 4, Uint32Array.of(numberOf(i)));
      run();
      run();
      expect(await program.read(out)).toEqual([7 + numberOf(299)]);
      return (await device.belay.report()).checks;
    };
    const afterEqual = await checksOf(() => 4);
    const afterOther = await checksOf((i) => i);
    expect(afterOther - afterEqual).toBe(afterEqual - checks + 1);
    device.destroy();
  });

  it.each(["a copy", "a clear", "a kernel"])("is saved if %s before it wrote the size", async (how) => {
    const { program, device, out, other, size, run } = await prepare(fill, "out[id.x] = out[id.x] * 2;");
    device.queue.writeBuffer(other, 0, Uint32Array.of(WORDS / 2));
    const halve = device.createComputePipeline({
      layout: "auto",
      compute: {
        module: device.createShaderModule({
          code: `@group(0) @binding(0) var<storage, read_write> size: array<u32>;
            @compute @workgroup_size(1) fn halve() { size[0] = 32; }`,
        }),
      },
    });
    const before = device.createCommandEncoder();
    if (how === "a copy") before.copyBufferToBuffer(other, 0, size, 0, 4);
    else if (how === "a clear") before.clearBuffer(size, 0, 4);
    else {
      const pass = before.beginComputePass();
      pass.setPipeline(halve);
      const entries = [{ binding: 0, resource: { buffer: size } }];
      pass.setBindGroup(0, device.createBindGroup({ layout: halve.getBindGroupLayout(0), entries }));
      pass.dispatchWorkgroups(1);
      pass.end();
    }
    misdirect(device, "kernel 1");
    run(before);
    expect(await program.read(out)).toEqual(how === "a clear" ? [10] : [14, 10]);
    expect((await device.belay.report()).recoveries).toBe(1);
    device.destroy();
  });

  it("is saved if the device wrote the size", async () => {
    const { program, device, out, other, size, run } = await prepare(fill, "out[id.x] = out[id.x] * 2;");
    device.queue.writeBuffer(other, 0, Uint32Array.of(WORDS / 2));
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(other, 0, size, 0, 4);
    device.queue.submit([encoder.finish()]);
    misdirect(device, "kernel 1");
    run();
    expect(await program.read(out)).toEqual([14, 10]);
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, snapshots: { taken: 1 } });
    device.destroy();
  });
});

describe("the budget of snapshots", () => {
  const bytes = 4 * WORDS;

  it("ends an epoch when half of it is used", async () => {
    const program = await Program.on({ snapshotBytes: 8 * bytes });
    const buffers = Array.from({ length: 40 }, () => program.buffer());
    for (const buffer of buffers) {
      program.run("checked", buffer);
      await new Promise((next) => setTimeout(next, 1));
    }
    await program.device.belay.verify();
    for (const buffer of buffers) expect(await program.read(buffer)).toEqual([3]);
    const { snapshots, checks } = await program.device.belay.report();
    // Fewer events than this end no epoch by their number.
    expect(checks).toBeGreaterThanOrEqual(3);
    expect(snapshots.peak).toBeLessThanOrEqual(8 * bytes);
    program.device.destroy();
  });

  it("refuses faulty work that needs more, and says why", async () => {
    const program = await Program.on({ snapshotBytes: 2 * bytes });
    const buffers = [program.buffer(), program.buffer(), program.buffer()];
    program.arm();
    for (const buffer of buffers) program.run("checked", buffer);
    await expect(program.read(buffers[0]!)).rejects.toThrow(/snapshotBytes, which is 512/);
    expect(await program.device.belay.report()).toMatchObject({ giveUps: 1, replays: 0 });
    program.device.destroy();
  });

  it("does not matter without a fault", async () => {
    const program = await Program.on({ snapshotBytes: 0 });
    const buffer = program.buffer();
    program.run("checked", buffer);
    program.run("checked", buffer);
    expect(await program.read(buffer)).toEqual([9]);
    expect((await program.device.belay.report()).snapshots).toMatchObject({ taken: 0, held: 0 });
    program.device.destroy();
  });
});
