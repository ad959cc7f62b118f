/** Tests on any adapter that each step measures the right thing. They ignore how long it takes. */

import { usualRates } from "belay-gpu/internal/compiler/memoryCost";
import { type OpenedGpu, openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as copy from "../../workloads/memory/copy.ts";
import { chooseMemory } from "./automatic.ts";
import { type EccOptions, measureEcc } from "./ecc.ts";
import { type FlipCounts, isContained } from "./flips.ts";
import { type EccProgram, isSound } from "./program.ts";
import { measureHostRates } from "./transfers.ts";

let opened: OpenedGpu;
beforeAll(async () => {
  opened = await openGpu();
});
afterAll(() => opened.close());
const freshDevice = () => newDevice(opened);

const options = (changes: Partial<EccOptions>): EccOptions => ({
  newDevice: freshDevice,
  size: "small",
  programs: [{ name: "copy", create: () => copy.create({ elements: 64 }) }],
  schemes: ["secded128"],
  redundancy: "none",
  runs: 1,
  faultFree: 0,
  flips: 0,
  progress: () => {},
  save: async () => {},
  ...changes,
});

describe("the whole", () => {
  it("finds a right program sound, all flips contained, and no false report", async () => {
    const { ok, programs, host, transfers } = await measureEcc(options({ flips: 32, faultFree: 2 }));
    const { overheads, flips, faultFree, failures } = programs[0]!;
    expect({ ok, failures }).toEqual({ ok: true, failures: [] });
    expect(overheads).toMatchObject([
      { scheme: "secded128", identical: true, errors: 0, storage: 0.25, kernels: [{ checked: 2 }] },
    ]);
    expect(flips[0]!.single).toMatchObject({ struck: 32, uncorrectable: 0, different: 0, left: 0 });
    expect(flips[0]!.single.corrected).toBeGreaterThanOrEqual(32);
    expect(flips[0]!.single.runs).toBeGreaterThan(0);
    expect(flips[0]!.double).toMatchObject({ struck: 32, corrected: 0, uncorrectable: 32, runs: 0, left: 0 });
    expect(faultFree).toEqual([{ scheme: "secded128", runs: 2, reports: 0, different: 0 }]);
    expect(host.map(({ scheme }) => scheme)).toEqual(["secded128"]);
    expect(transfers.map(({ scheme }) => scheme)).toEqual(["none", "secded128"]);
  });

  it("tells of a program that fails, and goes on", async () => {
    const broken = {
      name: "broken",
      create: () => {
        throw new Error("too large");
      },
    };
    const { ok, programs } = await measureEcc(options({ programs: [broken], schemes: [] }));
    expect(ok).toBe(false);
    expect(programs[0]!.failures).toEqual(["unprotected: too large"]);
  });
});

it("takes a code from the text, and by measurement where that leaves a question", async () => {
  const chosenFor = (bytesPerElement: 12 | 16) =>
    chooseMemory(copy.create({ elements: 64, bytesPerElement }), {
      candidates: ["secded64", "secded32"],
      newDevice: freshDevice,
      rates: usualRates,
      redundancy: "none",
    });
  const [inQuestion, clear] = [await chosenFor(12), await chosenFor(16)];
  expect(inQuestion.tried).toHaveLength(2);
  expect(inQuestion.tried).toContain(inQuestion.measured);
  expect(clear).toEqual({ fromText: "secded64", tried: ["secded64"], measured: "secded64" });
});

const healed: FlipCounts = { struck: 4, corrected: 5, uncorrectable: 0, runs: 1, different: 0, left: 0 };
const flagged: FlipCounts = { struck: 4, corrected: 0, uncorrectable: 6, runs: 1, different: 1, left: 0 };

it("does not pass an error that nobody saw, or that was taken for another", () => {
  const contained = { scheme: "secded128", single: healed, double: flagged } as const;
  expect(isContained(contained)).toBe(true);
  expect(isContained({ ...contained, scheme: "detect", single: flagged })).toBe(true);
  for (const change of [{ corrected: 3 }, { uncorrectable: 1 }, { different: 1 }, { left: 1 }]) {
    expect(isContained({ ...contained, single: { ...healed, ...change } })).toBe(false);
  }
  for (const change of [{ uncorrectable: 3 }, { corrected: 1 }, { left: 1 }]) {
    expect(isContained({ ...contained, double: { ...flagged, ...change } })).toBe(false);
  }
});

it("does not pass a false report, other bits or a failure", () => {
  const times = { median: 1, lower: 1, upper: 1 };
  const overhead = {
    scheme: "secded128",
    unprotected: times,
    protected: times,
    ratio: 1,
    predicted: 1,
    kernels: [],
    storage: 0.25,
    errors: 0,
    identical: true,
  } as const;
  const quiet = { scheme: "secded128", runs: 1, reports: 0, different: 0 } as const;
  const sound: EccProgram = {
    name: "copy",
    verdict: { ok: true, message: "" },
    work: { bytes: 0, flops: 0 },
    overheads: [overhead],
    faultFree: [quiet],
    flips: [],
    failures: [],
  };
  expect(isSound(sound)).toBe(true);
  for (const change of [
    { verdict: { ok: false, message: "" } },
    { overheads: [{ ...overhead, errors: 1 }] },
    { overheads: [{ ...overhead, identical: false }] },
    { faultFree: [{ ...quiet, reports: 1 }] },
    { faultFree: [{ ...quiet, different: 1 }] },
    { flips: [{ scheme: "secded128", single: flagged, double: flagged } as const] },
    { failures: ["the device is lost"] },
  ]) {
    expect(isSound({ ...sound, ...change })).toBe(false);
  }
});

it("measures the host's side of a code", () => {
  const { encode, verify } = measureHostRates("secded64", 2 ** 12, 2);
  expect(encode).toBeGreaterThan(1e5);
  expect(verify).toBeGreaterThan(1e5);
});
