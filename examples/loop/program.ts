/** A sequential loop on a GPU. Only its data knows which iterations may run at once. */
import { requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";
import { configure, type SpeculateOptions, speculate } from "belay-speculate";

export async function count(cells: Int32Array, where: Uint32Array, n: number, options: SpeculateOptions) {
  "use speculate";
  speculate(cells);
  configure(options);
  for (let i = 0; i < n; i++) {
    const cell = where[i]!;
    cells[cell] = (cells[cell]! * 3 + i) | 0;
  }
}

const { adapter, close } = await openGpu();
const options: SpeculateOptions = {
  device: await requestFullDevice(adapter),
  // Without this option, Belay measures the GPU and the CPU, and runs the loop where it is faster.
  fallback: "never",
  onExecuted: ({ name }, { plans, rounds }) =>
    console.log(`${name} took ${rounds} rounds: ${plans.join(", ")}`),
};
const n = 4096;
const where = Uint32Array.from({ length: n }, (_, i) => (i * 7919) % 1024);
const cells = new Int32Array(1024);
await count(cells, where, n, options);

const expected = new Int32Array(1024);
for (let i = 0; i < n; i++) expected[where[i]!] = (expected[where[i]!]! * 3 + i) | 0;
const isEqual = cells.every((cell, i) => cell === expected[i]);
console.log(isEqual ? "the same as in order, bit for bit" : "different from in order");
close();
