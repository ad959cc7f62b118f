/**
 * What the overhead is made of, and what it takes in power and energy: figures 4, 5 and 7 of the
 * paper.
 */

import type { Cell, Section } from "belay-cli/internal/report/report";
import { barOf, barsSection, columnsOf, tableSection } from "belay-cli/internal/report/sections";
import { ratio } from "belay-cli/internal/shared/quantities";
import type { Check } from "belay-gpu/internal/compiler/contract";
import { flavors } from "../bench/configurations.ts";
import type { RmtRun } from "./benchResults.ts";
import { compared, usual } from "./benchRmtBest.ts";

const parts = ["doubled workgroups", "redundant computation", "communication"] as const;

/** Figures 4 and 7. */
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
      known.map(({ name, added, all }): Cell[] => [
        { text: name },
        ...added.map((each) => ({ text: signed(each) })),
        { text: ratio(all) },
      ]),
    ),
  ];
}

/** Figure 5. */
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
      known.map(({ name, power }): Cell[] => {
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
