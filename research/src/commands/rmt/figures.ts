/** The figures of the paper on redundant multithreading, as sections of a report. */
import type { BarsSection, Section, TableCell } from "belay-cli/internal/report/report";
import { barOf, barsSection, columnsOf, tableSection } from "belay-cli/internal/report/sections";
import type { Check } from "belay-gpu/internal/compiler/contract";
import { type Configuration, flavors } from "../../bench/measuring/configurations.ts";
import type { Overhead } from "../../bench/measuring/overhead.ts";
import type { ProgramResult } from "../../bench/rmt/program.ts";
import { noiseOf, ofRatios, quartilesOf } from "../results/noise.ts";
import type { RmtRun } from "../results/results.ts";
import { milliseconds, rate, ratio, share } from "../results/results.ts";
import { bestCovering, compared, measured, usual } from "./best.ts";

/** The parts of the overhead, and its power and energy: figures 4, 5 and 7 of the paper. */

const parts = ["doubled workgroups", "redundant computation", "communication"] as const;

/** Returns figures 4 and 7. */
export function componentsSections({ programs }: RmtRun, check: Check): Section[] {
  const known = programs.flatMap((program) =>
    program.components.flatMap(({ redundancy, reserved, computed }) => {
      const all = usual(program, redundancy, check)?.ratio;
      if (all === undefined) return [];
      const steps = [1, reserved, computed, all];
      const added = parts.map((_, i) => {
        const [before, after] = [steps[i]!, steps[i + 1]!];
        return before === null || after === null ? null : after - before;
      });
      return [{ name: `${program.name}, ${redundancy}`, added, all }];
    }),
  );
  const last = (added: readonly (number | null)[]) =>
    added.findLastIndex((each) => each !== null && each > 0);
  return [
    ...barsSection({
      title: `Components, ${compared(check)} (figures 4 and 7)`,
      lead: "What each step adds, in parts of the unprotected time: workgroups, or grids, are doubled but the second half only holds its resources; then it computes, and nothing is compared; then everything. What a step saves is not drawn; the table has it.",
      axis: "added time / unprotected time",
      series: parts,
      stacked: true,
      noise:
        "Parts are differences of medians. One that is shorter than the whiskers of figures 2 and 6 may be noise.",
      bars: known.flatMap(({ name, added, all }) =>
        parts.map((part, i) => {
          const value = added[i];
          if (value == null) return undefined;
          const label = i === last(added) ? `${ratio(all)} in all` : "";
          return { group: name, series: part, value: Math.max(0, value), label };
        }),
      ),
    }),
    ...tableSection(
      { title: `Components, ${compared(check)}, in figures` },
      columnsOf(["Program"], ["Doubled workgroups", "Redundant computation", "Communication", "In all"]),
      known.map(({ name, added, all }): TableCell[] => [
        { text: name },
        ...added.map((each) => ({ text: signed(each) })),
        { text: ratio(all) },
      ]),
    ),
  ];
}

/** Returns figure 5. */
export function powerSections({ programs, powerSource }: RmtRun): Section[] {
  const series = ["none", ...flavors] as const;
  const known = programs.filter(({ power }) => power.length > 0);
  const readings = known.flatMap(({ power }) => power.map((each) => each.readings));
  const about = `Each program runs again and again, compared by signature, with no pause between runs; ${powerSource} is read as fast as it answers, ${Math.min(...readings)} readings or more each. The driver may renew its reading less often.`;
  return [
    ...(["average", "peak"] as const).flatMap((kind) =>
      barsSection({
        title: `${kind === "average" ? "Average" : "Peak"} power (figure 5)`,
        lead: about,
        axis: "watts",
        series,
        noise:
          kind === "average"
            ? "Averages of all readings, of which the results hold no spread."
            : "The highest reading of each: a single one, so that a short rise shows.",
        bars: known.flatMap(({ name, power }) =>
          power.map((each) => barOf(name, each.redundancy, each[kind], each[kind].toFixed(0))),
        ),
      }),
    ),
    ...tableSection(
      {
        title: "Energy of a run",
        lead: "Average power times the time of a run, the restoring of inputs included; in parentheses how many times the unprotected program's.",
      },
      columnsOf(["Program"], series),
      known.map(({ name, power }): TableCell[] => {
        const plain = power.find(({ redundancy }) => redundancy === "none");
        return [
          { text: name },
          ...series.map((flavor) => {
            const found = power.find(({ redundancy }) => redundancy === flavor);
            return { text: found ? `${joules(found.energy)}${over(found.energy, plain?.energy)}` : "" };
          }),
        ];
      }),
    ),
  ];
}

const signed = (value: number | null) => (value === null ? "" : `${value < 0 ? "" : "+"}${value.toFixed(2)}`);
const joules = (value: number) => (value >= 1 ? `${value.toFixed(2)} J` : `${(1000 * value).toFixed(1)} mJ`);
const over = (value: number, before: number | undefined) =>
  before && before !== value ? ` (${ratio(value / before)})` : "";

const checks: readonly Check[] = ["store", "signature"];
const overUnprotected = "protected / unprotected time";

/** Returns every figure for which something was measured, in the paper's order. */
export function figures(run: RmtRun): Section[] {
  return [
    ...checks.flatMap((check) => flavorSection(run, check)),
    ...rooflineSections(run),
    ...checks.flatMap((check) => componentsSections(run, check)),
    ...powerSections(run),
    ...placeSections(run),
  ];
}

/** Returns a bar with the ratio of an overhead, if there is one, and with its quartiles. */
function overheadBar(group: string, series: string, overhead: Overhead | undefined, runs: number) {
  if (!overhead) return undefined;
  const { ratio, unprotected, protected: times } = overhead;
  const spread = quartilesOf(times, runs, (time) => time / unprotected.median);
  return barOf(group, series, ratio, ratio.toFixed(2), spread);
}

/** Returns figures 2 and 6. */
function flavorSection({ programs, runs }: RmtRun, check: Check): BarsSection[] {
  const lead =
    check === "store"
      ? "As published: what a replica stores is compared before it leaves. Inter-Group replicas wait for each other."
      : "Each replica hashes all that it stores, and the hashes are compared once. Inter-Group replicas never wait.";
  return barsSection({
    title: `Overhead, ${compared(check)} (figures 2 and 6)`,
    lead: `${lead} Intra-Group replicas are neighbors, which exchange registers where the device has subgroups; Inter-Group replicas are workgroups.`,
    axis: overUnprotected,
    series: flavors,
    reference: 1,
    noise: noiseOf(runs, ofRatios),
    bars: programs.flatMap((program) =>
      flavors.map((flavor) => overheadBar(program.name, flavor, usual(program, flavor, check), runs)),
    ),
  });
}

/** Returns figure 3. */
function rooflineSections({ programs, ceilings, runs }: RmtRun): Section[] {
  if (!ceilings) return [];
  const known = programs.flatMap(({ roofline, ...program }) => (roofline ? [{ ...program, roofline }] : []));
  const percent = (value: number) => `${(100 * value).toFixed(0)} %`;
  return [
    ...barsSection({
      title: "How far memory and arithmetic bound each program (figure 3)",
      lead: "Parts of the unprotected time. Memory: what the least bytes of the program take at the measured rate of a copy. Without memory: what it takes with the indices of its buffers wrapped around to a MiB each, so that the cache holds them; an upper bound of its arithmetic, as it still loads and stores. Where the second is long, redundant work has nothing to hide behind.",
      axis: "part of the unprotected time",
      series: ["memory", "without memory"],
      reference: 1,
      noise: "Of medians, of which the results hold no spread.",
      bars: known.flatMap(({ name, roofline: { memoryTime, computeTime, time } }) => [
        barOf(name, "memory", memoryTime / time, percent(memoryTime / time)),
        barOf(name, "without memory", computeTime / time, percent(computeTime / time)),
      ]),
    }),
    ...tableSection(
      {
        title: "Memory and arithmetic (figure 3)",
        lead: "Per second of the unprotected time. At least: the bytes and floating-point operations that the program cannot do without, against the device's measured ceilings. Counted: what instrumented kernels counted in one run: the bytes that loads and stores name, of which caches answer some, and operations on 32-bit words, those of indices, loops and conditions included.",
      },
      columnsOf(
        ["Program"],
        [
          "Unprotected",
          "Bytes, at least",
          "of a copy",
          "FLOP, at least",
          "of the best",
          "Bytes, counted",
          "Operations, counted",
          "Memory",
          "Without memory",
          "Limit",
        ],
      ),
      known.map(({ name, roofline }): TableCell[] => {
        const { time, bytesPerSecond, flopsPerSecond, memoryTime, computeTime, limit, counted } = roofline;
        const floats = flopsPerSecond > 0;
        return [
          { text: name },
          { text: milliseconds(time) },
          { text: rate(bytesPerSecond, "B/s") },
          { text: share(bytesPerSecond, ceilings.memory) },
          { text: floats ? rate(flopsPerSecond, "FLOP/s") : "integers" },
          { text: floats ? share(flopsPerSecond, ceilings.flops) : "" },
          { text: rate((1000 * (counted.loaded + counted.stored)) / time, "B/s") },
          { text: rate((1000 * counted.operations) / time, "op/s") },
          { text: milliseconds(memoryTime) },
          { text: milliseconds(computeTime) },
          { text: ratio(limit) },
        ];
      }),
    ),
    ...barsSection({
      title: "The limit of full replication, and the best that was measured",
      lead: "The limit: the longer of twice the time without memory, and the memory traffic's. A program can stay below it where the lanes of a subgroup share what they load, or where latency bounds it. Best: of all configurations that cover arithmetic, registers and workgroup memory.",
      axis: overUnprotected,
      series: ["limit", "measured best"],
      reference: 1,
      noise: noiseOf(runs, ofRatios),
      bars: known.flatMap((program) => [
        barOf(program.name, "limit", program.roofline.limit),
        overheadBar(program.name, "measured best", bestCovering(program), runs),
      ]),
    }),
  ];
}

/** Returns figure 9, and the places and times of the replicas, which the paper did not vary. */
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

function placeSection({ programs, runs }: RmtRun, { title, check, places }: Places): BarsSection[] {
  const overheadIn = (
    program: ProgramResult,
    { channel, pairing }: Pick<Configuration, "channel" | "pairing">,
  ) =>
    measured(program).find(
      (each) =>
        each.redundancy === "intra+lds" &&
        each.check === check &&
        each.channel === channel &&
        each.pairing === pairing,
    );
  return barsSection({
    title,
    lead: `Intra-Group+LDS, ${compared(check)}. What is missing, the device or the kernel does not allow.`,
    axis: overUnprotected,
    series: Object.keys(places),
    reference: 1,
    noise: noiseOf(runs, ofRatios),
    bars: programs.flatMap((program) =>
      Object.entries(places).map(([name, place]) =>
        overheadBar(program.name, name, overheadIn(program, place), runs),
      ),
    ),
  });
}
