/** The tables of the measurements of speculation. */
import type { TableCell, TableSection } from "belay-cli/internal/report/report";
import { columnsOf, tableSection } from "belay-cli/internal/report/sections";
import type { Failed, TimedRuns } from "../../bench/measuring/attempt.ts";
import type { SpeculationProgram } from "../../bench/speculation/program.ts";
import type { Measured } from "../../bench/speculation/variant.ts";

/** The times of a loop, if they were measured. */

export type Timed = TimedRuns | Failed | undefined;
export const isTimed = (times: Timed): times is TimedRuns => times !== undefined && "median" in times;
export const isMeasured = (measured: Measured | Failed | undefined): measured is Measured =>
  measured !== undefined && "right" in measured;

export function timesOf(measured: Measured | Failed | undefined, kind: "moved" | "resident"): Timed {
  return isMeasured(measured) ? measured[kind] : measured;
}

/** Returns the programs of each size, with the suffix of their titles. */
export function bySize(
  programs: readonly SpeculationProgram[],
): { readonly programs: readonly SpeculationProgram[]; readonly suffix: string }[] {
  return [...new Set(programs.map(({ size }) => size))].map((size) => ({
    programs: programs.filter((program) => program.size === size),
    suffix: size === "small" ? "" : `, ${size}`,
  }));
}

export const titleOf = ({ name, size }: SpeculationProgram) => (size === "small" ? name : `${name}, ${size}`);

/** Returns three digits, or all digits before the decimal point. */
export const digits = (value: number) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
export const milliseconds = (value: number) => `${digits(value)} ms`;
export const ratio = (value: number) => `${digits(value)}×`;
export const percent = (value: number) => `${digits(100 * value)} %`;

/**
 * The dependences of each loop as its source describes them. None of the sources at hand has the
 * numbers of its figure.
 */
const documented: Readonly<Record<string, string>> = {
  ocean: "between stages only",
  trfd: "one pair of 192 iterations",
  fftbench: "between stages only",
  mdg: "a branch taken about once in a step",
  strcat: "all iterations after a growth",
  synthetic: "rare (of the loop that it stands for)",
  alvinn: "none",
};

/**
 * Returns a table of moved arrays. A call takes at least the time in which one core of the host
 * copies the bytes of both directions.
 */
export function transfersTable(programs: readonly SpeculationProgram[]): TableSection[] {
  const megabytes = (bytes: number) => ({ text: digits(bytes / 1e6) });
  const rows = programs.flatMap(({ c, ...program }): TableCell[][] => {
    const { default: measured } = program.variants;
    const alike = programs.filter(({ size }) => size === program.size);
    const fastestCopy = Math.max(...alike.map(({ fastestCopy = 0 }) => fastestCopy));
    if (!isMeasured(measured) || !measured.moved || !measured.bytes || fastestCopy === 0) return [];
    const { uploaded, downloaded } = measured.bytes;
    if (uploaded + downloaded === 0) return [];
    const least = (uploaded + downloaded) / fastestCopy;
    const faster = (times: number) => ({ text: isTimed(c) ? ratio(c.median / times) : "" });
    return [
      [
        { text: titleOf(program) },
        megabytes(uploaded),
        megabytes(downloaded),
        { text: digits(fastestCopy / 1e6) },
        { text: milliseconds(least) },
        { text: milliseconds(measured.moved.median) },
        faster(measured.moved.median),
        faster(least),
      ],
    ];
  });
  return tableSection(
    {
      title: "What moving arrays allows",
      lead: "The limit is a copy of the bytes that a call moves by one core of the host, as fast as it copied any arrays of loops of this size in this run.",
    },
    columnsOf(["Loop"], ["MB sent", "MB fetched", "GB/s", "limit", "default", "over C", "limit over C"]),
    rows,
  );
}

/** Returns figure 10. */
export function misspeculationTable(programs: readonly SpeculationProgram[]): TableSection[] {
  const shown = ["default", "published", "no scheduling"] as const;
  const cell = (counted: Pick<Measured, "misspeculation" | "rounds"> | undefined): TableCell => ({
    text: counted ? `${percent(counted.misspeculation)} (${counted.rounds})` : "",
  });
  return tableSection(
    {
      title: "Misspeculation (figure 10)",
      lead: "Executions in vain for each iteration, and rounds in parentheses. The default engine counts iterations that a round looked at and left to a later one; its first call knows nothing of the data. What the source of a loop tells of its dependences is beside it.",
    },
    columnsOf(
      ["Loop"],
      ["default, first call", ...shown, "threads", "on the CPU (default)"],
      ["Documented dependences"],
    ),
    programs.map((program) => {
      const { variants, threads } = program;
      const [first, ...others] = [variants.default, ...shown.map((variant) => variants[variant])].map(
        (each) => (isMeasured(each) ? each : undefined),
      );
      return [
        { text: titleOf(program) },
        cell(first?.first),
        ...others.map(cell),
        { text: threads && "misspeculation" in threads ? percent(threads.misspeculation) : "" },
        { text: first ? percent(first.onCpu) : "" },
        { text: documented[program.name] ?? "" },
      ];
    }),
  );
}

/** Returns figure 11: the times of the phases. */
export function phaseTable(programs: readonly SpeculationProgram[]): TableSection[] {
  const rows = programs.flatMap((program) =>
    (["default", "published"] as const).flatMap((variant): TableCell[][] => {
      const measured = program.variants[variant];
      if (!isMeasured(measured) || !measured.phases) return [];
      const { phases } = measured;
      const all = Object.values(phases).reduce((sum, each) => sum + each, 0);
      if (all === 0) return [];
      const share = (name: keyof typeof phases) => ({ text: percent(phases[name] / all) });
      return [
        [
          { text: titleOf(program) },
          { text: variant },
          { text: milliseconds(all) },
          share("scheduling"),
          share("computation"),
          share("check"),
          share("commit"),
          share("recovery"),
        ],
      ];
    }),
  );
  return tableSection(
    { title: "Time of the phases (figure 11)", lead: "On the GPU's clock, one call that the GPU executes." },
    columnsOf(["Loop", "Engine"], ["All", "scheduling", "computation", "check", "commit", "recovery"]),
    rows,
  );
}

/** Returns figure 11: checked and unchecked. */
export function checkingTable(programs: readonly SpeculationProgram[]): TableSection[] {
  const rows = programs.flatMap((program): TableCell[][] => {
    const { default: checked, "no reuse": again, published, unchecked } = program.variants;
    const alone = timesOf(unchecked, "resident");
    if (!isMeasured(unchecked) || !isTimed(alone)) return [];
    const times = (measured: Measured | Failed | undefined) => {
      const checked = timesOf(measured, "resident");
      return { text: isTimed(checked) ? ratio(checked.median / alone.median) : "" };
    };
    return [
      [
        { text: titleOf(program) },
        { text: milliseconds(alone.median) },
        { text: unchecked.right ? "right" : "wrong" },
        times(checked),
        times(again),
        times(published),
      ],
    ];
  });
  return tableSection(
    {
      title: "What checking costs (figure 11)",
      lead: "Resident arrays; times of the same loop run all at once without any check.",
    },
    [
      ...columnsOf(["Loop"], ["Unchecked"], ["Its result"]),
      ...columnsOf([], ["default", "no reuse", "published"]),
    ],
    rows,
  );
}

/**
 * Returns a table of the default engine on a device with redundant kernels and protected memory.
 */
export function hardenedTable(programs: readonly SpeculationProgram[]): TableSection[] {
  const rows = programs.flatMap((program): TableCell[][] => {
    const { default: plain, hardened } = program.variants;
    if (!isMeasured(hardened)) return [];
    const cells = (["moved", "resident"] as const).flatMap((kind): TableCell[] => {
      const [before, after] = [timesOf(plain, kind), timesOf(hardened, kind)];
      return [
        { text: isTimed(after) ? milliseconds(after.median) : "" },
        { text: isTimed(before) && isTimed(after) ? ratio(after.median / before.median) : "" },
      ];
    });
    return [[{ text: titleOf(program) }, { text: hardened.plans.join(", ") }, ...cells]];
  });
  return tableSection(
    {
      title: "On a hardened device",
      lead: "The default engine where kernels run redundantly (intra+lds) and memory has codes (secded128); beside its times, how they compare with those on a device that is not.",
    },
    columnsOf(["Loop", "Plans"], ["moved", "times as long", "resident", "times as long"]),
    rows,
  );
}
