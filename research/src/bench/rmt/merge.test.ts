import { expect, it } from "vitest";
import type { ProgramResult } from "./program.ts";
import { mergeRmt, type RmtResult } from "./rmt.ts";

const program: ProgramResult = {
  name: "sum",
  verdict: { ok: true, message: "right" },
  overheads: [],
  components: [],
  power: [],
  faultFree: [],
  failures: [],
  left: [],
};
const result = (changes: Partial<ProgramResult>, ok = true): RmtResult => ({
  ok,
  powerSource: null,
  programs: [{ ...program, ...changes }],
});
const power = (redundancy: "none" | "inter", average: number) => ({
  redundancy,
  average,
  peak: 2,
  readings: 3,
  energy: 4,
});

it("puts what several runs have measured together, the last one first", () => {
  const [first, second] = [
    result({ power: [power("none", 1), power("inter", 1)] }),
    result({ power: [power("none", 2)] }),
  ];
  const merged = mergeRmt([first, second, { ...result({ name: "other" }), powerSource: "a meter" }]);
  expect(merged).toMatchObject({ ok: true, powerSource: "a meter" });
  expect(merged.programs.map(({ name }) => name)).toEqual(["sum", "other"]);
  expect(merged.programs[0]!.power).toEqual([power("none", 2), power("inter", 1)]);
});

it("keeps what went wrong", () => {
  const wrong = { ok: false, message: "wrong" };
  const merged = mergeRmt([result({ verdict: wrong, failures: ["a"] }, false), result({ left: ["b"] })]);
  expect(merged).toMatchObject({ ok: false, programs: [{ verdict: wrong, failures: ["a"], left: ["b"] }] });
});
