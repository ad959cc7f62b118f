import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { labelOf } from "belay-gpu/internal/diagnostics/registry";
import { type AdapterDiagnosis, diagnoseAdapters } from "belay-node/internal/adapterDiagnosis";
import { Command } from "commander";
import { exitStatus } from "../shared/terminal/failure.ts";
import { colorsFor, type Io, printJson, tell } from "../shared/terminal/io.ts";
import { withProgress } from "../shared/terminal/progress.ts";
import { alignColumns } from "../shared/terminal/table.ts";

/**
 * Makes the command `belay doctor`, which shows the adapter of all commands, the reason for its
 * choice and its features. The command also tests whether the adapter computes correctly.
 */
export function doctorCommand(
  io: Io,
  finish: (status: number) => void,
  diagnose: (doing: (what: string) => void) => Promise<AdapterDiagnosis> = (doing) =>
    diagnoseAdapters({}, doing),
): Command {
  return new Command("doctor")
    .description(
      "Shows which adapter is used and why, and tests it with the kernels of `qualify`. The exit status is 1 when there is none or it computes wrong results.",
    )
    .option("--json", "print the findings as JSON", false)
    .action(async ({ json }: { json: boolean }) => {
      const diagnosis = await withProgress(io, "opening the GPU", ({ doing }) => diagnose(doing));
      if (json) printJson(io, diagnosis);
      else tell(io.stdout, render(diagnosis, await writtenDisputes(diagnosis), io));
      finish(diagnosis.ok ? exitStatus.ok : exitStatus.failed);
    });
}

/** Writes the disputed dispatches to files for `belay blame`. Returns their paths. */
async function writtenDisputes({ qualification }: AdapterDiagnosis): Promise<string[]> {
  const disputes = (qualification?.cases ?? []).flatMap(({ dispute }) => dispute ?? []);
  if (disputes.length === 0) return [];
  const folder = await mkdtemp(join(tmpdir(), "belay-disputes-"));
  return Promise.all(
    disputes.map(async (dispute, i) => {
      const path = join(folder, `${i + 1}.json`);
      await writeFile(path, JSON.stringify(dispute));
      return path;
    }),
  );
}

/** The limits that decide which kernels can be doubled, and how large a problem fits. */
const tellingLimits = [
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupStorageSize",
  "maxStorageBuffersPerShaderStage",
  "maxBindGroups",
  "maxStorageBufferBindingSize",
];

const tellingFeatures = ["subgroups", "shader-f16", "timestamp-query"];

function render(
  { ok, node, platform, tried, choice, device, memory, qualification, problem }: AdapterDiagnosis,
  disputes: readonly string[],
  io: Io,
): string {
  const color = colorsFor(io.stdout);
  const yesNo = (value: boolean) => (value ? color.green("yes") : color.yellow("no"));
  const sections: [title: string, rows: string[][]][] = [
    ["Host", [[`Node.js ${node}`, platform]]],
    [
      "Adapters, in the order tried",
      tried.map(({ kind, outcome }) => [kind, outcome, kind === choice?.kind ? color.green("<- used") : ""]),
    ],
  ];
  if (device) {
    sections.push(
      [
        "Features",
        [
          ...tellingFeatures.map((name) => [name, yesNo(device.features.includes(name))]),
          ["neighbors share a subgroup", yesNo(device.subgroupPairing)],
          ["subgroup sizes", device.subgroupSizes.join(" to ")],
        ],
      ],
      ["Limits", tellingLimits.map((name) => [name, (device.limits[name] ?? 0).toLocaleString("en-US")])],
    );
  }
  if (memory) {
    const { first } = memory;
    const tested = `${memory.patterns} patterns through ${memory.bytes / 1024} KiB and back`;
    const wrong =
      first && `word ${first.index} of "${first.pattern}" is ${first.actual}, not ${first.expected}`;
    const outcome = memory.ok ? color.green("passed") : color.red(`${memory.mismatches} wrong words`);
    sections.push(["Memory and arithmetic", [[outcome, wrong ?? tested]]]);
  }
  if (qualification) {
    const { verdict, without, reasons, cases, milliseconds } = qualification;
    const agreeing = cases.filter(({ outcome }) => outcome === "agrees").length;
    const found =
      verdict === "usable"
        ? color.green("usable")
        : verdict === "usable-without"
          ? color.yellow(`usable without ${without.join(", ")}`)
          : color.red("not usable");
    const compared = `${agreeing} of ${cases.length} agree with the specification, in ${(milliseconds / 1000).toFixed(1)} s`;
    sections.push(["Kernels of qualify", [[found, compared], ...reasons.map((reason) => ["", reason])]]);
  }
  if (disputes.length > 0)
    sections.push(["Who is to blame", disputes.map((path) => [`belay blame ${path}`])]);
  return [
    ...renderVerdict(ok, problem, color),
    ...sections.flatMap(([title, rows]) => ["", title, alignColumns(rows)]),
    "",
  ].join("\n");
}

function renderVerdict(
  ok: boolean,
  problem: AdapterDiagnosis["problem"],
  color: ReturnType<typeof colorsFor>,
): string[] {
  if (ok) return [color.green("Everything Belay needs works here.")];
  if (!problem) return [color.red("This adapter computes wrong results.")];
  // The rest of the message lists the tried adapters, which have a section of their own.
  const [message] = problem.message.split("\n");
  return [
    `${color.red(`error[${labelOf(problem.code)}]`)}: ${message}`,
    `  ${color.cyan("help")}: ${problem.help}`,
  ];
}
