/** The figures of the paper on redundant multithreading, as sections of a report. */
import { type Configuration, type Flavor, flavors, usualOf } from "../bench/configurations.ts";
import type { Overhead } from "../bench/overhead.ts";
import type { ProgramResult } from "../bench/rmtProgram.ts";
import type { Check } from "../compiler/contract.ts";
import type { Bar, BarsSection, Cell, Section } from "../report/report.ts";
import type { RmtRun } from "./benchRmt.ts";
import { milliseconds, rate, ratio, share } from "./quantities.ts";
import { barsSection, columnsOf, tableSection } from "./sections.ts";

const checks: readonly Check[] = ["store", "signature"];
const compared = (check: Check) => `compared ${check === "store" ? "before each store" : "by signature"}`;

/** Every figure for which something was measured, in the paper's order. */
export function figures(run: RmtRun): Section[] {
  return [
    ...checks.flatMap((check) => flavorSection(run, check)),
    ...rooflineSections(run),
    ...checks.flatMap((check) => componentsSection(run, check)),
    ...powerSections(run),
    ...placeSections(run),
  ];
}

/** Figures 2 and 6. */
function flavorSection({ programs }: RmtRun, check: Check): BarsSection[] {
  return barsSection({
    title: `Overhead, ${compared(check)} (figures 2 and 6)`,
    lead: "Replicas are adjacent invocations and exchange registers where the device has subgroups. Inter-Group replicas are workgroups.",
    axis: "protected / unprotected time",
    series: flavors,
    bars: programs.flatMap((program) =>
      flavors.map((flavor) => barOf(program.name, flavor, usual(program, flavor, check)?.ratio)),
    ),
  });
}

/** Figure 9, and where and when the replicas run, which the paper did not vary. */
function placeSections(run: RmtRun): BarsSection[] {
  return [
    ...placeSection(run, {
      title: "Register exchange against workgroup memory (figure 9)",
      check: "store",
      places: {
        registers: { channel: "subgroup", pairing: "adjacent" },
        "workgroup memory": { channel: "workgroup", pairing: "adjacent" },
      },
    }),
    ...placeSection(run, {
      title: "Where and when the replicas run",
      check: "signature",
      places: {
        "adjacent lanes": { channel: "subgroup", pairing: "adjacent" },
        "half a subgroup apart": { channel: "subgroup", pairing: "half-subgroup" },
        "different subgroups": { channel: "workgroup", pairing: "subgroups" },
        "one after the other": { channel: "auto", pairing: "passes" },
      },
    }),
  ];
}

interface Places {
  readonly title: string;
  readonly check: Check;
  readonly places: Readonly<Record<string, Pick<Configuration, "channel" | "pairing">>>;
}

function placeSection({ programs }: RmtRun, { title, check, places }: Places): BarsSection[] {
  return barsSection({
    title,
    lead: `Intra-Group+LDS, ${compared(check)}.`,
    axis: "protected / unprotected time",
    series: Object.keys(places),
    bars: programs.flatMap((program) =>
      Object.entries(places).map(([name, { channel, pairing }]) => {
        const found = measured(program).find(
          (each) =>
            each.redundancy === "intra+lds" &&
            each.check === check &&
            each.channel === channel &&
            each.pairing === pairing,
        );
        return barOf(program.name, name, found?.ratio);
      }),
    ),
  });
}

/** Figure 3. */
function rooflineSections({ programs, ceilings }: RmtRun): Section[] {
  if (!ceilings) return [];
  const known = programs.flatMap(({ roofline, ...program }) => (roofline ? [{ ...program, roofline }] : []));
  const best = (program: Pick<ProgramResult, "overheads">) =>
    measured(program).reduce<number | undefined>(
      (least, { ratio }) => Math.min(least ?? ratio, ratio),
      undefined,
    );
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
    ...tableSection(
      {
        title: "Memory and arithmetic (figure 3)",
        lead: "Memory: the time that the program's least bytes take at the rate of a copy. Compute: its time with the indices of its buffers wrapped around to a MiB each, which stay in the cache. The limit of full replication is the longer of memory and twice compute, over the program's time.",
      },
      columnsOf(["Program"], labels),
      known.map((program): Cell[] => {
        const { bytesPerSecond, flopsPerSecond, memoryTime, computeTime, limit } = program.roofline;
        const floats = flopsPerSecond > 0;
        return [
          { text: program.name },
          { text: rate(bytesPerSecond, "B/s") },
          { text: share(bytesPerSecond, ceilings.memory) },
          { text: floats ? rate(flopsPerSecond, "FLOP/s") : "integers" },
          { text: floats ? share(flopsPerSecond, ceilings.flops) : "" },
          { text: milliseconds(memoryTime) },
          { text: milliseconds(computeTime) },
          { text: ratio(limit) },
          { text: ratio(best(program)) },
        ];
      }),
    ),
    ...barsSection({
      title: "The limit of full replication, and the best that was measured",
      axis: "protected / unprotected time",
      series: ["limit", "measured best"],
      bars: known.flatMap((program) => [
        barOf(program.name, "limit", program.roofline.limit),
        barOf(program.name, "measured best", best(program)),
      ]),
    }),
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
  return tableSection(
    {
      title: `Components, ${compared(check)} (figures 4 and 7)`,
      lead: "What each step adds, in parts of the unprotected time: workgroups, or grids, are doubled but the second half only holds its resources; then it computes, and nothing is compared; then everything.",
    },
    columnsOf(["Program"], ["Doubled workgroups", "Redundant computation", "Communication", "In all"]),
    rows,
  );
}

/** Figure 5. */
function powerSections({ programs, powerSource }: RmtRun): Section[] {
  return (["average", "peak"] as const).flatMap((kind) =>
    barsSection({
      title: `${kind === "average" ? "Average" : "Peak"} power (figure 5)`,
      lead: `Of each program run again and again, compared by signature, read by ${powerSource}.`,
      axis: "watts",
      series: ["none", ...flavors],
      bars: programs.flatMap(({ name, power }) =>
        power.map((each) => barOf(name, each.redundancy, each[kind], each[kind].toFixed(0))),
      ),
    }),
  );
}

export const measured = ({ overheads }: Pick<ProgramResult, "overheads">): Overhead[] =>
  overheads.filter((each) => "ratio" in each);

/** A flavor's overhead in the configuration that stands for it. */
export function usual({ overheads }: ProgramResult, flavor: Flavor, check: Check): Overhead | undefined {
  const found = usualOf(overheads, flavor, check);
  return found && "ratio" in found ? found : undefined;
}

const barOf = (
  group: string,
  series: string,
  value: number | undefined,
  label = value?.toFixed(2),
): Bar | undefined => (value === undefined ? undefined : { group, series, value, label: label! });

const added = (before: number | null, after: number | null) =>
  before === null || after === null ? "" : `${after < before ? "" : "+"}${(after - before).toFixed(2)}`;
