/**
 * WebGPU converts the values that it gets: it cuts off fractions, reads members once, and ignores
 * members that a program's own classes override. A hardened device works on the same values.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { harden } from "./harden.ts";
import type { HardenedDevice } from "./hardenedDevice.ts";
import { flags } from "./webgpu/nativeObjects.ts";
import type { AnyMethod } from "./webgpu/replayStep.ts";

const { newDevice } = testDevices();

const CODE = `
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(8) fn step(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&x)) { x[id.x] = x[id.x] * 3u + 1u; }
}`;

const COPY = flags.bufferCopySrc | flags.bufferCopyDst;
const STORAGE = flags.bufferStorage | COPY;

/** A device with the kernel, and two buffers of 128 words. */
interface Program {
  readonly device: GPUDevice;
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  readonly x: GPUBuffer;
  readonly y: GPUBuffer;
}

type Call = (program: Program) => unknown;

function bufferOf(device: GPUDevice, words: Uint32Array<ArrayBuffer>, usage = STORAGE): GPUBuffer {
  const buffer = device.createBuffer({ size: words.byteLength, usage });
  device.queue.writeBuffer(buffer, 0, words);
  return buffer;
}

/** Encodes commands and submits them. */
function encode({ device }: Program, commands: (encoder: GPUCommandEncoder) => void): void {
  const encoder = device.createCommandEncoder();
  commands(encoder);
  device.queue.submit([encoder.finish()]);
}

/** Runs the kernel on a binding. */
function run(
  program: Program,
  resource: GPUBindingResource,
  dispatch = (pass: GPUComputePassEncoder) => pass.dispatchWorkgroups(1),
  offsets: unknown[] = [[0]],
): void {
  const { device, pipeline, layout } = program;
  const group = device.createBindGroup({ layout, entries: [{ binding: 0, resource }] });
  encode(program, (encoder) => {
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    (pass.setBindGroup as AnyMethod).call(pass, 0, group, ...offsets);
    dispatch(pass);
    pass.end();
  });
}

const DATA = () => new Uint32Array([50, 60, 70, 80]);

class Halves extends Uint16Array {
  override get BYTES_PER_ELEMENT() {
    return 1;
  }
}
class Hidden extends Uint32Array {
  override *[Symbol.iterator](): ArrayIterator<number> {
    yield 0;
    yield 0;
  }
}
class Elsewhere extends Uint32Array {
  override get byteOffset() {
    return 4;
  }
}

const textureOf = ({ device }: Program) =>
  device.createTexture({
    size: [4, 4],
    format: "r32uint",
    usage: flags.textureCopySrc | flags.textureCopyDst,
  });

const calls: Readonly<Record<string, Call>> = {
  "writeBuffer from element 1.5": ({ device, x }) => device.queue.writeBuffer(x, 4, DATA(), 1.5, 2),
  "writeBuffer of 2.5 elements": ({ device, x }) => device.queue.writeBuffer(x, 4, DATA(), 1, 2.5),
  "writeBuffer to byte 4.5": ({ device, x }) => device.queue.writeBuffer(x, 4.5, DATA()),
  "writeBuffer with null": ({ device, x }) =>
    device.queue.writeBuffer(x, 4, DATA(), null as unknown as number, null as unknown as number),
  "writeBuffer of elements of another size": ({ device, x }) =>
    device.queue.writeBuffer(x, 4, new Halves([1, 2, 3, 4]), 2, 2),
  "writeBuffer of memory elsewhere": ({ device, x }) =>
    device.queue.writeBuffer(x, 4, new Elsewhere([1, 2, 3])),
  "writeBuffer of an array that hides its length": ({ device, x }) => {
    const data = DATA();
    for (const name of ["byteLength", "length"]) Object.defineProperty(data, name, { value: 1 });
    device.queue.writeBuffer(x, 4, data);
  },
  "writeBuffer of a buffer that hides its length": ({ device, x }) =>
    device.queue.writeBuffer(x, 4, Object.defineProperty(DATA().buffer, "byteLength", { value: 4 })),
  "copyBufferToBuffer from byte 4.5": (program) =>
    encode(program, (encoder) => encoder.copyBufferToBuffer(program.y, 4.5, program.x, 8, 8)),
  "copyBufferToBuffer to byte 8.5": (program) =>
    encode(program, (encoder) => encoder.copyBufferToBuffer(program.y, 4, program.x, 8.5, 8)),
  "copyBufferToBuffer of 8.5 bytes": (program) =>
    encode(program, (encoder) => encoder.copyBufferToBuffer(program.y, 4, program.x, 8, 8.5)),
  "copyBufferToBuffer of 32.5 bytes of the start": (program) =>
    encode(program, (encoder) => encoder.copyBufferToBuffer(program.y, program.x, 32.5)),
  "clearBuffer from byte 4.5": (program) =>
    encode(program, (encoder) => encoder.clearBuffer(program.x, 4.5, 8)),
  "clearBuffer of 8.5 bytes": (program) =>
    encode(program, (encoder) => encoder.clearBuffer(program.x, 4, 8.5)),
  "a binding whose place changes when it is read": (program) => {
    const offsets = [256, 0, 0, 0, 0];
    run(program, {
      buffer: program.x,
      get offset() {
        return offsets.shift() ?? 0;
      },
      size: 32,
    });
  },
  "a dynamic offset that an array hides": (program) =>
    run(program, { buffer: program.x, size: 32 }, undefined, [new Hidden([0, 256]), 1, 1]),
  "dispatchWorkgroupsIndirect at byte 4.5": (program) => {
    const sizes = bufferOf(program.device, new Uint32Array([9, 1, 1, 1]), flags.bufferIndirect | COPY);
    run(program, { buffer: program.x }, (pass) => pass.dispatchWorkgroupsIndirect(sizes, 4.5));
  },
  "a mapping of fractions": async (program) => {
    const usage = flags.bufferMapWrite | flags.bufferCopySrc;
    const staging = program.device.createBuffer({ size: 32, usage });
    await staging.mapAsync(flags.mapWrite + 0.5, 8.5, 16.5);
    new Uint32Array(staging.getMappedRange(8.9, 8.9)).fill(77);
    staging.unmap();
    encode(program, (encoder) => encoder.copyBufferToBuffer(staging, 8, program.x, 0, 16));
  },
  "the usage of a buffer": ({ device }) =>
    device.createBuffer({ size: 8.5, usage: flags.bufferCopyDst + 0.2 }).usage,
  "a size that changes when it is read": (program) => {
    const sizes = [64, 8, 8, 8];
    const buffer = program.device.createBuffer({
      get size() {
        return sizes.shift()!;
      },
      usage: STORAGE,
    });
    encode(program, (encoder) => encoder.copyBufferToBuffer(program.y, 0, buffer, 0, 64));
    encode(program, (encoder) => encoder.copyBufferToBuffer(buffer, 0, program.x, 0, 64));
    return buffer.size;
  },
  "a descriptor with accessors of a class": ({ device }) => {
    class Descriptor {
      get label() {
        return "mine";
      }
      get size() {
        return 8;
      }
      get usage() {
        return STORAGE;
      }
      get mappedAtCreation() {
        return true;
      }
    }
    const { label, mapState } = device.createBuffer(new Descriptor());
    return [label, mapState];
  },
  "copies whose extents change when they are read": (program) => {
    const texture = textureOf(program);
    const { x, y } = program;
    const layout = { bytesPerRow: 256.5 };
    const extentOf = (width: number) => {
      const widths = [width, 1, 1, 1];
      return {
        get width() {
          return widths.shift() ?? 1;
        },
      };
    };
    encode(program, (encoder) => {
      encoder.copyBufferToTexture({ ...layout, buffer: y, offset: 4.5 }, { texture }, extentOf(4.5));
      encoder.copyTextureToBuffer({ texture }, { ...layout, buffer: x, offset: 8.5 }, extentOf(3.5));
    });
  },
  "copies whose descriptors change afterwards": (program) => {
    const texture = textureOf(program);
    const size = [4];
    const from = { buffer: program.y, offset: 8 };
    const [origin, to] = [[0, 1], { buffer: program.x, offset: 0 }];
    encode(program, (encoder) => {
      encoder.copyBufferToTexture(from, { texture, origin }, size);
      encoder.copyTextureToBuffer({ texture, origin }, to, size);
    });
    [size[0], origin[1], from.offset, to.offset] = [1, 2, 0, 64];
  },
  "dynamic offsets that change afterwards": (program) => {
    const [list, array] = [[256], new Uint32Array([256])];
    for (const offsets of [[list], [array, 0, 1]])
      run(program, { buffer: program.x, size: 32 }, undefined, offsets);
    [list[0], array[0]] = [0, 0];
  },
  "writeTexture of an array that hides its length": (program) => {
    const { device, x, y } = program;
    const texture = textureOf(program);
    encode(program, (encoder) => encoder.copyBufferToTexture({ buffer: y }, { texture }, [1]));
    const data = Object.defineProperty(DATA(), "byteLength", { value: 4 });
    const layout = { offset: 4.5, bytesPerRow: 8.5 };
    device.queue.writeTexture({ texture, mipLevel: 0.5, origin: [1.5] }, data, layout, [2.5]);
    encode(program, (encoder) => encoder.copyTextureToBuffer({ texture }, { buffer: x }, [4]));
  },
};

/** Values that the device rejects with a `TypeError`. */
const wrong = [Number.NaN, Number.POSITIVE_INFINITY, -1, 2 ** 53, "8", 8n, true, { valueOf: () => 8 }, [8]];
const wrongCalls: Readonly<Record<string, (program: Program, value: never) => unknown>> = {
  "writeBuffer to": ({ device, x }, value) => device.queue.writeBuffer(x, value, DATA()),
  "writeBuffer from": ({ device, x }, value) => device.queue.writeBuffer(x, 0, DATA(), value),
  "clearBuffer from": (program, value) => encode(program, (encoder) => encoder.clearBuffer(program.x, value)),
  "copyBufferToBuffer of": ({ device, x, y }, value) =>
    device.createCommandEncoder().copyBufferToBuffer(x, 0, y, 0, value),
  "createBuffer of size": ({ device }, size) => device.createBuffer({ size, usage: STORAGE }),
  "dispatchWorkgroups of": ({ device }, value) =>
    device.createCommandEncoder().beginComputePass().dispatchWorkgroups(value),
  "getMappedRange of": ({ device }, value) =>
    device.createBuffer({ size: 64, usage: STORAGE, mappedAtCreation: true }).getMappedRange(0, value),
  "mapAsync of mode": ({ device }, value) =>
    device.createBuffer({ size: 64, usage: flags.bufferMapRead | flags.bufferCopyDst }).mapAsync(value),
};

/** Returns the contents of both buffers after a call between two dispatches, and its result. */
async function outcome(device: GPUDevice, pipeline: GPUComputePipeline, call: Call, before?: () => void) {
  const layout = pipeline.getBindGroupLayout(0);
  const words = new Uint32Array(128).map((_, i) => i);
  const program = { device, pipeline, layout, x: bufferOf(device, words), y: bufferOf(device, words) };
  await device.queue.onSubmittedWorkDone();
  before?.();
  run(program, { buffer: program.x });
  let result: unknown;
  try {
    result = await call(program);
  } catch (error) {
    result = String(error);
  }
  run(program, { buffer: program.x });
  const contents: number[][] = [];
  for (const buffer of [program.x, program.y]) {
    const usage = flags.bufferMapRead | flags.bufferCopyDst;
    const staging = device.createBuffer({ size: buffer.size, usage });
    encode(program, (encoder) => encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size));
    await staging.mapAsync(flags.mapRead);
    contents.push([...new Uint32Array(staging.getMappedRange())]);
  }
  return { result, contents };
}

function pipelineOf(device: GPUDevice): GPUComputePipeline {
  const buffer = { type: "storage", hasDynamicOffset: true } as const;
  const entry = { binding: 0, visibility: flags.shaderStageCompute, buffer };
  const layout = device.createPipelineLayout({
    bindGroupLayouts: [device.createBindGroupLayout({ entries: [entry] })],
  });
  return device.createComputePipeline({
    layout,
    compute: { module: device.createShaderModule({ code: CODE }) },
  });
}

let plain: GPUDevice;
let plainPipeline: GPUComputePipeline;
beforeAll(async () => {
  plain = await newDevice();
  plainPipeline = pipelineOf(plain);
});
afterAll(() => plain.destroy());

describe.each([
  ["a fault", {}],
  ["secded32", { memory: "secded32" }],
  ["checksum", { memory: "checksum" }],
  ["secded128", { memory: "secded128" }],
] as const)("with %s", (name, policy) => {
  let device: HardenedDevice;
  let pipeline: GPUComputePipeline;
  const events: string[] = [];
  /** Lets the work be executed again, if the test is about that. */
  const arm = () => {
    if (name !== "a fault") return;
    const site = device.belay.faultSites()[0]!.sites.findLast(({ kind }) => kind === "value")!.id;
    const place = { workgroup: [0, 0, 0], localIndex: 7 } as const;
    device.belay.arm({ kernel: "step", site, replica: 0, effect: { xor: 64 }, ...place });
  };
  beforeAll(async () => {
    device = harden(await newDevice(), { ...policy, injectFaults: name === "a fault" });
    for (const type of ["fault", "memoryFault", "giveUp"] as const)
      device.belay.addEventListener(type, (event) => events.push(event.message));
    device.belay.addEventListener("unprotected", (event) => event.preventDefault());
    pipeline = pipelineOf(device);
  });
  afterAll(() => device.destroy());

  it.each(Object.keys(calls))("takes %s as a plain device does", async (call) => {
    events.length = 0;
    const expected = await outcome(plain, plainPipeline, calls[call]!);
    expect(String(expected.result)).not.toMatch(/Error/);
    expect(await outcome(device, pipeline, calls[call]!, arm)).toEqual(expected);
    // Each fault is recovered, and no memory looks damaged.
    expect(events.filter((message) => !message.includes("recovered"))).toEqual([]);
    expect(events.length > 0).toBe(name === "a fault");
  });

  it("rejects wrong values as a plain device does", async () => {
    const rejections: Call = async (program) => {
      const said: string[] = [];
      for (const [name, wrongCall] of Object.entries(wrongCalls)) {
        for (const value of wrong) {
          const error: unknown = await new Promise((resolve) => {
            resolve(wrongCall(program, value as never));
          }).catch((reason: unknown) => reason);
          said.push(`${name} ${typeof value}: ${error}`);
        }
      }
      return said;
    };
    const expected = await outcome(plain, plainPipeline, rejections);
    for (const each of expected.result as string[]) expect(each).toContain("TypeError");
    expect(await outcome(device, pipeline, rejections, arm)).toEqual(expected);
  });
});
