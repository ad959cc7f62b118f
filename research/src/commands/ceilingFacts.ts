import type { Fact } from "belay-cli/internal/shared/machine";
import { rate } from "belay-cli/internal/shared/quantities";
import type { Ceilings } from "../bench/ceilings.ts";

/** Returns the rows that a report shows of a device's ceilings. */
export function ceilingFacts({ memory, cache, flops, integers, invocations }: Ceilings): readonly Fact[] {
  return [
    ["Copy, in memory", rate(memory, "B/s")],
    ["Copy, in the cache", rate(cache, "B/s")],
    ["Fused multiply-adds", rate(flops, "FLOP/s")],
    ["Integer multiply-adds", rate(integers, "op/s")],
    ["Copies of a word", rate(invocations, "/s")],
  ];
}
