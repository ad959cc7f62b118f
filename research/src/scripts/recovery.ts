/**
 * Injects faults into programs on a hardened device that recovers, and compares every bit of their
 * results with a clean run.
 *
 *   node research/dist/scripts/recovery.js [--faults 500] [--only "name; ..."] [--seed 1]
 *       [--json FILE]
 *
 * Ends with an error when a detected fault was not recovered, or a result is wrong.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { harden } from "belay-gpu";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import Table from "cli-table3";
import { median } from "simple-statistics";
import { runTrials, type Trials, trialWorkloads } from "./recovery/trials.ts";

const { values: flags } = parseArgs({
  options: {
    faults: { type: "string", default: "500" },
    only: { type: "string" },
    seed: { type: "string", default: "1" },
    json: { type: "string" },
  },
});
const opened = await openGpu();
const only = flags.only?.split("; ");
const names = Object.keys(trialWorkloads).filter((name) => only?.includes(name) ?? true);
const count = Math.ceil(Number(flags.faults) / names.length);
const table = new Table({
  head: [
    "program",
    "detected",
    "recovered",
    "wrong",
    "masked",
    "silent",
    "clean ms",
    "with recovery ms",
    "MB saved",
  ],
});
const results: (Trials & { program: string; replays: number })[] = [];
for (const name of names) {
  const device = harden(await newDevice(opened), {
    redundancy: "intra+lds",
    injectFaults: true,
  });
  const trials = await runTrials(trialWorkloads[name]!, device, { count, seed: Number(flags.seed) });
  const { snapshots, replays } = await device.belay.report();
  results.push({ program: name, ...trials, replays });
  const { detected, recovered, wrong, masked, milliseconds } = trials;
  const times = [median(milliseconds.clean), median(milliseconds.recovered)].map((each) => each.toFixed(1));
  table.push([
    ...[name, detected, recovered, wrong, masked, trials.silent.length, ...times].map(String),
    (snapshots.peak / 1000).toFixed(1),
  ]);
  console.error(`${name}: ${recovered} of ${detected} recovered`);
  device.destroy();
}
console.log(table.toString());
const silent = results.flatMap(({ program, silent }) => silent.map((fault) => ({ program, ...fault })));
for (const fault of silent) console.log(`not detected: ${JSON.stringify(fault)}`);
const sum = (field: "detected" | "recovered" | "wrong") =>
  results.reduce((total, each) => total + each[field], 0);
console.log(
  `${sum("recovered")} of ${sum("detected")} detected faults recovered, ${sum("wrong")} wrong results, ` +
    `${silent.length} faults with wrong results that were not detected`,
);
if (flags.json) writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice, results }, null, 2));
if (sum("recovered") < sum("detected") || sum("wrong") > 0) process.exitCode = 1;
opened.close();
