import { describe, expect, it } from "vitest";
import { summarize } from "../measuring/timing.ts";
import { rooflineOf } from "./roofline.ts";

const ceilings = { memory: 1e9, cache: 4e9, flops: 1e9, integers: 1e9, invocations: 1e9 };
const times = (milliseconds: number) => summarize([milliseconds]);

describe("the limit of full replication", () => {
  it("is twice the unprotected time where arithmetic takes all of it", () => {
    const { limit, flopsPerSecond } = rooflineOf({ bytes: 0, flops: 1e6 }, times(2), times(2), ceilings);
    expect({ limit, flopsPerSecond }).toEqual({ limit: 2, flopsPerSecond: 5e8 });
  });

  it("is the unprotected time where memory takes all of it, and arithmetic less than half", () => {
    const { limit, memoryTime } = rooflineOf({ bytes: 1e6, flops: 0 }, times(1), times(0.4), ceilings);
    expect({ limit, memoryTime }).toEqual({ limit: 1, memoryTime: 1 });
  });

  it("lies between where arithmetic hides behind memory", () => {
    expect(rooflineOf({ bytes: 1e6, flops: 0 }, times(1), times(0.75), ceilings).limit).toBe(1.5);
  });

  it("takes no kernel to be slower without memory than with it", () => {
    expect(rooflineOf({ bytes: 0, flops: 0 }, times(1), times(3), ceilings).computeTime).toBe(1);
  });
});

it("sums several runs up by their quartiles", () => {
  expect(summarize([5, 1, 4, 2, 3])).toEqual({ median: 3, lower: 2, upper: 4 });
});
