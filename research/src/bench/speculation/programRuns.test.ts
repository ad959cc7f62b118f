import { describe, expect, it } from "vitest";
import { ProgramRuns } from "./programRuns.ts";

/**
 * Returns a program that accepts its first array times two or four, and counts its verifications.
 */
function doubling() {
  const counted = { verified: 0 };
  const program = {
    iterations: 3,
    inputs: () => [Uint32Array.of(1, 2, 3), Uint32Array.of(2, 2, 2), 7],
    verify: ([a]: readonly unknown[]) => {
      counted.verified++;
      return { ok: ["2,4,6", "4,8,12"].includes(String(a)), message: "" };
    },
  };
  const runs = new ProgramRuns(program);
  const run = (factor = 2) => {
    const [a, b] = runs.next() as [Uint32Array, Uint32Array];
    for (const [i, each] of a.entries()) a[i] = each * factor;
    runs.check();
    return { a, b };
  };
  return { runs, run, counted };
}

describe("the runs of a program", () => {
  it("are verified once as long as they leave the same bits", () => {
    const { runs, run, counted } = doubling();
    for (let n = 0; n < 3; n++) run();
    runs.end();
    expect(runs.right).toBe(true);
    expect(counted.verified).toBe(1);
  });

  it("may come out in several ways", () => {
    const { runs, run, counted } = doubling();
    for (const factor of [2, 4, 2, 4, 4]) run(factor);
    expect(runs.right).toBe(true);
    expect(counted.verified).toBe(2);
  });

  it("are wrong when one of them is, until others begin", () => {
    const { runs, run } = doubling();
    run();
    run(3);
    run();
    runs.end();
    expect(runs.right).toBe(false);
    runs.begin();
    run();
    expect(runs.right).toBe(true);
  });

  it("restore what the program changes, and find in the end what it should not have changed", () => {
    const { runs, run } = doubling();
    expect(runs.restored).toEqual([0, 1]);
    const { b } = run();
    expect(runs.restored).toEqual([0]);
    b[1] = 9;
    run();
    expect(runs.right).toBe(true);
    runs.end();
    expect(runs.right).toBe(false);
    runs.begin();
    expect(run().b[1]).toBe(2);
    runs.end();
    expect(runs.right).toBe(true);
  });
});
