/**
 * Measures checks by algebra. It lists the dispatches of programs in which sums of products are
 * found, with their times alone and with the check. It also gives the verdicts on numbers without a
 * fault.
 *
 *   node research/dist/scripts/sumsOfProducts.js [--sizes 1024,2048,4096] [--side 1024]
 *       [--seconds 1] [--fault-free 20] [--json FILE]
 *
 * The dispatches are captured from the own product of matrices and from operations of
 * TensorFlow.js, and each runs by itself. `--side` is the side of their matrices, or 0 for none.
 * `--seconds` are those of each dispatch. `--fault-free` are the seconds of runs on numbers that
 * cancel, are huge, tiny, mixed or not finite, with matrices of 64 rows. The script fails if a
 * check finds a mismatch in one of them.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { create } from "../workloads/samples/matrixProduct.js";
import type { CapturedDispatch } from "./sumsOfProducts/captured.js";
import { capturedProducts, dispatchesOf } from "./sumsOfProducts/products.js";
import { RunnableProduct, sumsIn } from "./sumsOfProducts/runnableProduct.js";

const { values: flags } = parseArgs({
  options: {
    sizes: { type: "string", default: "1024,2048,4096" },
    side: { type: "string", default: "1024" },
    seconds: { type: "string", default: "1" },
    "fault-free": { type: "string", default: "20" },
    json: { type: "string" },
  },
});
const seconds = Number(flags.seconds);
/** The runs on the same numbers, which have one verdict. */
const group = 50;

/** A dispatch, and what was found of it. */
interface Row {
  readonly program: string;
  readonly reason?: string;
  readonly results?: number;
  readonly terms?: number;
  /** The milliseconds that finding the sums took. */
  readonly finding: number;
  readonly alone?: number;
  readonly checked?: number;
  /** The times of the kernels of the check by themselves. */
  readonly combine?: number;
  readonly compare?: number;
  readonly ratio?: number;
  readonly work?: number;
  readonly verdict?: string;
  readonly bound?: number;
}

const opened = await openGpu();
const freshDevice = () => newDevice(opened);
const rows: Row[] = [];

const sizes = flags.sizes.split(",").filter(Boolean).map(Number);
for await (const { program, dispatch } of capturedProducts(freshDevice, sizes, Number(flags.side))) {
  const row = await measure(program, dispatch);
  rows.push(row);
  console.error(`${program}: ${row.verdict ?? row.reason}`);
  write({ rows });
}
const columns = [
  "program",
  "ms alone",
  "ms checked",
  "combine",
  "compare",
  "ratio",
  "found in ms",
  "verdict, or why not",
];
console.log(
  alignColumns([
    columns,
    ...rows.map(({ program, alone, checked, combine, compare, ratio, finding, verdict, reason }) => [
      program,
      alone?.toFixed(3) ?? "",
      checked?.toFixed(3) ?? "",
      combine?.toFixed(3) ?? "",
      compare?.toFixed(3) ?? "",
      ratio?.toFixed(3) ?? "",
      finding.toFixed(0),
      verdict ?? reason ?? "",
    ]),
  ]),
);
const faultFree = await runWithoutFaults(Number(flags["fault-free"]));
console.log("runs without a fault:", JSON.stringify(faultFree));
write({ rows, faultFree });
opened.close();
if (Object.values(faultFree).some(({ mismatch = 0 }) => mismatch > 0)) process.exitCode = 1;

/** Writes the results so far, as a later dispatch may fail. */
function write(results: object): void {
  if (flags.json) writeFileSync(flags.json, JSON.stringify(results));
}

async function measure(program: string, dispatch: CapturedDispatch): Promise<Row> {
  const start = performance.now();
  const sums = sumsIn(dispatch);
  const finding = performance.now() - start;
  if ("reason" in sums) return { program, finding, reason: sums.reason };
  const device = await freshDevice();
  const runnable = new RunnableProduct(device, dispatch, sums);
  const { outcome, bound } = await runnable.verdict();
  const { alone, checked, combine, compare } = await runnable.times(seconds);
  const terms = sums.terms.reduce((product, { size }) => product * size, 1);
  const { work } = runnable;
  const ratio = checked / alone;
  runnable.destroy();
  device.destroy();
  return {
    program,
    results: sums.count,
    terms,
    finding,
    alone,
    checked,
    combine,
    compare,
    ratio,
    work,
    verdict: outcome,
    bound,
  };
}

/**
 * Runs an own product and the operations of TensorFlow.js on adversarial numbers, and counts the
 * verdicts on each kind of numbers.
 */
async function runWithoutFaults(limit: number): Promise<Record<string, Record<string, number>>> {
  if (limit === 0) return {};
  const device = await freshDevice();
  const products: { readonly program: string; readonly product: RunnableProduct }[] = [];
  const add = (program: string, dispatch: CapturedDispatch) => {
    const sums = sumsIn(dispatch);
    if (!("reason" in sums)) products.push({ program, product: new RunnableProduct(device, dispatch, sums) });
  };
  const own = create({ rows: 96, columns: 160, inner: 200 });
  for (const dispatch of await dispatchesOf(freshDevice, async (device) => void (await own.workload(device))))
    add("own product", dispatch);
  for await (const { program, dispatch } of capturedProducts(freshDevice, [], 64)) add(program, dispatch);
  const random = () => Math.random() * 2 - 1;
  let sign = 1;
  let last = 0;
  const kinds: Readonly<Record<string, (operand: number) => number>> = {
    random,
    cancelling: (operand) => {
      if (operand !== 0) return 1;
      sign = -sign;
      last = sign > 0 ? random() : -last;
      return last;
    },
    huge: () => random() * 1e16,
    tiny: () => random() * 1e-20,
    subnormal: (operand) => random() * (operand === 0 ? 1e-39 : 1e30),
    mixed: () => random() * 10 ** Math.floor(Math.random() * 31 - 15),
    equal: () => 0.1,
    "with NaN": () => (Math.random() < 1e-4 ? Number.NaN : random()),
    overflowing: () => random() * 3e38,
    "with infinities": () => (Math.random() < 1e-4 ? Number.POSITIVE_INFINITY : random()),
  };
  const counts: Record<string, Record<string, number>> = {};
  const end = performance.now() + 1000 * limit;
  while (performance.now() < end) {
    for (const [kind, next] of Object.entries(kinds)) {
      counts[kind] ??= {};
      const of = counts[kind];
      for (const { program, product } of products) {
        if (performance.now() > end) break;
        product.fill(next);
        // The weights differ in each run. Runs have the verdict of their group.
        const { outcome } = await product.verdict(group);
        of[outcome] = (of[outcome] ?? 0) + group;
        if (outcome === "mismatch") console.error(`a false alarm: ${program}, ${kind}`);
      }
    }
  }
  console.log(
    `runs without a fault, of ${products.length} dispatches: ${products.map(({ program }) => program).join("; ")}`,
  );
  device.destroy();
  return counts;
}
