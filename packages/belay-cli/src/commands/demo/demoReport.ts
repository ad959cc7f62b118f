import { plural } from "belay-gpu/internal/diagnostics/plural";
import { lineAndColumn } from "belay-gpu/internal/diagnostics/render";
import type { DetectedFault } from "belay-gpu/internal/runtime/context/detectedFault";
import type {
  BarsSection,
  FaultsSection,
  ReportDocument,
  ReportedFault,
  Section,
  TableCell,
  TableSection,
} from "../../report/report.ts";
import { caveatOf, machineFacts } from "../../shared/machine.ts";
import { describePolicy, flagsFor } from "../../shared/options.ts";
import { type Demonstration, type DemoResult, type Injection, succeeded } from "./demonstrate.ts";

/** Returns the report of a demo. */
export function describeDemo(result: DemoResult): ReportDocument {
  const { programs, adapter, policy } = result;
  const good = programs.filter(succeeded).length;
  const headline = result.ok
    ? `${good} programs protected, ${good} injected faults caught`
    : `${programs.length - good} of ${programs.length} programs failed`;
  const detail = `${describePolicy(policy)}, on ${adapter.description}`;
  return {
    title: "belay demo",
    verdict: { ok: result.ok, headline, next: nextStep(result.ok), detail },
    sections: [
      programsSection(programs),
      timesSection(result),
      faultsSection(programs),
      ...coverageSections(programs),
      {
        kind: "facts",
        title: "Machine",
        facts: [...machineFacts(result)],
      },
      {
        kind: "commands",
        title: "Reproduce",
        commands: ["npm ci", `npm start -- ${flagsFor(policy)} --size ${result.size}`],
      },
    ],
  };
}

const nextStep = (ok: boolean) =>
  ok
    ? "Next: belay run compares a program of your own, plain and hardened."
    : "Next: belay doctor tests the adapter. The first table names the programs that failed.";

function programsSection(programs: readonly Demonstration[]): TableSection {
  return {
    kind: "table",
    title: "Programs",
    lead: "Each ran unprotected, protected, and protected with one bit flipped in one replica.",
    columns: [
      { label: "Program" },
      { label: "Kernels protected" },
      { label: "Results" },
      { label: "Injected fault" },
      { label: "Unprotected", align: "end" },
      { label: "Protected", align: "end" },
      { label: "Ratio", align: "end" },
    ],
    rows: programs.map((program) => {
      const { name, kernels, results, milliseconds } = program;
      const covered = kernels.filter(({ redundancy }) => redundancy !== "none").length;
      return [
        { text: name },
        { text: `${covered} of ${kernels.length}`, ok: covered === kernels.length },
        { text: results.outcome, ok: results.outcome !== "wrong" },
        faultCell(program),
        { text: `${milliseconds.unprotected.toFixed(2)} ms` },
        { text: `${milliseconds.protected.toFixed(2)} ms` },
        { text: `${(milliseconds.protected / milliseconds.unprotected).toFixed(2)}x` },
      ];
    }),
  };
}

function faultCell({ injection }: Demonstration): TableCell {
  const { outcome, harmless, source, struck } = injection;
  const place = source && struck ? ` (line ${lineAndColumn(source, struck.start).line})` : "";
  switch (outcome) {
    case "recovered":
      return { text: `caught, recovered${place}`, ok: true };
    case "refused":
      return { text: `caught, refused${place}`, ok: true };
    case "silent":
      return { text: `NOT caught${place}`, ok: false };
    case "none":
      return {
        text: harmless === 0 ? "no place for one" : `none of ${harmless} changed a result`,
        ok: false,
      };
  }
}

function timesSection({ programs, adapter, size }: DemoResult): BarsSection {
  return {
    kind: "bars",
    title: "Time",
    lead: `Of a run at size ${size}, the median of five submissions, from each until its results may be read, verification included; short runs are submitted many at once.${caveatOf(adapter)}`,
    axis: "milliseconds",
    noise:
      "Of the five, only the median is kept. Small differences may be noise; belay bench measures them with their spread.",
    series: ["unprotected", "protected"],
    bars: programs.flatMap(({ name, milliseconds }) =>
      (["unprotected", "protected"] as const).map((series) => ({
        group: name,
        series,
        value: milliseconds[series],
        label: milliseconds[series].toFixed(2),
      })),
    ),
  };
}

function faultsSection(programs: readonly Demonstration[]): FaultsSection {
  return {
    kind: "faults",
    title: "Injected faults",
    lead: "Where one bit was flipped in one replica, and how that was noticed before the program saw any result.",
    faults: programs.flatMap((program) => describeInjection(program) ?? []),
  };
}

const outcomes: Record<Injection["outcome"], string> = {
  recovered: "detected, run again, right results released",
  refused: "detected, results refused",
  silent: "not detected, results wrong",
  none: "no result changed",
};

function describeInjection({ name, injection }: Demonstration): ReportedFault | undefined {
  const { armed, source, struck, fault, outcome, harmless } = injection;
  if (!armed || !source || !struck) return undefined;
  const { line, column } = lineAndColumn(source, struck.start);
  const site = fault?.site;
  return {
    title: `${name}: kernel ${armed.kernel}, line ${line}, column ${column}`,
    source,
    span: struck,
    facts: [
      [
        "Struck",
        `bit ${Math.log2("xor" in armed.effect ? armed.effect.xor : 0)} in replica ${armed.replica}`,
      ],
      ["Invocation", `workgroup (${armed.workgroup.join(", ")}), local index ${armed.localIndex}`],
      ["Outcome", outcomes[outcome]],
      ["Tried before, without effect", plural(harmless, "fault")],
      ...(site ? [["Noticed at", `${site.kind} of ${site.name}, line ${site.line}`] as const] : []),
      ...(fault ? describeReplicas(fault) : []),
    ],
  };
}

function describeReplicas({ values, difference }: DetectedFault): (readonly [string, string])[] {
  if (difference !== null) return [["Hashes differ by", difference]];
  return values.map((value, replica) => [`Replica ${replica}`, value ?? "absent"]);
}

/** Returns the gaps of the protection; no section if there are none. */
function coverageSections(programs: readonly Demonstration[]): Section[] {
  const rows = programs.flatMap(({ name, kernels }) =>
    kernels.flatMap(({ kernel, diagnostics }) =>
      diagnostics.map(({ code, message, line }) => [
        { text: `${name}: ${kernel}` },
        { text: `line ${line}` },
        { text: `${code} ${message}` },
      ]),
    ),
  );
  if (rows.length === 0) return [];
  const columns = [{ label: "Kernel" }, { label: "Place" }, { label: "Why" }];
  return [{ kind: "table", title: "Outside the protection", columns, rows }];
}
