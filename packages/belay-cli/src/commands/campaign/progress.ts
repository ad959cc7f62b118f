/** The sections of a report about the work: who did it, how sure it makes, what is left. */
import { isUnfinished, judgedBy, type Summary } from "../../campaign/results/summary.ts";
import type { Section, TableCell } from "../../report/report.ts";
import { columnsOf, tableSection } from "../../report/sections.ts";
import { atMost, proportion } from "./rates.ts";

/** Returns the workers of a campaign over machines, and those that it refused. */
export function workersSection({ workers, refused, adapter }: Summary): Section[] {
  const text = (...texts: readonly string[]): TableCell[] => texts.map((each) => ({ text: each }));
  const hostOf = (worker: string) => worker.slice(0, worker.lastIndexOf("/"));
  return tableSection(
    {
      title: "Workers",
      lead: "Results that reached the store. The rate is that of one process while it executes jobs.",
    },
    columnsOf(["Worker", "Host", "Adapter"], ["Jobs", "Injections", "Seconds", "Per second"]),
    [
      ...workers.map(({ worker, jobs, injections, milliseconds, perSecond }) =>
        text(
          worker,
          hostOf(worker),
          adapter ?? "",
          String(jobs),
          String(injections),
          (milliseconds / 1000).toFixed(1),
          perSecond.toFixed(0),
        ),
      ),
      ...refused.map(({ worker, reason }) => [
        ...text(worker, hostOf(worker)),
        { text: `refused: ${reason}`, ok: null },
        ...text("", "", "", ""),
      ]),
    ],
  );
}

const states = {
  open: "not finished",
  reached: "known as asked for",
  violated: "more is silent than allowed",
  exhausted: "not decided by four times the estimated injections",
} as const;

/** Returns how sure each entry is, and the injections that it misses. */
export function certaintySection({ cells, settings }: Summary): Section[] {
  const around = (half: number) => `± ${proportion(half)}`;
  return tableSection(
    {
      title: "Certainty, and what is left",
      lead: "Known: the upper bound where coverage is claimed, otherwise the half of the interval.",
    },
    columnsOf(["Configuration", "Structure"], ["Known", "Asked for", "Missing injections"], ["State"]),
    cells.map((cell): TableCell[] => {
      const { sdc } = judgedBy(cell);
      return [
        { text: cell.configuration },
        { text: cell.structure },
        { text: sdc.trials === 0 ? "" : cell.inside ? atMost(sdc) : around((sdc.high - sdc.low) / 2) },
        { text: cell.inside ? `at most ${proportion(settings.bound)}` : around(settings.margin) },
        { text: String(cell.missing) },
        {
          text: isUnfinished(cell) ? states.open : states[cell.state],
          ...(cell.holds === false && { ok: false }),
        },
      ];
    }),
  );
}

/** The number of injections whose replay is proposed. */
const MOST_REPLAYS = 4;

/** Returns the commands that go on with a campaign, or that explain a broken claim. */
export function nextCommands(directory: string, summary: Summary): string[] {
  const { cells, skipped, unbegun, workers } = summary;
  const at = /^[\w./-]+$/.test(directory) ? directory : JSON.stringify(directory);
  const resume = `belay campaign --resume --out ${at}`;
  const goOn =
    workers.length > 0 ? [`${resume} --queue "$REDIS_URL"`, 'belay campaign work "$REDIS_URL"'] : [resume];
  const isLeft = unbegun > 0 || skipped.some(({ lost }) => lost) || cells.some(({ missing }) => missing > 0);
  const broken = cells.filter(({ holds, claimed }) => holds === false && claimed!.counts.sdc > 0);
  return [
    ...(isLeft ? goOn : []),
    ...broken.slice(0, MOST_REPLAYS).map(({ example }) => `belay campaign replay ${at} ${example}`),
  ];
}

/** Returns the section with the commands of {@link nextCommands}, if there are any. */
export function nextSection(directory: string, summary: Summary): Section[] {
  const commands = nextCommands(directory, summary);
  const lead = "They go on with the injections that are missing, and explain a fault that broke a claim.";
  return commands.length > 0 ? [{ kind: "commands", title: "What to do next", lead, commands }] : [];
}
