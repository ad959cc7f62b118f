import type { Range } from "./execution.ts";
import { type Reading, readBuffers } from "./readBuffers.ts";
import type { Workspace } from "./workspace.ts";

/** The iterations that a list on the device names, in order; it has them as distances from `base`. */
export async function readWaiting(workspace: Workspace, list: Reading, base: number): Promise<Range[]> {
  const read = await readBuffers(workspace, [list]);
  const waiting: Range[] = [];
  read((bytes) => {
    for (const distance of new Uint32Array(bytes.slice().buffer).sort()) {
      const iteration = base + distance;
      const last = waiting.at(-1);
      if (last?.to === iteration) waiting[waiting.length - 1] = { from: last.from, to: iteration + 1 };
      else waiting.push({ from: iteration, to: iteration + 1 });
    }
  });
  return waiting;
}
