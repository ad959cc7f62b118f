import { describe, expect, test } from "vitest";
import * as gatherScatter from "./gatherScatter.ts";
import { loops } from "./index.ts";
import type { Argument, LoopProgram } from "./loopProgram.ts";
import * as ocean from "./ocean.ts";

async function runInOrder<Arguments extends readonly Argument[]>(
  run: (...parameters: Arguments) => Promise<void>,
  program: LoopProgram<Arguments>,
): Promise<Arguments> {
  const parameters = program.inputs();
  await run(...parameters);
  return parameters;
}

describe.each(loops)("$name", ({ run, small, documented }) => {
  test("leaves the right values when its loops run in order", async () => {
    const program = documented();
    expect(program.verify(await runInOrder(run, program))).toMatchObject({ ok: true });
  });

  test("finds a wrong bit in any array that it changes", async () => {
    const program = small();
    const left = await runInOrder(run, program);
    const before = program.inputs();
    let changed = 0;
    for (const [i, array] of left.entries()) {
      if (typeof array === "number" || sameBytes(array, before[i] as typeof array)) continue;
      changed++;
      const bytes = new Uint8Array(array.buffer);
      // The most significant byte of an element: lower bytes may be within a tolerance.
      const middle = ((array.length >> 1) + 1) * array.BYTES_PER_ELEMENT - 1;
      bytes[middle]! ^= 1 << 6;
      const { ok, message } = program.verify(left);
      expect(message).toMatch(/ is .* instead of /);
      expect(ok).toBe(false);
      bytes[middle]! ^= 1 << 6;
    }
    expect(changed).toBeGreaterThan(0);
    expect(program.verify(left)).toMatchObject({ ok: true });
  });

  test("is not right before its loops have run", () => {
    const program = small();
    expect(program.verify(program.inputs())).toMatchObject({ ok: false });
  });
});

test("columns that lie side by side", async () => {
  const program = ocean.create({ caller: "ACAC", points: 16 });
  expect(program.verify(await runInOrder(ocean.ocean, program))).toMatchObject({ ok: true });
});

test.each([0, 1])("gathers and scatters that meet at a rate of %d", async (rate) => {
  const program = gatherScatter.create({ length: 99, rate });
  expect(program.verify(await runInOrder(gatherScatter.gatherScatter, program))).toMatchObject({ ok: true });
});

function sameBytes(one: ArrayBufferView, other: ArrayBufferView): boolean {
  return Buffer.from(one.buffer).equals(Buffer.from(other.buffer));
}
