/** The bindings that protection adds to the layout of a kernel. */
import type { BindingPoint } from "../../compiler/contract.ts";
import type { ProtectedKernel } from "./protectedKernels.ts";

/** A buffer that is added to a pipeline layout. */
export interface AddedPoint extends BindingPoint {
  readonly type: GPUBufferBindingType;
}

/**
 * Returns the bindings that protection adds to a kernel: its report, shadow buffers, sums, and
 * check words.
 */
export function addedPoints({
  protection,
  usesReport,
  interGroup,
  sums,
  memory,
}: ProtectedKernel): readonly AddedPoint[] {
  const { group, binding } = protection.layout!;
  const checks = memory?.checks;
  return [
    ...(usesReport ? [{ group, binding, type: "storage" } as const] : []),
    ...(interGroup?.shadows ?? []).map(({ at }) => ({ ...at, type: "storage" as const })),
    ...(sums ? [{ ...sums.at, type: "storage" } as const] : []),
    ...(checks
      ? [{ ...checks.arena, type: checks.storesChecks ? "storage" : "read-only-storage" } as const]
      : []),
    ...(checks ? [{ ...checks.table, type: "uniform" } as const] : []),
  ];
}

/** The granule sizes in bytes, by bind group and binding. */
export type GranulesByGroup = ReadonlyMap<number, ReadonlyMap<number, number>>;

/** Returns the granule sizes of the bindings that a kernel checks itself. */
export function checkedGranules({ memory, granuleBytes }: ProtectedKernel): GranulesByGroup {
  const groups = new Map<number, Map<number, number>>();
  for (const { of, mode } of memory?.bindings ?? []) {
    if (mode !== "checked") continue;
    const bindings = groups.get(of.group) ?? new Map();
    groups.set(of.group, bindings.set(of.binding, granuleBytes));
  }
  return groups;
}
