import type { Workspace } from "./workspace.ts";

/** The workgroups that have at least so many invocations, in two dimensions where one is too short. */
export function gridFor(invocations: number, { device, workgroupSize }: Workspace): [x: number, y: number] {
  const workgroups = Math.ceil(invocations / workgroupSize);
  const rows = Math.max(1, Math.ceil(workgroups / device.limits.maxComputeWorkgroupsPerDimension));
  return [Math.ceil(workgroups / rows), rows];
}
