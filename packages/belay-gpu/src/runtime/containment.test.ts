/**
 * Only accepted commands change the taints of contents: a rejected command replaces no wrong data.
 */
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { stuckProtect } from "../../../../test/support/devices/standInCompiler.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { type HardenedDevice, hardenWith } from "./hardenedDevice.ts";

const { sharedDevice } = testDevices();

const BYTES = 64;
/** The value of `GPUBufferUsage.COPY_DST`, which is needed before there is a device. */
const GPU_COPY_DST = 8;
const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var picture: texture_storage_2d<rgba8unorm, write>;
@compute @workgroup_size(4) fn fill(@builtin(global_invocation_id) id: vec3u) { data[id.x] = 7; }
@compute @workgroup_size(4) fn paint(@builtin(global_invocation_id) id: vec3u) {
  textureStore(picture, id.xy, vec4f(0.5));
}`;

/** A program whose kernels left wrong data in a buffer and in a texture. */
class Program {
  readonly device: HardenedDevice;
  readonly data: GPUBuffer;
  readonly picture: GPUTexture;

  constructor(device: HardenedDevice, withheld = 0) {
    this.device = device;
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    this.data = this.buffer((STORAGE | COPY_SRC | COPY_DST) & ~withheld);
    const { STORAGE_BINDING, COPY_SRC: from, COPY_DST: to, RENDER_ATTACHMENT } = GPUTextureUsage;
    const usage = STORAGE_BINDING | from | (withheld === 0 ? to | RENDER_ATTACHMENT : 0);
    this.picture = device.createTexture({ size: [16, 1], format: "rgba8unorm", usage });
    this.run("fill");
    this.run("paint");
  }

  buffer(usage: number, mappedAtCreation = false): GPUBuffer {
    return this.device.createBuffer({ size: BYTES, usage, mappedAtCreation });
  }

  encode(act: (encoder: GPUCommandEncoder) => void): GPUCommandBuffer {
    const encoder = this.device.createCommandEncoder();
    act(encoder);
    return encoder.finish();
  }

  submit(act: (encoder: GPUCommandEncoder) => void): void {
    this.device.queue.submit([this.encode(act)]);
  }

  clear(): GPUCommandBuffer {
    return this.encode((encoder) => encoder.clearBuffer(this.data));
  }

  /** Commands that the device rejects. */
  invalid(): GPUCommandBuffer {
    return this.encode((encoder) => encoder.pushDebugGroup("never popped"));
  }

  run(entryPoint: "fill" | "paint"): void {
    const module = this.device.createShaderModule({ code: CODE });
    const pipeline = this.device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    const entry: GPUBindGroupEntry =
      entryPoint === "fill"
        ? { binding: 0, resource: { buffer: this.data } }
        : { binding: 1, resource: this.picture.createView() };
    const layout = pipeline.getBindGroupLayout(0);
    const group = this.device.createBindGroup({ layout, entries: [entry] });
    this.submit((encoder) => {
      encodeDispatch(encoder, pipeline, group, BYTES / 16);
    });
  }

  async read(): Promise<Uint32Array> {
    const buffer = this.buffer(GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
    this.submit((encoder) => encoder.copyBufferToBuffer(this.data, 0, buffer, 0, BYTES));
    await buffer.mapAsync(GPUMapMode.READ);
    return new Uint32Array(buffer.getMappedRange()).slice();
  }

  async readPicture(): Promise<Uint32Array> {
    const buffer = this.device.createBuffer({
      size: 256,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    this.submit((encoder) =>
      encoder.copyTextureToBuffer({ texture: this.picture }, { buffer, bytesPerRow: 256 }, [16, 1]),
    );
    await buffer.mapAsync(GPUMapMode.READ);
    return new Uint32Array(buffer.getMappedRange()).slice(0, 16);
  }
}

const words = new Uint32Array(BYTES / 4);

/** Ways in which a program tries in vain to replace the wrong data. */
const refused: Record<string, (program: Program) => void> = {
  "a clear in an encoder whose debug group stays open": (program) =>
    program.submit((encoder) => {
      encoder.clearBuffer(program.data);
      encoder.pushDebugGroup("never popped");
    }),
  "a clear in an encoder whose pass never ends": (program) =>
    program.submit((encoder) => {
      encoder.clearBuffer(program.data);
      encoder.beginComputePass();
    }),
  "a clear behind a copy that is refused": (program) =>
    program.submit((encoder) => {
      const source = program.buffer(GPUBufferUsage.STORAGE);
      encoder.copyBufferToBuffer(source, 0, program.buffer(GPUBufferUsage.COPY_DST), 0, 4);
      encoder.clearBuffer(program.data);
    }),
  "a clear behind a dispatch without a pipeline": (program) =>
    program.submit((encoder) => {
      const pass = encoder.beginComputePass();
      pass.dispatchWorkgroups(1);
      pass.end();
      encoder.clearBuffer(program.data);
    }),
  "a clear behind a dispatch without its bind group": (program) =>
    program.submit((encoder) => {
      const module = program.device.createShaderModule({ code: CODE });
      const compute = { module, entryPoint: "fill" };
      const pass = encoder.beginComputePass();
      pass.setPipeline(program.device.createComputePipeline({ layout: "auto", compute }));
      pass.dispatchWorkgroups(1);
      pass.end();
      encoder.clearBuffer(program.data);
    }),
  "a clear before commands that are invalid": (program) =>
    program.device.queue.submit([program.clear(), program.invalid()]),
  "a clear behind commands that are invalid": (program) =>
    program.device.queue.submit([program.invalid(), program.clear()]),
  "a clear beside commands that use a destroyed buffer": (program) => {
    const gone = program.buffer(GPUBufferUsage.COPY_DST);
    const commands = [program.clear(), program.encode((encoder) => encoder.clearBuffer(gone))];
    gone.destroy();
    program.device.queue.submit(commands);
  },
  "a clear beside commands that use a mapped buffer": (program) => {
    const mapped = program.buffer(GPUBufferUsage.COPY_DST, true);
    program.device.queue.submit([program.clear(), program.encode((encoder) => encoder.clearBuffer(mapped))]);
  },
  "a clear submitted twice at once": (program) => {
    const clear = program.clear();
    program.device.queue.submit([clear, clear]);
  },
  "a clear submitted again after it was refused": (program) => {
    const clear = program.clear();
    program.device.queue.submit([clear, program.invalid()]);
    program.device.queue.submit([clear]);
  },
  "a clear beside what are no commands": (program) =>
    program.device.queue.submit([program.clear(), 5 as unknown as GPUCommandBuffer]),
  "a clear that begins at an odd byte": (program) =>
    program.submit((encoder) => encoder.clearBuffer(program.data, -4, BYTES + 4)),
  "a copy from a buffer that is not to be copied from": (program) =>
    program.submit((encoder) =>
      encoder.copyBufferToBuffer(program.buffer(GPUBufferUsage.STORAGE), 0, program.data, 0, BYTES),
    ),
  "a copy from behind the end of a buffer": (program) =>
    program.submit((encoder) =>
      encoder.copyBufferToBuffer(program.buffer(GPUBufferUsage.COPY_SRC), 4, program.data, 0, BYTES),
    ),
  "a copy from a destroyed buffer": (program) => {
    const gone = program.buffer(GPUBufferUsage.COPY_SRC);
    const copy = program.encode((encoder) => encoder.copyBufferToBuffer(gone, 0, program.data, 0, BYTES));
    gone.destroy();
    program.device.queue.submit([copy]);
  },
  "a write of more than there is": (program) =>
    program.device.queue.writeBuffer(program.data, 0, words, 0, BYTES),
  "a write behind the end": (program) => program.device.queue.writeBuffer(program.data, 4, words),
};

/** The same for the texture. */
const refusedTexels: Record<string, (program: Program) => void> = {
  "a write of too little data": ({ device, picture: texture }) =>
    device.queue.writeTexture({ texture }, new Uint32Array(3), {}, [16, 1]),
  "a write of rows that are too short": ({ device, picture: texture }) =>
    device.queue.writeTexture({ texture }, words, { bytesPerRow: 4 }, [16, 1]),
  "a write to more than the texture has": ({ device, picture: texture }) =>
    device.queue.writeTexture({ texture }, new Uint32Array(64), { bytesPerRow: 128 }, [32, 1]),
  "a write from behind the end of the data": ({ device, picture: texture }) =>
    device.queue.writeTexture({ texture }, words, { offset: 4 }, [16, 1]),
  "a write of nothing that has bytes": ({ device, picture: texture }) =>
    device.queue.writeTexture({ texture }, 5 as unknown as Uint32Array<ArrayBuffer>, {}, [16, 1]),
  "an image from nowhere": ({ device, picture: texture }) =>
    device.queue.copyExternalImageToTexture({ source: {} as ImageBitmap }, { texture }, [16, 1]),
  "a copy from a buffer that is not to be copied from": (program) =>
    program.submit((encoder) =>
      encoder.copyBufferToTexture(
        { buffer: program.buffer(GPUBufferUsage.STORAGE) },
        { texture: program.picture },
        [16, 1],
      ),
    ),
  "a copy from a texture of another format": (program) =>
    program.submit((encoder) => {
      const texture = program.device.createTexture({
        size: [16, 1],
        format: "r32uint",
        usage: GPUTextureUsage.COPY_SRC,
      });
      encoder.copyTextureToTexture({ texture }, { texture: program.picture }, [16, 1]);
    }),
  "a pass that clears it and never ends": (program) =>
    program.submit((encoder) => {
      const view = program.picture.createView();
      encoder.beginRenderPass({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }] });
    }),
  "a pass that clears it, beside commands that are invalid": (program) => {
    const clear = program.encode((encoder) => {
      const view = program.picture.createView();
      encoder.beginRenderPass({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }] }).end();
    });
    program.device.queue.submit([clear, program.invalid()]);
  },
};

/** The same for a buffer and a texture without the usage for copies to them. */
const withheld: Record<string, (program: Program) => void> = {
  "a clear": (program) => program.submit((encoder) => encoder.clearBuffer(program.data)),
  "a write": (program) => program.device.queue.writeBuffer(program.data, 0, words),
  "a copy": (program) =>
    program.submit((encoder) =>
      encoder.copyBufferToBuffer(program.buffer(GPUBufferUsage.COPY_SRC), program.data),
    ),
  "texels that are written": ({ device, picture: texture }) =>
    device.queue.writeTexture({ texture }, words, {}, [16, 1]),
  "texels that are copied": (program) =>
    program.submit((encoder) =>
      encoder.copyBufferToTexture(
        { buffer: program.buffer(GPUBufferUsage.COPY_SRC) },
        { texture: program.picture },
        [16, 1],
      ),
    ),
  "a pass that clears them": (program) =>
    program.submit((encoder) => {
      const view = program.picture.createView();
      encoder.beginRenderPass({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }] }).end();
    }),
};

const isWrong = { name: "FaultError" };

describe.each(["throw", "recover"] as const)("onFault %s", (onFault) => {
  const newProgram = async (withheld?: number) =>
    new Program(
      hardenWith(stuckProtect, await sharedDevice({ errorsAreExpected: true }), { onFault, retries: 1 }),
      withheld,
    );

  /** Returns whether the device rejects the call. */
  async function isRefused(program: Program, act: (program: Program) => void): Promise<boolean> {
    program.device.pushErrorScope("validation");
    let hasThrown = false;
    try {
      act(program);
    } catch {
      hasThrown = true;
    }
    return (await program.device.popErrorScope()) !== null || hasThrown;
  }

  const cases = [
    ...Object.entries(refused).map(([name, act]) => ({ name, act, usage: 0 })),
    ...Object.entries(refusedTexels).map(([name, act]) => ({ name, act, usage: 0 })),
    ...Object.entries(withheld).map(([name, act]) => ({ name, act, usage: GPU_COPY_DST })),
  ];
  describe.each([
    ["in the same epoch", async () => {}],
    ["afterwards", (program: Program) => program.device.belay.verify().catch(() => {})],
  ] as const)("%s", (_, wait) => {
    it.each(cases)("keeps the fault after $name", async ({ act, usage }) => {
      const program = await newProgram(usage);
      await wait(program);
      expect(await isRefused(program, act)).toBe(true);
      await expect(program.read()).rejects.toMatchObject(isWrong);
      await expect(program.readPicture()).rejects.toMatchObject(isWrong);
      program.device.destroy();
    });
  });

  it("removes the taint once the device has replaced the data", async () => {
    const program = await newProgram();
    await expect(program.read()).rejects.toMatchObject(isWrong);
    program.device.queue.submit([program.clear()]);
    program.device.queue.writeTexture({ texture: program.picture }, words, {}, [16, 1]);
    expect(await program.read()).toEqual(words);
    expect(await program.readPicture()).toEqual(words);
    program.device.destroy();
  });
});
