import { describe, expect, it } from "vitest";
import { PublishedSchedule } from "./publishedSchedule.ts";

const clean = { misspeculated: 0, breaks: 0 };

describe("the published schedule", () => {
  it("begins with the iterations that write each element once", () => {
    expect(new PublishedSchedule(10_000, 4, 1e6).size).toBe(2500);
    expect(new PublishedSchedule(10_000, 0, 1e6).size).toBe(10_000);
  });

  it("stays within what the device can hold and what is worth a round", () => {
    expect(new PublishedSchedule(1e9, 1, 5000).size).toBe(5000);
    expect(new PublishedSchedule(3, 1, 5000).size).toBe(64);
    expect(new PublishedSchedule(3, 1, 10).size).toBe(10);
  });

  it("halves where a tenth is misspeculated, and doubles after two clean rounds", () => {
    const schedule = new PublishedSchedule(1000, 1, 1e6);
    schedule.observe({ iterations: 1000, misspeculated: 101, breaks: 0 });
    expect(schedule.size).toBe(500);
    schedule.observe({ iterations: 500, misspeculated: 50, breaks: 0 });
    expect(schedule.size).toBe(500);
    schedule.observe({ iterations: 500, ...clean });
    expect(schedule.size).toBe(500);
    schedule.observe({ iterations: 500, ...clean });
    expect(schedule.size).toBe(1000);
  });

  it("follows the observed interval of branches that make all that follow wrong", () => {
    const schedule = new PublishedSchedule(1000, 1, 1e6);
    schedule.observe({ iterations: 1000, misspeculated: 700, breaks: 4 });
    expect(schedule.size).toBe(250);
    schedule.observe({ iterations: 200, ...clean });
    expect(schedule.size).toBe(300);
  });
});
