import { BelayError } from "../../diagnostics/belayError.ts";
import type { Grid } from "../context/dispatchCall.ts";
import { helpToFit } from "../context/unverified.ts";

/**
 * The dimension in which the grid of an Inter-Group kernel is doubled, or `namedByReport`. See
 * `InterGroup.doubling`.
 */
export type Doubling = 0 | 1 | 2 | 3;

/**
 * The report tells the kernel how its grid is doubled. This is the case if the host does not know
 * the grid, or runs it twice with one pipeline.
 */
export const namedByReport = 3;

/** The values of the report that are no dimension: one replica runs alone, on the original grid. */
export const firstReplicaAlone = 4;
export const secondReplicaAlone = 5;

/**
 * The error for a grid that cannot be doubled: each dimension has more than half of the workgroups
 * that the device allows.
 */
export class GridSizeError extends BelayError {
  override readonly name = "GridSizeError";

  constructor(kernel: string, grid: Grid, limit: number) {
    const size = grid.join(" by ");
    super(
      "grid-too-large",
      `kernel "${kernel}" cannot be doubled on a grid of ${size} workgroups: the device allows ${limit} in each dimension`,
      { help: helpToFit },
    );
  }
}

/** The properties of the kernel and the device that decide how a grid is doubled. */
export interface DoublingOptions {
  /** The name of the kernel. */
  readonly kernel: string;
  /** The device's limit on workgroups per dimension. */
  readonly limit: number;
  /** The value of `InterGroup.mostWorkgroups`. */
  readonly mostWorkgroups: number | undefined;
}

/**
 * Returns a grid that is doubled in the first dimension with room under the device's limit. Returns
 * undefined for an empty or invalid grid, of which no workgroup will run. A kernel with
 * `mostWorkgroups` runs larger grids unchanged, once for each replica. For other kernels, throws a
 * `GridSizeError` if no dimension has room.
 */
export function doubleGrid(
  grid: Grid,
  { kernel, limit, mostWorkgroups }: DoublingOptions,
): { readonly grid: Grid; readonly doubling: Doubling } | undefined {
  if (!grid.every((size) => size > 0 && size <= limit)) return undefined;
  const doubling = grid.findIndex((size) => 2 * size <= limit);
  if (mostWorkgroups !== undefined && (doubling < 0 || grid[0] * grid[1] * grid[2] > mostWorkgroups))
    return { grid, doubling: namedByReport };
  if (doubling < 0) throw new GridSizeError(kernel, grid, limit);
  return {
    grid: grid.map((size, dimension) => (dimension === doubling ? 2 * size : size)) as unknown as Grid,
    doubling: doubling as Doubling,
  };
}
