import { expect, it } from "vitest";
import { campaignSettings } from "../../test/campaign/settings.ts";
import { campaignConfigurations } from "./configurations.ts";
import { Results } from "./results.ts";
import { summarize } from "./summary.ts";

it("says which structures nothing stands for, and that a campaign without a fault shows nothing", () => {
  const settings = campaignSettings(["a"], { structures: ["SU", "LDS"] });
  const results = new Results({ kind: "header", version: 1, settings, shard: { index: 0, count: 1 } }, []);
  for (const { name: configuration } of settings.configurations) {
    results.add({
      ...{ kind: "unit", program: "a", configuration, adapter: "", gaps: [], buffers: [8], sameBits: true },
      ...{ kernels: [], milliseconds: { plain: 1, protected: 1 } },
    });
  }
  expect(summarize(results)).toMatchObject({
    ok: false,
    problems: ["no fault was injected: nothing can be struck in SU, LDS"],
    unstruck: ["SU", "LDS"],
  });
});

it("judges a configuration by the faults that it claims to detect", () => {
  const [none, passes] = campaignConfigurations({
    flavors: ["intra+lds"],
    checks: ["signature"],
    pairing: "passes",
  });
  const settings = campaignSettings(["a"], {
    ...{ structures: ["ALU"], configurations: [none!, passes!], minimum: 80 },
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
    ...{ kind: "unit", program: "a", configuration, adapter: "", gaps: [], buffers: [8], sameBits: true },
    ...{
      kernels: [{ kernel: "k", source: "x", sites: [site] } as never],
      milliseconds: { plain: 1, protected: 1 },
    },
  });
  for (let number = 0; number < 100; number++) {
    const isStuck = number % 5 === 0;
    results.add({
      ...{
        kind: "injection",
        id: `${number}`,
        program: "a",
        configuration,
        kernel: "k",
        structure: "ALU",
        number,
      },
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
