import { afterEach, describe, expect, it, vi } from "vitest";
import { attempt, fewestRuns } from "./attempt.ts";

afterEach(() => void vi.useRealTimers());

describe("a measurement", () => {
  it("takes as many runs as asked, after one in advance", async () => {
    let run = 0;
    const times = await attempt(10, (attempt) => attempt.times(3, async () => run++));
    expect(times).toMatchObject({ median: 2, runs: 3 });
  });

  it("takes fewer runs when they take long", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const slow = async () => {
      vi.advanceTimersByTime(30);
      return 30;
    };
    expect(await attempt(0.44, (attempt) => attempt.times(100, slow))).toMatchObject({ median: 30, runs: 4 });
    const few = await attempt(0.44, (attempt) => attempt.times(100, slow, 0.25));
    expect(few).toMatchObject({ runs: fewestRuns });
    const one = await attempt(0.44, (attempt) => attempt.times(100, slow, 0.01));
    expect(one).toMatchObject({ runs: 1 });
  });

  it("is given up when its time is over, and told so", async () => {
    let told: unknown;
    const measured = await attempt(0.05, ({ signal }) => {
      signal.addEventListener("abort", () => {
        told = signal.reason;
      });
      return new Promise(() => {});
    });
    expect(measured).toEqual({ failed: "it took more than 0.05 s", late: true });
    expect(String(told)).toContain("0.05 s");
  });

  it("keeps what there is when its time is over", async () => {
    const measured = await attempt<number>(0.05, (attempt) => {
      attempt.kept = 7;
      return new Promise(() => {});
    });
    expect(measured).toBe(7);
  });

  it("tells why it failed", async () => {
    expect(await attempt(1, () => Promise.reject(new Error("no")))).toEqual({ failed: "no" });
  });
});
