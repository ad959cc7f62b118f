import { expect, it } from "vitest";
import type { Loop } from "../loops/ir.ts";
import { type Experience, recall, remember } from "./experience.ts";
import type { PlanName } from "./plans.ts";

it("forgets now and then, and more seldom the more often that was in vain", () => {
  const loop = {} as Loop;
  const forgotten: number[] = [];
  for (let execution = 0; execution < 150; execution++) {
    if (recall(loop) === null) forgotten.push(execution);
    const plan: PlanName = execution < 112 ? "logged" : "claimed";
    remember(loop, { plan } as Experience);
  }
  // In vain at 16 and 48; then the data is easier, which 112 finds out.
  expect(forgotten).toEqual([0, 16, 48, 112, 128]);
});
