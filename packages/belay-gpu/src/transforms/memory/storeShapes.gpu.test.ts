/**
 * One bit flips in what a kernel is about to store to: what a scrub makes of it afterwards must be
 * right, or known to be lost.
 */

import {
  numbersFrom,
  storeKernel,
  storeShapes,
  wordsOfShapes,
} from "belay-research/internal/scripts/storeFlips/shapes";
import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { type Flip, runCoded } from "../../../../../test/support/kernels/codedKernels.ts";
import { runKernel } from "../../../../../test/support/kernels/kernelRunner.ts";
import { sample } from "../../../../../test/support/sample.ts";
import type { Redundancy } from "../../compiler/contract.ts";
import { protect } from "../../compiler/protect.ts";
import { type SchemeName, schemes } from "../../ecc/scheme.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const codes = ["secded64", "secded128", "secded256", "secded1024", "detect", "detect256"] as const;
const length = wordsOfShapes(32);
const input = {
  buffers: { 0: numbersFrom(length, 1), 1: numbersFrom(length, 2) },
  workgroups: [4, 1, 1] as const,
};
const kernel = (type: string, body: string) => storeKernel(type, body, 32, 8);

async function expectContained(
  redundancy: Redundancy,
  memory: SchemeName,
  code: string,
  injectFaults = false,
) {
  const result = protect(code, { redundancy, memory, injectFaults, features: ["subgroups"] });
  const stored = result.entryPoints[0]!.memory!.bindings.find(({ of }) => of.binding === 1)!;
  if (stored.mode !== "checked") return;
  const plain = await runKernel(device, code, input);
  for (let turn = 0; turn < 4; turn++) {
    const flips = flipsOf(schemes[memory].granuleBytes / 4, turn);
    const { scrubbed, uncorrectable } = await runCoded(device, result, input, flips);
    const { words: after, uncorrectable: lost } = scrubbed[1]!;
    const wrong = [...after.keys()].filter((i) => after[i] !== plain.buffers[1]![i]);
    if (schemes[memory].corrects) expect([turn, wrong]).toEqual([turn, []]);
    else expect(wrong.length).toBeLessThanOrEqual(lost + uncorrectable);
  }
}

/** One bit of each granule, in the last turn of its check word. */
function flipsOf(granuleWords: number, turn: number): Flip[] {
  return Array.from({ length: Math.floor(length / granuleWords) }, (_, granule) => {
    const mask = 2 ** ((7 * granule + 11 * turn) % 32);
    return turn === 3
      ? { binding: 1, word: granule, mask, inChecks: true }
      : { binding: 1, word: granule * granuleWords + ((granule + turn) % granuleWords), mask };
  });
}

describe.each(storeShapes.map((shape, row) => [...shape, row] as const))(
  "where stores are made %s",
  (_, type, body, row) => {
    it.each(sample(codes, row, 4))("%s contains a flip", async (memory) => {
      await expectContained("none", memory, kernel(type, body));
    });
  },
);

it.each(storeShapes.slice(0, 8))("contains a flip where replicas store %s", async (_, type, body) => {
  await expectContained("inter", "secded128", kernel(type, body));
});

/** Fault sites put stores of whole lines apart, so that every lane stores alone. */
it.each(storeShapes.slice(0, 10).map((shape, row) => [...shape, row] as const))(
  "contains a flip where stores with fault sites are made %s",
  async (_, type, body, row) => {
    for (const memory of sample(codes, row, 1))
      await expectContained(row % 2 === 0 ? "none" : "inter", memory, kernel(type, body), true);
  },
);

it("relies on what a lane that is alone takes out of its change", async () => {
  const code = kernel("u32", "if (i < n - 2u) { b[i] = a[i] * 3u; }");
  const result = protect(code, { redundancy: "none", memory: "secded128", features: ["subgroups"] });
  const repair = "change ^= wrong;";
  expect(result.code).toContain(repair);
  const plain = await runKernel(device, code, input);
  const after = async (own: string) => {
    const flips = [{ binding: 1, word: 29, mask: 1 << 9 }];
    return (await runCoded(device, { ...result, code: own }, input, flips)).scrubbed[1]!.words[29];
  };
  expect(await after(result.code)).toBe(plain.buffers[1]![29]);
  expect(await after(result.code.replace(repair, ""))).not.toBe(plain.buffers[1]![29]);
});
