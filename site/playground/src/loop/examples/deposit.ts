/** Updates cells that only the data knows: a few iterations meet in one cell. */
import { configure, type SpeculateOptions, schedule, speculate } from "belay-speculate";

async function deposit(cells: Int32Array, where: Uint32Array, n: number, options: SpeculateOptions) {
  "use speculate";
  speculate(cells);
  schedule(64);
  configure(options);
  for (let i = 0; i < n; i++) {
    const cell = where[i]!;
    cells[cell] = (cells[cell]! * 3 + i) | 0;
  }
}

export const run = async (options: SpeculateOptions) => {
  const where = Uint32Array.from({ length: 256 }, (_, i) => ((i * i * 37 + 11 * i) >>> 1) % 509);
  const cells = new Int32Array(512);
  await deposit(cells, where, 256, options);
  return cells;
};
