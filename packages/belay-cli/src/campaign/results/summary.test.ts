import { describe, expect, it } from "vitest";
import { campaignSettings } from "../../../../../test/campaign/settings.ts";
import { campaignConfigurations } from "../model/configurations.ts";
import type { CampaignSettings, InjectionRecord } from "../model/records.ts";
import { Results } from "./results.ts";
import { summarize } from "./summary.ts";

describe("what was not tested", () => {
  const summaryOf = (
    changed: Partial<CampaignSettings>,
    { buffers = [], injections = [] }: { buffers?: number[]; injections?: Partial<InjectionRecord>[] } = {},
    shard = { index: 0, count: 1 },
  ) => {
    const settings = campaignSettings(["a"], { bound: 0.4, margin: 0.4, ...changed });
    const results = new Results({ kind: "header", version: 1, settings, shard }, []);
    for (const { name: configuration } of settings.configurations) {
      results.add({
        kind: "unit",
        program: "a",
        configuration,
        gaps: [],
        buffers,
        sameBits: true,
        kernels: [],
        milliseconds: { plain: 1, protected: 1 },
      });
      for (const [number, injection] of injections.entries()) {
        results.add({
          kind: "injection",
          id: `${number}`,
          program: "a",
          configuration,
          kernel: "",
          number,
          structure: "memory",
          model: "at-rest",
          outcome: "masked",
          fault: { buffer: 0, byteOffset: 0, mask: 1 },
          ...injection,
        });
      }
    }
    return summarize(results);
  };
  const plain = campaignConfigurations({ flavors: [], checks: [], pairing: "adjacent" });
  const coded = campaignConfigurations({
    flavors: [],
    checks: [],
    pairing: "adjacent",
    memory: ["secded128"],
  });
  const masked = Array.from({ length: 40 }, () => ({}));

  it("is absent where the programs execute nothing of it, which fails a campaign that names it", () => {
    expect(summaryOf({ structures: ["SU", "LDS"] })).toMatchObject({
      ok: false,
      problems: ["the programs execute nothing of SU, LDS"],
      untested: [],
      absent: [
        { configuration: "none", structure: "SU", inside: false },
        { configuration: "none", structure: "LDS", inside: false },
        { configuration: "intra+lds signature", structure: "SU", inside: false },
        { configuration: "intra+lds signature", structure: "LDS", inside: true },
      ],
    });
  });

  it("is absent without a failure by default, although it is claimed", () => {
    const summary = summaryOf({}, { buffers: [8], injections: masked });
    expect(summary).toMatchObject({ ok: true, problems: [], untested: [] });
    expect(summary.absent).toContainEqual({
      configuration: "intra+lds signature",
      structure: "LDS",
      inside: true,
    });
  });

  it("is not absent where a program may have it that was not profiled", () => {
    const programs = ["a", "b"].map((name) => ({ name, digest: "1" }));
    const summary = summaryOf({ programs }, { buffers: [8], injections: masked });
    expect(summary.absent).toEqual([]);
    expect(summary.problems).toContain(
      "intra+lds signature was not tested in ALU, VRF, LDS: not every program was profiled",
    );
  });

  it("is not absent where none of the models strikes it", () => {
    const summary = summaryOf({ models: ["single-bit"] }, { buffers: [8] });
    expect(summary.untested).toMatchObject([
      { configuration: "none", structure: "memory", why: "none of the models strikes it" },
      { configuration: "intra+lds signature", structure: "memory" },
    ]);
    expect(summaryOf({ configurations: coded, models: ["single-bit"] }, { buffers: [8] }).problems).toEqual([
      "secded128 was not tested in memory: none of the models strikes it",
    ]);
  });

  it("fails a campaign where it is claimed, whatever was asked for", () => {
    expect(summaryOf({ configurations: coded })).toMatchObject({
      ok: false,
      problems: [
        "secded128 was not tested in memory: the programs have no buffer that can be struck at rest",
      ],
    });
    const struck = summaryOf({ configurations: coded }, { buffers: [8], injections: masked });
    expect(struck).toMatchObject({ ok: true, problems: [], untested: [] });
  });

  it("fails a campaign that names it, although nobody claims it", () => {
    expect(summaryOf({ structures: ["memory"], configurations: plain }).problems).toEqual([
      "none was not tested in memory: the programs have no buffer that can be struck at rest",
    ]);
    expect(summaryOf({ configurations: plain })).toMatchObject({
      ok: true,
      problems: [],
      untested: [{ structure: "memory" }],
    });
  });

  it("is what no injection has struck, and what a shard has no number of", () => {
    const missed = masked.map(() => ({ outcome: "notInjected" as const }));
    expect(summaryOf({ configurations: coded }, { buffers: [8], injections: missed })).toMatchObject({
      problems: [
        "none was not tested in memory: no injection has struck",
        "secded128 was not tested in memory: no injection has struck",
      ],
    });
    expect(summaryOf({ configurations: plain }, { buffers: [8] }, { index: 99, count: 100 })).toMatchObject({
      problems: ["none was not tested in memory: no injection"],
    });
  });

  it("is said to be unfinished where time ran out before", () => {
    expect(summaryOf({ configurations: plain }, { buffers: [8] })).toMatchObject({
      ok: false,
      problems: [expect.stringMatching(/^1 of 1 cells are not finished: 0 of \d+ injections$/)],
    });
  });

  it("is said to be unfinished in a shard that has too few injections to decide, and not to be covered less", () => {
    const options = {
      buffers: [8],
      injections: masked.slice(0, 2).map((each, i) => ({ ...each, number: 3 * i })),
    };
    const summary = summaryOf({ configurations: coded }, options, { index: 0, count: 3 });
    const cell = summary.cells.find(({ inside }) => inside)!;
    expect(summary).toMatchObject({ ok: false });
    expect(summary.problems.join()).toMatch(/cells are not finished: \d+ of \d+ injections \(shard 1\/3\)$/);
    expect(cell).toMatchObject({ claimed: { sdc: { events: 0 } }, planned: expect.any(Number) });
    expect(cell).not.toHaveProperty("holds");
  });

  it("is covered less than claimed only beyond doubt, in a shard too", () => {
    const silent = Array.from({ length: 40 }, (_, i) => ({ number: 3 * i, outcome: "sdc" as const }));
    const options = { buffers: [8], injections: silent };
    const { problems } = summaryOf({ configurations: coded, bound: 0.1 }, options, { index: 0, count: 3 });
    expect(problems.join()).toContain("secded128 covers memory less than claimed");
    expect(problems.join()).not.toContain("not finished");
  });
});

it("judges a configuration by the faults that it claims to detect", () => {
  const [none, passes] = campaignConfigurations({
    flavors: ["intra+lds"],
    checks: ["signature"],
    pairing: "passes",
  });
  const settings = campaignSettings(["a"], {
    structures: ["ALU"],
    configurations: [none!, passes!],
    minimum: 80,
  });
  const results = new Results({ kind: "header", version: 1, settings, shard: { index: 0, count: 1 } }, []);
  const configuration = passes!.name;
  const site = {
    id: 1,
    kind: "value",
    span: { start: 0, end: 1 },
    uniform: false,
    executions: 1,
    samples: [[0]],
  };
  results.add({
    kind: "unit",
    program: "a",
    configuration,
    gaps: [],
    buffers: [8],
    sameBits: true,
    kernels: [{ kernel: "k", source: "x", sites: [site] } as never],
    milliseconds: { plain: 1, protected: 1 },
  });
  for (let number = 0; number < 100; number++) {
    const isStuck = number % 5 === 0;
    results.add({
      kind: "injection",
      id: `${number}`,
      program: "a",
      configuration,
      kernel: "k",
      structure: "ALU",
      number,
      ...(isStuck
        ? { model: "stuck-lane" as const, outcome: "sdc" as const }
        : { model: "single-bit" as const, outcome: "recovered" as const }),
      fault: { kernel: "k", site: 1, effect: { xor: 1 } } as never,
    });
  }
  const [cell] = summarize(results).cells;
  expect(cell).toMatchObject({ holds: true, state: "reached", injections: 100 });
  expect([cell!.sdc.events, cell!.claimed!.sdc.events, cell!.claimed!.sdc.trials]).toEqual([20, 0, 80]);
});
