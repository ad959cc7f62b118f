import { expect, it } from "vitest";
import { loopFrom } from "../../../../../test/speculation/sourceLoops.ts";
import type { Part } from "./execution.ts";
import { SharedState } from "./sharedState.ts";

const windows = (element: "Int32" | "Float32", times: readonly number[]) => {
  const loop = loopFrom(
    `a: ${element}Array, p: Int32Array`,
    "for (let i = 0; i < 9; i++) { for (let k = 0; k < p[i]!; k++) { a[i] = a[i]! + a[k]!; } }",
    "speculate(a)",
  );
  const shared = new SharedState({ loop } as Part, null, null, null);
  return times.map((time) => {
    shared.bound(time);
    return Math.log2(shared.longest);
  });
};

it("lets a clock make windows longer, and shorter before the system takes the GPU away", () => {
  expect(windows("Int32", [100, 10, 10, 10, 100, 300])).toEqual([16, 18, 20, 22, 22, 20]);
});

it("lets windows grow whatever the clock says where floats may be rounded in other ways", () => {
  expect(windows("Float32", [100, 10, 150, 199, 10])).toEqual([18, 20, 20, 20, 20]);
  expect(windows("Float32", [100, 300])).toEqual([18, 16]);
});
