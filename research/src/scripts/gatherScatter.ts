/**
 * Measures the default engine on `a[p[i]] = a[q[i]] * 0.5 + 1`, beside the sequential loop and the
 * parallel loop without any checks.
 *
 *   node research/dist/scripts/gatherScatter.js [--iterations 16777216,…] [--runs 20]
 *       [--cases update,chains,…] [--seconds 10] [--transfers] [--json FILE]
 *
 * Arrays are resident on the GPU; `--transfers` also measures the loop with arrays that are not.
 * Each result is compared with the sequential loop's. A case takes about `--seconds` at most; one
 * that takes ten times as long ends the program.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { longestWait } from "belay-gpu/internal/runtime/context/timers";
import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { openGpu } from "belay-node/internal/adapter";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { type ResidentArray, resident } from "belay-speculate/internal/engine/transfer/resident";
import { type LoopData, sequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import Table from "cli-table3";
import { median } from "simple-statistics";
import { type Accesses, cases } from "./gatherScatter/cases.ts";
import { gatherScatter as loop } from "./gatherScatter/loop.ts";
import { timeUnchecked } from "./gatherScatter/timeUnchecked.ts";

const { values: flags } = parseArgs({
  options: {
    iterations: { type: "string", default: String(2 ** 24) },
    runs: { type: "string", default: "20" },
    cases: { type: "string" },
    seconds: { type: "string", default: "10" },
    transfers: { type: "boolean", default: false },
    json: { type: "string" },
  },
});
const runs = Number(flags.runs);
const most = 1000 * Number(flags.seconds);

const sequential = sequentialLoop(loop);

const opened = await openGpu();
const device = await requestFullDevice(opened.adapter);
const rounded = (value: number) => Number(value.toPrecision(4));
const results: object[] = [];
const rows: (string | number)[][] = [];
console.log(opened.choice.description);

for (const n of flags.iterations.split(",").map(Number)) {
  for (const [name, make] of Object.entries(cases)) {
    if (flags.cases && !flags.cases.split(",").includes(name)) continue;
    const watchdog = setTimeout(
      () => {
        console.error(`${name}, ${n} iterations: given up`);
        finish();
        process.exit(1);
      },
      Math.min(10 * most, longestWait),
    );
    await measure(name, n, make(n));
    clearTimeout(watchdog);
  }
}
finish();
device.destroy();
opened.close();

async function measure(name: string, n: number, { elements, p, q }: Accesses): Promise<void> {
  const start = Float32Array.from({ length: elements }, (_, i) => (i * 7919) % 1024);
  const expected = start.slice();
  const javascript = await repeat(5, () => {
    expected.set(start);
    return timed(() => sequential({ a: expected, p, q }, { $first: 0, $step: 1 }, {}, {}, 0, n));
  });
  const execute = (
    arrays: Record<string, LoopData | ResidentArray>,
    fallback: "never" | "measured",
    timings = false,
  ) =>
    speculate(
      { loop, sequential, arrays, inputs: {}, carried: {}, reductions: {}, first: 0, step: 1, count: n },
      { device, fallback, timings },
    );

  const arrays = { a: resident(start.slice()), p: resident(p), q: resident(q) };
  // A chain takes a round for each iteration, so the CPU may take that case if it is faster.
  const fallback = name === "chain" ? "measured" : "never";
  const first = await timed(() => execute(arrays, fallback));
  const correct = same(await arrays.a.read(), expected);
  const checked = await repeat(runs, () => timed(() => execute(arrays, fallback)));
  const { phases, plans, rounds, misspeculated, onCpu, engine } = (await execute(arrays, fallback, true))
    .statistics;
  for (const array of Object.values(arrays)) array.release();

  const host = start.slice();
  const transferred = flags.transfers
    ? await repeat(5, () => {
        host.set(start);
        return timed(() => execute({ a: host, p, q }, "measured"));
      })
    : [Number.NaN];
  const alone = await timeUnchecked(device, [start, p, q], (time) => repeat(runs, time));
  const result = {
    case: name,
    iterations: n,
    correct: correct && (!flags.transfers || same(host, expected)),
    javascript: median(javascript),
    unchecked: alone,
    first,
    checked: median(checked),
    fastest: Math.min(...checked),
    transferred: median(transferred),
    engine,
    phases,
    plans,
    rounds,
    misspeculated,
    onCpu,
  };
  results.push(result);
  const onGpu = Object.values(phases ?? {}).reduce((sum, time) => sum + time, 0);
  const [size, best] = Object.entries(alone).reduce((a, b) => (b[1] < a[1] ? b : a));
  rows.push([
    `${name}${result.correct ? "" : " WRONG"}\n${n}`,
    rounded(result.javascript),
    `${rounded(best)}\nof ${size}`,
    `${rounded(result.checked)}\n≥ ${rounded(result.fastest)}`,
    Object.entries(phases ?? {})
      .flatMap(([phase, time]) => (time > 0 ? [`${phase} ${rounded(time)}`] : []))
      .join("\n"),
    `${plans.join(", ")}\n${rounds} rounds\n${misspeculated} again, ${onCpu} on the CPU`,
    rounded(result.transferred),
    rounded(result.javascript / result.checked),
    `${rounded(onGpu / best)} GPU\n${rounded(result.checked / best)} all`,
  ]);
  console.error(JSON.stringify(result));
}

function finish(): void {
  const head = [
    "case",
    "JavaScript",
    "unchecked",
    "checked",
    "phases",
    "plans",
    "moved",
    "speedup",
    "checks cost",
  ];
  const table = new Table({ head, style: { head: [], border: [] } });
  table.push(...rows);
  console.log(table.toString());
  if (flags.json) writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice, results }, null, 2));
}

/** Repeats work `times` times, or fewer times if there is no time left. */
async function repeat(times: number, work: () => Promise<number>): Promise<number[]> {
  const taken: number[] = [];
  let spent = 0;
  while (taken.length < times && (taken.length === 0 || spent < most / 4)) {
    taken.push(await work());
    spent += taken.at(-1)!;
  }
  return taken;
}

async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function same(a: Float32Array, b: Float32Array): boolean {
  return a.every((value, place) => value === b[place]);
}
