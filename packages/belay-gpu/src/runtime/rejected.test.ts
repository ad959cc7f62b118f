/**
 * Commands that the device rejects have no effect: the program gets the device's errors, contents
 * stay, and re-execution leaves the commands out.
 */
import { describe, expect, it, vi } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { reportWords } from "../compiler/contract.ts";
import type { Policy } from "./context/policy.ts";
import { harden } from "./harden.ts";
import { RecordedPass } from "./webgpu/passCommands.ts";

const { sharedDevice } = testDevices();

const WORDS = 16;
const usage = () => GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
const staging = (device: GPUDevice) =>
  device.createBuffer({ size: 4 * WORDS, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });

async function read(device: GPUDevice, from: GPUBuffer, to: GPUBuffer): Promise<number[]> {
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(from, 4, to, 4, 4 * WORDS - 4);
  device.queue.submit([encoder.finish()]);
  await to.mapAsync(GPUMapMode.READ);
  const words = [...new Uint32Array(to.getMappedRange())];
  to.unmap();
  return words;
}

describe.each(["none", "secded128", "checksum"] as const)("memory %s", (memory) => {
  it("leaves a buffer unchanged that is mapped while it is written to", async () => {
    const device = await harden(await sharedDevice({ errorsAreExpected: true }), { memory });
    const buffer = device.createBuffer({ size: 4 * WORDS, usage: usage() });
    const mapped = staging(device);
    await mapped.mapAsync(GPUMapMode.READ);
    device.pushErrorScope("validation");
    device.queue.writeBuffer(mapped, 0, new Uint32Array(3).fill(7));
    expect(await device.popErrorScope()).not.toBeNull();
    mapped.unmap();
    expect(await read(device, buffer, mapped)).toEqual(new Array(WORDS).fill(0));
    expect((await device.belay.report()).memoryFaults).toEqual([]);
    device.destroy();
  });

  it("changes nothing by a write to a destroyed buffer", async () => {
    const device = await harden(await sharedDevice({ errorsAreExpected: true }), { memory });
    const gone = device.createBuffer({ size: 4 * WORDS, usage: usage() });
    gone.destroy();
    const buffer = device.createBuffer({ size: 4 * WORDS, usage: usage() });
    device.queue.writeBuffer(buffer, 0, new Uint32Array(WORDS).fill(5));
    device.pushErrorScope("validation");
    device.queue.writeBuffer(gone, 0, new Uint32Array(WORDS).fill(7));
    expect(await device.popErrorScope()).not.toBeNull();
    expect(await read(device, buffer, staging(device))).toEqual([0, ...new Array(WORDS - 1).fill(5)]);
    const report = await device.belay.report();
    expect([report.memoryFaults, report.memory?.corrected ?? 0]).toEqual([[], 0]);
    device.destroy();
  });

  it("lets the device reject a binding that begins after the end of its buffer", async () => {
    const device = await harden(await sharedDevice({ errorsAreExpected: true }), { memory });
    const buffer = device.createBuffer({ size: 20, usage: usage() });
    const entry = { binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "storage" } } as const;
    const layout = device.createBindGroupLayout({ entries: [entry] });
    device.pushErrorScope("validation");
    device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer, offset: 256 } }] });
    expect((await device.popErrorScope())?.message).toContain("256");
    device.destroy();
  });
});

/** A kernel that adds one to words, and a fault that strikes its next run. */
async function incrementing(policy: Policy = {}) {
  const native = await sharedDevice({ errorsAreExpected: true });
  const device = await harden(native, { injectFaults: true, ...policy });
  const words = device.createBuffer({ size: 4 * WORDS, usage: usage() });
  const code = `
    @group(0) @binding(0) var<storage, read_write> words: array<u32>;
    @compute @workgroup_size(16) fn increment(@builtin(local_invocation_index) i: u32) { words[i] += 1u; }`;
  const compute = { module: device.createShaderModule({ code }) };
  const pipeline = device.createComputePipeline({ layout: "auto", compute });
  const entries = [{ binding: 0, resource: { buffer: words } }];
  const layout = pipeline.getBindGroupLayout(0);
  const group = device.createBindGroup({ layout, entries });
  const increment = (
    encoder: GPUCommandEncoder,
    workgroups = 1,
    setUp: (pass: GPUComputePassEncoder) => void = (pass) => pass.setBindGroup(0, group),
  ) => {
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    setUp(pass);
    pass.dispatchWorkgroups(workgroups);
    return pass;
  };
  const arm = () => {
    const site = device.belay.faultSites()[0]!.sites.find(({ kind }) => kind === "value")!.id;
    const place = { replica: 1, effect: { xor: 2 }, workgroup: [0, 0, 0], localIndex: 3 } as const;
    device.belay.arm({ kernel: "increment", site, ...place });
  };
  return { native, device, words, layout, group, increment, arm };
}

/** Buffers in bind groups that the device rejects. The last one is valid, but not its texture. */
const invalidBindings = {
  "a size that is no multiple of words": (device: GPUDevice) => ({
    buffer: device.createBuffer({ size: 64, usage: usage() }),
    size: 34,
  }),
  "a buffer with a part of a word": (device: GPUDevice) => ({
    buffer: device.createBuffer({ size: 34, usage: usage() }),
  }),
  "a buffer without the usage": (device: GPUDevice) => ({
    buffer: device.createBuffer({ size: 64, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST }),
  }),
  "a texture without the usage": (device: GPUDevice) => ({
    buffer: device.createBuffer({ size: 64, usage: usage() }),
  }),
} as const satisfies Record<string, (device: GPUDevice) => GPUBufferBinding>;

/** Returns the errors of a dispatch with a bind group that the device rejects, by call. */
async function errorsOfInvalidGroup(device: GPUDevice, name: keyof typeof invalidBindings) {
  const code = `
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(0) @binding(1) var shown: texture_storage_2d<r32uint, write>;
@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
  words[id.x] += 1u;
  textureStore(shown, id.xy, vec4u(words[id.x]));
}`;
  const compute = { module: device.createShaderModule({ code }) };
  const pipeline = device.createComputePipeline({ layout: "auto", compute });
  const { STORAGE_BINDING, COPY_SRC, COPY_DST } = GPUTextureUsage;
  const use = name === "a texture without the usage" ? COPY_DST : STORAGE_BINDING;
  const texture = device.createTexture({ format: "r32uint", size: [8, 1], usage: COPY_SRC | use });
  const errors: (string | undefined)[] = [];
  const noting = async <T>(call: () => T): Promise<T> => {
    device.pushErrorScope("validation");
    const result = call();
    errors.push((await device.popErrorScope())?.message);
    return result;
  };
  const resources = [invalidBindings[name](device), texture.createView()];
  const entries = resources.map((resource, binding) => ({ binding, resource }));
  const layout = pipeline.getBindGroupLayout(0);
  const group = await noting(() => device.createBindGroup({ label: "invalid", layout, entries }));
  const encoder = device.createCommandEncoder();
  encodeDispatch(encoder, pipeline, group, 1);
  const commands = await noting(() => encoder.finish());
  await noting(() => device.queue.submit([commands]));
  return errors;
}

it.each([
  {},
  { memory: "secded32" },
  { memory: "secded32", redundancy: "none" },
  { memory: "detect1024", redundancy: "inter" },
  { memory: "secded128" },
  { memory: "checksum" },
] as const)("rejects dispatches with invalid bind groups, under %j", async (policy) => {
  const plain = await sharedDevice({ errorsAreExpected: true });
  const device = await harden(await sharedDevice({ errorsAreExpected: true }), policy);
  for (const name of Object.keys(invalidBindings) as (keyof typeof invalidBindings)[]) {
    const expected = await errorsOfInvalidGroup(plain, name);
    expect(expected).not.toContain(undefined);
    expect([name, await errorsOfInvalidGroup(device, name)]).toEqual([name, expected]);
  }
  plain.destroy();
  device.destroy();
});

it("does not execute rejected commands again", async () => {
  const { device, words, increment, arm } = await incrementing();
  const source = device.createBuffer({ size: 4 * WORDS, usage: usage(), mappedAtCreation: true });
  device.pushErrorScope("validation");
  const refused = device.createCommandEncoder();
  increment(refused).end();
  refused.copyBufferToBuffer(source, 0, words, 0, 8);
  device.queue.submit([refused.finish()]);
  device.queue.writeBuffer(source, 0, new Uint32Array(WORDS).fill(9));
  expect((await device.popErrorScope())?.message).toContain("mapped");
  source.unmap();
  arm();
  const encoder = device.createCommandEncoder();
  const pass = increment(encoder);
  pass.end();
  const commands = encoder.finish();
  pass.dispatchWorkgroups(1);
  encoder.clearBuffer(words);
  device.queue.submit([commands]);
  expect(await read(device, words, staging(device))).toEqual([0, ...new Array(WORDS - 1).fill(1)]);
  expect((await device.belay.report()).recoveries).toBe(1);
  device.destroy();
});

it("does not count rejected dispatches", async () => {
  const { device, increment } = await incrementing();
  const hidden = device.createBuffer({ size: 4, usage: GPUBufferUsage.STORAGE });
  const commands = (isValid: boolean) => {
    const encoder = device.createCommandEncoder();
    increment(encoder).end();
    if (!isValid) encoder.copyBufferToBuffer(hidden, 0, hidden, 0, 4);
    return encoder.finish();
  };
  const once = commands(true);
  device.pushErrorScope("validation");
  device.queue.submit([once]);
  device.queue.submit([once]);
  device.queue.submit([commands(false)]);
  device.queue.submit([commands(true), commands(false)]);
  device.queue.submit([commands(true), commands(true)]);
  expect(await device.popErrorScope()).not.toBeNull();
  expect((await device.belay.report()).kernels).toMatchObject([{ dispatches: 3 }]);
  device.destroy();
});

type Mistake = (
  encoder: GPUCommandEncoder,
  pass: GPUComputePassEncoder,
  words: GPUBuffer,
  device: GPUDevice,
) => void;

it.each<[string, Mistake]>([
  ["a pass never ends", () => {}],
  ["a debug group stays open", (encoder, pass) => [pass.end(), encoder.pushDebugGroup("open")]],
  ["a debug group of a pass stays open", (_, pass) => [pass.pushDebugGroup("open"), pass.end()]],
  [
    "a buffer is not to be copied from",
    (encoder, pass, words, device) => {
      pass.end();
      const hidden = device.createBuffer({ size: 4, usage: GPUBufferUsage.STORAGE });
      encoder.copyBufferToBuffer(hidden, 0, words, 0, 4);
    },
  ],
  ["a pass was open meanwhile", (encoder, pass, words) => [encoder.clearBuffer(words, 0, 4), pass.end()]],
])("does not execute commands again that are invalid as %s", async (_, mistake) => {
  const { device, words, increment, arm } = await incrementing();
  device.pushErrorScope("validation");
  const invalid = device.createCommandEncoder();
  mistake(invalid, increment(invalid), words, device);
  device.queue.submit([invalid.finish()]);
  expect(await device.popErrorScope()).not.toBeNull();
  arm();
  const encoder = device.createCommandEncoder();
  increment(encoder).end();
  device.queue.submit([encoder.finish()]);
  expect(await read(device, words, staging(device))).toEqual([0, ...new Array(WORDS - 1).fill(1)]);
  expect((await device.belay.report()).recoveries).toBe(1);
  device.destroy();
});

type FamiliarMistake = (
  parts: Omit<Awaited<ReturnType<typeof incrementing>>, "native" | "arm"> & { readonly target: GPUBuffer },
  encoder: GPUCommandEncoder,
) => void;

/** Command buffers that begin or end alike: the kernels of their passes, and what they compute. */
const commandsInOrder: Readonly<
  Record<string, { readonly passes: readonly string[]; on(word: number): number }>
> = {
  a: { passes: ["i"], on: (word) => word + 1 },
  b: { passes: ["t"], on: (word) => 3 * word },
  c: { passes: ["it"], on: (word) => 3 * (word + 1) },
  d: { passes: ["i", "t"], on: (word) => 3 * (word + 1) },
  e: { passes: ["ii"], on: (word) => word + 2 },
};

/** A program whose result depends on the order of its command buffers. */
function orderedProgram(device: Awaited<ReturnType<typeof harden>>) {
  const words = device.createBuffer({ size: 4 * WORDS, usage: usage() });
  const module = device.createShaderModule({
    code: `
      @group(0) @binding(0) var<storage, read_write> words: array<u32>;
      @compute @workgroup_size(16) fn i(@builtin(local_invocation_index) i: u32) { words[i] += 1u; }
      @compute @workgroup_size(16) fn t(@builtin(local_invocation_index) i: u32) { words[i] *= 3u; }`,
  });
  const kernels = Object.fromEntries(
    ["i", "t"].map((entryPoint) => {
      const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
      const entries = [{ binding: 0, resource: { buffer: words } }];
      const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
      return [entryPoint, { pipeline, group }];
    }),
  );
  const run = (name: string) => {
    const encoder = device.createCommandEncoder();
    for (const names of commandsInOrder[name]!.passes) {
      const pass = encoder.beginComputePass();
      for (const each of names) {
        const { pipeline, group } = kernels[each]!;
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(1);
      }
      pass.end();
    }
    device.queue.submit([encoder.finish()]);
  };
  return { device, words, run };
}

describe("commands that the device has accepted before", () => {
  const accepted = async () => {
    const { native, ...others } = await incrementing({ injectFaults: false });
    const { device, words, increment } = others;
    const parts = { ...others, target: device.createBuffer({ size: 16, usage: usage() }) };
    const run = (encode: (encoder: GPUCommandEncoder) => void) => {
      const encoder = device.createCommandEncoder();
      encode(encoder);
      device.queue.submit([encoder.finish()]);
    };
    run((encoder) => {
      increment(encoder).end();
      encoder.copyBufferToBuffer(words, 0, parts.target, 8, 8);
    });
    await device.belay.verify();
    return { ...parts, native, run };
  };

  it("need no error scope", async () => {
    const { device, native, words, target, increment, run } = await accepted();
    const copying = (encoder: GPUCommandEncoder, size: number) => {
      increment(encoder).end();
      encoder.copyBufferToBuffer(words, size, target, 0, size);
    };
    // The first submission of an epoch also saves the buffers, in scopes of its own.
    run((encoder) => copying(encoder, 4));
    const scopes = vi.spyOn(native, "pushErrorScope");
    for (let i = 0; i < 2; i++) run((encoder) => increment(encoder).end());
    for (let i = 0; i < 2; i++) run((encoder) => copying(encoder, 8 * i));
    expect(scopes).not.toHaveBeenCalled();
    run((encoder) => increment(encoder, 2).end());
    expect(scopes).toHaveBeenCalledTimes(1);
    expect((await device.belay.report()).kernels).toMatchObject([{ dispatches: 7 }]);
    device.destroy();
  });

  it.each<[string, FamiliarMistake]>([
    [
      "a destroyed buffer",
      ({ words, increment }, encoder) => {
        words.destroy();
        increment(encoder).end();
      },
    ],
    [
      "a buffer that an earlier command buffer uses and that is destroyed",
      ({ device, words, increment }, encoder) => {
        const earlier = device.createCommandEncoder();
        increment(earlier).end();
        device.queue.submit([earlier.finish()]);
        words.destroy();
        increment(encoder).end();
      },
    ],
    [
      "a copy past the end of a buffer",
      ({ words, target, increment }, encoder) => {
        increment(encoder).end();
        encoder.copyBufferToBuffer(words, 0, target, 12, 8);
      },
    ],
    [
      "a copy to a destroyed buffer",
      ({ words, target, increment }, encoder) => {
        increment(encoder).end();
        encoder.copyBufferToBuffer(words, 0, target, 8, 8);
        target.destroy();
      },
    ],
    [
      "a bind group that is set and replaced",
      ({ device, group, layout, increment }, encoder) => {
        const invalid = device.createBindGroup({ layout, entries: [] });
        increment(encoder, 1, (pass) => {
          pass.setBindGroup(0, invalid);
          pass.setBindGroup(0, group);
        }).end();
      },
    ],
    [
      "a bind group that no dispatch needs",
      ({ increment }, encoder) => {
        const pass = increment(encoder);
        pass.setBindGroup(1000, null);
        pass.end();
      },
    ],
    [
      "a command after the end of a pass",
      ({ increment }, encoder) => {
        const pass = increment(encoder);
        pass.end();
        pass.dispatchWorkgroups(1);
      },
    ],
    [
      "a marker inside of a pass",
      ({ increment }, encoder) => {
        const pass = increment(encoder);
        encoder.insertDebugMarker("marker");
        pass.end();
      },
    ],
    [
      "a debug group of a pass",
      ({ increment }, encoder) => {
        const pass = increment(encoder);
        pass.popDebugGroup();
        pass.end();
      },
    ],
    [
      "a second pass that stays open",
      ({ increment }, encoder) => {
        increment(encoder).end();
        increment(encoder);
      },
    ],
  ])("are not counted if the device rejects %s", async (_, mistake) => {
    const { native: _native, run, ...parts } = await accepted();
    const { device } = parts;
    const before = (await device.belay.report()).kernels[0]!.dispatches;
    device.pushErrorScope("validation");
    let earlier = 0;
    const submit = vi.spyOn(device.queue, "submit");
    run((encoder) => {
      mistake(parts, encoder);
      earlier = submit.mock.calls.length;
    });
    expect(await device.popErrorScope()).not.toBeNull();
    const { kernels } = await device.belay.report();
    expect(kernels[0]!.dispatches - before).toBe(earlier);
    device.destroy();
  });

  it("share the records of equal commands, and all run again after a fault", async () => {
    const native = await sharedDevice();
    const created = vi.spyOn(native, "createBuffer");
    const { device, words, run } = orderedProgram(await harden(native));
    const reports = created.mock.results.map(({ value }) => value as GPUBuffer);
    const report = reports.find(({ label }) => label === "belay: reports")!;
    for (const name of Object.keys(commandsInOrder)) run(name);
    await device.belay.verify();
    device.queue.writeBuffer(words, 0, new Uint32Array(WORDS));
    const again = vi.spyOn(RecordedPass.prototype, "encodeIn");
    const order = [..."aaabaccbddabee"];
    for (const name of order) run(name);
    // No kernel can be struck here, as its dispatches would differ. So the fault is in a report.
    native.queue.writeBuffer(report, 4 * reportWords.detections, new Uint32Array([1]));
    const expected = order.reduce((word, name) => commandsInOrder[name]!.on(word), 0);
    expect(await read(device, words, staging(device))).toEqual([0, ...new Array(WORDS - 1).fill(expected)]);
    expect((await device.belay.report()).recoveries).toBe(1);
    const passes = order.reduce((count, name) => count + commandsInOrder[name]!.passes.length, 0);
    expect(again).toHaveBeenCalledTimes(passes);
    // Of the commands that begin alike, the latest are kept: a, b, c, d with two passes, a, and e.
    expect(new Set(again.mock.contexts).size).toBe(7);
    again.mockRestore();
    device.destroy();
  });

  it("are rejected if they are submitted twice", async () => {
    const { device, increment } = await accepted();
    const encoder = device.createCommandEncoder();
    increment(encoder).end();
    const commands = encoder.finish();
    device.queue.submit([commands]);
    device.pushErrorScope("validation");
    device.queue.submit([commands]);
    expect(await device.popErrorScope()).not.toBeNull();
    expect((await device.belay.report()).kernels).toMatchObject([{ dispatches: 2 }]);
    device.destroy();
  });
});

it("creates no pipeline of an entry point without a name", async () => {
  const device = await harden(await sharedDevice());
  const module = device.createShaderModule({ code: "@compute @workgroup_size(1) fn main() {}" });
  const made = device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "" } });
  await expect(made).rejects.toMatchObject({ name: "GPUPipelineError", reason: "validation" });
  device.destroy();
});

it("lets the device report that an invalid pipeline has no layouts", async () => {
  const device = await harden(await sharedDevice({ errorsAreExpected: true }));
  const module = device.createShaderModule({ code: "@compute @workgroup_size(1) fn main() {}" });
  const group = device.createBindGroupLayout({ entries: [] });
  const layout = device.createPipelineLayout({ bindGroupLayouts: [group] });
  const pipeline = device.createComputePipeline({ layout, compute: { module, constants: { unknown: 1 } } });
  device.pushErrorScope("validation");
  pipeline.getBindGroupLayout(0);
  expect(await device.popErrorScope()).not.toBeNull();
  device.destroy();
});

/** Encodes commands, and submits them in a scope. Returns whether the device rejected them. */
async function isRejected(
  device: GPUDevice,
  encode: (encoder: GPUCommandEncoder) => void,
  ...more: GPUCommandBuffer[]
): Promise<boolean> {
  device.pushErrorScope("validation");
  const encoder = device.createCommandEncoder();
  encode(encoder);
  device.queue.submit([encoder.finish(), ...more]);
  return (await device.popErrorScope()) !== null;
}

/** Commands that the device rejects, as their debug group stays open. */
const leaveOpen = (encoder: GPUCommandEncoder) => encoder.pushDebugGroup("open");

type Incrementing = Awaited<ReturnType<typeof incrementing>> & { other: GPUBuffer };

it.each<[string, (parts: Incrementing) => unknown]>([
  [
    "a destroyed buffer",
    ({ device, other, increment }) => {
      other.destroy();
      return isRejected(device, (encoder) => {
        increment(encoder).end();
        encoder.copyBufferToBuffer(other, 4, other, 0, 4);
      });
    },
  ],
  [
    "a buffer that is destroyed twice",
    ({ device, other, increment }) => {
      const change = (encoder: GPUCommandEncoder) => {
        increment(encoder).end();
        encoder.copyBufferToBuffer(other, 4, other, 0, 4);
      };
      other.destroy();
      const first = isRejected(device, change);
      other.destroy();
      return Promise.all([first, isRejected(device, change)]);
    },
  ],
  [
    "a buffer that is destroyed after rejected work",
    async ({ device, other, increment }) => {
      const change = (encoder: GPUCommandEncoder) => {
        increment(encoder).end();
        encoder.copyBufferToBuffer(other, 4, other, 0, 4);
      };
      await isRejected(device, (encoder) => [change(encoder), leaveOpen(encoder)]);
      other.destroy();
      return isRejected(device, change);
    },
  ],
  [
    "an invalid buffer",
    async ({ device, increment }) => {
      device.pushErrorScope("validation");
      const invalid = device.createBuffer({ size: 4, usage: 0 });
      await device.popErrorScope();
      return isRejected(device, (encoder) => [increment(encoder).end(), encoder.clearBuffer(invalid)]);
    },
  ],
  [
    "a buffer that no other command uses",
    ({ device, other }) => isRejected(device, (encoder) => [encoder.clearBuffer(other), leaveOpen(encoder)]),
  ],
  [
    "a buffer that is overwritten next",
    async ({ device, other }) => {
      await isRejected(device, (encoder) => [encoder.clearBuffer(other), leaveOpen(encoder)]);
      return isRejected(device, (encoder) => encoder.clearBuffer(other));
    },
  ],
  [
    "a buffer that the host overwrites next",
    async ({ device, other }) => {
      await isRejected(device, (encoder) => [encoder.clearBuffer(other), leaveOpen(encoder)]);
      device.queue.writeBuffer(other, 0, new Uint32Array(WORDS));
    },
  ],
])("recovers work next to rejected work with %s", async (_, reject) => {
  const parts = await incrementing();
  const { device, words, increment, arm } = parts;
  const other = device.createBuffer({ size: 4 * WORDS, usage: usage() });
  device.queue.writeBuffer(other, 0, new Uint32Array(WORDS).fill(5));
  // The epoch begins with work that may have to run again.
  await isRejected(device, (encoder) => increment(encoder).end());
  await reject({ ...parts, other });
  arm();
  await isRejected(device, (encoder) => increment(encoder).end());
  expect(await read(device, words, staging(device))).toEqual([0, ...new Array(WORDS - 1).fill(2)]);
  expect((await device.belay.report()).recoveries).toBe(1);
  device.destroy();
});

it("recovers work after rejected work whose snapshots would exceed the budget", async () => {
  const { device, words, increment, arm } = await incrementing({ snapshotBytes: 1024 });
  const large = device.createBuffer({ size: 4096, usage: usage() });
  device.queue.writeBuffer(large, 0, new Uint32Array(1024).fill(5));
  await isRejected(device, (encoder) => increment(encoder).end());
  const change = (encoder: GPUCommandEncoder) => encoder.clearBuffer(large, 0, 4);
  expect(await isRejected(device, (encoder) => [change(encoder), leaveOpen(encoder)])).toBe(true);
  arm();
  await isRejected(device, (encoder) => increment(encoder).end());
  expect(await read(device, words, staging(device))).toEqual([0, ...new Array(WORDS - 1).fill(2)]);
  expect((await device.belay.report()).recoveries).toBe(1);
  // The same work is an obstacle once the device accepts it.
  arm();
  await isRejected(device, (encoder) => [increment(encoder).end(), change(encoder)]);
  await expect(read(device, words, staging(device))).rejects.toThrow("snapshotBytes");
  device.destroy();
});

/** Work on resources, their destruction, and a use after it. Returns the errors. */
const usesOfDestroyed: Record<string, (device: GPUDevice, words: GPUBuffer) => Promise<unknown>> = {
  "a command on a buffer": async (device, words) => {
    const other = device.createBuffer({ label: "gone", size: 64, usage: usage() });
    await isRejected(device, (encoder) => encoder.copyBufferToBuffer(words, 0, other, 0, 4));
    other.destroy();
    return errorOf(device, () => {
      const encoder = device.createCommandEncoder();
      encoder.clearBuffer(other);
      device.queue.submit([encoder.finish()]);
    });
  },
  "a command on a texture": async (device, words) => {
    const other = copied(device, words);
    return errorOf(device, () => {
      const encoder = device.createCommandEncoder();
      encoder.copyTextureToBuffer({ texture: other }, { buffer: words }, [1]);
      device.queue.submit([encoder.finish()]);
    });
  },
  "a write to a buffer": async (device, words) => {
    const other = device.createBuffer({ label: "gone", size: 64, usage: usage() });
    await isRejected(device, (encoder) => encoder.copyBufferToBuffer(words, 0, other, 0, 4));
    other.destroy();
    return errorOf(device, () => device.queue.writeBuffer(other, 4, new Uint32Array(3)));
  },
  "a write to a texture": async (device, words) => {
    const other = copied(device, words);
    return errorOf(device, () => device.queue.writeTexture({ texture: other }, new Uint8Array(4), {}, [1]));
  },
  "a mapping": async (device, words) => {
    const reader = staging(device);
    await isRejected(device, (encoder) => encoder.copyBufferToBuffer(words, 0, reader, 0, 4));
    reader.destroy();
    return errorOf(device, () => void reader.mapAsync(GPUMapMode.READ).catch(() => {}));
  },
};

/** Returns a destroyed texture that a command has written. */
function copied(device: GPUDevice, words: GPUBuffer): GPUTexture {
  const used = GPUTextureUsage.COPY_SRC | GPUTextureUsage.COPY_DST;
  const texture = device.createTexture({ label: "gone", size: [1], format: "rgba8unorm", usage: used });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToTexture({ buffer: words }, { texture }, [1]);
  device.queue.submit([encoder.finish()]);
  texture.destroy();
  return texture;
}

/** Returns the first line of the error of some calls. */
async function errorOf(device: GPUDevice, calls: () => void): Promise<string | undefined> {
  device.pushErrorScope("validation");
  calls();
  return (await device.popErrorScope())?.message.split("\n")[0];
}

it.each(Object.entries(usesOfDestroyed))(
  "rejects %s that the program has destroyed, and still recovers earlier work",
  async (_, use) => {
    const { device, words, increment, arm } = await incrementing();
    const plain = await sharedDevice({ errorsAreExpected: true });
    const expected = await use(plain, plain.createBuffer({ size: 4 * WORDS, usage: usage() }));
    expect(expected).toMatch(/destroyed/i);
    arm();
    await isRejected(device, (encoder) => increment(encoder).end());
    expect(await use(device, words)).toBe(expected);
    expect(await read(device, words, staging(device))).toEqual([0, ...new Array(WORDS - 1).fill(1)]);
    expect((await device.belay.report()).recoveries).toBe(1);
    device.destroy();
    plain.destroy();
  },
);

it("restores contents that rejected work did not replace", async () => {
  const { device, increment, arm, words } = await incrementing();
  const other = device.createBuffer({ size: 4 * WORDS, usage: usage() });
  device.queue.writeBuffer(other, 0, new Uint32Array(WORDS).fill(5));
  await isRejected(device, (encoder) => increment(encoder).end());
  await isRejected(device, (encoder) => [encoder.clearBuffer(other), leaveOpen(encoder)]);
  arm();
  await isRejected(device, (encoder) => {
    encoder.copyBufferToBuffer(other, 0, words, 0, 4 * WORDS);
    increment(encoder).end();
  });
  expect(await read(device, words, staging(device))).toEqual([0, ...new Array(WORDS - 1).fill(6)]);
  expect((await device.belay.report()).recoveries).toBe(1);
  device.destroy();
});

it.each(["reads it before", "changes a part of it"])(
  "refuses work that needs contents which were not saved: it %s",
  async (way) => {
    const { device, words, increment, arm } = await incrementing();
    const other = device.createBuffer({ size: 4 * WORDS, usage: usage() });
    device.queue.writeBuffer(other, 0, new Uint32Array(WORDS).fill(5));
    await isRejected(device, (encoder) => increment(encoder).end());
    await isRejected(device, (encoder) => [encoder.clearBuffer(other), leaveOpen(encoder)]);
    arm();
    await isRejected(device, (encoder) => {
      increment(encoder).end();
      if (way === "reads it before") encoder.copyBufferToBuffer(other, 0, words, 0, 4);
      encoder.clearBuffer(other, 0, way === "reads it before" ? 4 * WORDS : 4);
    });
    await expect(read(device, words, staging(device))).rejects.toThrow(
      "the device rejected a command that would have replaced data",
    );
    device.destroy();
  },
);
