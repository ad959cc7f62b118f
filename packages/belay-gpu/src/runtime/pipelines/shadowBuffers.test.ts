/**
 * Buffers from which kernels load their own stores, if replicas are workgroups: the second replica
 * works on a copy.
 */
import { describe, expect, it, vi } from "vitest";
import { download, upload } from "../../../../../test/support/devices/storageBuffers.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import type { HardenedDevice } from "../hardenedDevice.ts";
import { proxyOf } from "../webgpu/nativeObjects.ts";
import { RangeSet } from "../webgpu/rangeSet.ts";

const { newDevice, sharedDevice } = testDevices();

/**
 * Kernels on 8 words. Three load their own stores, one of them with an atomic operation, and one
 * overwrites all words.
 */
const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(2) fn advance(@builtin(global_invocation_id) id: vec3u) {
  data[id.x] = data[id.x] * 3;
  data[id.x] += 1;
}
@compute @workgroup_size(2) fn swap(@builtin(global_invocation_id) id: vec3u) {
  data[2 * id.x] ^= data[2 * id.x + 1];
  data[2 * id.x + 1] ^= data[2 * id.x];
  data[2 * id.x] ^= data[2 * id.x + 1];
}
@compute @workgroup_size(2) fn fill(@builtin(global_invocation_id) id: vec3u) { data[id.x] = id.x * 7; }

struct Counted { calls: atomic<u32>, words: array<u32> }
@group(0) @binding(0) var<storage, read_write> counted: Counted;
@compute @workgroup_size(2) fn count(@builtin(global_invocation_id) id: vec3u) {
  atomicAdd(&counted.calls, 1);
  if (id.x < arrayLength(&counted.words)) { counted.words[id.x] += 1; counted.words[id.x] += 1; }
}`;
type EntryPoint = "advance" | "swap" | "fill" | "count";
const workgroups: Record<EntryPoint, number> = { advance: 4, swap: 2, fill: 4, count: 4 };
const start = [5, 1, 4, 1, 3, 9, 2, 6];

/** The kernels of a device, each created on first use. */
class Kernels {
  static readonly #all = new WeakMap<GPUDevice, Kernels>();
  readonly layout: GPUBindGroupLayout;
  readonly #device: GPUDevice;
  readonly #module: GPUShaderModule;
  readonly #pipelines = new Map<EntryPoint, GPUComputePipeline>();

  static of(device: GPUDevice): Kernels {
    const known = Kernels.#all.get(device) ?? new Kernels(device);
    Kernels.#all.set(device, known);
    return known;
  }

  constructor(device: GPUDevice) {
    this.#device = device;
    const buffer = { type: "storage", hasDynamicOffset: true } as const;
    this.layout = device.createBindGroupLayout({
      entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer }],
    });
    this.#module = device.createShaderModule({ code: CODE });
  }

  pipeline(entryPoint: EntryPoint): GPUComputePipeline {
    const layout = this.#device.createPipelineLayout({ bindGroupLayouts: [this.layout] });
    const compute = { module: this.#module, entryPoint };
    const made = this.#pipelines.get(entryPoint) ?? this.#device.createComputePipeline({ layout, compute });
    this.#pipelines.set(entryPoint, made);
    return made;
  }
}

/** Records the commands of one command buffer. */
class Recording {
  readonly #device: GPUDevice;
  readonly #encoder: GPUCommandEncoder;
  readonly #kernels: Kernels;
  #pass: GPUComputePassEncoder | undefined;

  constructor(device: GPUDevice) {
    this.#device = device;
    this.#encoder = device.createCommandEncoder();
    this.#kernels = Kernels.of(device);
  }

  /** Dispatches on the 8 words at a byte offset, in the open pass. */
  run(entryPoint: EntryPoint, buffer: GPUBuffer, offset = 0): this {
    this.#pass ??= this.#encoder.beginComputePass();
    this.#pass.setPipeline(this.#kernels.pipeline(entryPoint));
    const { layout } = this.#kernels;
    const entries = [{ binding: 0, resource: { buffer, size: 4 * start.length } }];
    this.#pass.setBindGroup(0, this.#device.createBindGroup({ layout, entries }), [offset]);
    this.#pass.dispatchWorkgroups(workgroups[entryPoint]);
    return this;
  }

  /** Records commands between passes. */
  between(encode: (encoder: GPUCommandEncoder) => void): this {
    this.#pass?.end();
    this.#pass = undefined;
    encode(this.#encoder);
    return this;
  }

  submit(): void {
    this.#pass?.end();
    this.#device.queue.submit([this.#encoder.finish()]);
  }
}

async function hardened(policy?: Policy): Promise<{ device: HardenedDevice; done: () => void }> {
  const native = await sharedDevice();
  const device = await harden(native, { redundancy: "inter", ...policy });
  return { device, done: () => native.destroy() };
}

/** Flips a bit of the value that one invocation of `advance` stores, in its first dispatch. */
function arm(device: HardenedDevice, replica: 0 | 1): void {
  const { kernel, sites } = device.belay.faultSites().find((each) => each.entryPoint === "advance")!;
  const site = sites.find(
    ({ kind, span }) => kind === "value" && CODE.startsWith("data[id.x] * 3", span.start),
  )!;
  const where = { workgroup: [1, 0, 0], localIndex: 1 } as const;
  device.belay.arm({ kernel, site: site.id, replica, effect: { xor: 4 }, ...where });
}

/**
 * Uses of a buffer with 8 words at 0 and 8 more at 256, with the number of shadow updates that they
 * need.
 */
interface Program {
  readonly run: (device: GPUDevice, buffer: GPUBuffer) => void;
  readonly copies: number;
}
const programs: Record<string, Program> = {
  "a hundred steps in one pass": {
    run: (device, buffer) => {
      const recording = new Recording(device);
      for (let step = 0; step < 50; step++) recording.run("advance", buffer).run("swap", buffer);
      recording.submit();
    },
    copies: 1,
  },
  "several passes of one command buffer": {
    run: (device, buffer) =>
      new Recording(device)
        .run("advance", buffer)
        .between(() => {})
        .run("swap", buffer)
        .submit(),
    copies: 1,
  },
  "a command buffer each": {
    run: (device, buffer) => {
      for (let step = 0; step < 3; step++) new Recording(device).run("advance", buffer).submit();
    },
    copies: 3,
  },
  "parts of a buffer at dynamic offsets": {
    run: (device, buffer) => {
      const recording = new Recording(device);
      for (let step = 0; step < 4; step++) recording.run("advance", buffer).run("swap", buffer, 256);
      recording.submit();
    },
    copies: 2,
  },
  "a kernel between that only writes": {
    run: (device, buffer) =>
      new Recording(device).run("advance", buffer).run("fill", buffer).run("advance", buffer).submit(),
    copies: 2,
  },
  "a kernel between that writes another part": {
    run: (device, buffer) =>
      new Recording(device).run("advance", buffer).run("fill", buffer, 256).run("advance", buffer).submit(),
    copies: 1,
  },
  "an atomic operation between, which runs once": {
    run: (device, buffer) =>
      new Recording(device).run("count", buffer).run("advance", buffer).run("swap", buffer).submit(),
    copies: 2,
  },
  "a copy between": {
    run: (device, buffer) => {
      const other = upload(device, start.toReversed());
      new Recording(device)
        .run("advance", buffer)
        .between((encoder) => encoder.copyBufferToBuffer(other, buffer))
        .run("swap", buffer)
        .submit();
    },
    copies: 2,
  },
  "a clear between": {
    run: (device, buffer) =>
      new Recording(device)
        .run("advance", buffer)
        .between((encoder) => encoder.clearBuffer(buffer, 4, 8))
        .run("advance", buffer)
        .submit(),
    copies: 2,
  },
  "two buffers": {
    run: (device, buffer) => {
      const other = upload(device, start);
      const recording = new Recording(device);
      for (let step = 0; step < 3; step++) recording.run("advance", buffer).run("swap", other);
      recording.submit();
    },
    copies: 2,
  },
};
const padded = [...start, ...new Array(56).fill(0), ...start.toReversed()];

describe.each(Object.entries(programs))("%s", (_, { run, copies }) => {
  it("computes the same bits with as few copies as possible", async () => {
    const plain = await sharedDevice();
    const { device, done } = await hardened();
    const [expected, actual] = [upload(plain, padded), upload(device, padded)];
    run(plain, expected);
    run(device, actual);
    expect(await download(device, actual)).toEqual(await download(plain, expected));
    const report = await device.belay.report();
    expect(report.faults).toEqual([]);
    expect(report.shadows).toMatchObject({ copies, bytes: copies * 4 * start.length });
    plain.destroy();
    done();
  });

  it("recovers from a fault", async () => {
    const { device, done } = await hardened({ injectFaults: true });
    const fresh = upload(device, padded);
    run(device, fresh);
    const expected = await download(device, fresh);
    const { kernels } = await device.belay.report();
    for (const { redundancy } of kernels) expect(redundancy).toBe("inter");
    for (const replica of [0, 1] as const) {
      arm(device, replica);
      const buffer = upload(device, padded);
      run(device, buffer);
      expect(await download(device, buffer)).toEqual(expected);
      expect(await device.belay.strikes()).toBeGreaterThan(0);
    }
    expect(await device.belay.report()).toMatchObject({ recoveries: 2, giveUps: 0 });
    done();
  });
});

describe("without a copy that is needed", () => {
  const steps = (device: GPUDevice, buffer: GPUBuffer) => programs["a clear between"]!.run(device, buffer);

  it("replicas disagree, which shows that the second one works on its own copy", async () => {
    const native = await sharedDevice();
    const createShaderModule = ({ code, ...rest }: GPUShaderModuleDescriptor) =>
      native.createShaderModule({ ...rest, code: code.replace("shadow[i] = original[i];", "") });
    const device = await harden(proxyOf(native, { createShaderModule }), { redundancy: "inter", retries: 1 });
    const buffer = upload(device, padded);
    steps(device, buffer);
    await expect(download(device, buffer)).rejects.toMatchObject({ name: "FaultError" });
    native.destroy();
  });

  it("a write in between is found as a fault", async () => {
    const { device, done } = await hardened({ onFault: "throw" });
    const wrote = vi.spyOn(RangeSet.prototype, "removeAll").mockImplementation(() => {});
    const buffer = upload(device, padded);
    steps(device, buffer);
    await expect(download(device, buffer)).rejects.toMatchObject({ name: "FaultError" });
    wrote.mockRestore();
    done();
  });
});

describe("the memory of a shadow", () => {
  it.each(["recover", "throw"] as const)("is freed with its buffer, under %s", async (onFault) => {
    const { device, done } = await hardened({ onFault });
    const buffers = [upload(device, padded), upload(device, padded)];
    for (const buffer of buffers) new Recording(device).run("advance", buffer).submit();
    expect((await device.belay.report()).shadows).toMatchObject({ held: 576, peak: 576 });
    for (const buffer of buffers) {
      buffer.destroy();
      buffer.destroy();
    }
    expect((await device.belay.report()).shadows).toMatchObject({ held: 0, peak: 576 });
    done();
  });

  it("is kept while work on a destroyed buffer may run again", async () => {
    const { device, done } = await hardened({ injectFaults: true });
    const other = upload(device, padded);
    const run = async () => {
      const buffer = upload(device, padded);
      const copyOut = (encoder: GPUCommandEncoder) => encoder.copyBufferToBuffer(buffer, other);
      new Recording(device).run("advance", buffer).run("advance", buffer).between(copyOut).submit();
      buffer.destroy();
      return download(device, other);
    };
    const expected = await run();
    arm(device, 0);
    expect(await run()).toEqual(expected);
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, shadows: { held: 0 } });
    done();
  });

  it("keeps results from being released if it cannot be allocated", async () => {
    const native = await newDevice({ errorsAreExpected: true });
    native.addEventListener("uncapturederror", (event) => event.preventDefault());
    const createBuffer = (descriptor: GPUBufferDescriptor) =>
      native.createBuffer(
        descriptor.label === "belay: shadow" ? { ...descriptor, size: 2 ** 48 } : descriptor,
      );
    const device = await harden(proxyOf(native, { createBuffer }), { redundancy: "inter" });
    const buffer = upload(device, padded);
    new Recording(device).run("advance", buffer).submit();
    await expect(download(device, buffer)).rejects.toMatchObject({
      name: "UnverifiedError",
      message: expect.stringContaining("changes in place"),
    });
    native.destroy();
  });
});

it("is not used if the pipeline layout has no room: the kernel stays unprotected", async () => {
  const { device, done } = await hardened();
  const room = device.limits.maxStorageBuffersPerShaderStage - 1;
  const entries = Array.from({ length: room }, (_, binding) => ({
    binding,
    visibility: GPUShaderStage.COMPUTE,
    buffer: { type: "storage" } as const,
  }));
  const layout = device.createPipelineLayout({
    bindGroupLayouts: [device.createBindGroupLayout({ entries })],
  });
  const module = device.createShaderModule({ code: CODE });
  device.createComputePipeline({ layout, compute: { module, entryPoint: "fill" } });
  device.createComputePipeline({ layout, compute: { module, entryPoint: "advance" } });
  const { kernels } = await device.belay.report();
  expect(kernels).toMatchObject([
    { kernel: "fill", redundancy: "inter" },
    { kernel: "advance", redundancy: "none" },
  ]);
  expect(kernels.map(({ diagnostics }) => diagnostics.some(({ code }) => code === "BELAY324"))).toEqual([
    false,
    true,
  ]);
  done();
});
