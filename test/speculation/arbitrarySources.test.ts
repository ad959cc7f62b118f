/**
 * Random loops from their source, on the GPU: every array and variable has the bits that JavaScript
 * leaves.
 */
import { LoopTrials, loopsWithInputs } from "belay-research/internal/scripts/randomLoops/loopTrials";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import fc from "fast-check";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";

const devices = testDevices({ full: true });

/** The script `randomLoops` runs long searches. */
it("leaves what JavaScript leaves, for random loops on hostile inputs", async () => {
  const trials = new LoopTrials(await devices.sharedDevice());
  await fc.assert(
    fc.asyncProperty(loopsWithInputs(1), async ([loop, inputs]) => {
      expect(await trials.differenceOf(loop, inputs)).toBeUndefined();
    }),
    { numRuns: 6, seed: 5, endOnFailure: true },
  );
  expect(trials.counts.onDevice).toBeGreaterThan(0);
});

it("notices a loop that leaves something else", async () => {
  const trials = new LoopTrials(await devices.sharedDevice());
  const source = `export async function run(a: Int32Array) {
    "use speculate";
    for (let i = 0; i < a.length; i++) a[i] = i;
  }`;
  const { code } = replaceLoops(source.replace("= i;", "= i | 4;"), "loops.ts");
  const input = {
    lengths: Array(8).fill(3),
    values: [1],
    floats: [1],
    numbers: [3, 0, 0],
    shared: false,
    form: 0,
  } as const;
  expect(await trials.differenceOf({ source, code: code! }, [input])).toMatch(
    /^engine default: .* -?4, 5, 6/s,
  );
});
