/**
 * Executes random loops on a device and compares the results with those of their source as written,
 * bit for bit.
 *
 *   node research/dist/scripts/randomLoops.js [--seed 1] [--jobs 1] [--seconds 60]
 *       [--texts 1000000] [--inputs 20] [--only SEED,SEED] [--cut 20] [--hang 60] [--json FILE]
 *
 * The processes of `--jobs` share the texts. Each text is executed by two engines, on as many as
 * `--inputs` inputs and on as many with longer arrays. `--only` tries the texts of some seeds.
 *
 * The script prints each difference with its seed, cut down for `--cut` seconds, and then ends with
 * an error. A process whose text takes longer than `--hang` seconds is killed and replaced. So is a
 * process that ends by itself.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { forkGuarded, guardProcess } from "belay-cli/internal/shared/workloads/guard";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import fc from "fast-check";
import { randomBelow } from "../workloads/random.ts";
import { LoopTrials, loopsWithInputs, type TrialCounts } from "./randomLoops/loopTrials.ts";

guardProcess();
const { values: flags } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: "1" },
    seconds: { type: "string", default: "60" },
    texts: { type: "string", default: "1000000" },
    inputs: { type: "string", default: "20" },
    only: { type: "string" },
    cut: { type: "string", default: "20" },
    hang: { type: "string", default: "60" },
    json: { type: "string" },
    // The first text of a process, which takes each text that is a multiple of the jobs after it.
    first: { type: "string" },
  },
});
const [seed, jobs, seconds, inputs, cut, hang] = (
  ["seed", "jobs", "seconds", "inputs", "cut", "hang"] as const
).map((flag) => Number(flags[flag])) as [number, number, number, number, number, number];
const only = flags.only?.split(",").map(Number);
const texts = only?.length ?? Number(flags.texts);
const end = performance.now() + 1000 * seconds;
/** The texts that share a device. A new one forgets the compiled kernels of the last ones. */
const textsPerDevice = 50;

const seedOf = (text: number) => only?.[text] ?? randomBelow(2 ** 32, seed, text);

/** The message of a process before a text and, with the results, after it. */
interface Told {
  readonly adapter: string;
  readonly text: number;
  readonly done?: TrialCounts & { readonly difference: string | null };
}

/** Tries the texts of one process. */
async function work(first: number): Promise<void> {
  const opened = await openGpu();
  const adapter = opened.choice.description;
  const tell = (told: Omit<Told, "adapter">) =>
    new Promise((sent) => process.send!({ adapter, ...told }, sent));
  let device: GPUDevice | undefined;
  for (let [text, tried] = [first, 0]; text < texts && performance.now() < end; text += jobs, tried++) {
    if (tried % textsPerDevice === 0) {
      device?.destroy();
      device = await newDevice(opened);
    }
    await tell({ text });
    const trials = new LoopTrials(device!);
    const difference = await differenceOf(trials, seedOf(text));
    await tell({ text, done: { ...trials.counts, difference } });
  }
  opened.close();
}

/** Tries the text of a seed. Returns its difference, cut down, or null. */
async function differenceOf(trials: LoopTrials, textSeed: number): Promise<string | null> {
  let enough = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(loopsWithInputs(inputs), async ([loop, data]) => {
    if (performance.now() > enough) return;
    try {
      const difference = await trials.differenceOf(loop, data);
      if (difference === undefined) return;
      throw new Error(`${loop.source}\n${difference}`);
    } catch (error) {
      enough = Math.min(enough, performance.now() + 1000 * cut);
      throw error;
    }
  });
  const { errorInstance } = await fc.check(property, { numRuns: 1, seed: textSeed });
  return errorInstance === null ? null : String(errorInstance);
}

interface Result extends TrialCounts {
  adapter: string;
  texts: number;
  readonly differences: { readonly seed: number; readonly difference: string }[];
  /** The seeds of the texts whose process was killed, or ended by itself. */
  readonly hung: number[];
  readonly ended: number[];
}

const result: Result = {
  adapter: "",
  texts: 0,
  pairs: 0,
  onDevice: 0,
  iterations: 0,
  milliseconds: {},
  differences: [],
  hung: [],
  ended: [],
};

/** Runs a process from a text on. Returns the next text for a process that replaces it. */
function runProcess(first: number): Promise<number> {
  const left = `${Math.max(0, (end - performance.now()) / 1000)}`;
  const given = ["seed", "jobs", "texts", "inputs", "only", "cut"] as const;
  const args = given.flatMap((flag) => (flags[flag] === undefined ? [] : [`--${flag}`, flags[flag]]));
  const child = forkGuarded(new URL(import.meta.url), [...args, "--seconds", left, "--first", `${first}`]);
  let text = first;
  let isTrying = false;
  let isHung = false;
  const kill = () => {
    isHung = true;
    child.kill("SIGKILL");
  };
  // Shrinking takes longer than a text.
  const patience = 1000 * (hang + cut);
  let timer = setTimeout(kill, patience);
  child.on("message", ({ adapter, text: tried, done }: Told) => {
    clearTimeout(timer);
    timer = setTimeout(kill, patience);
    result.adapter = adapter;
    text = tried;
    isTrying = !done;
    if (!done) return;
    result.texts++;
    result.pairs += done.pairs;
    result.onDevice += done.onDevice;
    result.iterations += done.iterations;
    for (const [name, spent] of Object.entries(done.milliseconds))
      result.milliseconds[name] = (result.milliseconds[name] ?? 0) + spent;
    if (done.difference === null) return;
    result.differences.push({ seed: seedOf(text), difference: done.difference });
    console.error(`text ${seedOf(text)}: ${done.difference}`);
  });
  return new Promise((resolve, reject) => {
    child.on("exit", (status) => {
      clearTimeout(timer);
      if (status === 0) resolve(texts);
      else if (!isTrying && !isHung) reject(new Error(`a process ended with status ${status}`));
      else {
        result[isHung ? "hung" : "ended"].push(seedOf(text));
        resolve(text + jobs);
      }
    });
  });
}

/** Runs processes for each text that is a multiple of the jobs after the first one. */
async function runShare(first: number): Promise<void> {
  let text = first;
  while (text < texts && performance.now() < end) text = await runProcess(text);
}

if (flags.first !== undefined) {
  await work(Number(flags.first));
  process.exit(0);
}
await Promise.all(Array.from({ length: jobs }, (_, job) => runShare(job)));
if (flags.json) writeFileSync(flags.json, JSON.stringify(result, null, 2));
console.log(JSON.stringify({ ...result, differences: result.differences.length }));
const { differences, hung, ended } = result;
process.exit(differences.length + hung.length + ended.length === 0 ? 0 : 1);
