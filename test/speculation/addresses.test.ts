/**
 * Addresses that are found before values: the loops that have them, and the results of
 * reservations.
 */

import type { Engine } from "belay-speculate/internal/engine/call/call";
import { runDefault } from "belay-speculate/internal/engine/rounds/defaultEngine";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { addressLoop } from "belay-speculate/internal/loops/analysis/addressLoop";
import { sequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { arbitraryArrays, arbitraryLoop, initialValues } from "./arbitraryLoops.ts";
import { loopFrom } from "./sourceLoops.ts";

const devices = testDevices({ full: true });
const numRuns = Number(process.env.ARBITRARY_LOOPS ?? 5);
const parameters = "a: Int32Array, p: Int32Array, x: Float32Array";
const kindOf = (statements: string) => {
  const found = addressLoop(
    loopFrom(parameters, `for (let i = 0; i < p.length; i++) { ${statements} }`, "speculate(a)"),
  );
  return found ? (found.isExact ? "exact" : "open") : "none";
};

describe("addresses", () => {
  it.each([
    ["a[p[i]!] = a[i]! & 7;", "exact"],
    ["if (p[i]! > 3) { a[p[i]!] = 1; }", "exact"],
    ["for (let k = 0; k < 3; k++) { a[(p[i]! + k) & 7] = a[k]!; }", "exact"],
    ["if (a[i]! > 3) { a[p[i]!] = 1; }", "open"],
    ["a[i] = a[p[i]!]! > 0 && a[p[i]! & 3]! > 0 ? 1 : 0;", "open"],
    ["if (a[i]! > 3) { for (let k = 0; k < 3; k++) { a[(p[i]! + k) & 7] = 1; } }", "open"],
    ["if (a[i]! > 3) { continue; } a[p[i]!] = 1;", "open"],
    ["a[a[i]! & 7] = 1;", "none"],
    ["let at = 0; if (a[i]! > 3) { at = 1; } a[at] = 1;", "none"],
    ["for (let k = 0; k < a[i]!; k++) { a[k & 7] = 1; }", "none"],
    ["if (a[i]! > 3) { break; } a[p[i]!] = 1;", "none"],
    ["if (x[i]! * 2 > 1) { a[p[i]!] = 1; }", "open"],
  ])("of %s are %s", (statements, kind) => expect(kindOf(statements)).toBe(kind));
});

describe("random loops", () => {
  it("run as in sequence when iterations reserve what they may access", async () => {
    const device = await devices.newDevice();
    const byReservation: Engine = (workspace, execution) =>
      runDefault(workspace, execution, { plan: "by reservation" });
    const loops = arbitraryLoop.filter((loop) => addressLoop(loop) !== null);
    const property = fc.asyncProperty(loops, arbitraryArrays, async (loop, indices) => {
      const sequential = sequentialLoop(loop);
      const given = () => ({
        a: initialValues(loop),
        own: Int32Array.from(indices.p, (_, i) => 3 * i),
        carried: { last: 3 },
        reductions: { sum: 10 },
      });
      const expected = given();
      const count = indices.p.length;
      const inputs = { $first: 0, $step: 1 };
      const end = sequential(
        { a: expected.a, own: expected.own, ...indices },
        inputs,
        expected.carried,
        expected.reductions,
        0,
        count,
      );
      const { a, own, ...variables } = given();
      const call = {
        ...variables,
        loop,
        sequential,
        arrays: { a, own, ...indices },
        inputs: {},
        first: 0,
        step: 1,
        count,
      };
      const { carried, reductions, next, ended, statistics } = await speculate(call, {
        device,
        engine: byReservation,
      });
      expect(statistics.engine).toBe("byReservation");
      expect({ a, own, carried, reductions, next, ended }).toEqual({ ...expected, ...end });
    });
    await fc.assert(property, { numRuns, seed: 3 });
  });
});
