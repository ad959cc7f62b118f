import { mostWindows } from "../loops/kernels/scheduling.ts";
import type { Part } from "./execution.ts";
import { readOverwritten, rememberOverwritten } from "./overwritten.ts";
import type { Plan } from "./plans.ts";
import { rememberWindows } from "./provenWindows.ts";
import { readBuffers } from "./readBuffers.ts";
import type { Workspace } from "./workspace.ts";

/**
 * Keeps what rounds of a plan, which have executed all iterations, have shown for other executions with the same `numbers`: the lengths of
 * the `windows` in which nothing depends, if these are all and were found one behind the other, and which arrays are overwritten.
 */
export async function keepFindings(
  workspace: Workspace,
  { loop, lengths }: Part,
  numbers: string,
  plan: Plan,
  buffers: Readonly<Record<string, GPUBuffer>>,
  windows: number | null,
): Promise<void> {
  if (plan.covers) {
    const names = await readOverwritten(workspace, loop, lengths, buffers.covered!);
    rememberOverwritten(loop, numbers, names);
  }
  if (windows === null || windows > mostWindows) return;
  const read = await readBuffers(workspace, [{ buffer: buffers.windows!, bytes: 4 * windows }]);
  read((bytes) => rememberWindows(loop, numbers, [...new Uint32Array(bytes.slice().buffer)]));
}
