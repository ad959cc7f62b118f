/** Runs a sequential loop, on a GPU if the loop was translated, and prints what it computed. */
import { requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";
import { useDevice } from "belay-speculate";

export async function deposit(cells: Int32Array, where: Uint32Array, n: number) {
  "use speculate";
  let total = 0;
  for (let i = 0; i < n; i++) {
    const cell = where[i]!;
    cells[cell] = (cells[cell]! * 3 + i) | 0;
    total = (total + (cells[cell]! & 7)) | 0;
  }
  return total;
}

const { adapter, close } = await openGpu();
useDevice(await requestFullDevice(adapter));
const n = 1 << 20;
const cells = new Int32Array(n);
const where = Uint32Array.from({ length: n }, (_, i) => (i * 7919) % n);
const total = await deposit(cells, where, n);
console.log({ total, cells: cells.slice(0, 4) });
close();
