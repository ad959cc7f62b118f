/**
 * Strikes own products of matrices with an activation in the same kernel, under checks by algebra.
 *
 *   node research/dist/scripts/activatedProducts.js [--size 256] [--activations relu,gelu]
 *       [--faults 2000] [--limit 400] [--json FILE]
 *
 * The products have `--activations`, by default all that the device can compute. Each product is
 * struck with `--faults` single bits while it runs alone. `--limit` is in seconds. The script fails
 * if an error beyond twice the bound is silent though no other result is wrong.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { type HardenedDevice, harden, type Policy } from "belay-gpu";
import { algebra } from "belay-gpu/algebra";
import { f16Format } from "belay-gpu/internal/reference/floatFormat";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { readBuffers } from "../workloads/buffers.js";
import { activatedProduct, activations, activationsOn } from "./sumsOfProducts/activations.js";
import { RunnableDispatch } from "./sumsOfProducts/runnableDispatch.js";

const { values: flags } = parseArgs({
  options: {
    size: { type: "string", default: "256" },
    activations: { type: "string" },
    faults: { type: "string", default: "2000" },
    limit: { type: "string", default: "400" },
    json: { type: "string" },
  },
});

const opened = await openGpu({ nvidiaHalves: true });
const { close, choice } = opened;
const freshDevice = () => newDevice(opened);
const start = performance.now();
const isLate = () => performance.now() - start > 1000 * Number(flags.limit);

/**
 * The outcomes of faults. Of the silent ones, `below` has errors of at most twice the bound,
 * `several` more than one error, and `beyond` a larger one alone.
 */
const outcomes = ["injected", "masked", "repaired", "below", "several", "beyond", "refuted"] as const;

const struck: Record<string, Outcomes> = {};
const chosen = flags.activations?.split(",") ?? activationsOn(await freshDevice());
for (const activation of chosen) if (!isLate()) struck[activation] = await strike(activation);
console.log(choice.description);
console.log(
  alignColumns([
    ["struck", ...outcomes],
    ...Object.entries(struck).map(([name, each]) => [
      name,
      ...outcomes.map((outcome) => String(each[outcome])),
    ]),
  ]),
);
if (flags.json) writeFileSync(flags.json, JSON.stringify({ device: choice.description, struck }));
close();
if (Object.values(struck).some(({ beyond }) => beyond > 0)) process.exitCode = 1;

type Outcomes = Record<(typeof outcomes)[number], number>;

/** Returns the numbers in f16 of a buffer. */
function halvesIn(bytes: ArrayBuffer): Float32Array {
  return Float32Array.from(new Uint16Array(bytes), (each) => f16Format.fromBits(each));
}

/** Strikes single bits of an own product that runs alone. */
async function strike(activation: string): Promise<Outcomes> {
  const policy: Policy = {
    algebra: algebra({ leastMultiplications: 0, searchesAtOnce: true }),
    injectFaults: true,
  };
  const device: HardenedDevice = harden(await freshDevice(), policy);
  const size = Number(flags.size);
  const runnable = new RunnableDispatch(device, await activatedProduct(freshDevice, size, activation));
  runnable.fillAll();
  let repairs = 0;
  device.belay.addEventListener("repair", () => repairs++);
  const run = async () => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    runnable.encode(pass);
    pass.end();
    device.queue.submit([encoder.finish()]);
    const read = await readBuffers(device, runnable.output);
    return activations[activation]!.isHalf ? halvesIn(read) : new Float32Array(read);
  };
  const expected = await run();
  const alone = device.belay.faultSites().find(({ kernel }) => kernel.includes(" alone"))!;
  const below = (limit: number) => Math.floor(Math.random() * limit);
  const counts: Outcomes = {
    injected: 0,
    masked: 0,
    repaired: 0,
    below: 0,
    several: 0,
    beyond: 0,
    refuted: 0,
  };
  for (; counts.injected < Number(flags.faults) && !isLate(); counts.injected++) {
    const { id, kind } = alone.sites[below(alone.sites.length)]!;
    const effect = { xor: kind === "branch" || kind === "statement" ? 1 : 2 ** below(32) };
    const tiles = size / 16;
    const workgroup = [below(tiles), below(tiles), 0] as const;
    const before = repairs;
    device.belay.arm({
      kernel: alone.kernel,
      site: id,
      effect,
      workgroup,
      localIndex: below(128),
      replica: 0,
      fuel: 100_000,
    });
    const got = await run();
    const errors = [...got].flatMap((each, i) =>
      Object.is(each, expected[i]) ? [] : [Math.abs(each - expected[i]!)],
    );
    const { kernels } = await device.belay.report();
    const bound = 2 * activations[activation]!.slope * kernels[0]!.sums!.bound;
    // A NaN is no error up to the bound.
    const isBelow = errors.every((each) => each <= bound);
    if (errors.length > 0) counts[isBelow ? "below" : errors.length > 1 ? "several" : "beyond"]++;
    else if (repairs > before) counts.repaired++;
    else counts.masked++;
    counts.refuted = kernels[0]!.sums!.refuted;
  }
  device.destroy();
  return counts;
}
