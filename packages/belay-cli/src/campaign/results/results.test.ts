import { expect, it } from "vitest";
import { campaignSettings } from "../../../../../test/campaign/settings.ts";
import type { UnitRecord } from "../model/records.ts";
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
