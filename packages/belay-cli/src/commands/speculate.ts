import { lineAndColumn } from "belay-gpu/internal/diagnostics/render";
import { firstPlan, type PlanName } from "belay-speculate/internal/engine/policy/planChoice";
import { type Plan, planOf } from "belay-speculate/internal/engine/rounds/plans";
import { addressLoop } from "belay-speculate/internal/loops/analysis/addressLoop";
import { combiningLoop } from "belay-speculate/internal/loops/analysis/combiningLoop";
import { logSize } from "belay-speculate/internal/loops/analysis/logSize";
import { scanLoop } from "belay-speculate/internal/loops/analysis/scanLoop";
import {
  type LoopDiagnostic,
  renderLoopDiagnostic,
  type TranslatedLoop,
  translate,
} from "belay-speculate/internal/loops/translate";
import { mayReorder } from "belay-speculate/internal/loops/tree/walk";
import { readRelative } from "belay-speculate/internal/plugin/modules";
import { Command } from "commander";
import { readSource } from "../shared/files/input.ts";
import { exitStatus } from "../shared/terminal/failure.ts";
import { colorsFor, type Io, printJson, tell } from "../shared/terminal/io.ts";
import { alignColumns } from "../shared/terminal/table.ts";

interface Flags {
  readonly wgsl: boolean;
  readonly json: boolean;
}

/** Makes the command `belay speculate`, which shows the translation of a file's loops. */
export function speculateCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("speculate")
    .description(
      "Shows, for each loop that is translated, what iterations share, the kernels that are made of it, and its CPU version. Diagnostics go to stderr; the exit status is 1 when a loop was refused.",
    )
    .argument("<file>", "TypeScript or JavaScript source, or - for TypeScript on standard input")
    .option("--wgsl", "print the kernels in full", false)
    .option("--json", "print everything as JSON", false)
    .action(async (file: string, flags: Flags) => {
      const source = await readSource(file, io);
      const name = file === "-" ? "<stdin>" : file;
      const { loops, diagnostics } = translate(
        source,
        file === "-" ? "stdin.ts" : file,
        "module",
        readRelative,
      );
      if (flags.json) {
        const located = diagnostics.map((one) => locatedIn(one, source));
        const shown = loops.map((one) => ({ ...one, plans: plansOf(one) }));
        printJson(io, { loops: shown, diagnostics: located });
      } else {
        const color = colorsFor(io.stderr).isColorSupported;
        for (const diagnostic of diagnostics) {
          tell(io.stderr, `${renderLoopDiagnostic(diagnostic, source, { file: name, color })}\n\n`);
        }
        if (diagnostics.length + loops.length === 0) tell(io.stderr, `${name} has no loops to translate\n`);
        for (const loop of loops) tell(io.stdout, `${describe(loop, source, name, flags)}\n`);
      }
      finish(diagnostics.some(({ severity }) => severity === "error") ? exitStatus.failed : exitStatus.ok);
    });
}

/** Returns a diagnostic with its line and column, and the module in which it is. */
function locatedIn({ module, ...diagnostic }: LoopDiagnostic, source: string) {
  const place = lineAndColumn(module?.source ?? source, diagnostic.span.start);
  return { ...diagnostic, ...(module && { file: module.filename }), ...place };
}

/** The accesses per iteration that an engine assumes at first if they are unknown. */
const assumed = 16;

/**
 * Returns the plans that the default engine has for the loop. The first one is its initial plan for
 * many elements.
 */
function plansOf(translated: TranslatedLoop): Plan[] {
  const loop = scanLoop(translated.loop)?.main ?? combiningLoop(translated.loop);
  const addresses = addressLoop(loop);
  const names: PlanName[] = [firstPlan(loop, Infinity)];
  if (addresses?.isExact) names.push("in place");
  if (addresses && !addresses.isPredicted && mayReorder(loop)) names.push("by reservation");
  if (!addresses?.isExact) names.push("multi-version");
  if (addresses?.followsFromNumbers) names.push("proven");
  return [...new Set(names)].map((name) => planOf(name, loop, logSize(loop, assumed)));
}

function describe(translated: TranslatedLoop, source: string, file: string, { wgsl }: Flags): string {
  const { loop, host, sequential } = translated;
  const { line, column } = lineAndColumn(source, loop.span.start);
  const bound = (most: number | null) => (most === null ? "not counted" : String(most));
  const scanned = new Set(scanLoop(loop)?.variables);
  const variables = [
    ...loop.carried.map(({ name, type }) => [name, type, scanned.has(name) ? roles.scanned : roles.carried]),
    ...loop.reductions.flatMap(({ name, type, operator, companions = [] }) => [
      [name, type, `reduced with ${operator}`],
      ...companions.map((one) => [one.name, one.type, `set together with ${name}`]),
    ]),
    ...loop.inputs.map(({ name, type }) => [name, type, `input: ${host.inputs[name]}`]),
  ];
  const facts = [
    ["iterations", `${host.count}, from ${host.first} by ${host.step}`],
    ["tracked, per iteration", `loads: ${bound(loop.mostLoads)}, stores: ${bound(loop.mostStores)}`],
    [
      "addresses",
      loop.addressesAreFixed ? "known before the loop runs" : "may follow from what the loop writes",
    ],
  ];
  const plans = plansOf(translated);
  const kernels = plans.map(({ name, phases }) => [name, phases.map(({ kernel }) => kernel.name).join(", ")]);
  const text = plans.flatMap(({ name, phases }) =>
    phases.map(({ kernel }) => `\n// ${loop.name}, ${name}: ${kernel.name}\n${kernel.code}`),
  );
  return [
    `${loop.name}  ${file}:${line}:${column}`,
    alignColumns([
      ...combiningLoop(loop).arrays.map(({ name, element, role, operator }) => [
        name,
        element,
        operator ? `${roles.combined} ${operator}, in any order` : roles[role],
      ]),
      ...variables,
    ]),
    "",
    alignColumns(facts),
    "",
    "On the GPU if",
    ...host.guards.map((guard) => `  ${guard}`),
    "Kernels",
    alignColumns(kernels),
    "On the CPU",
    indent(sequential),
    ...(wgsl ? text : []),
  ].join("\n");
}

const roles = {
  carried: "carried: goes from each iteration to the next",
  scanned: "scanned: iterations only add to it",
  read: "only read",
  owned: "written, each element by one iteration",
  tracked: "written, checked for dependences",
  combined: "combined with",
};

const indent = (text: string) => text.replace(/^(?=.)/gm, "  ");
