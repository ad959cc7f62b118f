import { longestWindow } from "../loops/kernels/control.ts";
import { contributionBytes } from "./contributions.ts";
import type { Part } from "./execution.ts";
import type { Workspace } from "./workspace.ts";

/** Most iterations of a segment: what the kernels can count, and what there is room for to keep their parts of reductions. */
export function longestSegment({ loop }: Part, { device }: Workspace): number {
  const { maxStorageBufferBindingSize } = device.limits;
  let longest = loop.reductions.length > 0 ? longestWindow : 2 ** 31;
  while (contributionBytes(loop, longest) > maxStorageBufferBindingSize) longest /= 2;
  return longest;
}
