import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { prepareStruckKernel, struckCode } from "../../../../../test/support/devices/struckKernel.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { FaultSite } from "../../compiler/contract.ts";
import { harden } from "../harden.ts";
import type { HardenedDevice } from "../hardenedDevice.ts";
import type { ArmedFault } from "./injector.ts";

const { newDevice } = testDevices({ full: true });
let plain: GPUDevice;
let device: HardenedDevice;
let run: () => Promise<Uint32Array[]>;
/** Returns the results of three dispatches, which are equal without a fault. */
let right: Uint32Array[];
beforeAll(async () => {
  plain = await newDevice();
  device = await harden(plain, { redundancy: "none", injectFaults: true });
  run = await prepareStruckKernel(device, 3);
  right = await run();
});
afterEach(() => device.belay.disarm());

function siteOf(source: string, kind: FaultSite["kind"] = "value"): FaultSite {
  const [{ sites } = { sites: [] }] = device.belay.faultSites();
  return sites.find(
    ({ span, ...site }) => site.kind === kind && struckCode.slice(span.start, span.end) === source,
  )!;
}

/** A fault in invocation 5 of workgroup 1. */
function faultIn(source: string, fault: Partial<ArmedFault> = {}, kind?: FaultSite["kind"]): ArmedFault {
  const [{ kernel } = { kernel: "" }] = device.belay.faultSites();
  const place = { workgroup: [1, 0, 0], localIndex: 5, replica: 0 } as const;
  return { kernel, site: siteOf(source, kind).id, effect: { xor: 1 }, ...place, ...fault };
}

/** Returns the indices of wrong words in the result of each dispatch. */
async function struck(fault: ArmedFault): Promise<number[][]> {
  device.belay.arm(fault);
  return wrong(await run());
}
const wrong = (results: readonly Uint32Array[]) =>
  results.map((words, n) => [...words.keys()].filter((i) => words[i] !== right[n]![i]));

/**
 * The index of the result of invocation 5 of workgroup 1, and the index of its word of the tile.
 */
const [own, tiled] = [2 * 37, 2 * (32 + 31 - 5)];

describe("an armed fault", () => {
  it("strikes one dispatch, the first by default", async () => {
    const fault = faultIn("vec2u(tile[31u - l] + 1u, steps)");
    expect(await struck(fault)).toEqual([[own], [], []]);
    expect(await struck({ ...fault, dispatch: 1 })).toEqual([[], [own], []]);
    expect(await struck({ ...fault, dispatch: 3 })).toEqual([[], [], []]);
    // The dispatch after the three.
    expect(wrong(await run())).toEqual([[own], [], []]);
    expect(wrong(await run())).toEqual([[], [], []]);
  });

  it("comes back if it is permanent", async () => {
    const fault = faultIn("vec2u(tile[31u - l] + 1u, steps)", { dispatch: 1, permanent: true });
    expect(await struck(fault)).toEqual([[], [own], [own]]);
    expect(wrong(await run())).toEqual([[own], [own], [own]]);
  });

  it("strikes one execution, or all later ones too", async () => {
    // Invocation 7 adds three times.
    const fault = faultIn("steps += sum", { localIndex: 7, effect: { set: 0 } });
    const added = 38 * 2 + 3;
    const sum = right[0]![added]! / 3;
    const results: number[] = [];
    for (const given of [
      {},
      { occurrence: 1 },
      { occurrence: 2 },
      { occurrence: 3 },
      { duration: "launch" },
    ] as const) {
      device.belay.arm({ ...fault, ...given });
      results.push((await run())[0]![added]! / sum);
    }
    expect(results).toEqual([2, 1, 0, 3, 0]);
  });

  it("strikes a component of a vector", async () => {
    const fault = faultIn("vec2u(tile[31u - l] + 1u, steps)", { component: 1 });
    expect(await struck(fault)).toEqual([[own + 1], [], []]);
  });

  it("strikes all loads from a cache line, by any invocation", async () => {
    const fault = faultIn("a[i]", { extent: "line", line: 1 }, "load");
    const [words] = await struck(fault);
    expect(words!.filter((i) => i % 2 === 0)).toEqual(Array.from({ length: 32 }, (_, i) => 2 * (32 + i)));
    expect(() => device.belay.arm(faultIn("a[i]", { extent: "line" }, "load"))).toThrow(TypeError);
  });

  it("skips a statement", async () => {
    const [words] = await struck(faultIn("sum += 5u", {}, "statement"));
    expect(words).toContain(tiled);
    expect((await device.belay.observed()).strikes).toBe(1);
  });

  it("reports its strikes and their effect", async () => {
    const before = right[0]![own]!;
    await struck(faultIn("vec2u(tile[31u - l] + 1u, steps)", { effect: { xor: 0x8000_0000 } }));
    expect(await device.belay.observed()).toEqual({
      strikes: 1,
      hung: false,
      before,
      after: before + 0x8000_0000,
    });
    await struck(faultIn("vec2u(tile[31u - l] + 1u, steps)", { effect: { set: 9 } }));
    expect(await device.belay.observed()).toMatchObject({ before, after: 9 });
    await struck(faultIn("vec2u(tile[31u - l] + 1u, steps)", { occurrence: 1 }));
    expect(await device.belay.observed()).toMatchObject({ strikes: 0 });
  });

  it("is rejected if it could never strike, and the previous one stays armed", async () => {
    const fault = faultIn("vec2u(tile[31u - l] + 1u, steps)");
    device.belay.arm(fault);
    const { effect: _, ...noEffect } = fault;
    const { workgroup: __, ...nowhere } = fault;
    const refused: [unknown, string][] = [
      [
        { ...fault, kernel: "mian" },
        'there is no kernel "mian" in which a fault can be armed: the kernels are',
      ],
      [{ ...fault, site: 1e6 }, "has no fault site 1000000: faultSites() lists those that it has"],
      [{ ...fault, replica: 2 }, "the option replica of a fault cannot be 2: it is one of 0, 1"],
      [noEffect, "the option effect of a fault cannot be undefined: it is { xor: bits } or { set: word }"],
      [{ ...fault, effect: {} }, "the option effect of a fault cannot be {}: it is"],
      [{ ...fault, effect: { xor: 1.5 } }, "effect of a fault"],
      [{ ...fault, effect: { xor: 2 ** 33 } }, "with a number of 32 bits"],
      [{ ...fault, effect: { set: -(2 ** 31) - 1 } }, "with a number of 32 bits"],
      [nowhere, "the option workgroup of a fault cannot be undefined: it is a workgroup such as [0, 0, 0]"],
      [{ ...fault, workgroup: [0, -1, 0] }, "the option workgroup of a fault cannot be [0,-1,0]"],
      [
        { ...fault, localIndex: undefined },
        "localIndex of a fault cannot be undefined: it is a whole number",
      ],
      [{ ...fault, occurrence: -1 }, "occurrence of a fault cannot be -1: it is a whole number from 0 on"],
      [{ ...fault, extent: "grid" }, 'cannot be "grid": it is one of "invocation", "subgroup", "line"'],
      [{ ...fault, duration: "always" }, 'cannot be "always": it is one of "once", "launch"'],
      [{ ...fault, occurence: 1 }, "there is no option occurence of a fault: the options are kernel, site,"],
      [null, "the options of a fault are no object"],
    ];
    for (const [wrong, message] of refused) {
      expect(() => device.belay.arm(wrong as ArmedFault)).toThrow(TypeError);
      expect(() => device.belay.arm(wrong as ArmedFault)).toThrow(message);
    }
    expect(wrong(await run())).toEqual([[own], [], []]);
  });

  it("that makes a loop endless is stopped when its fuel is spent", async () => {
    // The value of k, which the invocation counts down to 0.
    const fault = faultIn("l & 3u", { effect: { set: 0xffff_ffff }, fuel: 100 });
    const [words] = await struck(fault);
    expect(words).toEqual([own + 1]);
    expect(await device.belay.observed()).toMatchObject({ strikes: 1, hung: true });
    expect(await struck({ ...fault, effect: { set: 9 } })).toEqual([[own + 1], [], []]);
    expect(await device.belay.observed()).toMatchObject({ strikes: 1, hung: false });
  });
});
