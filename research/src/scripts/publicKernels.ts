/**
 * Compares kernels of others with the reference executor. Kernels of public libraries have the
 * inputs of their programs. Compute shaders in folders have inputs made from their types.
 *
 *   node research/dist/scripts/publicKernels.js [FOLDER...] [--programs MODULE] [--only REGEXP]
 *       [--elements 1024] [--seconds 300] [--json FILE]
 *
 * Programs of TensorFlow.js, TypeGPU and three.js run once, or those that a module exports as
 * `programs`, of the type `UsedProgram`. `--only` names some of them. An audit judges each
 * workgroup, at most 64 of a dispatch. A line on the standard error has each difference.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { harden } from "belay-gpu";
import { auditor } from "belay-gpu/audit";
import { stageOf } from "belay-gpu/internal/analysis/callGraph";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { TriedDevice } from "belay-gpu/internal/qualify/deviceRun";
import { examine } from "belay-gpu/internal/qualify/examine";
import { ownCandidates } from "belay-gpu/internal/qualify/qualify";
import { parse } from "belay-gpu/wgsl";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import type { UsedProgram } from "../bench/programs/program.ts";
import { tensorflowPrograms } from "../bench/programs/tensorflow.ts";
import { threePrograms } from "../bench/programs/three.ts";
import { typegpuPrograms } from "../bench/programs/typegpu.ts";

const { values: flags, positionals: folders } = parseArgs({
  allowPositionals: true,
  options: {
    programs: { type: "string" },
    only: { type: "string", default: "" },
    elements: { type: "string", default: "1024" },
    seconds: { type: "string", default: "300" },
    json: { type: "string" },
  },
});
const end = performance.now() + 1000 * Number(flags.seconds);

/** The workgroups of a program, or the kernels of a folder, with each outcome. */
interface Outcomes {
  readonly name: string;
  readonly source: string;
  agree: number;
  undecided: number;
  differ: number;
  notRun: number;
  readonly reasons: Record<string, number>;
}

const opened = await openGpu();
const all: Outcomes[] = [];

function outcomesOf(name: string, source: string): Outcomes {
  const outcomes = { name, source, agree: 0, undecided: 0, differ: 0, notRun: 0, reasons: {} };
  all.push(outcomes);
  return outcomes;
}

/** Runs a program once, and judges the workgroups of all its dispatches. */
async function auditProgram({ name, source, prepare }: UsedProgram): Promise<void> {
  const outcomes = outcomesOf(name, source);
  const audit = auditor({ rate: 1, budget: 1, seed: 1 });
  const device = harden(await newDevice(opened), { redundancy: "none", audit });
  device.belay.addEventListener("disagreement", ({ message }) =>
    console.error(`${source}, ${name}: ${message}`),
  );
  const { run } = await prepare(device);
  await run();
  const { agreed, undecided, disagreed, skipped, reasons } = (await device.belay.report()).audit!;
  Object.assign(outcomes, { agree: agreed, undecided, differ: disagreed, notRun: skipped });
  Object.assign(outcomes.reasons, reasons);
  device.destroy();
}

/** Tries each kernel of a folder that Dawn accepts. */
async function tryFolder(folder: string): Promise<void> {
  const outcomes = outcomesOf("all", folder);
  const device = await newDevice(opened);
  const tried = new TriedDevice(device, undefined);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const file of files.filter((each) => each.endsWith(".wgsl")).sort()) {
    const text = readFileSync(join(folder, file), "utf8");
    for (const source of [text, `enable subgroups;\n${text}`]) {
      if (!(await isAccepted(device, source))) continue;
      const kernels = parse(source).module.declarations.flatMap((each) =>
        each.kind === "function" && stageOf(each) === "compute" ? [each.name] : [],
      );
      for (const entryPoint of kernels) {
        if (performance.now() > end) break;
        const [candidate] = ownCandidates([{ source, entryPoint }], device);
        const { outcome, reason } = await examine(tried, candidate!);
        if (outcome === "agrees") outcomes.agree++;
        else if (outcome === "undecided") outcomes.undecided++;
        else if (outcome === "differs") outcomes.differ++;
        else outcomes.notRun++;
        if (outcome === "differs") console.error(`${file}, ${entryPoint}: ${reason}`);
        else if (reason !== undefined) outcomes.reasons[reason] = (outcomes.reasons[reason] ?? 0) + 1;
      }
      break;
    }
  }
  tried.end();
  device.destroy();
}

async function isAccepted(device: GPUDevice, code: string): Promise<boolean> {
  device.pushErrorScope("validation");
  device.createShaderModule({ code });
  return (await device.popErrorScope()) === null;
}

const elements = Number(flags.elements);
const programs: readonly UsedProgram[] = flags.programs
  ? (await import(pathToFileURL(resolve(flags.programs)).href)).programs
  : [...(await tensorflowPrograms(elements)), ...typegpuPrograms(elements), ...threePrograms(elements)];
for (const folder of folders) await tryFolder(folder);
for (const program of folders.length > 0 ? [] : programs) {
  if (!new RegExp(flags.only).test(program.name)) continue;
  if (performance.now() > end) break;
  await auditProgram(program).catch((error: unknown) =>
    console.error(`${program.source}, ${program.name}: ${messageOf(error)}`),
  );
}
opened.close();
const rows = all.map(({ name, source, agree, undecided, differ, notRun, reasons }) => [
  source,
  name,
  ...[agree, undecided, differ, notRun].map(String),
  Object.entries(reasons)
    .map(([reason, count]) => `${count} ${reason}`)
    .join("; "),
]);
console.log(
  alignColumns([["source", "program", "agree", "undecided", "differ", "not run", "reasons"], ...rows]),
);
if (flags.json) writeFileSync(flags.json, JSON.stringify(all, null, 1));
process.exit(all.some(({ differ }) => differ > 0) ? 1 : 0);
