/**
 * Loops in the shape of those of popular packages. A loop is translated, or it is refused with a
 * reason. In both cases it gives what the source gives as it is written.
 */
import { speculate } from "belay-speculate/internal/engine/speculate";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { dataFor, naturalLoops } from "../support/loops/naturalLoops.ts";

const devices = testDevices({ full: true });

/** `NATURAL_LOOPS=1` executes each loop on the GPU, and not one of twenty. */
const each = Number(process.env.NATURAL_LOOPS ?? 20);

/** The loops that are refused, by the diagnostic that says why. */
const refusals = {
  "BELAY520 needs-doubles": ["bezier", "hann", "sigmoid", "softmax"],
};

it("give what they give as they are written, or are refused for a known reason", async () => {
  const device = await devices.newDevice();
  const { loops, written, inOrder, executedBy } = naturalLoops();
  expect(new Set(loops.map(({ name }) => name)).size).toBe(loops.length);
  const onDevice = executedBy(async (call) => {
    const done = await speculate(call, { device, fallback: "never" });
    expect(done.statistics.committed).toBeGreaterThan(done.statistics.onCpu);
    return done;
  });
  for (const [at, loop] of loops.entries()) {
    const resultOf = async (exports: typeof written) => {
      const data = dataFor(loop);
      const returned = (exports[loop.name]!(...(data as never[])) as Promise<unknown>).catch(String);
      return { returned: await returned, data };
    };
    const expected = await resultOf(written);
    expect(await resultOf(inOrder), loop.name).toEqual(expected);
    if (at % each === 0) expect(await resultOf(onDevice), loop.name).toEqual(expected);
  }
  const found = loops.flatMap(({ name, refusal }) => (refusal ? [[name, refusal]] : []));
  const expected = Object.entries(refusals).flatMap(([why, names]) => names.map((name) => [name, why]));
  expect(found.sort()).toEqual(expected.sort());
});
