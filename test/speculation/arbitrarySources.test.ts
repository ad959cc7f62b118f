/**
 * Random loops from their source, on the GPU: every array and variable has the bits that JavaScript
 * leaves.
 */
import { publishedEngine } from "belay-research/internal/published/published";
import type { ExecutionOptions, SpeculateCall } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { hasOpenRounding } from "belay-speculate/internal/loops/analysis/openRounding";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import fc from "fast-check";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import {
  arbitraryLoop,
  type LoopInput,
  loopInput,
  parametersOf,
  roundsAll,
} from "../support/loops/arbitraryLoops.ts";
import { evaluate } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });
/**
 * `ARBITRARY_SOURCES=1000` runs a long search, `ARBITRARY_SEED=7` one of other loops, and
 * `ARBITRARY_INPUTS=10` one of so many inputs for each loop.
 */
const numRuns = Number(process.env.ARBITRARY_SOURCES ?? 6);
const seed = Number(process.env.ARBITRARY_SEED ?? 5);
const inputsPerLoop = Number(process.env.ARBITRARY_INPUTS ?? 1);
const loopInputs = fc.array(loopInput, { minLength: inputsPerLoop, maxLength: inputsPerLoop });

/** Returns longer arrays of the input's values, with a number of iterations to match. */
function longer(input: LoopInput): LoopInput {
  const [n, ...others] = input.numbers;
  return {
    ...input,
    lengths: input.lengths.map(() => 50),
    numbers: [n > 0 ? 40 : n, ...others],
    shared: false,
  };
}

async function resultOf(run: (...parameters: never[]) => unknown, input: LoopInput) {
  const parameters = parametersOf(input);
  const returned = await run(...(parameters as readonly unknown[] as never[]));
  return { returned, parameters };
}

it("leaves what JavaScript leaves, for random loops on hostile inputs", async () => {
  const device = await devices.newDevice();
  let onDevice = 0;
  const executeOn = (options: ExecutionOptions) => async (call: SpeculateCall) => {
    // Results that WGSL leaves open are not tested here.
    const isOpen = hasOpenRounding(call.loop);
    const done = await speculate(call, { device, ...(isOpen ? { engine: "sequential" } : options) });
    expect(done.statistics.reason).not.toContain("refused a kernel");
    if (done.statistics.committed > 0) onDevice++;
    return done;
  };
  const translated = arbitraryLoop
    .map((source) => ({ source, ...replaceLoops(source, "loops.ts") }))
    .filter(({ source }) => roundsAll(source))
    .filter(({ code, diagnostics }) => !!code && diagnostics.every(({ severity }) => severity !== "error"));
  await fc.assert(
    fc.asyncProperty(translated, loopInputs, async ({ source, code }, inputs) => {
      for (const options of [
        { fallback: "never" },
        { fallback: "never", engine: publishedEngine() },
      ] as const) {
        const speculated = evaluate(code!, executeOn(options) as never).run!;
        for (const each of inputs.flatMap((input) => [input, longer(input)]))
          expect(await resultOf(speculated, each)).toEqual(await resultOf(evaluate(source).run!, each));
      }
    }),
    { numRuns, seed, endOnFailure: true },
  );
  expect(onDevice).toBeGreaterThan(0);
});
