/**
 * Strikes the programs of TensorFlow.js that `belay bench programs` measures, with one transient
 * fault at a time. Each result must have the right bits, and snapshots must stay within their
 * budget.
 *
 *   node research/dist/scripts/programFaults.js [--faults 500] [--elements 1024] [--only add,exp]
 *     [--budget 16777216] [--seed 1] [--out FILE]
 *
 * Every second fault strikes the index of an access, where the kernel has such a site: its store
 * then goes astray. Faults that struck nothing are drawn again.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { harden } from "belay-gpu";
import type { HardenedDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import Table from "cli-table3";
import type { PreparedProgram } from "../bench/programs/program.ts";
import { isSame } from "../bench/programs/programs.ts";
import { tensorflowPrograms } from "../bench/programs/tensorflow.ts";

const { values: flags } = parseArgs({
  options: {
    faults: { type: "string", default: "500" },
    elements: { type: "string", default: "1024" },
    only: { type: "string" },
    budget: { type: "string", default: String(2 ** 24) },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
  },
});
const [wanted, elements, budget] = [flags.faults, flags.elements, flags.budget].map(Number) as [
  number,
  number,
  number,
];
/** The number of the last dispatch of a kernel that each of a program's 20 operations runs once. */
const LAST_DISPATCH = 19;
/** The faults that are drawn for each one that strikes, before a program is left. */
const MOST_MISSES = 40;

let state = Number(flags.seed);
/** Returns a whole number below `end`, from a seeded generator. */
function below(end: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * end);
}
const oneOf = <T>(items: readonly T[]): T => items[below(items.length)]!;

interface Tally {
  readonly program: string;
  struck: number;
  /** The struck indices of accesses. */
  misdirected: number;
  recovered: number;
  /** The faults without a detection, which left the result as it was. */
  masked: number;
  refused: number;
  wrong: number;
  /** The most GPU memory for snapshots, in bytes. */
  peak: number;
}

function drawFault(device: HardenedDevice, misdirect: boolean) {
  const kernels = device.belay.faultSites().filter(({ sites }) => sites.length > 0);
  const { kernel, sites } = oneOf(kernels);
  const addresses = sites.filter(({ kind }) => kind === "address");
  const site = oneOf(misdirect && addresses.length > 0 ? addresses : sites);
  device.belay.arm({
    kernel,
    site: site.id,
    replica: below(2) as 0 | 1,
    effect: { xor: 1 << below(site.kind === "address" ? 10 : 32) },
    // A program reads the result of its last operation only.
    dispatch: below(2) === 0 ? LAST_DISPATCH : below(LAST_DISPATCH),
    workgroup: [below(4), 0, 0],
    localIndex: below(64),
  });
  return site;
}

async function strike(
  device: HardenedDevice,
  { run }: PreparedProgram,
  expected: ArrayLike<number>,
  tally: Tally,
  misdirect: boolean,
): Promise<boolean> {
  const before = (await device.belay.report()).recoveries;
  const { kind } = drawFault(device, misdirect);
  const result = await run().catch(() => undefined);
  const { strikes } = await device.belay.observed();
  device.belay.disarm();
  const { recoveries } = await device.belay.report();
  if (strikes === 0 && recoveries === before) return false;
  tally.struck++;
  if (kind === "address") tally.misdirected++;
  if (!result) tally.refused++;
  else if (!isSame(result, expected)) tally.wrong++;
  else if (recoveries > before) tally.recovered++;
  else tally.masked++;
  return true;
}

using opened = await openGpu();
const only = flags.only?.split(",");
const programs = (await tensorflowPrograms(elements, Number.POSITIVE_INFINITY)).filter(
  ({ name }) => !only || only.includes(name),
);
const tallies: Tally[] = [];
for (const [i, program] of programs.entries()) {
  const device = harden(await newDevice(opened), { injectFaults: true, snapshotBytes: budget });
  const prepared = await program.prepare(device);
  const expected = await prepared.run();
  const tally = { struck: 0, misdirected: 0, recovered: 0, masked: 0, refused: 0, wrong: 0, peak: 0 };
  const each: Tally = { program: program.name, ...tally };
  tallies.push(each);
  const share = Math.floor(((i + 1) * wanted) / programs.length) - Math.floor((i * wanted) / programs.length);
  for (let misses = 0; each.struck < share && misses < MOST_MISSES * share; ) {
    if (!(await strike(device, prepared, expected, each, each.struck % 2 === 0))) misses++;
  }
  each.peak = (await device.belay.report()).snapshots.peak;
  device.destroy();
  if (flags.out) writeFileSync(flags.out, JSON.stringify({ elements, budget, tallies }, null, 2));
}

const columns = [
  "program",
  "struck",
  "misdirected",
  "recovered",
  "masked",
  "refused",
  "wrong",
  "peak",
] as const;
const table = new Table({ head: [...columns] });
for (const each of tallies) table.push(columns.map((name) => String(each[name])));
console.log(table.toString());
const sum = (name: "struck" | "refused" | "wrong") => tallies.reduce((total, each) => total + each[name], 0);
const isOver = tallies.some(({ peak }) => peak > budget);
console.log(
  `${sum("struck")} faults, ${sum("wrong")} wrong results, ${sum("refused")} refused, budget ${isOver ? "exceeded" : "kept"}`,
);
process.exitCode = sum("wrong") + sum("refused") > 0 || isOver ? 1 : 0;
