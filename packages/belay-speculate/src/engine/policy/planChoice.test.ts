import { describe, expect, it } from "vitest";
import { conflictKinds, states } from "../../loops/kernels/control.ts";
import { nextPlan } from "./planChoice.ts";

const { flow, order, unclear } = conflictKinds;
const both = { reserve: true, isExact: true, version: true };
const neither = { reserve: false, isExact: false, version: false };
const useful = { evaluated: 10, executed: 9 };
const wasteful = { evaluated: 100, executed: 9 };

describe("the plan after conflicts", () => {
  const conflicting = (conflicts: number, can = both) =>
    nextPlan("in place", { state: states.conflicting, conflicts }, useful, can)?.name;

  it("looks for the first one where it is not known, and keeps a log where only the order of stores matters", () => {
    expect(conflicting(unclear | flow)).toBe("in place");
    expect(conflicting(order)).toBe("logged");
  });

  it("reserves elements that iterations hand on, where these are known", () => {
    expect(conflicting(flow | order)).toBe("by reservation");
    expect(conflicting(flow | order, neither)).toBe("logged");
  });
});

describe("the plan after a log", () => {
  const logged = (work: typeof useful, can = both) =>
    nextPlan("logged", { state: states.running, conflicts: 0 }, work, can)?.name;

  it("is another one when it was mostly in vain", () => {
    expect(logged(useful)).toBeUndefined();
    expect(logged(wasteful)).toBe("by reservation");
    expect(logged(wasteful, { ...both, reserve: false })).toBe("multi-version");
    expect(logged(wasteful, neither)).toBeUndefined();
  });

  it("reserves what may not be accessed only where there is no room for versions", () => {
    expect(logged(wasteful, { ...both, isExact: false })).toBe("multi-version");
    expect(logged(wasteful, { ...both, isExact: false, version: false })).toBe("by reservation");
  });

  it("is none when nothing is left", () => {
    expect(nextPlan("logged", { state: states.finished, conflicts: 0 }, wasteful, both)).toBeNull();
  });
});

it("is the same where another one than the log wastes much", () => {
  expect(nextPlan("multi-version", { state: states.running, conflicts: 0 }, wasteful, both)).toBeNull();
});
