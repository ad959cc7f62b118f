/** The steps that every benchmark applies to its result. */
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { renderPage } from "belay-cli/internal/report/page";
import type { ReportDocument, TableSection } from "belay-cli/internal/report/report";
import { unreadable } from "belay-cli/internal/shared/files/input";
import { prepareDirectory, writeAtomically } from "belay-cli/internal/shared/files/output";
import { path } from "belay-cli/internal/shared/options";
import { CommandFailure, exitStatus } from "belay-cli/internal/shared/terminal/failure";
import { colorsFor, type Io, jsonOf, tell } from "belay-cli/internal/shared/terminal/io";
import { painterOf, renderReport } from "belay-cli/internal/shared/terminal/table";
import type { Command } from "commander";

export interface OutputFlags {
  readonly out: string;
  readonly json?: string | true;
}

export function addOutputOptions(command: Command): Command {
  return command
    .option("--out <directory>", "where the report and the result go", path, "belay-report")
    .option("--json [file]", "print the result as JSON, or write it there")
    .hook("preAction", async (_, action) => {
      const { out, json } = action.opts<OutputFlags>();
      await prepareDirectory(out);
      if (typeof json === "string") await prepareDirectory(dirname(json));
    });
}

/** A line about a wrong or missing measurement. */
export interface Problem {
  readonly text: string;
  readonly ok: false | null;
}

/** A benchmark's files, `<name>.json` and `<name>.html`, and their contents. */
export interface Benchmark<Run> {
  readonly name: string;
  readonly describe: (run: Run) => ReportDocument;
  /** Returns the table that represents the report in a terminal. */
  readonly summary: (run: Run) => TableSection;
  /** Returns the wrong and the missing measurements, a line each. */
  readonly problems?: (run: Run) => readonly Problem[];
}

/** Writes the result, which may be incomplete. */
export async function saveRun(name: string, run: unknown, { out, json }: OutputFlags): Promise<void> {
  await writeAtomically(join(out, `${name}.json`), toJson(run));
  if (typeof json === "string") await writeAtomically(json, toJson(run));
}

/** Returns the result of an earlier run, or undefined when there is none. */
export async function readRun<Run extends { readonly programs: unknown }>(
  path: string,
): Promise<Run | undefined> {
  let run: Partial<Run> | null;
  try {
    run = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unreadable(path, error);
  }
  if (!Array.isArray(run?.programs))
    throw new CommandFailure("unreadable-input", `cannot read ${path}: it is no result of a benchmark`);
  return run as Run;
}

/** Writes the result and the page, prints one of them, and returns the exit status. */
export async function publishRun<Run extends { readonly ok: boolean }>(
  { name, describe, summary, problems }: Benchmark<Run>,
  run: Run,
  flags: OutputFlags,
  io: Io,
): Promise<number> {
  const report = describe(run);
  const page = join(flags.out, `${name}.html`);
  await saveRun(name, run, flags);
  await writeAtomically(page, renderPage(report));
  const color = colorsFor(io.stdout);
  const text = () => [
    renderReport(report.verdict, summary(run), io),
    ...(problems?.(run) ?? []).map(({ text, ok }) => painterOf(ok, color)(`- ${text}`)),
    `\nReport: ${resolve(page)}\n`,
  ];
  if (flags.json === true) io.stdout.write(toJson(run));
  else tell(io.stdout, text().join("\n"));
  return run.ok ? exitStatus.ok : exitStatus.failed;
}

const toJson = (run: unknown) => `${jsonOf(run)}\n`;
