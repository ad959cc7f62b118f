import { type OpenedGpu, openGpu } from "belay-node/internal/adapter";
import { catalog } from "belay-research";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { campaignSettings } from "../../../../../test/campaign/settings.ts";
import { campaignConfigurations } from "../model/configurations.ts";
import { programStructures } from "../model/faultModel.ts";
import { classify } from "../model/outcome.ts";
import { injectionsOf } from "../planned.ts";
import { Session } from "./session.ts";

let opened: OpenedGpu;
beforeAll(async () => {
  opened = await openGpu();
});
afterAll(() => opened.close());

const configurations = campaignConfigurations({
  flavors: ["intra+lds", "inter"],
  checks: ["signature"],
  pairing: "adjacent",
  memory: ["secded32"],
});
const cases = [
  ...configurations.map((configuration) => ({ name: "reduction", configuration })),
  { name: "histogram", configuration: configurations[1]! },
];

it.each(cases)("observes in groups as one at a time: $name, $configuration.name", async (unit) => {
  const { name, configuration } = unit;
  const program = { name, digest: "", runs: catalog.find((each) => each.name === name)!.campaign() };
  const settings = campaignSettings([name], { configurations });
  const counted = { counted: [], seed: settings.seed };
  const { session, unit: record } = await Session.open(program, configuration, opened, counted);
  try {
    const ranges = programStructures.map((structure) => ({ structure, from: 0, to: 3 }));
    const faults = [...injectionsOf({ unit: record, ranges }, settings)].map(({ fault }) => fault);
    const alone = [];
    for (const fault of faults) alone.push(...(await session.inject([fault])));
    await session.widen(2);
    expect(await session.inject(faults)).toEqual(alone);
    expect(new Set(alone.map(({ results, detections }) => `${results} ${detections}`)).size).toBeGreaterThan(
      1,
    );
  } finally {
    session.close();
  }
});

describe("under checks by algebra", () => {
  const [, configuration] = campaignConfigurations({ flavors: ["algebra"], checks: [], pairing: "adjacent" });
  const named = (name: string) => ({
    name,
    digest: "",
    runs: catalog.find((each) => each.name === name)!.campaign(),
  });
  const counted = { counted: [], seed: 1 };

  it("strikes kernels that run once, and tells errors below the bound from silent corruption", async () => {
    // Random weights hide some wrong results. These are the same in each run.
    vi.spyOn(crypto, "getRandomValues").mockImplementation(
      (words) => (words as never as Uint32Array).fill(7) as never,
    );
    const { session, unit } = await Session.open(named("matrixProduct"), configuration!, opened, counted);
    try {
      expect(unit.kernels.map(({ kernel }) => kernel)).toEqual(["multiply alone"]);
      expect(await session.control(2)).toEqual({ runs: 2, detections: 0, different: 0 });
      const settings = campaignSettings(["matrixProduct"], { configurations: [configuration!] });
      const ranges = (["ALU", "LDS"] as const).map((structure) => ({ structure, from: 0, to: 12 }));
      const faults = [...injectionsOf({ unit, ranges }, settings)].map(({ fault }) => fault);
      expect(faults.every((fault) => "replica" in fault && fault.replica === 0)).toBe(true);
      const outcomes = new Set((await session.inject(faults)).map(classify));
      expect([...outcomes].sort()).toEqual(["belowBound", "masked", "recovered"]);
    } finally {
      session.close();
    }
  });

  it("refuses a program with a kernel that is not checked", async () => {
    await expect(Session.open(named("reduction"), configuration!, opened, counted)).rejects.toThrow(
      /kernel "\w+" stays unchecked in configuration algebra: dispatches are not checked by algebra: /,
    );
  });
});
