import { parseHTML } from "linkedom";
import { describe, expect, it } from "vitest";
import { renderPage } from "./page.ts";
import type { FaultsSection, ReportDocument } from "./report.ts";

const source = "@compute @workgroup_size(64)\nfn scale() {\n  out[0] = a < b && c;\n}\n";

const report: ReportDocument = {
  title: "belay demo",
  verdict: {
    ok: true,
    headline: "1 of 1 workloads agreed",
    next: "Next: nothing.",
    detail: "software <adapter>",
  },
  sections: [
    {
      kind: "table",
      title: "Workloads",
      columns: [{ label: "Workload" }, { label: "Agreed" }, { label: "Time", align: "end" }],
      rows: [[{ text: "scale" }, { text: "yes", ok: true }, { text: "1.5 ms" }]],
    },
    {
      kind: "bars",
      title: "Time",
      axis: "milliseconds",
      series: ["plain", "protected"],
      noise: "Of one run.",
      bars: [
        { group: "scale", series: "plain", value: 1, label: "1.0" },
        { group: "scale", series: "protected", value: 1.5, label: "1.5" },
      ],
    },
    {
      kind: "faults",
      title: "Faults",
      faults: [
        {
          title: "scale",
          source,
          span: { start: source.indexOf("out[0]"), end: source.indexOf(" =") },
          facts: [["values", "1 and 2"]],
        },
      ],
    },
    {
      kind: "ranges",
      title: "Bits",
      across: "position",
      axis: "percent",
      series: ["plain"],
      ranges: [
        { series: "plain", at: "0 to 3", value: 1, low: 0.5, high: 2 },
        { series: "plain", at: "28 to 31", value: 3, low: 2, high: 5 },
      ],
    },
    {
      kind: "listings",
      title: "Lines",
      listings: [{ title: "scale", source, remarks: [{ line: 3, text: "40 % of 5", weight: 0.4 }] }],
    },
    { kind: "facts", title: "Machine", facts: [["adapter", "SwiftShader"]] },
    { kind: "commands", title: "Again", commands: ["npm start"] },
  ],
};

describe("renderPage", () => {
  const { document } = parseHTML(renderPage(report));

  it("says the verdict first", () => {
    expect(document.querySelector("h1")?.textContent).toBe("1 of 1 workloads agreed");
    expect(document.querySelector("title")?.textContent).toBe("✓ belay demo");
  });

  it("escapes what it is given", () => {
    expect(document.querySelector("header")?.textContent).toContain("software <adapter>");
    expect(renderPage(report)).not.toContain("<adapter>");
  });

  it("names rows and columns for a screen reader", () => {
    expect(document.querySelectorAll('th[scope="col"]').length).toBe(3);
    expect(document.querySelector('th[scope="row"]')?.textContent).toBe("scale");
    expect(document.querySelector("caption")?.textContent).toBe("Workloads");
  });

  it("marks the struck span in its numbered line", () => {
    expect(document.querySelector("mark")?.textContent).toBe("out[0]");
    expect(document.querySelector(".struck")?.textContent).toBe("3  out[0] = a < b && c;");
  });

  it.each(["wide", "narrow"])("draws one bar per value for %s screens", (screen) => {
    const bars = document.querySelectorAll(`.${screen} [aria-label="bar"] :is(path, rect)`);
    expect(bars.length).toBe(2);
  });

  it("tells the noise of bars below them", () => {
    expect([...document.querySelectorAll("figcaption")].map(({ textContent }) => textContent)).toEqual([
      "Of one run.",
    ]);
  });

  it.each(["wide", "narrow"])("draws an interval around each value of a range for %s screens", (screen) => {
    expect(document.querySelectorAll(`.${screen} [aria-label="rule"] [stroke-opacity]`).length).toBe(2);
    expect(document.querySelectorAll(`.${screen} [aria-label="dot"] circle`).length).toBe(2);
    expect(document.body.textContent).toContain("28 to 31");
  });

  it("shows the whole of a listing, and what there is to say beside its line", () => {
    const lines = [...document.querySelectorAll(".listing .line")].map((line) => line.textContent);
    expect(lines).toEqual([
      "1@compute @workgroup_size(64)",
      "2fn scale() {",
      "40 % of 53  out[0] = a < b && c;",
      "4}",
    ]);
    expect(document.querySelector('.listing [style*="40%"]')?.textContent).toContain("out[0]");
  });

  it("folds all cards of a section but the first", () => {
    const faults = report.sections.find((section): section is FaultsSection => section.kind === "faults")!;
    const twice = { ...faults, faults: [...faults.faults, ...faults.faults] };
    const { document } = parseHTML(renderPage({ ...report, sections: [twice] }));
    expect([...document.querySelectorAll("details")].map((card) => card.hasAttribute("open"))).toEqual([
      true,
      false,
    ]);
  });

  it("folds a table of many rows", () => {
    const columns = [{ label: "Number" }];
    const rows = Array.from({ length: 41 }, (_, i) => [{ text: String(i) }]);
    const folded = (count: number) => {
      const sections = [{ kind: "table", title: "Times", columns, rows: rows.slice(0, count) }] as const;
      const { document } = parseHTML(renderPage({ ...report, sections }));
      return document.querySelector("details:not([open]) summary")?.textContent;
    };
    expect([folded(40), folded(41)]).toEqual([undefined, "41 rows"]);
  });

  it("leaves out columns of counts with zeros only", () => {
    const columns = [
      { label: "Program" },
      { label: "Hang", isCount: true },
      { label: "Silent", isCount: true },
    ] as const;
    const rows = [
      [{ text: "scale" }, { text: "0" }, { text: "1" }],
      [{ text: "sum" }, { text: "" }, { text: "0" }],
    ];
    const sections = [{ kind: "table", title: "Outcomes", columns, rows }] as const;
    const { document } = parseHTML(renderPage({ ...report, sections }));
    expect([...document.querySelectorAll("thead th")].map(({ textContent }) => textContent)).toEqual([
      "Program",
      "Silent",
    ]);
    expect([...document.querySelectorAll("td")].map((cell) => cell.dataset.label)).toEqual([
      "Silent",
      "Silent",
    ]);
  });

  it("leaves out columns without a text", () => {
    const columns = [{ label: "Program" }, { label: "Limit" }, { label: "Ratio" }];
    const rows = [[{ text: "scale" }, { text: "" }, { text: "1.5x" }]];
    const sections = [{ kind: "table", title: "Times", columns, rows }] as const;
    const { document } = parseHTML(renderPage({ ...report, sections }));
    expect([...document.querySelectorAll("thead th")].map(({ textContent }) => textContent)).toEqual([
      "Program",
      "Ratio",
    ]);
  });

  it("says what to do after the verdict", () => {
    expect(document.querySelector("h1 + p")?.textContent).toBe("Next: nothing.");
  });

  it("asks for nothing from outside", () => {
    expect(renderPage(report)).not.toMatch(/<script|<link|@import|url\(|src=|href=/);
  });
});
