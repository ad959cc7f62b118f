import type { Ceilings } from "../bench/ceilings.ts";
import { type Flavor, flavors, nameOf, usualOf } from "../bench/configurations.ts";
import type { Overhead } from "../bench/overhead.ts";
import { isSound, type ProgramResult } from "../bench/rmt.ts";
import type { Check } from "../compiler/contract.ts";
import type { Bar, BarsSection, Cell, Report, Section, TableSection } from "../report/report.ts";
import type { RmtRun } from "./benchRmt.ts";

const checks: readonly Check[] = ["store", "signature"];

/** Puts the measurements into a report's terms. */
export function describeRmt(run: RmtRun): Report {
  const { programs, adapter, size, runs } = run;
  const bad = programs.filter((program) => !isSound(program));
  return {
    title: "belay bench rmt",
    verdict: {
      ok: run.ok,
      headline: run.ok
        ? `${programs.length} programs measured, every result right, no false alarm`
        : `${bad.length} of ${programs.length} programs failed`,
      detail: `Size ${size}, ${runs} runs each, on ${adapter.description}.${caveat(run)}`,
    },
    sections: [
      { ...summaryTable(run), lead: "Medians of GPU time; ratios of protected to unprotected, run in turn." },
      ...checks.flatMap((check) => flavorSection(run, check)),
      ...channelSection(run),
      ...rooflineSections(run),
      ...checks.flatMap((check) => componentsSection(run, check)),
      ...powerSections(run),
      ...faultFreeSection(run),
      ...everyRatioSection(run),
      ...problemsSection(run),
      {
        kind: "facts",
        title: "Machine",
        facts: [
          ["Adapter", adapter.description],
          ["Chosen because", adapter.reason],
          ["Node.js", run.node],
          ["Platform", run.platform],
          ["Date", run.date],
          ...(run.ceilings ? ceilingFacts(run.ceilings) : []),
          ["Power readings", run.powerSource ?? "none: nvidia-smi is missing, or knows no power"],
        ],
      },
      { kind: "commands", title: "Reproduce", commands: [`belay bench rmt --size ${size} --runs ${runs}`] },
    ],
  };
}

const caveat = ({ adapter }: RmtRun) =>
  adapter.kind === "hardware" ? "" : " A software adapter ran this: its times say nothing about a GPU.";

/** One row for each program: what it takes unprotected, and the ratios of each flavor. */
export function summaryTable({ programs }: RmtRun): TableSection {
  const pairs = flavors.flatMap((flavor) => checks.map((check) => [flavor, check] as const));
  return {
    kind: "table",
    title: "Programs",
    columns: [
      { label: "Program" },
      { label: "Result" },
      { label: "Unprotected", align: "end" },
      ...pairs.map(([flavor, check]) => ({ label: `${flavor} ${check}`, align: "end" as const })),
      { label: "Limit", align: "end" },
    ],
    rows: programs.map((program) => [
      { text: program.name },
      { text: isSound(program) ? "right" : program.verdict.ok ? "FAILED" : "WRONG", ok: isSound(program) },
      { text: milliseconds(measured(program)[0]?.unprotected.median) },
      ...pairs.map(([flavor, check]) => ({ text: ratio(usual(program, flavor, check)?.ratio) })),
      { text: ratio(program.roofline?.limit) },
    ]),
  };
}

/** Figures 2 and 6. */
function flavorSection({ programs }: RmtRun, check: Check): BarsSection[] {
  const bars = programs.flatMap((program) =>
    flavors.map((flavor) => barOf(program.name, flavor, usual(program, flavor, check)?.ratio)),
  );
  return barsSection({
    title: `Overhead, compared ${check === "store" ? "before each store" : "by signature"} (figures 2 and 6)`,
    lead: "Replicas are adjacent invocations and exchange registers where the device has subgroups. Inter-Group replicas are workgroups.",
    axis: "protected / unprotected time",
    series: flavors,
    bars,
  });
}

/** Figure 9. */
function channelSection({ programs }: RmtRun): BarsSection[] {
  const series = ["registers", "workgroup memory"] as const;
  const bars = programs.flatMap((program) =>
    series.map((name) => {
      const channel = name === "registers" ? "subgroup" : "workgroup";
      const found = measured(program).find(
        (each) =>
          each.redundancy === "intra+lds" &&
          each.check === "store" &&
          each.channel === channel &&
          each.pairing === "adjacent",
      );
      return barOf(program.name, name, found?.ratio);
    }),
  );
  return barsSection({
    title: "Register exchange against workgroup memory (figure 9)",
    lead: "Intra-Group+LDS, compared before each store.",
    axis: "protected / unprotected time",
    series,
    bars,
  });
}

/** Figure 3. */
function rooflineSections({ programs, ceilings }: RmtRun): Section[] {
  if (!ceilings) return [];
  const rows = programs.flatMap(({ name, roofline, ...program }): Cell[][] => {
    if (!roofline) return [];
    const best = Math.min(...measured(program).map((each) => each.ratio));
    return [
      [
        { text: name },
        { text: rate(roofline.bytesPerSecond, "B/s") },
        { text: share(roofline.bytesPerSecond, ceilings.memory) },
        { text: roofline.flopsPerSecond > 0 ? rate(roofline.flopsPerSecond, "FLOP/s") : "integers" },
        { text: roofline.flopsPerSecond > 0 ? share(roofline.flopsPerSecond, ceilings.flops) : "" },
        { text: milliseconds(roofline.memoryTime) },
        { text: milliseconds(roofline.computeTime) },
        { text: ratio(roofline.limit) },
        { text: ratio(Number.isFinite(best) ? best : undefined) },
      ],
    ];
  });
  const labels = [
    "Bytes",
    "of a copy",
    "Operations",
    "of the best",
    "Memory",
    "Compute",
    "Limit",
    "Measured best",
  ];
  return [
    {
      kind: "table",
      title: "Memory and arithmetic (figure 3)",
      lead: "Memory: the time that the program's least bytes take at the rate of a copy. Compute: its time with the indices of its buffers wrapped around to a MiB each, which stay in the cache. The limit of full replication is the longer of memory and twice compute, over the program's time.",
      columns: [{ label: "Program" }, ...labels.map((label) => ({ label, align: "end" as const }))],
      rows,
    },
  ];
}

/** Figures 4 and 7. */
function componentsSection({ programs }: RmtRun, check: Check): Section[] {
  const rows = programs.flatMap((program) =>
    program.components.map(({ redundancy, reserved, computed }): Cell[] => {
      const all = usual(program, redundancy, check)?.ratio ?? null;
      return [
        { text: `${program.name}, ${redundancy}` },
        { text: added(1, reserved) },
        { text: added(reserved, computed) },
        { text: added(computed, all) },
        { text: ratio(all) },
      ];
    }),
  );
  if (rows.length === 0) return [];
  const labels = ["Doubled workgroups", "Redundant computation", "Communication", "In all"];
  return [
    {
      kind: "table",
      title: `Components, compared ${check === "store" ? "before each store" : "by signature"} (figures 4 and 7)`,
      lead: "What each step adds, in parts of the unprotected time: workgroups, or grids, are doubled but the second half only holds its resources; then it computes, and nothing is compared; then everything.",
      columns: [{ label: "Program" }, ...labels.map((label) => ({ label, align: "end" as const }))],
      rows,
    },
  ];
}

/** Figure 5. */
function powerSections(run: RmtRun): Section[] {
  const series = ["none", ...flavors] as const;
  return (["average", "peak"] as const).flatMap((kind) =>
    barsSection({
      title: `${kind === "average" ? "Average" : "Peak"} power (figure 5)`,
      lead: `Of each program run again and again, read by ${run.powerSource}.`,
      axis: "watts",
      series,
      bars: run.programs.flatMap(({ name, power }) =>
        power.map((each) => ({
          group: name,
          series: each.redundancy,
          value: each[kind],
          label: each[kind].toFixed(0),
        })),
      ),
    }),
  );
}

function faultFreeSection({ programs }: RmtRun): Section[] {
  const rows = programs.flatMap(({ name, faultFree }): Cell[][] => {
    if (faultFree.length === 0) return [];
    const counted = faultFree.filter((each) => "runs" in each);
    const sum = (count: (each: (typeof counted)[number]) => number) =>
      counted.reduce((total, each) => total + count(each), 0);
    const [detections, different] = [sum((each) => each.detections), sum((each) => each.different)];
    return [
      [
        { text: name },
        { text: String(counted.length) },
        { text: String(sum((each) => each.runs)) },
        { text: String(detections), ok: detections === 0 },
        { text: String(different), ok: different === 0 },
      ],
    ];
  });
  if (rows.length === 0) return [];
  const labels = ["Configurations", "Runs", "False alarms", "Other results"];
  return [
    {
      kind: "table",
      title: "Runs without a fault",
      columns: [{ label: "Program" }, ...labels.map((label) => ({ label, align: "end" as const }))],
      rows,
    },
  ];
}

function everyRatioSection({ programs }: RmtRun): Section[] {
  const rows = programs.flatMap((program) =>
    measured(program).map((each): Cell[] => [
      { text: program.name },
      { text: nameOf(each) },
      { text: milliseconds(each.unprotected.median) },
      { text: milliseconds(each.protected.median) },
      { text: `${milliseconds(each.protected.lower)} to ${milliseconds(each.protected.upper)}` },
      { text: ratio(each.ratio) },
    ]),
  );
  if (rows.length === 0) return [];
  const labels = ["Unprotected", "Protected", "Quartiles", "Ratio"];
  return [
    {
      kind: "table",
      title: "Every configuration",
      columns: [
        { label: "Program" },
        { label: "Configuration" },
        ...labels.map((label) => ({ label, align: "end" as const })),
      ],
      rows,
    },
  ];
}

/** What was wrong, or stayed unprotected. */
function problemsSection({ programs }: RmtRun): Section[] {
  const rows = programs.flatMap(({ name, verdict, overheads, faultFree }) => {
    const found: Cell[][] = verdict.ok
      ? []
      : [[{ text: name }, { text: "" }, { text: verdict.message, ok: false }]];
    for (const each of [...overheads, ...faultFree]) {
      const problem = problemOf(each);
      if (problem) found.push([{ text: name }, { text: nameOf(each) }, problem]);
    }
    return found;
  });
  if (rows.length === 0) return [];
  const columns = [{ label: "Program" }, { label: "Configuration" }, { label: "What" }];
  return [{ kind: "table", title: "Problems and kernels left unprotected", columns, rows }];
}

type Measured = ProgramResult["overheads"][number] | ProgramResult["faultFree"][number];

function problemOf(each: Measured): Cell | undefined {
  if ("refused" in each) return { text: each.refused };
  if ("failed" in each) return { text: each.failed, ok: false };
  if (each.detections > 0) return { text: `${each.detections} false alarms`, ok: false };
  const differs = "identical" in each ? !each.identical : each.different > 0;
  return differs ? { text: "other bits than unprotected", ok: false } : undefined;
}

const measured = ({ overheads }: Pick<ProgramResult, "overheads">): Overhead[] =>
  overheads.filter((each) => "ratio" in each);

/** A flavor's overhead in the configuration that stands for it. */
function usual({ overheads }: ProgramResult, flavor: Flavor, check: Check): Overhead | undefined {
  const found = usualOf(overheads, flavor, check);
  return found && "ratio" in found ? found : undefined;
}

function barsSection(section: Omit<BarsSection, "kind" | "bars"> & { bars: readonly (Bar | undefined)[] }) {
  const bars = section.bars.filter((bar) => bar !== undefined);
  return bars.length === 0 ? [] : [{ ...section, kind: "bars" as const, bars }];
}

const barOf = (group: string, series: string, value: number | undefined): Bar | undefined =>
  value === undefined ? undefined : { group, series, value, label: value.toFixed(2) };

function ceilingFacts({ memory, cache, flops, integers }: Ceilings) {
  return [
    ["Copy, in memory", rate(memory, "B/s")],
    ["Copy, in the cache", rate(cache, "B/s")],
    ["Fused multiply-adds", rate(flops, "FLOP/s")],
    ["Integer multiply-adds", rate(integers, "op/s")],
  ] as const;
}

const ratio = (value: number | null | undefined) => (value == null ? "" : `${value.toFixed(2)}x`);
const milliseconds = (value: number | undefined) => (value === undefined ? "" : `${value.toFixed(3)} ms`);
const share = (value: number, of: number) => `${((100 * value) / of).toFixed(0)} %`;
const rate = (value: number, unit: string) =>
  value >= 1e12 ? `${(value / 1e12).toFixed(2)} T${unit}` : `${(value / 1e9).toFixed(1)} G${unit}`;
const added = (before: number | null, after: number | null) =>
  before === null || after === null ? "" : `${after < before ? "" : "+"}${(after - before).toFixed(2)}`;
