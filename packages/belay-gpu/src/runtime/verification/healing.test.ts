/**
 * After a refusal, data that the program provides again is released. Each way of replacing tainted
 * data removes all taints.
 */
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { stuckProtect } from "../../../../../test/support/devices/standInCompiler.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { sample } from "../../../../../test/support/sample.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import { type HardenedDevice, hardenWith } from "../hardenedDevice.ts";

const { sharedDevice } = testDevices();

const WORDS = 16;
const BYTES = 4 * WORDS;
const TRIPLE = `
@group(0) @binding(0) var<storage, read> input: array<vec4u>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4u>;
@compute @workgroup_size(4) fn triple(@builtin(global_invocation_id) id: vec3u) {
  if ((id.x ^ 3) == 3) { output[0] = input[0] * 3; }
  else if (id.x < arrayLength(&output)) { output[id.x] = input[id.x] * 3; }
}`;
/** A kernel whose text shows that it overwrites its output. */
const FILLING = TRIPLE.replace(/ {2}if[^}]*}\n {2}else if/, "  if");
const words = (value: number) => new Uint32Array(WORDS).fill(value);

/** A kernel that overwrites its output in a way that cannot be proved. */
class Program {
  readonly device: HardenedDevice;
  readonly input: GPUBuffer;
  readonly output: GPUBuffer;
  readonly staging: GPUBuffer;
  readonly #pipeline: GPUComputePipeline;
  readonly #group: GPUBindGroup;

  constructor(device: HardenedDevice, code = TRIPLE) {
    this.device = device;
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const make = (label: string, usage: number) => device.createBuffer({ label, size: BYTES, usage });
    this.input = make("input", STORAGE | COPY_DST);
    this.output = make("output", STORAGE | COPY_SRC | COPY_DST);
    this.staging = make("staging", MAP_READ | COPY_DST);
    const compute = { module: device.createShaderModule({ code }) };
    this.#pipeline = device.createComputePipeline({ layout: "auto", compute });
    const entries = [this.input, this.output].map((buffer, binding) => ({ binding, resource: { buffer } }));
    this.#group = device.createBindGroup({ layout: this.#pipeline.getBindGroupLayout(0), entries });
    device.queue.writeBuffer(this.input, 0, words(1));
  }

  /** A buffer whose words all have one value. */
  filled(value: number): GPUBuffer {
    const usage = GPUBufferUsage.COPY_SRC;
    const buffer = this.device.createBuffer({ size: BYTES, usage, mappedAtCreation: true });
    new Uint32Array(buffer.getMappedRange()).fill(value);
    buffer.unmap();
    return buffer;
  }

  submit(act: (encoder: GPUCommandEncoder) => void): void {
    const encoder = this.device.createCommandEncoder();
    act(encoder);
    this.device.queue.submit([encoder.finish()]);
  }

  run(
    encoder: GPUCommandEncoder,
    dispatch = (pass: GPUComputePassEncoder) => pass.dispatchWorkgroups(1),
  ): void {
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.#pipeline);
    pass.setBindGroup(0, this.#group);
    dispatch(pass);
    pass.end();
  }

  async read(encode: (encoder: GPUCommandEncoder) => void = () => {}): Promise<number[]> {
    this.submit((encoder) => {
      encode(encoder);
      encoder.copyBufferToBuffer(this.output, this.staging);
    });
    await this.staging.mapAsync(GPUMapMode.READ);
    const read = [...new Uint32Array(this.staging.getMappedRange())];
    this.staging.unmap();
    return read;
  }
}

/** Ways in which reads of the program come to be refused. */
const refusals: Record<string, { readonly policy: Policy; readonly strike: (program: Program) => void }> = {
  "damaged input, thrown": {
    policy: { redundancy: "none", memory: "secded128", onFault: "throw", injectFaults: true },
    strike: ({ device, input }) => device.belay.flip(input, 20, 3),
  },
  "damaged input, not recovered": {
    policy: { redundancy: "none", memory: "secded128", onFault: "recover", injectFaults: true },
    strike: ({ device, input }) => device.belay.flip(input, 20, 3),
  },
  "damaged input that is verified before the kernel": {
    policy: { redundancy: "none", memory: "checksum", onFault: "throw", injectFaults: true },
    strike: ({ device, input }) => device.belay.flip(input, 20, 3),
  },
  "a faulty kernel, thrown": {
    policy: { redundancy: "intra+lds", memory: "secded128", onFault: "throw", injectFaults: true },
    strike: ({ device }) => {
      const site = device.belay.faultSites()[0]!.sites.find(({ kind }) => kind === "value")!.id;
      const place = { replica: 1, effect: { xor: 2 }, workgroup: [0, 0, 0], localIndex: 3 } as const;
      device.belay.arm({ kernel: "triple", site, ...place });
    },
  },
};

async function refused(name: string, code = TRIPLE): Promise<Program> {
  const { policy, strike } = refusals[name]!;
  const program = new Program(await harden(await sharedDevice(), policy), code);
  strike(program);
  await expect(program.read((encoder) => program.run(encoder))).rejects.toThrow(/BELAY|buffer|kernel/);
  return program;
}

const halves = [0, BYTES / 2] as const;

/** Ways to provide the input again. */
const inputs: Record<string, (program: Program) => void> = {
  "a write": ({ device, input }) => device.queue.writeBuffer(input, 0, words(2)),
  "two writes": ({ device, input }) => {
    for (const at of halves) device.queue.writeBuffer(input, at, words(2), 0, WORDS / 2);
  },
  "two copies": (program) =>
    program.submit((encoder) => {
      const source = program.filled(2);
      for (const at of halves) encoder.copyBufferToBuffer(source, at, program.input, at, BYTES / 2);
    }),
};

/** Ways to replace the results of the input. */
const outputs: Record<string, (program: Program, encoder: GPUCommandEncoder) => void> = {
  "a clear": ({ output }, encoder) => encoder.clearBuffer(output),
  "two clears": ({ output }, encoder) => {
    for (const at of halves) encoder.clearBuffer(output, at, BYTES / 2);
  },
  "a copy": (program, encoder) => encoder.copyBufferToBuffer(program.filled(9), program.output),
  "two writes": ({ device, output }) => {
    for (const at of halves) device.queue.writeBuffer(output, at, words(9), 0, WORDS / 2);
  },
};

describe.each(Object.keys(refusals).map((name, row) => ({ name, row })))("$name", ({ name, row }) => {
  const pairs = Object.keys(inputs).flatMap((input) =>
    Object.keys(outputs).map((output) => [input, output] as const),
  );
  it.each(sample(pairs, row, 8))("heals by %s of the input and %s of the output", async (input, output) => {
    const program = await refused(name);
    inputs[input]!(program);
    const read = program.read((encoder) => {
      outputs[output]!(program, encoder);
      program.run(encoder);
    });
    expect(await read).toEqual([...words(6)]);
    program.device.destroy();
  });

  it("heals if a kernel overwrites the output", async () => {
    const program = await refused(name, FILLING);
    inputs["a write"]!(program);
    expect(await program.read((encoder) => program.run(encoder))).toEqual([...words(6)]);
    program.device.destroy();
  });

  it("stays refused while the kernel loads tainted data", async () => {
    const program = await refused(name, FILLING);
    const read = program.read((encoder) => program.run(encoder));
    if (name === "a faulty kernel, thrown") expect(await read).toEqual([...words(3)]);
    else await expect(read).rejects.toHaveProperty("help", expect.any(String));
    program.device.destroy();
  });

  it("stays refused while some bytes of the output are not replaced", async () => {
    const program = await refused(name);
    inputs["a write"]!(program);
    const read = program.read((encoder) => {
      encoder.clearBuffer(program.output, 0, BYTES / 2);
      encoder.clearBuffer(program.output, BYTES / 2 + 16);
      program.run(encoder);
    });
    await expect(read).rejects.toHaveProperty("help", expect.any(String));
    program.device.destroy();
  });
});

describe("kernels that may keep tainted bytes", () => {
  const ways: Record<string, string> = {
    "on a grid that is too small": FILLING.replace("workgroup_size(4)", "workgroup_size(3)"),
    "under a bound that is too small": FILLING.replace("arrayLength(&output)", "3u"),
    "under a condition": FILLING.replace("if (", "if (input[0].x > 0 && "),
    "that load it": FILLING.replace("* 3;", "* 3 + 0 * output[id.x];"),
  };

  it.each(Object.entries(ways))("do not heal it %s", async (_, code) => {
    const program = await refused("damaged input, thrown", code);
    inputs["a write"]!(program);
    await expect(program.read((encoder) => program.run(encoder))).rejects.toHaveProperty(
      "help",
      expect.any(String),
    );
    program.device.destroy();
  });

  it("do not heal by indirect dispatches", async () => {
    const program = await refused("damaged input, thrown", FILLING);
    const { device } = program;
    inputs["a write"]!(program);
    const { INDIRECT, COPY_DST } = GPUBufferUsage;
    const counts = device.createBuffer({ size: 12, usage: INDIRECT | COPY_DST });
    device.queue.writeBuffer(counts, 0, Uint32Array.of(1, 1, 1));
    const read = program.read((encoder) =>
      program.run(encoder, (pass) => pass.dispatchWorkgroupsIndirect(counts, 0)),
    );
    await expect(read).rejects.toHaveProperty("help", expect.any(String));
    device.destroy();
  });

  it("heal together", async () => {
    const halves = FILLING.replace("workgroup_size(4)", "workgroup_size(2)");
    const program = await refused("damaged input, thrown", halves);
    inputs["a write"]!(program);
    const read = program.read((encoder) => {
      program.run(encoder);
      program.run(encoder, (pass) => pass.dispatchWorkgroups(2));
    });
    expect(await read).toEqual([...words(6)]);
    program.device.destroy();
  });
});

it.each(["damaged input, thrown", "damaged input, not recovered"])(
  "heals by a write of the damaged granule alone (%s)",
  async (name) => {
    const program = await refused(name);
    program.device.queue.writeBuffer(program.input, 16, words(1), 0, 4);
    const read = program.read((encoder) => {
      encoder.clearBuffer(program.output);
      program.run(encoder);
    });
    expect(await read).toEqual([...words(3)]);
    program.device.destroy();
  },
);

it("stays refused if another granule than the damaged one is written", async () => {
  const program = await refused("damaged input, thrown");
  program.device.queue.writeBuffer(program.input, 32, words(1), 0, 4);
  const read = program.read((encoder) => {
    encoder.clearBuffer(program.output);
    program.run(encoder);
  });
  await expect(read).rejects.toThrow('buffer "input", bytes 16 to 31');
  program.device.destroy();
});

describe.each(["throw", "recover"] as const)("a buffer that is mapped for writing, onFault %s", (onFault) => {
  /** Reads a buffer that is damaged when it is unmapped. The read is refused. */
  async function damaged() {
    const policy = { memory: "secded128", onFault, injectFaults: true } as const;
    const { MAP_READ, MAP_WRITE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const device = await harden(await sharedDevice(), policy);
    const upload = device.createBuffer({ label: "upload", size: BYTES, usage: MAP_WRITE | COPY_SRC });
    const staging = device.createBuffer({ size: BYTES, usage: MAP_READ | COPY_DST });
    const fill = async (value: number, offset = 0, size = BYTES) => {
      await upload.mapAsync(GPUMapMode.WRITE, offset, size);
      new Uint32Array(upload.getMappedRange(offset, size)).fill(value);
    };
    const write = async (...args: Parameters<typeof fill>) => {
      await fill(...args);
      upload.unmap();
    };
    const read = async () => {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(upload, staging);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(GPUMapMode.READ);
      const found = [...new Uint32Array(staging.getMappedRange())];
      staging.unmap();
      return found;
    };
    await fill(1);
    device.belay.flip(upload, 20, 3);
    upload.unmap();
    await expect(read()).rejects.toThrow('buffer "upload", bytes 16 to 31');
    return { device, write, read };
  }

  it("heals if all of it is written", async () => {
    const { device, write, read } = await damaged();
    await write(2);
    expect(await read()).toEqual([...words(2)]);
    device.destroy();
  });

  it("heals if a part of the damaged granule is written", async () => {
    const { device, write, read } = await damaged();
    await write(2, 24, 8);
    expect(await read()).toEqual([...words(1).fill(2, 6, 8)]);
    device.destroy();
  });

  it("stays refused if another granule is written", async () => {
    const { device, write, read } = await damaged();
    await write(2, 32, 16);
    await expect(read()).rejects.toThrow('buffer "upload", bytes 16 to 31');
    device.destroy();
  });
});

const PAINT = `
@group(0) @binding(0) var picture: texture_storage_2d<rgba8unorm, write>;
@compute @workgroup_size(4) fn paint(@builtin(global_invocation_id) id: vec3u) {
  textureStore(picture, id.xy, vec4f(0.5));
}`;

describe.each(["throw", "recover"] as const)("a texture, onFault %s", (onFault) => {
  it.each(["clear", "load"] as const)("with load operation %s", async (loadOp) => {
    const device = await hardenWith(stuckProtect, await sharedDevice(), { onFault });
    const { STORAGE_BINDING, COPY_SRC, RENDER_ATTACHMENT } = GPUTextureUsage;
    const usage = STORAGE_BINDING | COPY_SRC | RENDER_ATTACHMENT;
    const texture = device.createTexture({ size: [16, 1], format: "rgba8unorm", usage });
    const compute = { module: device.createShaderModule({ code: PAINT }) };
    const pipeline = device.createComputePipeline({ layout: "auto", compute });
    const entries = [{ binding: 0, resource: texture.createView() }];
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const { MAP_READ, COPY_DST } = GPUBufferUsage;
    const buffer = device.createBuffer({ size: 64, usage: MAP_READ | COPY_DST });
    const read = async (act: (encoder: GPUCommandEncoder) => void) => {
      const encoder = device.createCommandEncoder();
      act(encoder);
      encoder.copyTextureToBuffer({ texture }, { buffer }, [16, 1]);
      device.queue.submit([encoder.finish()]);
      await buffer.mapAsync(GPUMapMode.READ);
      const texels = new Uint32Array(buffer.getMappedRange()).slice();
      buffer.unmap();
      return texels;
    };
    const painted = read((encoder) => {
      encodeDispatch(encoder, pipeline, group, 4);
    });
    await expect(painted).rejects.toThrow("disagree");
    const cleared = read((encoder) => {
      // The old contents are used before they are replaced.
      const other = device.createTexture({
        size: [16, 1],
        format: "rgba8unorm",
        usage: GPUTextureUsage.COPY_DST,
      });
      encoder.copyTextureToTexture({ texture }, { texture: other }, [16, 1]);
      const color = { view: texture.createView(), loadOp, storeOp: "store" } as const;
      encoder.beginRenderPass({ colorAttachments: [color] }).end();
    });
    if (loadOp === "clear") expect(await cleared).toEqual(new Uint32Array(16));
    else await expect(cleared).rejects.toThrow("disagree");
    device.destroy();
  });
});

describe.each(["throw", "recover"] as const)("a damaged granule, onFault %s", (onFault) => {
  const size = 256;
  const open = async () => {
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const policy: Policy = { redundancy: "none", memory: "secded128", onFault, injectFaults: true };
    const device = await harden(await sharedDevice(), policy);
    const make = (label: string, usage = STORAGE | COPY_SRC | COPY_DST) =>
      device.createBuffer({ label, size, usage });
    const submit = (act: (encoder: GPUCommandEncoder) => void) => {
      const encoder = device.createCommandEncoder();
      act(encoder);
      device.queue.submit([encoder.finish()]);
    };
    const read = async (buffer: GPUBuffer) => {
      const staging = make("staging", MAP_READ | COPY_DST);
      submit((encoder) => encoder.copyBufferToBuffer(buffer, staging));
      try {
        await staging.mapAsync(GPUMapMode.READ);
        return new Uint32Array(staging.getMappedRange())[0];
      } finally {
        staging.destroy();
      }
    };
    const makeStaging = () => make("staging", MAP_READ | COPY_DST);
    return { device, make, makeStaging, submit, read };
  };
  const filled = (value: number) => new Uint32Array(size / 4).fill(value);

  it("is trusted once it is replaced, also before the damage is found", async () => {
    const { device, make, submit, read } = await open();
    const [table, copy] = [make("table"), make("copy")];
    device.queue.writeBuffer(table, 0, filled(5));
    await device.belay.verify();
    device.belay.flip(table, 20, 3);
    submit((encoder) => encoder.copyBufferToBuffer(table, copy));
    device.queue.writeBuffer(table, 0, filled(6));
    await expect(read(copy)).rejects.toThrow("bytes 16 to 31");
    expect(await read(table)).toBe(6);
    device.queue.writeBuffer(copy, 0, filled(7));
    expect(await read(copy)).toBe(7);
    await device.belay.scrub();
    device.destroy();
  });

  it("refuses only the data that depends on it, however many invocations load it", async () => {
    const { device, make, submit, read } = await open();
    const [table, out, state] = [make("table"), make("out"), make("state")];
    device.queue.writeBuffer(table, 0, filled(5));
    device.queue.writeBuffer(state, 0, filled(7));
    await device.belay.verify();
    const code = `
      @group(0) @binding(0) var<storage, read> table: array<u32>;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      @group(0) @binding(2) var<storage, read_write> state: array<u32>;
      @compute @workgroup_size(1) fn load(@builtin(global_invocation_id) id: vec3u) { out[id.x] = table[0]; }
      @compute @workgroup_size(64) fn step(@builtin(global_invocation_id) id: vec3u) { state[id.x] += 1; }`;
    const module = device.createShaderModule({ code });
    const runs = [
      ["load", [table, out], 64],
      ["step", [state], 1],
    ] as const;
    device.belay.flip(table, 0, 3);
    submit((encoder) => {
      const pass = encoder.beginComputePass();
      for (const [entryPoint, buffers, workgroups] of runs) {
        const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
        const entries = buffers.map((buffer, i) => ({
          binding: entryPoint === "step" ? 2 : i,
          resource: { buffer },
        }));
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
        pass.dispatchWorkgroups(workgroups);
      }
      pass.end();
    });
    await expect(read(out)).rejects.toThrow('buffer "table", bytes 0 to 15');
    expect(await read(state)).toBe(8);
    await expect(read(out)).rejects.toThrow('buffer "table", bytes 0 to 15');
    device.queue.writeBuffer(table, 0, filled(5));
    submit((encoder) => encoder.clearBuffer(out));
    expect(await read(out)).toBe(0);
    await device.belay.scrub();
    device.destroy();
  });

  it("does not prevent mappings of other parts of its buffer", async () => {
    const { device, make, makeStaging, submit } = await open();
    const [table, staging] = [make("table"), makeStaging()];
    device.queue.writeBuffer(table, 0, filled(5));
    await device.belay.verify();
    device.belay.flip(table, 20, 3);
    submit((encoder) => {
      encoder.copyBufferToBuffer(table, 0, staging, 0, 64);
    });
    await expect(staging.mapAsync(GPUMapMode.READ)).rejects.toThrow("did not fit");
    submit((encoder) => encoder.copyBufferToBuffer(table, 64, staging, 64, 64));
    await staging.mapAsync(GPUMapMode.READ, 64, 64);
    expect(new Uint32Array(staging.getMappedRange(64, 64))[0]).toBe(5);
    staging.unmap();
    await expect(staging.mapAsync(GPUMapMode.READ, 16, 16)).rejects.toThrow("did not fit");
    device.destroy();
  });
});
