/**
 * Copies of one memory on the host and on devices, through any views. A program sees the same as
 * without a device.
 */

import { speculate } from "belay-speculate/internal/engine/speculate";
import { deviceCopies } from "belay-speculate/internal/engine/transfer/deviceCopies";
import { resident } from "belay-speculate/internal/engine/transfer/resident";
import { sequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { loopFrom, numbers } from "./sourceLoops.ts";

const devices = testDevices();
const size = 48;
/** Views of one memory. The first three overlap. */
const views = [
  [0, 20],
  [12, 36],
  [16, 20],
  [36, 48],
] as const;

const view = fc.nat(views.length - 1);
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant("loop" as const),
      target: view,
      source: view,
      where: fc.constantFrom("never" as const, "measured" as const, "sequential" as const),
      device: fc.nat(1),
    }),
  },
  fc.record({
    what: fc.constantFrom("keep" as const, "read" as const, "write" as const, "release" as const),
    target: view,
  }),
);

/**
 * Does random operations on the memory, on devices and on the host alone, and expects the same of
 * both.
 */
async function search(numRuns: number, element: "Int32" | "Float32" = "Int32"): Promise<void> {
  // The loop of floats is small by its text, so that the CPU executes its calls at once.
  const value = element === "Int32" ? "(Math.imul(a[i]!, 3) + b[i]!) | 0" : "b[i]! + 1";
  const loop = loopFrom(
    `a: ${element}Array, b: ${element}Array, n: number`,
    `for (let i = 0; i < n; i++) { a[i] = ${value}; }`,
    "speculate(a)",
  );
  const sequential = sequentialLoop(loop);
  const ordered = () =>
    element === "Int32" ? numbers(size, (i) => i) : Float32Array.from(numbers(size, (i) => i));
  const both = [await devices.sharedDevice(), await devices.sharedDevice()] as const;
  const viewsOf = (memory: Int32Array<ArrayBuffer> | Float32Array<ArrayBuffer>) =>
    views.map(([from, to]) => memory.subarray(from, to));
  const property = fc.asyncProperty(
    fc.subarray([0, 1, 2, 3]),
    fc.array(operation, { maxLength: 16 }),
    async (first, operations) => {
      const [memory, model] = [ordered(), ordered()];
      const [real, expected] = [viewsOf(memory), viewsOf(model)];
      const kept = new Map(first.map((place) => [place, resident(real[place]!)]));
      try {
        for (const [turn, each] of operations.entries()) {
          const own = kept.get(each.target);
          switch (each.what) {
            case "loop": {
              const [a, b] = [expected[each.target]!, expected[each.source]!];
              const count = Math.min(a.length, b.length);
              const rest = { first: 0, step: 1, count, inputs: {}, carried: {}, reductions: {} };
              sequential({ a, b }, { $first: 0, $step: 1 }, {}, {}, 0, count);
              const arrays = { a: real[each.target]!, b: real[each.source]! };
              const how = each.where === "sequential" ? { engine: each.where } : { fallback: each.where };
              await speculate({ loop, sequential, arrays, ...rest }, { device: both[each.device]!, ...how });
              break;
            }
            case "keep":
              kept.set(each.target, resident(real[each.target]!));
              break;
            case "read":
              expect(await own?.read()).toEqual(own && expected[each.target]);
              break;
            case "write":
              await own?.write([turn, -turn], 2);
              if (own) expected[each.target]!.set([turn, -turn], 2);
              break;
            case "release":
              await own?.read();
              own?.release();
              kept.delete(each.target);
          }
        }
        for (const own of kept.values()) await own.read();
        expect(memory).toEqual(model);
      } finally {
        for (const own of kept.values()) own.release();
      }
    },
  );
  await fc.assert(property, { numRuns, seed: 11 });
}

describe("views of one memory", () => {
  afterEach(() => vi.restoreAllMocks());

  it.each(["Int32", "Float32"] as const)("are coherent, whatever a program does with them, %s", (element) =>
    search(100, element),
  );

  it("are not coherent if copies are not settled", async () => {
    vi.spyOn(deviceCopies, "settle").mockResolvedValue();
    await expect(search(100)).rejects.toThrow("Property failed");
  });
});

describe("an array whose memory grows or shrinks between loops", () => {
  it.each([
    ["grows", 64],
    ["shrinks", 16],
  ])("%s on the device too", async (_, bytes) => {
    const device = await devices.sharedDevice();
    const loop = loopFrom(
      "a: Int32Array",
      "for (let i = 0; i < a.length; i++) { a[i] = (Math.imul(a[i]!, 3) + i) | 0; }",
      "speculate(a)",
    );
    const sequential = sequentialLoop(loop);
    const growing = () => {
      const memory = new (
        ArrayBuffer as unknown as new (
          size: number,
          options: object,
        ) => ArrayBuffer & { resize(size: number): void }
      )(32, { maxByteLength: 64 });
      return { memory, a: new Int32Array(memory).fill(7) };
    };
    const [one, other] = [growing(), growing()];
    const kept = resident(one.a);
    const run = async () => {
      const rest = { first: 0, step: 1, count: one.a.length, inputs: {}, carried: {}, reductions: {} };
      await speculate({ loop, sequential, arrays: { a: one.a }, ...rest }, { device, fallback: "never" });
      sequential({ a: other.a }, { $first: 0, $step: 1 }, {}, {}, 0, other.a.length);
    };
    await run();
    for (const { memory } of [one, other]) memory.resize(bytes);
    await run();
    expect(await kept.read()).toEqual(other.a);
    kept.release();
  });
});
