import { expect, it } from "vitest";
import { campaignSettings } from "../../test/campaign/settings.ts";
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
