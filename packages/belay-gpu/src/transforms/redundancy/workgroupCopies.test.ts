import { expect, it } from "vitest";
import { f32Type } from "../../wgsl/types.ts";
import type { Pairing } from "./pairing.ts";
import { bytesOfCopies } from "./workgroupCopies.ts";

it("skews copies by half of the banks, unless they fit beside each other", () => {
  const bytes = (count: number, pairing: Pairing = "adjacent") =>
    bytesOfCopies({ kind: "array", element: f32Type, count }, pairing);
  expect([1, 3, 4, 25, 31].map((count) => bytes(count))).toEqual([8, 24, 32, 200, 248]);
  expect([32, 48, 49, 256, 272].map((count) => bytes(count))).toEqual([
    2 * 192,
    2 * 192,
    2 * 320,
    2 * 1088,
    2 * 1088,
  ]);
  expect(bytesOfCopies({ kind: "vector", size: 3, element: f32Type }, "adjacent")).toBe(32);
  expect([31, 32, 256].map((count) => bytes(count, "half-subgroup"))).toEqual([248, 2 * 192, 2 * 1088]);
  expect([31, 32, 256].map((count) => bytes(count, "subgroups"))).toEqual([248, 256, 2048]);
});
