import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { standInProtect } from "../../../../../test/support/devices/standInCompiler.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Protect } from "../../compiler/contract.ts";
import type { BelayEvent } from "../context/events.ts";
import type { Policy } from "../context/policy.ts";
import { type HardenedDevice, hardenWith } from "../hardenedDevice.ts";
import type { ArmedFault } from "../injection/injector.ts";

const { newDevice, sharedDevice } = testDevices();

const WORDS = 8;
const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(4) fn triple(@builtin(global_invocation_id) id: vec3u) { data[id.x] = data[id.x] * 3; }
@compute @workgroup_size(4) fn increment(@builtin(global_invocation_id) id: vec3u) { data[id.x] = data[id.x] + 1; }
`;

/**
 * A long-running program whose kernels change buffers in place, step by step. Its result shows if a
 * step ran twice.
 */
class Program {
  readonly #device: GPUDevice;
  readonly #pipelines: Record<string, GPUComputePipeline>;
  readonly buffers: GPUBuffer[];

  constructor(device: GPUDevice) {
    this.#device = device;
    const module = device.createShaderModule({ code: CODE });
    const pipeline = (entryPoint: string) =>
      device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    this.#pipelines = { triple: pipeline("triple"), increment: pipeline("increment") };
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    this.buffers = [0, 1].map(() => device.createBuffer({ size: 4 * WORDS, usage }));
  }

  run(entryPoint: string, which: number): void {
    const pipeline = this.#pipelines[entryPoint]!;
    const resource = { buffer: this.buffers[which]! };
    const encoder = this.#device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const layout = pipeline.getBindGroupLayout(0);
    pass.setBindGroup(0, this.#device.createBindGroup({ layout, entries: [{ binding: 0, resource }] }));
    pass.dispatchWorkgroups(WORDS / 4);
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
  }

  write(which: number, offset: number, values: readonly number[]): void {
    this.#device.queue.writeBuffer(this.buffers[which]!, 4 * offset, new Uint32Array(values));
  }

  copy(from: number): void {
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.buffers[from]!, 8, this.buffers[1 - from]!, 4, 16);
    this.#device.queue.submit([encoder.finish()]);
  }

  async read(which: number): Promise<number[]> {
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const readBack = this.#device.createBuffer({ size: 4 * WORDS, usage });
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.buffers[which]!, 0, readBack, 0, 4 * WORDS);
    this.#device.queue.submit([encoder.finish()]);
    await readBack.mapAsync(GPUMapMode.READ);
    const words = [...new Uint32Array(readBack.getMappedRange())];
    readBack.destroy();
    return words;
  }
}

const faultIn = (kernel: "triple" | "increment"): ArmedFault => ({
  kernel,
  site: kernel === "triple" ? 1 : 2,
  replica: 0,
  effect: { xor: 1 },
  workgroup: [0, 0, 0],
  localIndex: 5,
});
const filled = (value: number) => new Array(WORDS).fill(value);

async function harden(policy?: Policy, protect: Protect = standInProtect): Promise<HardenedDevice> {
  return hardened(await sharedDevice(), policy, protect);
}

function hardened(native: GPUDevice, policy?: Policy, protect: Protect = standInProtect): HardenedDevice {
  return hardenWith(protect, native, { injectFaults: true, ...policy });
}

describe("recovery", () => {
  it("restores buffers and executes the work again before the program sees the result", async () => {
    const device = await harden();
    const listener = vi.fn<(event: BelayEvent<"fault">) => void>();
    device.belay.addEventListener("fault", listener);
    const program = new Program(device);
    program.run("increment", 0);
    device.belay.arm(faultIn("triple"));
    program.run("triple", 0);
    program.copy(0);
    program.write(0, 1, [100]);
    program.run("increment", 0);
    const [first, second] = await Promise.all([program.read(0), program.read(1)]);
    expect(first).toEqual([4, 101, 4, 4, 4, 4, 4, 4]);
    expect(second).toEqual([0, 3, 3, 3, 3, 0, 0, 0]);
    expect(listener).toHaveBeenCalledOnce();
    expect(listener.mock.calls[0]![0].detail).toMatchObject({
      kernel: "triple",
      localIndex: 5,
      outcome: "recovered",
    });
    expect((await device.belay.report()).replays).toBe(1);
    expect(await device.belay.strikes()).toBe(1);
    await device.belay.verify();
    device.destroy();
  });

  it("gives up and refuses the data if the fault comes back each time", async () => {
    const stuck: Protect = (wgsl, options) => {
      const result = standInProtect(wgsl, options);
      return {
        ...result,
        code: result.code.replace(/if \(atomicLoad[^{]*\{ return; \}/, "if (index != 5) { return; }"),
      };
    };
    const device = await harden({ retries: 2 }, stuck);
    const program = new Program(device);
    program.run("increment", 0);
    await expect(program.read(0)).rejects.toMatchObject({ name: "FaultError" });
    const { replays, faults, kernels } = await device.belay.report();
    expect(replays).toBe(2);
    // The fault came back twice. It is one fault that was detected three times.
    expect(faults.map(({ outcome }) => outcome)).toEqual(["refused"]);
    expect(kernels.map(({ detections }) => detections)).toEqual([0, 3]);
    expect(await program.read(1)).toEqual(filled(0));
    device.destroy();
  });

  it("refuses the data if the work cannot be executed again", async () => {
    const plain = await sharedDevice();
    const device = hardenWith(standInProtect, plain, { injectFaults: true });
    const gaveUp = vi.fn<(event: BelayEvent<"giveUp">) => void>();
    device.belay.addEventListener("giveUp", gaveUp);
    const program = new Program(device);
    device.belay.arm(faultIn("increment"));
    program.run("increment", 0);
    // The hardened device did not record these commands.
    device.queue.submit([plain.createCommandEncoder().finish()]);
    await expect(program.read(0)).rejects.toThrow(
      "not recovered: it has commands that the hardened device did not record",
    );
    expect(gaveUp).toHaveBeenCalledOnce();
    expect(gaveUp.mock.calls[0]![0].detail).toMatchObject({ attempts: 0 });
    expect((await device.belay.report()).faults).toMatchObject([{ outcome: "refused" }]);
    device.destroy();
  });

  it("executes all unverified work again at once, with the faults that were detected meanwhile", async () => {
    const device = await harden();
    const program = new Program(device);
    program.write(0, 0, filled(1));
    const readings: Promise<number[]>[] = [];
    for (const kernel of ["triple", "increment", "triple"] as const) {
      device.belay.arm(faultIn(kernel));
      program.run(kernel, 0);
      // The last step is still unchecked when the first fault is detected.
      if (readings.length < 2) readings.push(program.read(0));
    }
    expect(await Promise.all(readings)).toEqual([filled(3), filled(4)]);
    expect(await program.read(0)).toEqual(filled(12));
    const report = await device.belay.report();
    expect(report.replays).toBe(1);
    expect(report.faults.map(({ kernel, outcome }) => `${kernel} ${outcome}`)).toEqual([
      "triple recovered",
      "triple recovered",
      "increment recovered",
    ]);
    device.destroy();
  });

  it("can execute work again on a buffer that the program has destroyed", async () => {
    const device = await harden();
    const program = new Program(device);
    program.write(0, 0, filled(5));
    device.belay.arm(faultIn("increment"));
    program.run("increment", 0);
    program.copy(0);
    program.buffers[0]!.destroy();
    expect(await program.read(1)).toEqual([0, 6, 6, 6, 6, 0, 0, 0]);
    expect((await device.belay.report()).faults).toMatchObject([{ outcome: "recovered" }]);
    device.pushErrorScope("validation");
    program.run("increment", 0);
    expect(await device.popErrorScope()).toBeInstanceOf(GPUValidationError);
    device.destroy();
  });

  it("runs new work after re-executed work", async () => {
    const device = await harden();
    const program = new Program(device);
    program.run("increment", 0);
    expect(await program.read(0)).toEqual(filled(1));
    device.belay.arm(faultIn("triple"));
    program.run("triple", 0);
    const reading = program.read(0);
    let done = false;
    void reading.finally(() => {
      done = true;
    });
    let steps = 0;
    while (!done) {
      program.run("increment", 0);
      steps++;
      await new Promise((next) => setTimeout(next));
    }
    expect(await reading).toEqual(filled(3));
    expect(await program.read(0)).toEqual(filled(3 + steps));
    device.destroy();
  });

  it("restores the contents of a buffer that the host wrote by mapping", async () => {
    const device = await harden();
    const program = new Program(device);
    const staging = device.createBuffer({
      size: 32,
      usage: GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC,
    });
    const uploadOnce = async (value: number) => {
      await staging.mapAsync(GPUMapMode.WRITE);
      new Uint32Array(staging.getMappedRange()).fill(value);
      staging.unmap();
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(staging, 0, program.buffers[0]!, 0, 32);
      device.queue.submit([encoder.finish()]);
    };
    await uploadOnce(2);
    device.belay.arm(faultIn("triple"));
    program.run("triple", 0);
    program.copy(0);
    await uploadOnce(7);
    program.run("increment", 0);
    expect(await program.read(0)).toEqual(filled(8));
    expect(await program.read(1)).toEqual([0, 6, 6, 6, 6, 0, 0, 0]);
    expect((await device.belay.report()).replays).toBe(1);
    device.destroy();
  });

  it("ends with an error if the device is lost meanwhile", async () => {
    const device = hardened(await newDevice());
    const program = new Program(device);
    device.belay.arm(faultIn("triple"));
    program.run("triple", 0);
    const reading = program.read(0);
    device.destroy();
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("any program", () => {
  const buffer = fc.nat({ max: 1 });
  const step = fc.oneof(
    fc.record({
      do: fc.constant("run" as const),
      kernel: fc.constantFrom("triple" as const, "increment" as const),
      buffer,
      arm: fc.boolean(),
    }),
    fc.record({ do: fc.constant("copy" as const), buffer }),
    fc.record({
      do: fc.constant("write" as const),
      buffer,
      offset: fc.nat({ max: 4 }),
      value: fc.nat({ max: 99 }),
    }),
    fc.record({ do: fc.constant("read" as const), buffer, wait: fc.boolean() }),
  );
  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

  async function play(
    device: GPUDevice,
    steps: readonly Step[],
    arm: (kernel: "triple" | "increment") => void,
  ): Promise<number[][]> {
    const program = new Program(device);
    const readings: Promise<number[]>[] = [];
    for (const each of steps) {
      if (each.do === "run") {
        if (each.arm) arm(each.kernel);
        program.run(each.kernel, each.buffer);
      } else if (each.do === "copy") program.copy(each.buffer);
      else if (each.do === "write") program.write(each.buffer, each.offset, [each.value, each.value + 1]);
      else {
        readings.push(program.read(each.buffer));
        if (each.wait) await readings.at(-1);
      }
    }
    readings.push(program.read(0), program.read(1));
    return Promise.all(readings);
  }

  it("reads the same data with faults as without", async () => {
    const plain = await sharedDevice();
    const device = await harden();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
        const expected = await play(plain, steps, () => {});
        expect(await play(device, steps, (kernel) => device.belay.arm(faultIn(kernel)))).toEqual(expected);
        device.belay.disarm();
      }),
      { numRuns: 30 },
    );
    expect((await device.belay.report()).replays).toBeGreaterThan(0);
    plain.destroy();
    device.destroy();
  });
});
