/**
 * Measures who finds the mistakes of a compiler. `qualify` tries its built-in kernels and those of
 * the program. Twins have one text or two. Audits have several rates.
 *
 *   node research/dist/scripts/miscompilations.js --out FILE [--seconds 600] [--only REGEXP]
 *     [--judges qualify,twins,diverse,audits] [--jobs 1]
 *
 * A mistake is made at all places of one shape, such as `>> i32`. An application is a program of
 * the catalog whose results are wrong on such a device. The file has a line for each trial. A
 * second run goes on after the last line, also where a kernel never ended. The processes of
 * `--jobs` share the trials and the file.
 */

import { once } from "node:events";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { forkGuarded, guardProcess } from "belay-cli/internal/shared/workloads/guard";
import { type Diversity, harden } from "belay-gpu";
import { auditor } from "belay-gpu/audit";
import { twoTexts } from "belay-gpu/diversity";
import { stageOf } from "belay-gpu/internal/analysis/callGraph";
import { TriedDevice } from "belay-gpu/internal/qualify/deviceRun";
import { examine, type KernelCandidate } from "belay-gpu/internal/qualify/examine";
import { builtInCandidates, ownCandidates } from "belay-gpu/internal/qualify/qualify";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { createReference } from "belay-gpu/reference";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import Table from "cli-table3";
import { lyingDevice, miscompile, shapesIn } from "../miscompilation/lyingDevice.ts";
import { type Mistake, mistakes } from "../miscompilation/mistakes.ts";
import type { VerifiableProgram } from "../workloads/program.ts";
import { randomWord } from "../workloads/random.ts";
import { catalog } from "../workloads/samples/index.ts";

guardProcess();
const { values: flags } = parseArgs({
  options: {
    out: { type: "string" },
    seconds: { type: "string", default: "600" },
    only: { type: "string", default: "" },
    judges: { type: "string", default: "qualify,twins,diverse,audits" },
    jobs: { type: "string", default: "1" },
    share: { type: "string" },
  },
});
if (!flags.out) throw new Error("--out FILE is needed");
const out = flags.out;
const judges = new Set(flags.judges.split(","));
/** The rates of audits, and the most dispatches of each. */
const rates = [1, 0.1, 0.01];
const mostDispatches = 1000;
/** The milliseconds that a last trial may take. */
const patience = 10_000;
const end = performance.now() + 1000 * Number(flags.seconds);

/** The outcome of a program on a hardened device: a detected fault, or else its results. */
type Outcome = "detected" | "wrong" | "right";

/** The outcome of one mistake of one shape, in the built-in kernels or in a program. */
interface Trial {
  readonly mistake: string;
  readonly shape: string;
  /** The name of a program, or `built-in`. */
  readonly where: string;
  /** True if results are wrong. Absent while the trial runs. */
  readonly wrong?: boolean;
  readonly builtIn?: boolean;
  readonly own?: boolean;
  readonly twins?: Outcome;
  readonly diverse?: Outcome;
  /** The dispatches until an audit has found the mistake, for each rate; null if it has not. */
  readonly audits?: readonly (number | null)[];
}

const known = new Map<string, Trial>();
const keyOf = ({ mistake, shape, where }: Trial) => [mistake, shape, where].join("|");
function readTrials(): void {
  if (!existsSync(out)) return;
  for (const line of readFileSync(out, "utf8").split("\n").filter(Boolean)) {
    const trial = JSON.parse(line) as Trial;
    known.set(keyOf(trial), trial);
  }
}
readTrials();
const save = (trial: Trial) => {
  known.set(keyOf(trial), trial);
  appendFileSync(out, `${JSON.stringify(trial)}\n`);
};

const opened = await openGpu();
const plain = await newDevice(opened);
const builtIn = builtInCandidates(plain);
const programs = catalog
  .filter(({ name }) => new RegExp(flags.only).test(name))
  .map(({ name, campaign }) => ({ name, program: campaign() }));

/** Returns true if `qualify` finds a kernel wrong on a lying device. */
async function finds(
  candidates: readonly KernelCandidate[],
  mistake: Mistake,
  shape: string,
): Promise<boolean> {
  const tried = new TriedDevice(lyingDevice(plain, mistake, shape), undefined);
  try {
    for (const candidate of candidates) {
      const { source } = candidate.kernel;
      if (miscompile(source, mistake, shape) === source) continue;
      const { outcome } = await examine(tried, candidate);
      if (outcome === "differs") return true;
    }
    return false;
  } finally {
    tried.end();
  }
}

/** Returns the kernels of a program without their inputs. */
function kernelsOf({ kernelSources }: VerifiableProgram): KernelCandidate[] {
  const kernels = Object.values(kernelSources).flatMap((source) =>
    parse(source).module.declarations.flatMap((each) =>
      each.kind === "function" && stageOf(each) === "compute" ? [{ source, entryPoint: each.name }] : [],
    ),
  );
  return ownCandidates(kernels, plain);
}

/** Returns true if a module with the mistake is valid. */
function isValid(source: string, mistake: Mistake, shape: string): boolean {
  try {
    const text = miscompile(source, mistake, shape);
    const [entry] = parse(text).module.declarations.filter(
      (each) => each.kind === "function" && stageOf(each) === "compute",
    );
    createReference({ source: text, ...(entry?.kind === "function" && { entryPoint: entry.name }) });
    return true;
  } catch {
    return false;
  }
}

async function runsWrong(program: VerifiableProgram, device: GPUDevice): Promise<boolean> {
  return !program.verify(await program.workload(device)).ok;
}

async function twinsOn(
  program: VerifiableProgram,
  mistake: Mistake,
  shape: string,
  diversity: Diversity | false,
): Promise<Outcome> {
  const device = await newDevice(opened);
  const hardened = harden(lyingDevice(device, mistake, shape), { onFault: "report", diversity });
  let isDetected = false;
  hardened.belay.addEventListener("detection", () => {
    isDetected = true;
  });
  try {
    const isWrong = await runsWrong(program, hardened);
    return isDetected ? "detected" : isWrong ? "wrong" : "right";
  } catch {
    return "detected";
  } finally {
    device.destroy();
  }
}

/**
 * Runs a program again and again until an audit finds the mistake. Returns the number of dispatches
 * so far, or null after the most runs or dispatches.
 */
async function auditOn(
  program: VerifiableProgram,
  mistake: Mistake,
  shape: string,
  rate: number,
  mostRuns: number,
): Promise<number | null> {
  const device = await newDevice(opened);
  const audit = auditor({ rate, budget: 1 });
  const hardened = harden(lyingDevice(device, mistake, shape), { redundancy: "none", audit });
  try {
    for (let run = 0; run < mostRuns; run++) {
      await runsWrong(program, hardened).catch(() => true);
      const { dispatches, disagreed } = (await hardened.belay.report()).audit!;
      if (disagreed > 0) return dispatches;
      if (dispatches >= mostDispatches) return null;
    }
    return null;
  } finally {
    device.destroy();
  }
}

/** Returns what audits at all rates find. If that of all workgroups finds nothing, none does. */
async function auditsOn(
  program: VerifiableProgram,
  mistake: Mistake,
  shape: string,
): Promise<(number | null)[]> {
  const [all, ...others] = rates as [number, ...number[]];
  const found = await auditOn(program, mistake, shape, all, 2);
  if (found === null) return rates.map(() => null);
  return [
    found,
    ...(await Promise.all(others.map((rate) => auditOn(program, mistake, shape, rate, mostDispatches)))),
  ];
}

async function tryProgram(
  name: string,
  program: VerifiableProgram,
  mistake: Mistake,
  shape: string,
): Promise<void> {
  const trial = { mistake: mistake.name, shape, where: name };
  if (known.has(keyOf(trial))) return;
  save(trial);
  if (!Object.values(program.kernelSources).every((source) => isValid(source, mistake, shape))) return;
  const wrong = await runsWrong(program, lyingDevice(plain, mistake, shape)).catch(() => undefined);
  if (!wrong) return save({ ...trial, wrong: false });
  save({
    ...trial,
    wrong,
    ...(judges.has("qualify") && {
      builtIn: await tryBuiltIn(mistake, shape),
      own: await finds(kernelsOf(program), mistake, shape),
    }),
    ...(judges.has("twins") && { twins: await twinsOn(program, mistake, shape, false) }),
    ...(judges.has("diverse") && { diverse: await twinsOn(program, mistake, shape, twoTexts) }),
    ...(judges.has("audits") && { audits: await auditsOn(program, mistake, shape) }),
  });
}

/** Returns true if a built-in kernel is wrong on a lying device. */
async function tryBuiltIn(mistake: Mistake, shape: string): Promise<boolean> {
  const trial = { mistake: mistake.name, shape, where: "built-in" };
  const before = known.get(keyOf(trial));
  if (before) return before.wrong === true;
  save(trial);
  const valid = builtIn.filter(({ kernel }) => isValid(kernel.source, mistake, shape));
  const wrong = await finds(valid, mistake, shape);
  save({ ...trial, wrong });
  return wrong;
}

/** Returns the part of a list that this process tries. */
function shareOf<T>(list: readonly T[]): readonly T[] {
  if (flags.share === undefined) return jobs > 1 ? [] : list;
  return list.filter((_, i) => i % jobs === Number(flags.share));
}

const jobs = Number(flags.jobs);
if (jobs > 1 && flags.share === undefined) {
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const script = new URL(import.meta.url);
  await Promise.all(
    Array.from({ length: jobs }, (_, job) => {
      const child = forkGuarded(script, [...args, "--share", `${job}`], {
        stdio: ["ignore", "ignore", "inherit", "ipc"],
      });
      // A kernel that never ends keeps its process.
      setTimeout(() => child.kill("SIGKILL"), end - performance.now() + patience).unref();
      return once(child, "exit");
    }),
  );
  readTrials();
}

const shapes = (judges.has("qualify") ? mistakes : []).flatMap((mistake) =>
  shapesIn(
    builtIn.map(({ kernel }) => kernel.source),
    mistake,
  ).map((shape) => ({ mistake, shape })),
);
for (const { mistake, shape } of shareOf(shapes))
  if (performance.now() < end) await tryBuiltIn(mistake, shape);

const applications = programs.flatMap(({ name, program }) =>
  mistakes.flatMap((mistake) =>
    shapesIn(Object.values(program.kernelSources), mistake).map((shape) => ({
      name,
      program,
      mistake,
      shape,
    })),
  ),
);
// In an order of their own, so that a part of them is a sample of all.
const ordered = applications
  .map((each, i) => ({ ...each, place: randomWord(1, i) }))
  .sort((a, b) => a.place - b.place);
for (const { name, program, mistake, shape } of shareOf(ordered))
  if (performance.now() < end) await tryProgram(name, program, mistake, shape);
console.log(`${applications.length} applications, of which ${known.size} trials are known`);

const table = new Table({
  head: [
    "mistake",
    "shapes",
    "found by built-in kernels",
    "wrong programs",
    "built-in",
    "own",
    "both",
    "twins",
    "diverse twins",
    "right under them",
    ...rates.map((rate) => `audit, ${100 * rate} %`),
  ],
});
const total = [0, 0, 0, 0, 0, 0, 0, 0, 0, ...rates.map(() => 0)];
for (const { name } of mistakes) {
  const all = [...known.values()].filter(({ mistake, wrong }) => mistake === name && wrong !== undefined);
  const own = all.filter(({ where, wrong }) => where !== "built-in" && wrong);
  const count = (test: (trial: Trial) => boolean | undefined) => own.filter(test).length;
  const shapes = all.filter(({ where }) => where === "built-in");
  const row = [
    shapes.length,
    shapes.filter(({ wrong }) => wrong).length,
    own.length,
    count((each) => each.builtIn),
    count((each) => each.own),
    count((each) => each.builtIn || each.own),
    count(({ twins }) => twins === "detected"),
    count(({ diverse }) => diverse === "detected"),
    count(({ diverse }) => diverse === "right"),
    ...rates.map((_, i) => count(({ audits }) => typeof audits?.[i] === "number")),
  ];
  row.forEach((each, i) => {
    total[i]! += each;
  });
  table.push([name, ...row.map(String)]);
}
table.push(["all", ...total.map(String)]);
console.log(table.toString());
for (const [i, rate] of rates.entries()) {
  const found = [...known.values()].flatMap(({ audits }) => audits?.[i] ?? []).sort((a, b) => a - b);
  const [half, most] = [found[Math.floor(found.length / 2)], found.at(-1)];
  console.log(`audit, ${100 * rate} %: half in ${half} dispatches, all that it finds in ${most}`);
}
opened.close();
process.exit();
