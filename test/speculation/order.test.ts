/**
 * Loops, reads and writes take effect in the order of their calls, whether a loop runs on a device,
 * is translated, or runs as written.
 */

import type { Progress } from "belay-gpu";
import { speculate, useDevice } from "belay-speculate/internal/engine/speculate";
import { OrderedOperation } from "belay-speculate/internal/engine/transfer/operationOrder";
import { resident } from "belay-speculate/internal/engine/transfer/resident";
import { LoopTurn } from "belay-speculate/internal/engine/writtenLoops";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { afterEach, describe, expect, it, vi } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate } from "../support/loops/loopPrograms.ts";

const devices = testDevices();

type Run = (...parameters: unknown[]) => Promise<unknown>;

/**
 * The functions of a program whose loops run on a device whenever their translation covers the
 * data.
 */
async function programOn(source: string): Promise<Record<string, Run>> {
  const device = await devices.sharedDevice();
  const { code } = replaceLoops(source, "program.ts");
  return evaluate(code!, (call) => speculate(call, { device, fallback: "never" })) as never;
}

const scale = `export async function scale(a: Float32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a)
  for (let i = 0; i < n; i++) a[i] = Math.fround(a[i]! * 2);
}
`;
const total = `let total = 0;
export const get = () => total;
export const set = (value: number) => { total = value; };
export async function add(a: Int32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) reduction(+:total)
  for (let i = 0; i < n; i++) total += a[i]! & 15;
}
`;

describe("a loop that runs as written", () => {
  it("sees the device's data if a bound is no integer, and the device sees its results", async () => {
    const { scale: run } = await programOn(scale);
    const a = new Float32Array(5).fill(1);
    const kept = resident(a);
    await run!(a, 5);
    await run!(a, a.length / 2);
    await run!(a, 5);
    expect(await kept.read()).toEqual(Float32Array.of(8, 8, 8, 4, 4));
    kept.release();
  });

  it("sees the device's data if an input has more bits than a double holds", async () => {
    const { run } = await programOn(`export async function run(a: Int32Array, k: number) {
      "use speculate";
      let sum = 0;
      //#pragma omp for target(webgpu) speculate(a) reduction(+:sum)
      for (let i = 0; i < 10; i++) { a[i] = a[i]! + (k & 1); sum += a[i]! & 255; }
      return sum;
    }`);
    const a = new Int32Array(10);
    const kept = resident(a);
    expect(await run!(a, 1)).toBe(10);
    expect(await run!(a, 2 ** 53)).toBe(10);
    expect(await run!(a, 3)).toBe(20);
    kept.release();
  });

  it("sees the device's data if a carried counter leaves its type", async () => {
    const { run } = await programOn(`export async function run(a: Int32Array, k: number) {
      "use speculate";
      let s = k;
      //#pragma omp for target(webgpu) speculate(a)
      for (let i = 0; i < 4; i++) { s = (s + 1) | 0; a[i] = a[i]! + 1; }
      return [s, a[0]];
    }`);
    const a = new Int32Array(4);
    const kept = resident(a);
    await run!(a, 0);
    expect(await run!(a, 2 ** 31)).toEqual([-(2 ** 31) + 4, 2]);
    kept.release();
  });

  it.each([
    ["is refused", "a[i] = a[i]! + Math.random() * 0 + 1;", "a: Int32Array"],
    ["is refused and waits", "a[i] = a[i]! + 1; await null;", "a: Int32Array"],
    ["is refused because its types are unknown", "a[i] = a[i]! + 1;", "a: any"],
  ])("sees the device's data if it %s", async (_, body, parameter) => {
    const { run, bump } = await programOn(`
      export async function bump(a: Int32Array) {
        "use speculate";
        //#pragma omp for target(webgpu) speculate(a)
        for (let i = 0; i < 4; i++) a[i] = a[i]! + 1;
      }
      export async function run(${parameter}) {
        "use speculate";
        //#pragma omp for target(webgpu) speculate(a)
        for (let i = 0; i < 4; i++) { ${body} }
      }`);
    const a = new Int32Array(4);
    const kept = resident(a);
    await bump!(a);
    await run!(a);
    await bump!(a);
    expect(await kept.read()).toEqual(new Int32Array(4).fill(3));
    kept.release();
  });

  it("throws in a function that cannot wait if only the device has the array", async () => {
    const { run, scale: double } = await programOn(`${scale}
      export function run(a: Float32Array) {
        "use speculate";
        //#pragma omp for target(webgpu) speculate(a)
        for (let i = 0; i < 4; i++) a[i] = 7;
      }`);
    const a = new Float32Array(4).fill(1);
    const kept = resident(a);
    const scaled = double!(a, 4);
    expect(() => run!(a)).toThrow(expect.objectContaining({ code: "BELAY544" }));
    await scaled;
    expect(() => run!(a)).toThrow(expect.objectContaining({ code: "BELAY544" }));
    await kept.read();
    run!(a);
    expect(a).toEqual(new Float32Array(4).fill(7));
    await double!(a, 4);
    expect(await kept.read()).toEqual(new Float32Array(4).fill(14));
    kept.release();
  });

  it("comes after a loop on another view of the memory", async () => {
    const { scale: run } = await programOn(scale);
    const a = new Float32Array(8).fill(1);
    const kept = resident(a.subarray(0, 6));
    await Promise.all([run!(kept.host, 6), run!(a, 3.5), run!(kept.host, 6)]);
    expect((await kept.read()) && [...a]).toEqual([8, 8, 8, 8, 4, 4, 1, 1]);
    kept.release();
  });
});

describe("operations on one array", () => {
  it("are in order if a read overlaps a loop", async () => {
    const { scale: run } = await programOn(scale);
    const a = new Float32Array(2000).fill(1);
    const kept = resident(a);
    await run!(a, 2000);
    const [read, ran] = [kept.read().then((now) => now[0]), run!(a, 2000)];
    expect(await read).toBe(2);
    await ran;
    const again = run!(a, 2000);
    await kept.read();
    expect(a).toEqual(new Float32Array(2000).fill(8));
    await again;
    expect(await kept.read()).toEqual(new Float32Array(2000).fill(8));
    kept.release();
  });

  it("are in order if a write follows a call in the same tick, and keep its values", async () => {
    const { scale: run } = await programOn(scale);
    const a = new Float32Array(4).fill(1);
    const kept = resident(a);
    const values = [10, 10];
    const first = run!(a, 4);
    const written = kept.write(values, 1);
    const second = run!(a, 4);
    values.fill(0);
    await Promise.all([first, written, second]);
    expect(await kept.read()).toEqual(Float32Array.of(4, 20, 20, 4));
    const before = kept.write([5]);
    await run!(a, 4);
    await before;
    expect(await kept.read()).toEqual(Float32Array.of(10, 40, 40, 8));
    kept.release();
  });

  it("are in order if the array is released while a loop runs", async () => {
    const { scale: run } = await programOn(scale);
    const a = new Float32Array(4).fill(1);
    const kept = resident(a);
    const ran = run!(a, 4);
    const read = kept.read();
    kept.release();
    const after = run!(a, 4);
    await Promise.all([ran, read, after]);
    expect(a).toEqual(new Float32Array(4).fill(4));
  });

  it("are in order on two devices", async () => {
    const [one, other] = [await programOn(scale), await programOn(scale)];
    const a = new Float32Array(100).fill(1);
    const kept = resident(a);
    await Promise.all([one.scale!(a, 100), other.scale!(a, 50), one.scale!(a, 20), other.scale!(a, 10.5)]);
    expect([...(await kept.read())].map(Math.log2)).toEqual(
      Array.from({ length: 100 }, (_, i) => 1 + +(i < 50) + +(i < 20) + +(i < 11)),
    );
    kept.release();
  });

  it("let later ones continue after a failure", async () => {
    const { scale: run } = await programOn(scale);
    const a = new Float32Array(4).fill(1);
    const kept = resident(a);
    await run!(a, 4);
    await expect(kept.write([1, 2, 3], 3)).rejects.toThrow(RangeError);
    await run!(a, 4);
    expect(await kept.read()).toEqual(new Float32Array(4).fill(4));
    kept.release();
  });
});

describe("calls that share a variable", () => {
  it("lose no update", async () => {
    const { add, get, set } = await programOn(total);
    const [a, b] = [new Int32Array(500).fill(1), new Int32Array(300).fill(3)];
    await Promise.all([add!(a, 500), add!(b, 300), add!(a, 2.5), add!(b, 100)]);
    expect(get!()).toBe(500 + 900 + 3 + 300);
    set!(2 ** 31);
    await Promise.all([add!(a, 500), add!(b, 300)]);
    expect(get!()).toBe(2 ** 31 + 1400);
  });

  it("are in order with loops that only read it, and with loops on the same array", async () => {
    const { add, fill, get } = await programOn(`${total}
      export async function fill(a: Int32Array, n: number) {
        "use speculate";
        //#pragma omp for target(webgpu)
        for (let i = 0; i < n; i++) a[i] = total;
      }`);
    const [a, b] = [new Int32Array(5).fill(1), new Int32Array(5)];
    await Promise.all([add!(a, 5), fill!(b, 5), add!(a, 5), fill!(a, 5), add!(b, 5)]);
    expect([...a, ...b, get!()]).toEqual([...new Array(5).fill(10), ...new Array(5).fill(5), 35]);
  });
});

describe("without the operation order", () => {
  afterEach(() => vi.restoreAllMocks());

  it("a loop that runs as written sees old data", async () => {
    vi.spyOn(LoopTurn.prototype, "toHost").mockImplementation(async () => {});
    const { scale: run } = await programOn(scale);
    const kept = resident(new Float32Array(5).fill(1));
    await run!(kept.host, 5);
    await run!(kept.host, 2.5);
    expect(await kept.read()).not.toEqual(Float32Array.of(4, 4, 4, 2, 2));
    kept.release();
  });

  it("calls that share a variable lose updates", async () => {
    vi.spyOn(OrderedOperation.prototype, "comes", "get").mockReturnValue(null);
    const { add, get } = await programOn(total);
    await Promise.all([add!(new Int32Array(5).fill(1), 5), add!(new Int32Array(5).fill(1), 5)]);
    expect(get!()).toBe(5);
  });
});

describe("a value that is refused at once", () => {
  it.each([
    ["a plain array: make it a typed array", [1, 2]],
    ["of the class BigInt64Array", new BigInt64Array(2)],
    ["of the class DataView", new DataView(new ArrayBuffer(8))],
    ["null", null],
  ])("is an array to keep that is %s", (words, value) => {
    expect(() => resident(value as never)).toThrow(
      expect.objectContaining({ code: "BELAY542", message: expect.stringContaining(words) }),
    );
  });

  it.each([
    ["of the class Object", {}],
    ["undefined", undefined],
    ["a promise: await it", Promise.resolve({})],
  ])("is a device that is %s", async (words, value) => {
    const error = expect.objectContaining({ code: "BELAY543", message: expect.stringContaining(words) });
    expect(() => useDevice(value as never)).toThrow(error);
    const call = { loop: {}, arrays: {} } as never;
    if (value) await expect(speculate(call, { device: value as never })).rejects.toThrow(error);
  });

  it.each([
    [{ fallback: "never" }, "there is no option fallback: the options are onExecuted"],
    [{ onExecuted: 3 }, "the option onExecuted cannot be 3: it is a function"],
    [5, "the options are no object"],
    ["x", "the options are no object"],
    [null, "the options are no object"],
  ])("are options %j of useDevice", (options, message) => {
    expect(() => useDevice(null, options as never)).toThrow(new TypeError(message));
  });
});

describe("the options of one loop", () => {
  const configured = scale
    .replace("n: number", "n: number, options: object")
    .replace("speculate(a)", "speculate(a) configure(options)");
  const run = async () => {
    const { code } = replaceLoops(configured, "program.ts");
    const { scale } = evaluate(code!, speculate as never) as unknown as Record<string, Run>;
    return scale!;
  };

  it("choose the device, and hear of the loop by its name and place", async () => {
    const scale = await run();
    const devicesOf = [await devices.newDevice(), await devices.newDevice()];
    const told: unknown[] = [];
    const arrays = devicesOf.map(() => new Float32Array(5).fill(1));
    await Promise.all(
      devicesOf.map((device, at) =>
        scale(arrays[at], 5, {
          device,
          fallback: "never",
          onExecuted: (loop: object, { engine }: { engine: string }) => told.push([loop, engine]),
        }),
      ),
    );
    expect(arrays).toEqual(devicesOf.map(() => new Float32Array(5).fill(2)));
    const start = configured.indexOf("for (let");
    const span = { start, end: configured.indexOf(";", configured.indexOf("* 2")) + 1 };
    expect(told).toEqual([
      [{ name: "scale", span }, "default"],
      [{ name: "scale", span }, "default"],
    ]);
  });

  it("keep a loop from beginning that is aborted in its turn, and from nothing else", async () => {
    const scale = await run();
    const device = await devices.sharedDevice();
    const a = new Float32Array(5).fill(1);
    const controller = new AbortController();
    const reason = new Error("enough");
    const first = scale(a, 5, { device, fallback: "never" });
    const second = scale(a, 5, { device, fallback: "never", signal: controller.signal });
    const third = scale(a, 5, { device, fallback: "never" });
    controller.abort(reason);
    await expect(second).rejects.toBe(reason);
    await Promise.all([first, third]);
    expect(a).toEqual(new Float32Array(5).fill(4));
    await expect(scale(a, 5, { signal: controller.signal })).rejects.toBe(reason);
    expect(a).toEqual(new Float32Array(5).fill(4));
  });

  it("keep a loop from beginning that is aborted while the device is at work", async () => {
    const scale = await run();
    const device = await devices.sharedDevice();
    const [a, b] = [new Float32Array(5).fill(1), new Float32Array(5).fill(1)];
    const controller = new AbortController();
    const first = scale(a, 5, { device, fallback: "never" });
    const second = scale(b, 5, { device, fallback: "never", signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(second).rejects.toThrow("enough");
    await first;
    expect([a[0], b[0]]).toEqual([2, 1]);
  });

  /** A loop whose iterations depend on each other, in rounds of a few. */
  const chained = `export async function chain(a: Int32Array, n: number, options: object) {
    "use speculate";
    //#pragma omp for target(webgpu) speculate(a) schedule(4) configure(options)
    for (let i = 1; i < n; i++) a[i] = (a[i - 1]! + 1) | 0;
  }`;
  const chain = () => {
    const { code } = replaceLoops(chained, "program.ts");
    return (evaluate(code!, speculate as never) as unknown as Record<string, Run>).chain!;
  };
  const ascending = (n: number) => Int32Array.from({ length: n }, (_, i) => i);

  it("tell the progress of a loop on the GPU", async () => {
    const device = await devices.sharedDevice();
    const steps: Progress[] = [];
    const a = new Int32Array(100);
    await chain()(a, 100, { device, fallback: "never", onProgress: (step: Progress) => steps.push(step) });
    expect(a).toEqual(ascending(100));
    expect(steps[0]).toEqual({ done: 0, total: 99, doing: "iterations on the GPU" });
    expect(steps.length).toBeGreaterThan(2);
    const done = steps.map((step) => step.done);
    expect(done).toEqual(done.toSorted((one, other) => one - other));
    expect(done.at(-1)).toBeGreaterThan(0);
    expect(done.at(-1)).toBeLessThan(99);
    for (const { total } of steps) expect(total).toBe(99);
  });

  it("tell the progress of a loop on the CPU", async () => {
    const steps: Progress[] = [];
    const options = { engine: "sequential", onProgress: (step: Progress) => steps.push(step) };
    await chain()(new Int32Array(100), 100, options);
    expect(steps).toEqual([{ done: 0, total: 99, doing: "iterations on the CPU" }]);
  });

  it("abort a loop between its rounds, and leave the device to later loops", async () => {
    const device = await devices.sharedDevice();
    const controller = new AbortController();
    const reason = new Error("enough");
    const a = new Int32Array(100);
    let calls = 0;
    const options = {
      device,
      fallback: "never",
      signal: controller.signal,
      onProgress: ({ done }: Progress) => {
        calls++;
        if (done > 0) controller.abort(reason);
      },
    };
    await expect(chain()(a, 100, options)).rejects.toBe(reason);
    expect(calls).toBeGreaterThan(1);
    const after = calls;
    await expect(chain()(a, 100, options)).rejects.toBe(reason);
    expect(calls).toBe(after);
    a.fill(0);
    await chain()(a, 100, { device, fallback: "never" });
    expect(a).toEqual(ascending(100));
  });

  it("end a loop on a resident array when a listener fails, and leave the array to be written anew", async () => {
    const device = await devices.sharedDevice();
    const a = new Int32Array(100);
    const kept = resident(a);
    const failure = new Error("the listener failed");
    const onProgress = ({ done }: Progress) => {
      if (done > 0) throw failure;
    };
    await expect(chain()(a, 100, { device, fallback: "never", onProgress })).rejects.toBe(failure);
    await kept.write(new Int32Array(100));
    await chain()(a, 100, { device, fallback: "never" });
    expect(await kept.read()).toEqual(ascending(100));
  });

  it("abort a loop that the CPU is about to execute", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const a = new Int32Array(100);
    const onProgress = () => controller.abort(reason);
    const options = { engine: "sequential", signal: controller.signal, onProgress };
    await expect(chain()(a, 100, options)).rejects.toBe(reason);
    expect(a).toEqual(new Int32Array(100));
  });

  it.each([
    [{ signal: {} }, "signal"],
    [{ onProgress: 5 }, "onProgress"],
  ])("are refused with the value of %j", async (options, name) => {
    await expect(chain()(new Int32Array(5), 5, options)).rejects.toThrow(`the option ${name} cannot be`);
  });

  it("are refused when they do not exist", async () => {
    const scale = await run();
    const refusal = "there is no option devices: the options are device, engine, fallback, timings,";
    await expect(scale(new Float32Array(5), 5, { devices: [] })).rejects.toThrow(refusal);
  });
});
