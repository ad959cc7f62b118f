import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replay } from "belay-cli/internal/campaign/replay";
import { compareCampaigns } from "belay-cli/internal/campaign/results/compare";
import type { Results } from "belay-cli/internal/campaign/results/results";
import { summarize } from "belay-cli/internal/campaign/results/summary";
import { mergeShards, readResults } from "belay-cli/internal/campaign/store/merge";
import { readStore, Store, storePath } from "belay-cli/internal/campaign/store/store";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { campaignSettings, programsModule, runTestCampaign } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-campaign-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const directory = () => join(folder, String(made++));
const table = (results: Parameters<typeof summarize>[0]) => summarize(results).cells;

describe("a campaign", () => {
  const whole = directory();

  it("finds silent corruption without protection, none where all is covered, and some beside it", async () => {
    const summary = summarize(await runTestCampaign(whole, campaignSettings(["sum"], { minimum: 24 })));
    expect(summary.problems).toEqual([]);
    expect(summary.controls).toEqual({ runs: 6, detections: 0, different: 0 });
    const cell = (configuration: string, structure: string) =>
      summary.cells.find((each) => each.configuration === configuration && each.structure === structure)!;
    for (const structure of ["ALU", "VRF", "LDS"] as const) {
      expect(cell("none", structure).counts.sdc).toBeGreaterThan(3);
      expect(cell("none", structure).counts.notInjected).toBe(0);
      const guarded = cell("intra+lds signature", structure);
      expect(guarded).toMatchObject({ inside: true, holds: true, state: "reached" });
      expect(guarded.counts).toMatchObject({ sdc: 0, notInjected: 0 });
      expect(guarded.counts.recovered).toBeGreaterThan(3);
    }
    for (const structure of ["L1", "memory"] as const) {
      expect(cell("intra+lds signature", structure).inside).toBe(false);
      expect(cell("intra+lds signature", structure).counts.sdc).toBeGreaterThan(3);
    }
  });

  it("goes on from any line of its store to the same table", async () => {
    const expected = readResults(whole);
    const lines = readFileSync(storePath(whole), "utf8").split("\n");
    for (const kept of [0.4, 0.9]) {
      const at = directory();
      await runTestCampaign(at, expected.header.settings, { timeLimitMs: 0 });
      if (kept === 0.4) writeFileSync(storePath(at), lines[0]!.slice(0, 40));
      await runTestCampaign(at, expected.header.settings, { timeLimitMs: 0, resume: true });
      const half = lines[Math.ceil(kept * lines.length)]!.slice(0, 40);
      writeFileSync(storePath(at), `${lines.slice(0, Math.ceil(kept * lines.length)).join("\n")}\n${half}`);
      const resumed = await runTestCampaign(at, expected.header.settings, { resume: true });
      expect(table(resumed)).toEqual(table(expected));
    }
  });

  it.each([{ minimum: 1e15 }, { bound: 1e-9 }])("with %o ends at its time limit", async (endless) => {
    const settings = campaignSettings(["sum"], { structures: ["ALU"], ...endless });
    const { injections } = await runTestCampaign(directory(), settings, { timeLimitMs: 2_000 });
    expect(injections.length).toBeLessThan(10_000);
  });

  it("in shards gives the same table, once they are merged", async () => {
    const { settings } = readResults(whole).header;
    const shards = [directory(), directory()];
    for (const [index, at] of shards.entries()) {
      const part = await runTestCampaign(at, settings, { shard: { index, count: 2 } });
      expect(part.injections.every(({ number }) => number % 2 === index)).toBe(true);
    }
    const merged = mergeShards(shards, directory());
    expect(table(merged)).toEqual(table(readResults(whole)));
    expect(() => mergeShards([shards[0]!, shards[0]!], directory())).toThrow("both hold shard 1/2");
    expect(() => mergeShards([shards[1]!], directory())).toThrow("of 2 shards these are missing: 1/2");
    expect(() => mergeShards([shards[0]!, whole], directory())).toThrow("holds shard 1/1, and");
    await expect(runTestCampaign(shards[0]!, settings, { resume: true })).rejects.toThrow(
      "holds shard 1/2, not 1/1",
    );
  });

  it("compares with another", () => {
    const summary = summarize(readResults(whole));
    const { compared, unmatched } = compareCampaigns(summary, summary);
    expect(unmatched).toEqual([[], []]);
    expect(compared.length).toBe(summary.cells.length);
    expect(
      compared.every(({ sdc, noticed }) => sdc.same && noticed.same && sdc.difference.difference === 0),
    ).toBe(true);
    // What is protected differs from what is not.
    const named = (from: string) => ({
      ...summary,
      cells: summary.cells
        .filter(({ configuration }) => configuration === from)
        .map((cell) => ({ ...cell, flavor: "inter" as const })),
    });
    const { compared: different } = compareCampaigns(named("none"), named("intra+lds signature"));
    const alu = different.find(({ structure }) => structure === "ALU")!;
    expect([alu.sdc.same, alu.noticed.same]).toEqual([false, false]);
    expect(alu.sdc.difference.high).toBeLessThan(0);
  });

  it("replays any injection", async () => {
    const { injections } = readResults(whole);
    const silent = injections.find(({ outcome, structure }) => outcome === "sdc" && structure === "VRF")!;
    const shown = await replay(whole, silent.id, programsModule);
    expect(shown).toMatchObject({ injection: silent, outcome: "sdc", place: { kernel: { kernel: "sum" } } });
    const { observed, difference } = shown.explanation!;
    expect(observed!.before).not.toBe(observed!.after);
    expect(difference!.output).toBe("sums");
    await expect(replay(whole, "x", programsModule)).rejects.toThrow("has no injection x");
  });
});

describe("the seed of a campaign", () => {
  const few = { margin: 0.4, bound: 0.4, structures: ["ALU", "L1"] } as const;
  /** Everything but how long it took. */
  const planOf = (results: Results) => ({
    kernels: Object.fromEntries(
      results.units.map((unit) => [`${unit.program} ${unit.configuration}`, unit.kernels]),
    ),
    injections: Object.fromEntries(
      results
        .cells()
        .flatMap(({ injections }) => injections)
        .map(({ id, model, fault, outcome }) => [id, { model, fault, outcome }]),
    ),
  });

  it("decides every injection, also with other processes, in shards, and behind a start that was cut off", async () => {
    const settings = campaignSettings(["wide", "sum"], few);
    const undisturbed = await runTestCampaign(directory(), settings);
    const expected = planOf(undisturbed);
    expect(planOf(await runTestCampaign(directory(), settings, { jobs: 2 }))).toEqual(expected);

    const cut = directory();
    await runTestCampaign(cut, settings, { timeLimitMs: 0 });
    expect(planOf(await runTestCampaign(cut, settings, { resume: true }))).toEqual(expected);

    const shards = [directory(), directory()];
    for (const [index, at] of shards.entries()) {
      await runTestCampaign(at, settings, { shard: { index, count: 2 } });
    }
    const whole = directory();
    mergeShards(shards, whole);
    // A shard decides by its own results how far it goes.
    const merged = await runTestCampaign(whole, settings, { resume: true });
    expect(planOf(merged)).toEqual(expected);
    expect(table(merged)).toEqual(table(undisturbed));
  });

  it("gives other injections than another seed", async () => {
    const [first, second] = await Promise.all(
      [1, 2].map((seed) => runTestCampaign(directory(), campaignSettings(["wide"], { ...few, seed }))),
    );
    expect(planOf(first!).kernels).not.toEqual(planOf(second!).kernels);
    expect(planOf(first!).injections).not.toEqual(planOf(second!).injections);
  });
});

describe("a process that is lost", () => {
  const few = { structures: ["ALU"], margin: 0.3, bound: 0.3 } as const;

  it.each([
    ["hanging", "hang", /^no answer in /],
    ["dying", "crash", "the process ended by status 7: the driver has had enough"],
  ] as const)("by %s is an outcome, and everything else goes on", async (program, outcome, detail) => {
    const settings = campaignSettings([program], few);
    const limit = program === "hanging" ? { hangLimitMs: 100 } : {};
    const results = await runTestCampaign(directory(), settings, limit);
    const lost = results.injections.filter((injection) => injection.outcome === outcome);
    expect(lost.length).toBeGreaterThan(0);
    for (const injection of lost) expect(injection.detail).toMatch(detail);
    expect(results.cells().every(({ progress }) => progress.state === "reached")).toBe(true);
    expect(table(results).map(({ counts }) => counts.sdc > 0)).toEqual([true, false]);
  });
});

describe("a process that is killed while a program is profiled", () => {
  const kills = join(folder, "kills");
  const settings = campaignSettings(["killed"], { structures: ["ALU"], margin: 0.45, bound: 0.45 });
  afterEach(() => vi.unstubAllEnvs());

  it("is started again", async () => {
    vi.stubEnv("BELAY_TEST_KILLS", kills);
    writeFileSync(kills, "1");
    const results = await runTestCampaign(directory(), settings);
    expect(results.skipped).toEqual([]);
    expect(summarize(results).problems).toEqual([]);
  });

  it("leaves the program out until the campaign goes on", async () => {
    vi.stubEnv("BELAY_TEST_KILLS", kills);
    writeFileSync(kills, "1000");
    const at = directory();
    const { skipped } = await runTestCampaign(at, settings);
    const message = "killed fails without a fault: the process ended by SIGKILL";
    expect(skipped).toMatchObject([
      { configuration: "none", code: "BELAY602", message, lost: true },
      { configuration: "intra+lds signature", code: "BELAY602", message, lost: true },
    ]);
    // Twice, for the first configuration only.
    expect(readFileSync(kills, "utf8")).toBe("998");
    writeFileSync(kills, "0");
    const resumed = await runTestCampaign(at, settings, { resume: true });
    expect(summarize(resumed)).toMatchObject({ skipped: [], problems: [] });
    expect(summarize(readResults(at))).toMatchObject({ skipped: [], problems: [] });
  });
});

describe("a campaign that is aborted", () => {
  const settings = campaignSettings(["sum"], { minimum: 24 });

  it("rejects with the reason, records nothing that the abort did, and goes on to the same table", async () => {
    const at = directory();
    const controller = new AbortController();
    const reason = new Error("enough");
    const progress: unknown[] = [];
    const campaign = runTestCampaign(at, settings, {
      signal: controller.signal,
      onProgress: (now) => {
        progress.push(now);
        if (now.done > 0) controller.abort(reason);
      },
    });
    await expect(campaign).rejects.toBe(reason);
    expect(progress[0]).toEqual({ done: 0, total: 0, doing: "sum, none: profile" });
    const begun = readResults(at);
    expect(begun.injections.length).toBeGreaterThan(0);
    const whole = await runTestCampaign(directory(), settings);
    expect(begun.injections.length).toBeLessThan(whole.injections.length);
    const resumed = await runTestCampaign(at, settings, { resume: true });
    expect(table(resumed)).toEqual(table(whole));
  });

  it("begins nothing after the abort", async () => {
    const at = directory();
    const signal = AbortSignal.abort(new Error("never"));
    await expect(runTestCampaign(at, settings, { signal })).rejects.toThrow("never");
    expect(() => readResults(at)).toThrow(expect.objectContaining({ code: "BELAY608" }));
  });

  it("refuses options that do not exist", async () => {
    const options = { progress: () => {} } as never;
    await expect(runTestCampaign(directory(), settings, options)).rejects.toThrow(
      "there is no option progress: the options are directory, settings,",
    );
  });
});

it("refuses to go on, and to replay, with another version of a program", async () => {
  const at = directory();
  const settings = campaignSettings(["sum"], { structures: ["ALU"], margin: 0.45, bound: 0.45 });
  const { injections } = await runTestCampaign(at, settings);
  vi.stubEnv("BELAY_TEST_DIGEST", "2");
  const refusal = {
    code: "BELAY607",
    message: "sum is another version than the one that the campaign was begun with",
  };
  await expect(replay(at, injections[0]!.id, programsModule)).rejects.toMatchObject(refusal);
  await expect(runTestCampaign(directory(), settings)).rejects.toMatchObject(refusal);
  vi.unstubAllEnvs();
});

describe("another adapter than the one that a campaign was begun on", () => {
  const settings = campaignSettings(["sum"], { structures: ["ALU"], margin: 0.45, bound: 0.45 });

  /** Begins a campaign elsewhere, with the first `records` of one from here. */
  function begunElsewhere(from: string, records: number): string {
    const at = directory();
    const stored = readStore(from);
    using store = Store.create(at, stored.header);
    for (const record of stored.records.slice(0, records)) {
      if (record.kind === "header") continue;
      store.append(record.kind === "adapter" ? { kind: "adapter", description: "a GPU" } : record);
    }
    return at;
  }

  it("does not go on with it, before or after the profile, and shows both in a replay", async () => {
    const here = directory();
    const { adapter, injections } = await runTestCampaign(here, settings);
    expect(readStore(here).records[0]).toEqual({ kind: "adapter", description: adapter });
    // The adapter alone, and all but the last injection.
    for (const records of [1, readStore(here).records.length - 1]) {
      const at = begunElsewhere(here, records);
      await expect(runTestCampaign(at, settings, { resume: true })).rejects.toMatchObject({
        code: "BELAY613",
        message: `${at} was begun on a GPU, and the adapter here is ${adapter}`,
      });
      expect(readStore(at).records.length).toBe(records);
    }
    expect((await replay(here, injections[0]!.id, programsModule)).elsewhere).toBeUndefined();
    const all = begunElsewhere(here, Number.POSITIVE_INFINITY);
    const replayed = await replay(all, injections[0]!.id, programsModule);
    expect(replayed.elsewhere).toEqual({ begunOn: "a GPU", present: adapter });
  });
});

it("leaves programs out that are bad without a fault, each with its reason", async () => {
  const reasons = {
    random: "BELAY601: random is not deterministic: value[0] was 0 in one run and 1 in the next",
    throwing: "BELAY602: throwing fails without a fault: out of cheese",
    empty: "BELAY602: empty fails without a fault: it resolves to no typed arrays",
    idle: "BELAY603: idle runs no kernel with anything that a fault can strike",
  };
  const results = await runTestCampaign(directory(), campaignSettings(Object.keys(reasons)));
  const found = results.skipped
    .filter(({ configuration }) => configuration === "none")
    .map(({ program, code, message }) => [program, `${code}: ${message}`]);
  expect(Object.fromEntries(found)).toEqual(reasons);
  // What is bad without protection is not tried with it.
  expect(results.skipped.length).toBe(8);
  expect(summarize(results)).toMatchObject({ ok: false, cells: [] });
  const endless = await runTestCampaign(directory(), campaignSettings(["endless"]), { openLimitMs: 1000 });
  expect(endless.skipped.map(({ code, message }) => `${code}: ${message}`)).toContain(
    "BELAY604: endless does not end: no answer in 1.0 s",
  );
  expect([endless.skipped.length, summarize(endless).ok]).toEqual([2, false]);
});
