import { expect, it } from "vitest";
import type { Loop } from "../../loops/tree/ir.ts";
import { type LastRounds, LoopProfile } from "./loopProfile.ts";
import type { PlanName } from "./planChoice.ts";

const loop = { body: [] } as unknown as Loop;

it("forgets the last rounds now and then, and more seldom the more often that was in vain", () => {
  const profile = new LoopProfile(loop);
  const forgotten: number[] = [];
  for (let execution = 0; execution < 150; execution++) {
    if (profile.lastRounds === null) forgotten.push(execution);
    const plan: PlanName = execution < 112 ? "logged" : "write bitmap";
    profile.keepRounds({ plan } as LastRounds);
  }
  // In vain at 16 and 48; then the data is easier, which 112 finds out.
  expect(forgotten).toEqual([0, 16, 48, 112, 128]);
});

it("keeps the findings for a few numbers, the latest ones", () => {
  const { windows } = new LoopProfile(loop);
  for (let numbers = 0; numbers < 9; numbers++) windows.set(`${numbers}`, [numbers]);
  expect(windows.get("0")).toBeNull();
  for (let numbers = 1; numbers < 9; numbers++) expect(windows.get(`${numbers}`)).toEqual([numbers]);
  expect(windows.get(null)).toBeNull();
});
