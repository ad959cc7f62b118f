import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { summarize } from "../../src/campaign/summary.ts";
import { campaignSettings, runTestCampaign } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-campaign-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const directory = () => join(folder, String(made++));

describe("a campaign", () => {
  it("finds silent corruption without protection, none where all is covered, and some beside it", async () => {
    const results = await runTestCampaign(directory(), campaignSettings("sum"));
    const summary = summarize(results);
    expect(summary.problems).toEqual([]);
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
});
