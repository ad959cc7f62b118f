/** The demo, from one program to the report, including the picture in the README. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DemoResult, demonstrate, succeeded } from "belay-cli/internal/commands/demo/demonstrate";
import { describeDemo } from "belay-cli/internal/commands/demo/demoReport";
import { renderPage } from "belay-cli/internal/report/page";
import { openGpu } from "belay-node/internal/adapter";
import { catalog } from "belay-research/internal/workloads/samples/index";
import { parseHTML } from "linkedom";
import { describe, expect, it } from "vitest";
import { drawPicture } from "../support/results/demoPicture.ts";

const published: DemoResult = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../docs/demo.json"), "utf8"),
);

describe("demonstrate", () => {
  const policy = {
    redundancy: "intra+lds",
    check: "store",
    channel: "auto",
    pairing: "adjacent",
    diversity: false,
  } as const;
  const entry = catalog.find(({ name }) => name === "reduction")!;

  it("protects a program and recovers it from a fault", async () => {
    using opened = await openGpu();
    const shown = await demonstrate(entry, "small", opened, policy);
    expect(shown).toMatchObject({ results: { outcome: "identical" }, injection: { outcome: "recovered" } });
    expect(succeeded(shown)).toBe(true);
    const { source, struck, fault } = shown.injection;
    expect(source!.slice(struck!.start, struck!.end)).not.toBe("");
    expect(fault!.values[0]).not.toBe(fault!.values[1]);
  });

  it("reports a program that is not protected as unprotected", async () => {
    using opened = await openGpu();
    const shown = await demonstrate(entry, "small", opened, { ...policy, redundancy: "none" });
    expect(shown.injection.outcome).not.toBe("recovered");
    expect(succeeded(shown)).toBe(false);
  });
});

describe("describeDemo", () => {
  it("reports an error", () => {
    const [first, ...others] = published.programs;
    const wrong = { ...first!, results: { outcome: "wrong", message: "sum is 1 instead of 2" } } as const;
    const report = describeDemo({ ...published, ok: false, programs: [wrong, ...others] });
    expect(report.verdict).toMatchObject({
      ok: false,
      headline: `1 of ${published.programs.length} programs failed`,
    });
    expect(renderPage(report)).toContain('<span class="bad">wrong</span>');
  });

  it("lists the non-default options of a policy, in words and as flags", () => {
    const said = (redundancy: DemoResult["policy"]["redundancy"]) => {
      const policy = {
        redundancy,
        check: "store",
        channel: "auto",
        pairing: "adjacent",
        diversity: false,
      } as const;
      const { verdict, sections } = describeDemo({ ...published, policy });
      const command = sections.find((section) => section.kind === "commands")!.commands.at(-1)!;
      return [verdict.detail.replace(/, on .*/, ""), command.replace(/^npm start -- | --size .*/g, "")];
    };
    expect(said("auto")).toEqual(["redundancy chosen for each kernel", "--redundancy auto"]);
    expect(said("none")).toEqual(["no redundancy", "--redundancy none"]);
    expect(said("inter")).toEqual([
      "inter redundancy, store check, auto channel",
      "--redundancy inter --check store --channel auto",
    ]);
    expect(said("intra+lds")).toEqual([
      "intra+lds redundancy, store check, auto channel, adjacent pairing",
      "--redundancy intra+lds --check store --channel auto --pairing adjacent",
    ]);
  });

  it("marks the struck value of each program in its source", () => {
    const { document } = parseHTML(renderPage(describeDemo(published)));
    const marked = [...document.querySelectorAll("mark")].map(({ textContent }) => textContent);
    for (const { injection } of published.programs) {
      const { source, struck } = injection;
      expect(marked).toContain(source!.slice(struck!.start, struck!.end));
    }
  });

  it("draws the picture in the README", async () => {
    await expect(drawPicture(describeDemo(published))).toMatchFileSnapshot("../../docs/demo.svg");
  });
});
