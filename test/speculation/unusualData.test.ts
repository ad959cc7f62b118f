/**
 * Data and devices that speculation cannot use, or that change while it runs, give the right result
 * or a clear error.
 */

import { publishedEngine } from "belay-research/internal/published/published";
import { speculate, useDevice } from "belay-speculate/internal/engine/speculate";
import { resident } from "belay-speculate/internal/engine/transfer/resident";
import { sequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { expectSequential, loopFrom, numbers } from "./sourceLoops.ts";

const devices = testDevices();
const n = 200;
const order = numbers(n, (i) => (i * 77 + 5) % n);
const values = () => numbers(n, (i) => i * 3);
const loop = loopFrom(
  "a: Int32Array, p: Int32Array",
  "for (let i = 0; i < p.length; i++) { a[p[i]!] = (a[p[i]!]! * 3 + i) | 0; }",
  "speculate(a)",
);
const sequential = sequentialLoop(loop);
const variables = { inputs: {}, carried: {}, reductions: {}, first: 0, step: 1, count: n };

describe("the CPU executes", () => {
  it("loops over views that share memory", async () => {
    const device = await devices.sharedDevice();
    const all = numbers(2 * n, (i) => i % n);
    const expected = all.slice();
    const views = (memory: Int32Array) => ({ a: memory.subarray(0, n + 1), p: memory.subarray(n, 2 * n) });
    sequential(views(expected), { $first: 0, $step: 1 }, {}, {}, 0, n);
    const { statistics } = await speculate(
      { loop, sequential, arrays: views(all), ...variables },
      { device },
    );
    expect(all).toEqual(expected);
    expect(statistics).toMatchObject({ engine: "sequential", reason: "p and a share memory" });
  });

  it("loops over memory that is shared between threads", async () => {
    const device = await devices.sharedDevice();
    const a = new Int32Array(new SharedArrayBuffer(4 * n));
    const { statistics } = await expectSequential(loop, { arrays: { a, p: order }, count: n }, { device });
    expect(statistics.reason).toBe("other threads may change a");
  });

  it("loops over arrays of another type", async () => {
    const device = await devices.sharedDevice();
    const arrays = { a: new Float32Array(n).fill(0.5), p: order };
    const { statistics } = await expectSequential(loop, { arrays, count: n }, { device });
    expect(statistics.reason).toBe("a is not of the type Int32Array");
  });

  it.each<[string, (a: Int32Array) => Int32Array]>([
    ["whose accesses are watched", (a) => new Proxy(a, { get: (of, name) => Reflect.get(of, name, of) })],
    ["that hide their memory", (a) => Object.defineProperty(a, "buffer", { value: new ArrayBuffer(4) })],
    ["that hide their length", (a) => Object.defineProperty(a, "length", { value: 3 })],
  ])("loops over arrays %s", async (_, change) => {
    const device = await devices.sharedDevice();
    const a = values();
    const expected = values();
    sequential({ a: expected, p: order }, { $first: 0, $step: 1 }, {}, {}, 0, n);
    const arrays = { a: change(a), p: order };
    const { statistics } = await speculate({ loop, sequential, arrays, ...variables }, { device });
    expect(statistics.reason).toBe("a is not of the type Int32Array");
    expect([...a.values()]).toEqual([...expected]);
  });

  it("loops over arrays that are too large for the device", async () => {
    const device = await devices.sharedDevice();
    const elements = device.limits.maxStorageBufferBindingSize / 4 + 1;
    const arrays = { a: new Int32Array(elements), p: order };
    const { statistics } = await speculate({ loop, sequential, arrays, ...variables }, { device });
    expect(statistics.reason).toBe("a is too large for a buffer of the device");
  });

  it("loops whose index leaves its type", async () => {
    const device = await devices.sharedDevice();
    const call = { loop, sequential, arrays: { a: values(), p: order }, ...variables, first: 2 ** 31 - 10 };
    expect((await speculate(call, { device })).statistics.reason).toBe("i is not always of the type i32");
    expect((await speculate({ ...call, step: 0.5 }, { device })).statistics.reason).toBe(
      "the iterations cannot be counted",
    );
  });

  it("loops with more arrays than a kernel can use", async () => {
    const names = "bcdefghijk".split("");
    const wide = loopFrom(
      ["a: Int32Array", ...names.map((name) => `${name}: Int32Array`)].join(", "),
      `for (let n = 0; n < a.length; n++) { a[n] = (a[n]! + ${names.map((name) => `${name}[n]!`).join(" ^ ")}) | 0; }`,
      "speculate(a)",
    );
    const device = await devices.sharedDevice();
    const arrays = Object.fromEntries(["a", ...names].map((name) => [name, values()]));
    const { statistics } = await expectSequential(wide, { arrays, count: n }, { device });
    expect(statistics.reason).toMatch(/^the loop needs 15 buffers/);
  });

  it("everything when there is no device", async () => {
    useDevice(null);
    const { statistics } = await expectSequential(loop, { arrays: { a: values(), p: order }, count: n }, {});
    expect(statistics).toMatchObject({ engine: "sequential", reason: "no device was given", onCpu: n });
  });

  it("no loop without a report to onExecuted", async () => {
    const told: unknown[] = [];
    useDevice(null, {
      onExecuted: (executed, { engine, onCpu }) => told.push([executed.name, engine, onCpu]),
    });
    await speculate({ loop, sequential, arrays: { a: values(), p: order }, ...variables });
    useDevice(null);
    await speculate({ loop, sequential, arrays: { a: values(), p: order }, ...variables });
    expect(told).toEqual([[loop.name, "sequential", n]]);
  });
});

describe("arrays", () => {
  it("may be empty, or have lost their memory before", async () => {
    const device = await devices.sharedDevice();
    const a = values();
    structuredClone(a, { transfer: [a.buffer] });
    const taken = await speculate(
      { loop, sequential, arrays: { a, p: order }, ...variables },
      { device, fallback: "never" },
    );
    expect(taken.next).toBe(n);
    await expectSequential(
      loop,
      { arrays: { a: new Int32Array(0), p: new Int32Array(0) }, count: 0 },
      { device },
    );
  });

  it("must keep their length while the loop runs", async () => {
    const device = await devices.sharedDevice();
    const a = values();
    const running = speculate(
      { loop, sequential, arrays: { a, p: order }, ...variables },
      { device, fallback: "never" },
    );
    // The loop has its data by then, and no results yet.
    await new Promise(setImmediate);
    structuredClone(a, { transfer: [a.buffer] });
    await expect(running).rejects.toMatchObject({
      code: "BELAY541",
      message: "`a` changed in length while the loop ran",
    });
    await expectSequential(loop, { arrays: { a: values(), p: order }, count: n }, { device });
  });

  it("may begin within a word", async () => {
    const bytes = loopFrom(
      "a: Uint8Array, p: Int32Array",
      "for (let i = 0; i < p.length; i++) { a[p[i]!] = a[p[i]!]! + i; }",
      "speculate(a)",
    );
    const device = await devices.sharedDevice();
    const memory = new Uint8Array(n + 7).fill(9);
    await expectSequential(
      bytes,
      { arrays: { a: memory.subarray(3, n + 2), p: order }, count: n },
      { device },
    );
    expect([memory[2], memory[n + 2]]).toEqual([9, 9]);
  });
});

describe("a device that is lost", () => {
  it("before the loop leaves it to the CPU", async () => {
    const device = await devices.newDevice();
    device.destroy();
    await device.lost;
    const { statistics } = await expectSequential(
      loop,
      { arrays: { a: values(), p: order }, count: n },
      { device },
    );
    expect(statistics.engine).toBe("sequential");
  });

  it("while the loop runs leaves it to the CPU", async () => {
    const device = await devices.newDevice();
    const a = values();
    const expected = a.slice();
    sequential({ a: expected, p: order }, { $first: 0, $step: 1 }, {}, {}, 0, n);
    const running = speculate(
      { loop, sequential, arrays: { a, p: order }, ...variables },
      { device, fallback: "never" },
    );
    await new Promise(setImmediate);
    device.destroy();
    const { statistics } = await running;
    expect(a).toEqual(expected);
    expect(statistics.reason).toMatch(/^the device failed: /);
  });

  it("with what only it had is an error", async () => {
    const device = await devices.newDevice();
    const arrays = { a: resident(values()), p: order };
    const call = { loop, sequential, arrays, ...variables };
    await speculate(call, { device, fallback: "never" });
    device.destroy();
    await device.lost;
    await expect(speculate(call, { device, fallback: "never" })).rejects.toMatchObject({ code: "BELAY540" });
    await expect(arrays.a.read()).rejects.toMatchObject({ code: "BELAY540" });
  });
});

describe("a resident array", () => {
  it("survives its device once it was read", async () => {
    const device = await devices.newDevice();
    const arrays = { a: resident(values()), p: order };
    await expectSequential(loop, { arrays, count: n }, { device });
    device.destroy();
    await device.lost;
    const { statistics } = await expectSequential(loop, { arrays, count: n }, { device });
    expect(statistics.reason).toBe("the device is lost");
    arrays.a.release();
  });

  it("may lose its memory between loops", async () => {
    const device = await devices.sharedDevice();
    const host = values();
    const arrays = { a: resident(host), p: order };
    const run = () => speculate({ loop, sequential, arrays, ...variables }, { device, fallback: "never" });
    await run();
    structuredClone(host, { transfer: [host.buffer] });
    expect((await run()).next).toBe(n);
    expect(await arrays.a.read()).toHaveLength(0);
    arrays.a.release();
  });

  it("is as in order after a loop that throws", async () => {
    const device = await devices.sharedDevice();
    const [a, expected] = [resident(values()), values()];
    const run = (failing: typeof sequential) =>
      speculate({ loop, sequential: failing, arrays: { a, p: order }, ...variables }, { device });
    const stopped: typeof sequential = (arrays, ...rest) => {
      arrays.a![7] = -1;
      throw new RangeError(String(rest.length));
    };
    await speculate(
      { loop, sequential, arrays: { a, p: order }, ...variables },
      { device, fallback: "never" },
    );
    sequential({ a: expected, p: order }, { $first: 0, $step: 1 }, {}, {}, 0, n);
    await expect(run(stopped)).rejects.toThrow(RangeError);
    expected[7] = -1;
    expect(await a.read()).toEqual(expected);
    await speculate(
      { loop, sequential, arrays: { a, p: order }, ...variables },
      { device, fallback: "never" },
    );
    sequential({ a: expected, p: order }, { $first: 0, $step: 1 }, {}, {}, 0, n);
    expect(await a.read()).toEqual(expected);
    a.release();
  });
});

describe("a device without memory", () => {
  it("leaves the loop to the CPU", async () => {
    const device = await devices.sharedDevice();
    let asked = 0;
    device.popErrorScope = async () => (++asked < 4 ? null : new GPUOutOfMemoryError("none left"));
    const { statistics } = await expectSequential(
      loop,
      { arrays: { a: values(), p: order }, count: n },
      { device },
    );
    expect(statistics.reason).toBe("the device failed: it has not enough memory");
  });
});

describe("an element that does not exist", () => {
  it.each([
    ["default", "default"],
    ["published", publishedEngine()],
  ] as const)(
    "takes back what was added before it, and not what is added after it: %s",
    async (_, engine) => {
      const sum = loopFrom(
        "a: Int32Array, p: Int32Array, s: number",
        "for (let i = 0; i < p.length; i++) { s = (s + a[p[i]!]!) | 0; }",
        "reduction(+:s)",
      );
      const device = await devices.sharedDevice();
      for (const missing of [[], [0], [50], [n - 1], [20, 21, 90, 180]]) {
        const p = order.slice();
        for (const place of missing) p[place] = n;
        const arrays = { a: values(), p };
        await expectSequential(sum, { arrays, reductions: { s: 5 }, count: n }, { device, engine });
      }
    },
  );
});

describe("a device that refuses a kernel", () => {
  const refusing = async () => {
    const device = await devices.sharedDevice();
    const { createShaderModule } = device;
    device.createShaderModule = ({ code }) =>
      createShaderModule.call(device, { code: `${code}\nconst wrong = nonsense;` });
    return device;
  };

  it.each([
    ["default", "default"],
    ["published", publishedEngine()],
  ] as const)("leaves the loop to the CPU and tells its first reason, engine: %s", async (_, engine) => {
    const device = await refusing();
    const a = values();
    const expected = a.slice();
    sequential({ a: expected, p: order }, { $first: 0, $step: 1 }, {}, {}, 0, n);
    const call = { loop, sequential, arrays: { a, p: order }, ...variables };
    const { statistics } = await speculate(call, { device, engine, fallback: "never" });
    expect(a).toEqual(expected);
    expect(statistics.reason).toMatch(/^the device failed: it refused a kernel: .*'nonsense'/);
  });

  it("is an error where only the device has an array, and keeps the array", async () => {
    const device = await devices.sharedDevice();
    const kept = resident(values());
    const run = (one: typeof loop) =>
      speculate(
        { loop: one, sequential, arrays: { a: kept, p: order }, ...variables },
        { device, fallback: "never" },
      );
    await run(loop);
    const { createShaderModule } = device;
    device.createShaderModule = () => createShaderModule.call(device, { code: "const wrong = nonsense;" });
    const before = structuredClone(loop);
    await expect(run(before)).rejects.toMatchObject({
      code: "BELAY540",
      cause: { message: expect.stringMatching(/^it refused a kernel: .*'nonsense'/) },
    });
    const expected = values();
    sequential({ a: expected, p: order }, { $first: 0, $step: 1 }, {}, {}, 0, n);
    expect(await kept.read()).toEqual(expected);
    kept.release();
  });
});

describe("floats too small to be normal", () => {
  it("are copied, are not zero, and name no element", async () => {
    const floats = loopFrom(
      "f: Float32Array, g: Float32Array, a: Int32Array, p: Int32Array",
      "for (let i = 0; i < p.length; i++) { g[p[i]!] = f[i]!; a[p[i]!] = f[i] ? 7 : 8; a[f[i]!] = 9; }",
      "speculate(a, g)",
    );
    const device = await devices.sharedDevice();
    const all = [0, -0, 1e-45, -1e-45, 2 ** -127, 2 ** -126, 3, Number.NaN];
    const arrays = {
      f: Float32Array.from(order, (i) => all[i % 8]!),
      g: new Float32Array(n),
      a: values(),
      p: order,
    };
    const { statistics } = await expectSequential(floats, { arrays, count: n }, { device });
    expect(statistics.committed).toBeGreaterThan(0);
  });
});

describe("what a loop throws", () => {
  it("is what speculation rejects with", async () => {
    const device = await devices.sharedDevice();
    const failing = () => {
      throw new RangeError("from the loop");
    };
    const arrays = { a: values(), p: order.with(150, n + 1) };
    const call = { loop, sequential: failing, arrays, ...variables };
    await expect(speculate(call, { device, fallback: "never" })).rejects.toThrow(
      new RangeError("from the loop"),
    );
  });
});
