/**
 * The ways in which real programs use a device, and their mistakes: the same as on a plain device,
 * with the compiler.
 */
import { describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { harden } from "./harden.ts";

const { newDevice, sharedDevice } = testDevices({ full: true });
type Numbers = Uint32Array | Float32Array;

const storage = () => GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;

function upload(device: GPUDevice, data: Numbers, usage = storage()): GPUBuffer {
  const buffer = device.createBuffer({ size: data.byteLength, usage });
  device.queue.writeBuffer(buffer, 0, data as Uint32Array<ArrayBuffer>);
  return buffer;
}

async function download(device: GPUDevice, buffer: GPUBuffer): Promise<Uint32Array> {
  const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
  const readBack = device.createBuffer({ size: buffer.size, usage });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, readBack);
  device.queue.submit([encoder.finish()]);
  await readBack.mapAsync(GPUMapMode.READ);
  return new Uint32Array(readBack.getMappedRange().slice());
}

interface Dispatch {
  readonly code: string;
  readonly resources: readonly GPUBufferBinding[];
  readonly workgroups?: number;
  readonly times?: number;
}

/** Submits the dispatches repeatedly. */
function prepare(device: GPUDevice, { code, resources, workgroups = 4, times = 1 }: Dispatch): () => void {
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const entries = resources.map((resource, binding) => ({ binding, resource }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  return () => {
    const encoder = device.createCommandEncoder();
    encoder.pushDebugGroup("mine");
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    for (let i = 0; i < times; i++) {
      pass.pushDebugGroup("each");
      pass.dispatchWorkgroups(workgroups);
      pass.insertDebugMarker("done");
      pass.popDebugGroup();
    }
    pass.end();
    encoder.popDebugGroup();
    device.queue.submit([encoder.finish()]);
  };
}

const dispatch = (device: GPUDevice, what: Dispatch) => prepare(device, what)();

const kernel = (body: string, declarations = "", directives = "") => `${directives}
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
${declarations}
@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) { ${body} }`;
const input = "@group(0) @binding(1) var<storage, read> input: array<u32>;";
const counting = (length: number) => Uint32Array.from({ length }, (_, i) => i * 3 + 1);

const programs: Record<string, (device: GPUDevice) => Promise<Uint32Array>> = {
  "the same buffer bound twice in one group": async (device) => {
    const out = upload(device, new Uint32Array(32));
    const twice = upload(device, counting(32));
    const more = `${input} @group(0) @binding(2) var<storage, read> again: array<u32>;`;
    const code = kernel("out[id.x] = input[id.x] + again[31 - id.x];", more);
    dispatch(device, { code, resources: [{ buffer: out }, { buffer: twice }, { buffer: twice }] });
    return download(device, out);
  },
  "parts of buffers, at offsets": async (device) => {
    const [out, from] = [upload(device, counting(192)), upload(device, counting(192))];
    const resources = [
      { buffer: out, offset: 256, size: 128 },
      { buffer: from, offset: 512 },
    ];
    dispatch(device, { code: kernel("out[id.x] = out[id.x] * 2 + input[id.x];", input), resources });
    return download(device, out);
  },
  "a hundred dispatches in one pass": async (device) => {
    const out = upload(device, counting(32));
    const code = kernel("out[id.x] = out[id.x] * 5 + 1;");
    dispatch(device, { code, resources: [{ buffer: out }], times: 100 });
    return download(device, out);
  },
  "reads past the end, and the length of an array as the size": async (device) => {
    const out = upload(device, new Uint32Array(20));
    const few = upload(device, new Uint32Array(5).fill(9));
    const code = kernel(
      "if (id.x < arrayLength(&out)) { out[id.x] = min(input[id.x], 9) + arrayLength(&input); } out[id.x + 100] = 1;",
      input,
    );
    dispatch(device, { code, resources: [{ buffer: out }, { buffer: few }] });
    // A read past the end returns another element or zero, and the device decides which.
    return (await download(device, out)).map((value, i) =>
      i < 5 ? value : Number(value === 5 || value === 14),
    );
  },
  "a feature enabled that no operation uses": async (device) => {
    const out = upload(device, counting(32));
    const directives = device.features.has("subgroups") ? "enable subgroups;" : "";
    dispatch(device, { code: kernel("out[id.x] += 1;", "", directives), resources: [{ buffer: out }] });
    return download(device, out);
  },
  "sums of floats by compare and exchange": async (device) => {
    const out = upload(device, new Uint32Array(32));
    const sums = upload(device, new Uint32Array(4));
    const code = kernel(
      `out[id.x] = 1;
       var old = atomicLoad(&sums[id.x % 4]);
       loop {
         let sum = bitcast<u32>(bitcast<f32>(old) + 1);
         let result = atomicCompareExchangeWeak(&sums[id.x % 4], old, sum);
         if (result.exchanged) { break; }
         old = result.old_value;
       }`,
      "@group(0) @binding(1) var<storage, read_write> sums: array<atomic<u32>>;",
    );
    // Twins wait for each other to exchange values. The software adapter runs few workgroups at a
    // time.
    dispatch(device, { code, resources: [{ buffer: out }, { buffer: sums }], workgroups: 2 });
    return download(device, sums);
  },
  "pointers and resources that only names use": async (device) => {
    const out = upload(device, counting(32));
    const other = upload(device, counting(32));
    const more = "@group(0) @binding(1) var<storage, read_write> other: array<u32>;";
    dispatch(device, {
      code: kernel("let unused = &other; out[id.x] *= 2;", more),
      resources: [{ buffer: out }, { buffer: other }],
    });
    return download(device, out);
  },
  "timestamps around a pass": async (device) => {
    const out = upload(device, counting(32));
    if (!device.features.has("timestamp-query")) return download(device, out);
    const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
    const times = device.createBuffer({
      size: 16,
      usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
    });
    const encoder = device.createCommandEncoder();
    encoder
      .beginComputePass({
        timestampWrites: { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 },
      })
      .end();
    encoder.resolveQuerySet(querySet, 0, 2, times, 0);
    device.queue.submit([encoder.finish()]);
    const [begin, end] = new BigUint64Array((await download(device, times)).buffer);
    return Uint32Array.of(Number(begin! <= end!));
  },
};

describe.each(["intra+lds", "inter"] as const)("under %s, a program with", (redundancy) => {
  it.each(Object.entries(programs))("%s", async (_, program) => {
    const plain = await sharedDevice();
    const device = await harden(await sharedDevice(), { redundancy, injectFaults: true });
    const expected = await program(plain);
    expect(await program(device)).toEqual(expected);
    const sites = device.belay.faultSites()[0];
    if (sites) {
      const { kernel } = sites;
      device.belay.arm({
        kernel,
        site: sites.sites.findLast(({ kind }) => kind === "value")!.id,
        replica: 1,
        effect: { xor: 8 },
        workgroup: [1, 0, 0],
        localIndex: 2,
      });
      expect(await program(device)).toEqual(expected);
    }
    const { kernels, giveUps } = await device.belay.report();
    for (const kernel of kernels) expect(kernel.redundancy).toBe(redundancy);
    expect(giveUps).toBe(0);
    plain.destroy();
    device.destroy();
  });
});

/** Mistakes, each with the calls that make it. */
const mistakes: Record<string, (device: GPUDevice) => unknown> = {
  "invalid WGSL": (device) => device.createShaderModule({ code: "fn main( {" }),
  "an entry point that does not exist": (device) =>
    device.createComputePipeline({
      layout: "auto",
      compute: { module: device.createShaderModule({ code: kernel("out[0] = 1;") }), entryPoint: "absent" },
    }),
  "a bind group that misses an entry": (device) => {
    const compute = { module: device.createShaderModule({ code: kernel("out[0] = 1;") }) };
    const layout = device.createComputePipeline({ layout: "auto", compute }).getBindGroupLayout(0);
    device.createBindGroup({ layout, entries: [] });
  },
  "a layout without the binding": (device) =>
    device.createComputePipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: [] }),
      compute: { module: device.createShaderModule({ code: kernel("out[0] = 1;") }) },
    }),
  "a bind group that was not set": (device) => {
    const compute = { module: device.createShaderModule({ code: kernel("out[0] = 1;") }) };
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(device.createComputePipeline({ layout: "auto", compute }));
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.finish();
  },
  "a destroyed buffer": (device) => {
    const buffer = upload(device, counting(8));
    buffer.destroy();
    const encoder = device.createCommandEncoder();
    encoder.clearBuffer(buffer);
    device.queue.submit([encoder.finish()]);
  },
  "a copy beyond the end": (device) => {
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(upload(device, counting(8)), 16, upload(device, counting(8)), 0, 32);
    encoder.finish();
  },
  "an encoder used after its end": (device) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.end();
    pass.dispatchWorkgroups(1);
    encoder.finish();
  },
  "a command buffer submitted twice": (device) => {
    const commands = device.createCommandEncoder().finish();
    device.queue.submit([commands]);
    device.queue.submit([commands]);
  },
  "a write beyond the end": (device) =>
    device.queue.writeBuffer(upload(device, counting(8)), 16, counting(8)),
  "data outside its array": (device) =>
    device.queue.writeBuffer(upload(device, counting(8)), 0, counting(8), 4, 8),
  "a value of the wrong type": (device) => device.createBuffer({ size: "many" } as never),
  "no memory": (device) =>
    device.createBuffer({
      size: device.limits.maxBufferSize,
      usage: GPUBufferUsage.MAP_READ,
      mappedAtCreation: true,
    }),
};

it("accepts views of shared memory, which crash Dawn in Node.js", async () => {
  const device = await harden(await sharedDevice());
  const out = upload(device, new Uint32Array(32));
  const shared = new Uint32Array(new SharedArrayBuffer(256), 64, 32).fill(7);
  const resources = [{ buffer: out }];
  dispatch(device, { code: kernel("out[id.x] += id.x;"), resources });
  device.queue.writeBuffer(out, 32, shared, 8, 16);
  dispatch(device, { code: kernel("out[id.x] += id.x;"), resources });
  const expected = Array.from({ length: 32 }, (_, i) => (i >= 8 && i < 24 ? 7 + i : 2 * i));
  expect([...(await download(device, out))]).toEqual(expected);
  device.destroy();
});

describe("the same error for", () => {
  async function outcomeOf(device: GPUDevice, mistake: (device: GPUDevice) => unknown) {
    const filters = ["validation", "out-of-memory", "internal"] as const;
    for (const filter of filters) device.pushErrorScope(filter);
    let thrown: unknown;
    try {
      mistake(device);
    } catch (error) {
      thrown = (error as Error).constructor.name;
    }
    const errors: (GPUError | null)[] = [];
    for (const _ of filters) errors.push(await device.popErrorScope());
    return { thrown, errors: errors.map((error) => error && `${error.constructor.name}: ${error.message}`) };
  }

  it.each(Object.entries(mistakes))("%s", async (_, mistake) => {
    const plain = await sharedDevice();
    const expected = await outcomeOf(plain, mistake);
    const device = await harden(await sharedDevice());
    expect(await outcomeOf(device, mistake)).toEqual(expected);
    plain.destroy();
    device.destroy();
  });
});

describe("the same uncaptured error for", () => {
  async function uncapturedOf(device: GPUDevice, mistake: (device: GPUDevice) => unknown) {
    const errors: string[] = [];
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      errors.push(`${event.error.constructor.name}: ${event.error.message}`);
    });
    let thrown = false;
    try {
      mistake(device);
    } catch {
      thrown = true;
    }
    // Errors arrive in order, so the scope's answer arrives after all earlier ones.
    device.pushErrorScope("validation");
    await device.popErrorScope();
    await device.queue.onSubmittedWorkDone();
    return { thrown, errors };
  }

  it.each(Object.entries(mistakes))("%s", async (_, mistake) => {
    const plain = await newDevice({ errorsAreExpected: true });
    const expected = await uncapturedOf(plain, mistake);
    expect(expected.thrown || expected.errors.length > 0).toBe(true);
    const device = await harden(await newDevice({ errorsAreExpected: true }));
    expect(await uncapturedOf(device, mistake)).toEqual(expected);
    plain.destroy();
    device.destroy();
  });
});

it("returns a handler as it was set", async () => {
  const device = await harden(await newDevice());
  const handler = () => {};
  device.onuncapturederror = handler;
  expect(device.onuncapturederror).toBe(handler);
  device.destroy();
});

describe("memory", () => {
  it("does not grow with the epochs of a program that never reads back", async () => {
    const device = await harden(await sharedDevice());
    const out = upload(device, counting(64));
    const state = upload(device, counting(64));
    const code = kernel("out[id.x] = out[id.x] + input[id.x];", input);
    const step = prepare(device, { code, resources: [{ buffer: out }, { buffer: state }] });
    for (let i = 0; i < 1200; i++) {
      step();
      device.queue.writeBuffer(state, 4 * (i % 64), Uint32Array.of(i));
      if (i % 50 === 49) await new Promise((next) => setTimeout(next));
    }
    const { checks, snapshots } = await device.belay.report();
    expect(checks).toBeGreaterThan(2);
    // One page has room for 256 copies of the buffer.
    expect(snapshots.peak).toBe(64 * 1024);
    expect(snapshots.taken).toBeGreaterThan(0);
    device.destroy();
  });

  it("of snapshots is reused in later epochs", async () => {
    const device = await harden(await sharedDevice());
    const out = upload(device, counting(64));
    const step = prepare(device, { code: kernel("out[id.x] += 1;"), resources: [{ buffer: out }] });
    for (let i = 0; i < 100; i++) {
      step();
      await device.belay.verify();
    }
    const { snapshots } = await device.belay.report();
    const page = 64 * 1024;
    // The last copy was made in advance, for an epoch that did not come.
    expect(snapshots).toMatchObject({ taken: 101, bytes: 101 * 256, peak: page, held: page });
    device.destroy();
  });

  it("is not used for resources that each epoch overwrites completely", async () => {
    const device = await harden(await sharedDevice(), { injectFaults: true });
    const out = upload(device, counting(64));
    const run = async () => {
      // The clear is a part of the epoch, as it follows a protected kernel.
      const other = device.createBuffer({ size: 256, usage: out.usage });
      dispatch(device, { code: kernel("out[id.x] = id.x;"), resources: [{ buffer: other }] });
      const encoder = device.createCommandEncoder();
      encoder.clearBuffer(out);
      device.queue.submit([encoder.finish()]);
      dispatch(device, { code: kernel("out[id.x] += id.x * 3;"), resources: [{ buffer: out }] });
      return download(device, out);
    };
    const expected = await run();
    const kernels = device.belay.faultSites().at(-1);
    device.belay.arm({
      kernel: kernels!.kernel,
      site: kernels!.sites.findLast(({ kind }) => kind === "value")!.id,
      replica: 1,
      effect: { xor: 8 },
      workgroup: [1, 0, 0],
      localIndex: 2,
    });
    expect(await run()).toEqual(expected);
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, snapshots: { taken: 0, peak: 0 } });
    device.destroy();
  });
});
