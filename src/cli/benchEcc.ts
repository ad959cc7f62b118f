import { join, resolve } from "node:path";
import Table from "cli-table3";
import { Command, Option } from "commander";
import ora from "ora";
import { heldOut } from "../../workloads/memory/heldOut.ts";
import { memoryCatalog } from "../../workloads/memory/index.ts";
import { flavors } from "../bench/configurations.ts";
import { type EccProgram, type EccResult, measureEcc } from "../bench/ecc.ts";
import { type SchemeName, schemes } from "../codes/scheme.ts";
import type { Redundancy } from "../compiler/contract.ts";
import { renderPage } from "../report/page.ts";
import { type AdapterChoice, openGpu } from "../runtime/adapter.ts";
import { describeEcc, summaryTable } from "./benchEccReport.ts";
import { count, namesFrom } from "./benchOptions.ts";
import { exitStatus } from "./failure.ts";
import { colorsFor, type Io, isTerminal } from "./io.ts";
import { measuredOn } from "./machine.ts";
import { newDevice } from "./newDevice.ts";
import { writeAtomically } from "./output.ts";

/** What `belay bench ecc --json` prints. */
export interface EccRun extends EccResult {
  readonly date: string;
  readonly node: string;
  readonly platform: string;
  readonly adapter: AdapterChoice;
  readonly size: "small" | "full";
  readonly runs: number;
  readonly schemes: readonly SchemeName[];
  readonly redundancy: Redundancy;
}

interface Flags {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly only?: readonly string[];
  readonly heldOut?: true;
  readonly schemes: readonly SchemeName[];
  readonly redundancy: Redundancy;
  readonly faultFree: number;
  readonly flips: number;
  readonly out: string;
  readonly json?: string | true;
}

const usualSchemes: readonly SchemeName[] = ["secded128", "secded64", "secded32", "detect"];

/** `belay bench ecc`: what protected memory costs, and what it catches. */
export function benchEccCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("ecc")
    .summary("what protected memory costs, and what it catches")
    .description(
      "Measures each program with unprotected memory and under every code: overhead beside what was predicted, transfers, the host's\nside, and what becomes of flipped bits. The exit status is 1 when a result is wrong or an error is reported that was not there.",
    )
    .addOption(
      new Option("--size <size>", "small runs anywhere, full keeps a large GPU busy")
        .choices(["small", "full"])
        .default("small"),
    )
    .option("--runs <count>", "runs of each code, in alternation with the unprotected program", count, 20)
    .option("--only <programs>", "names of programs, with commas between", programsFrom)
    .option("--held-out", "programs that the cost model is not fitted to, in place of the usual ones")
    .option("--schemes <codes>", `some of ${Object.keys(schemes).join(", ")}`, schemesFrom, [...usualSchemes])
    .addOption(
      new Option("--redundancy <flavor>", "what protects the compute path meanwhile")
        .choices(["none", ...flavors])
        .default("none"),
    )
    .option("--fault-free <count>", "further runs under each code, in search of false reports", count, 0)
    .option("--flips <count>", "code words that are struck by one bit flip, and as many by two", count, 0)
    .option("--out <directory>", "where the report and the result go", "belay-report")
    .option("--json [file]", "print the result as JSON, or write it there")
    .action(async (flags: Flags) => {
      const run = await runEcc(flags, io);
      const page = join(flags.out, "ecc.html");
      await writeAtomically(page, renderPage(describeEcc(run)));
      if (typeof flags.json === "string") await writeAtomically(flags.json, toJson(run));
      io.stdout.write(
        flags.json === true ? toJson(run) : `${renderText(run, io)}\nReport: ${resolve(page)}\n`,
      );
      finish(run.ok ? exitStatus.ok : exitStatus.failed);
    });
}

const toJson = (run: EccRun) => `${JSON.stringify(run, null, 2)}\n`;

/** Measures what the flags say; the result so far is always in the output directory. */
async function runEcc(flags: Flags, io: Io): Promise<EccRun> {
  const { size, runs, only, schemes, redundancy, faultFree, flips, out } = flags;
  using opened = await openGpu();
  const progress = ora({
    stream: io.stderr as NodeJS.WriteStream,
    isSilent: !isTerminal(io.stderr),
    discardStdin: false,
  });
  const describeRun = (result: EccResult): EccRun => ({
    ...result,
    ...measuredOn(opened.choice),
    ...{ size, runs, schemes, redundancy },
  });
  const usual = flags.heldOut ? heldOut : memoryCatalog;
  const chosen = only ? everyProgram.filter(({ name }) => only.includes(name)) : usual;
  try {
    progress.start();
    const result = await measureEcc({
      newDevice: () => newDevice(opened),
      programs: chosen.map(({ name, ...sizes }) => ({ name, create: sizes[size] })),
      ...{ size, schemes, redundancy, runs, faultFree, flips },
      progress: (doing) => {
        progress.text = doing;
      },
      save: async (sofar) => {
        await writeAtomically(join(out, "ecc.json"), toJson(describeRun(sofar)));
        const last = sofar.programs.at(-1);
        if (!isTerminal(io.stderr) && last && sofar.host.length === 0) io.stderr.write(`${lineFor(last)}\n`);
      },
    });
    return describeRun(result);
  } finally {
    progress.stop();
  }
}

function renderText(run: EccRun, io: Io): string {
  const color = colorsFor(io.stdout);
  const { verdict } = describeEcc(run);
  const { columns, rows } = summaryTable(run);
  const table = new Table({
    head: columns.map(({ label }) => label),
    colAligns: columns.map(({ align }) => (align === "end" ? "right" : "left")),
    style: { head: [], border: [], compact: true },
  });
  table.push(...rows.map((row) => row.map(({ text, ok }) => (ok === false ? color.red(text) : text))));
  const paint = verdict.ok ? color.green : color.red;
  return [paint(color.bold(verdict.headline)), color.dim(verdict.detail), table.toString(), ""].join("\n");
}

/** A program in one line, for whoever watches a pipe. */
function lineFor({ name, overheads, failures }: EccProgram): string {
  const ratios = overheads.map(({ scheme, ratio }) => `${scheme} ${ratio.toFixed(3)}`);
  const time = overheads[0]?.unprotected.median.toFixed(4) ?? "?";
  return [`${name}: ${time} ms`, ...ratios, ...failures].join(", ");
}

const everyProgram = [...memoryCatalog, ...heldOut];
const programsFrom = (text: string) =>
  namesFrom(
    text,
    everyProgram.map(({ name }) => name),
  );
const schemesFrom = (text: string) => namesFrom(text, Object.keys(schemes) as SchemeName[]);
