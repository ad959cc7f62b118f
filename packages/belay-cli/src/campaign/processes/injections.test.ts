import { expect, it } from "vitest";
import type { Fault, RestingFault } from "../model/faultModel.ts";
import type { Observation } from "../model/outcome.ts";
import { type Injected, inject } from "./injections.ts";
import { ProcessLost, type WatchedProcess } from "./watchedProcess.ts";

interface Item {
  readonly fault: RestingFault;
}
const right: Observation = { strikes: 1, hung: false, detections: 0, corrections: 0, results: "right" };
const wrong: Observation = { ...right, results: "none", error: "rejected" };

/**
 * Injects 200 faults, one of which ends the process or makes runs at its side fail. Returns the
 * outcomes, and the sizes of the groups.
 */
async function injectWith(guilty: number, happens: "loss" | "error", widen: "ready" | "lost" = "ready") {
  const sizes: number[] = [];
  const ask = async (kind: string, { faults = [] }: { faults?: readonly Fault[] }) => {
    if (kind === "widen" && widen === "lost") throw new ProcessLost("crash", "out of memory");
    if (kind !== "inject") return null;
    sizes.push(faults.length);
    const isHit = (faults as readonly RestingFault[]).some(({ byteOffset }) => byteOffset === guilty);
    if (isHit && happens === "loss") throw new ProcessLost("hang", "no answer");
    // An error can appear in each run of the group.
    return faults.map(() => (isHit ? wrong : right));
  };
  const watched = { ask, bytes: 0, kill: () => {} } as unknown as WatchedProcess;
  const items = Array.from(
    { length: 200 },
    (_, i): Item => ({
      fault: { buffer: 0, byteOffset: i, mask: 1 },
    }),
  );
  const outcomes: (readonly [number, Injected])[] = [];
  const limits = { openLimitMs: 1, limitMs: () => 1 };
  for await (const [{ fault }, injected] of inject(watched, items.values(), {
    open: async () => null,
    ...limits,
  }))
    outcomes.push([fault.byteOffset, injected]);
  return { outcomes, sizes };
}

it.each([
  [10, "loss"],
  [100, "loss"],
  [199, "loss"],
  [100, "error"],
] as const)("blames fault %d alone for a %s, in its turn", async (guilty, happens) => {
  const { outcomes, sizes } = await injectWith(guilty, happens);
  const blamed = happens === "loss" ? { lost: "hang", detail: "no answer" } : wrong;
  const expected = Array.from({ length: 200 }, (_, i) => [i, i === guilty ? blamed : right]);
  expect(outcomes).toEqual(expected);
  expect(Math.max(...sizes)).toBeGreaterThan(1);
});

it("injects one at a time in a process that cannot hold further instances", async () => {
  const { outcomes, sizes } = await injectWith(-1, "loss", "lost");
  expect(outcomes).toEqual(Array.from({ length: 200 }, (_, i) => [i, right]));
  expect(new Set(sizes)).toEqual(new Set([1]));
});
