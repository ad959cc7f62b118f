import { expect, it } from "vitest";
import { campaignSettings } from "../../../../../test/campaign/settings.ts";
import type { InjectionRecord, UnitRecord } from "../model/records.ts";
import { missingInjections } from "../planned.ts";
import { Results } from "./results.ts";

const unit = (program: string): UnitRecord => ({
  kind: "unit",
  program,
  configuration: "none",
  gaps: [],
  buffers: [8],
  sameBits: true,
  kernels: [],
  milliseconds: { plain: 1, protected: 1 },
});

it("what is planned follows the programs as they become known, also when it was asked for before", () => {
  const settings = campaignSettings(["a", "b"], { minimum: 100 });
  const results = new Results({ kind: "header", version: 1, settings, shard: { index: 0, count: 1 } }, []);
  const quotas = ["a", "b"].map((program) => {
    results.add(unit(program));
    return results.cells()[0]!.progress.quota;
  });
  expect(quotas).toEqual([100, 50]);
  expect(results.amount()).toEqual({ done: 0, total: 100 });
});

it("draws the injections of a campaign without end one by one", () => {
  const settings = campaignSettings(["a"], { minimum: 1e15 });
  const results = new Results({ kind: "header", version: 1, settings, shard: { index: 2, count: 5 } }, []);
  results.add(unit("a"));
  const [{ count, planned } = { count: 0, planned: [].values() }] = missingInjections(results);
  expect(count).toBe(2e14);
  const numbers = [planned.next(), planned.next(), planned.next()].map(({ value }) => value?.number);
  expect(numbers).toEqual([2, 7, 12]);
});

it("looks at an injection a few times, however often it is asked how many are made", () => {
  const settings = campaignSettings(["a"], { minimum: 2000 });
  const results = new Results({ kind: "header", version: 1, settings, shard: { index: 0, count: 1 } }, []);
  results.add(unit("a"));
  let looks = 0;
  for (let number = 0; number < 2000; number++) {
    const injection = { program: "a", configuration: "none", kernel: "", structure: "memory" };
    results.add({
      ...({ kind: "injection", outcome: "masked", ...injection } as InjectionRecord),
      get number() {
        looks++;
        return number;
      },
    });
    expect(results.amount()).toEqual({ done: number + 1, total: 2000 });
  }
  expect(looks).toBeLessThan(20 * 2000);
  expect(results.cells()[0]!.progress.state).toBe("reached");
  expect(results.cells()[0]!.injections.length).toBe(2000);
});
