/**
 * Measures products on hardened devices: on a plain device, under redundancy, and with checks by
 * algebra. It has the time of the GPU for a dispatch, the time that a program waits for results,
 * and the part of it that the host needs to encode and submit.
 *
 *   node research/dist/scripts/checkedProducts.js [--sizes 1024,2048,4096] [--activated 1024,2048]
 *       [--side 1024] [--dispatches 20] [--submissions 1] [--seconds 2] [--least 0] [--only TEXT]
 *       [--limit 480] [--json FILE]
 *
 * The dispatches are captured from the own product of matrices, also with activations of each sum
 * for `--activated` sizes, and from operations of TensorFlow.js. A run makes so many
 * `--submissions` of `--dispatches` of one kind each, and maps a result after the last one. The
 * three devices take turns. `--seconds` are those of each dispatch. `--least` is the checker's
 * least number of multiplications. `--only` is a regular expression for the names of dispatches. No
 * further dispatch is begun after `--limit` seconds. The script fails if checked results differ
 * from plain ones, or if a dispatch without a fault is repaired or refuted.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { activatedProduct, activationsOn } from "./sumsOfProducts/activations.js";
import { capturedProducts } from "./sumsOfProducts/products.js";
import { compareProtections } from "./sumsOfProducts/protections.js";

const { values: flags } = parseArgs({
  options: {
    sizes: { type: "string", default: "1024,2048,4096" },
    activated: { type: "string", default: "1024,2048" },
    side: { type: "string", default: "1024" },
    dispatches: { type: "string", default: "20" },
    submissions: { type: "string", default: "1" },
    seconds: { type: "string", default: "2" },
    least: { type: "string", default: "0" },
    only: { type: "string", default: "" },
    limit: { type: "string", default: "480" },
    json: { type: "string" },
  },
});
const numbersIn = (list: string) => list.split(",").filter(Boolean).map(Number);

const opened = await openGpu({ nvidiaHalves: true });
const { close, choice } = opened;
const freshDevice = () => newDevice(opened);
const names = new RegExp(flags.only);

/** Yields the dispatches to measure. */
async function* programs() {
  yield* capturedProducts(freshDevice, numbersIn(flags.sizes), Number(flags.side), names);
  for (const size of numbersIn(flags.activated))
    for (const activation of activationsOn(await freshDevice())) {
      const program = `own product, ${size}, ${activation}`;
      if (names.test(program))
        yield { program, dispatch: await activatedProduct(freshDevice, size, activation) };
    }
}

const rows = [];
const end = performance.now() + 1000 * Number(flags.limit);
for await (const { program, dispatch } of programs()) {
  if (performance.now() > end) break;
  const compared = await compareProtections(freshDevice, dispatch, {
    leastMultiplications: Number(flags.least),
    seconds: Number(flags.seconds),
    dispatches: Number(flags.dispatches),
    submissions: Number(flags.submissions),
  });
  rows.push({ program, ...compared });
}
const protections = ["redundant", "with algebra"];
console.log(choice.description);
console.log(
  alignColumns([
    [
      "program",
      ...["ms of the GPU", ...protections],
      ...["ms waiting", ...protections],
      ...["µs of the host", ...protections],
      "checked",
    ],
    ...rows.map(({ program, plain, redundant, checked, isChecked, reasons }) => [
      program,
      ...(["gpu", "waiting"] as const).flatMap((part) => [
        plain[part].toFixed(3),
        (redundant[part] / plain[part]).toFixed(2),
        (checked[part] / plain[part]).toFixed(2),
      ]),
      ...[plain, redundant, checked].map(({ host }) => (1000 * host).toFixed(0)),
      isChecked ? "yes" : (reasons[0] ?? "no"),
    ]),
  ]),
);
if (flags.json) writeFileSync(flags.json, JSON.stringify({ device: choice.description, rows }));
close();
if (rows.some(({ wrong, repaired, refuted }) => wrong + repaired + refuted > 0)) process.exitCode = 1;
