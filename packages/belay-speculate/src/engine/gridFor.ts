import type { Loop } from "../loops/ir.ts";
import type { Workspace } from "./workspace.ts";

/** The workgroups of a loop's kernels that have at least so many invocations, in two dimensions where one is too short. */
export function gridFor(workspace: Workspace, loop: Loop, invocations: number): [x: number, y: number] {
  const workgroups = Math.ceil(invocations / workspace.pipelines.workgroupSizeFor(loop));
  const rows = Math.max(1, Math.ceil(workgroups / workspace.device.limits.maxComputeWorkgroupsPerDimension));
  return [Math.ceil(workgroups / rows), rows];
}
