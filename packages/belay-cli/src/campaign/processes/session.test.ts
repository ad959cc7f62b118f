import { type OpenedGpu, openGpu } from "belay-node/internal/adapter";
import { catalog } from "belay-research";
import { afterAll, beforeAll, expect, it } from "vitest";
import { campaignSettings } from "../../../../../test/campaign/settings.ts";
import { campaignConfigurations } from "../model/configurations.ts";
import { programStructures } from "../model/faultModel.ts";
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
