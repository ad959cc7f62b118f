import { BelayError } from "../../diagnostics/belayError.ts";
import { helpToFit } from "../context/unverified.ts";

/** A grid of workgroups: how many in x, y and z. */
export type Grid = readonly [number, number, number];

/** How the grid of an Inter-Group kernel is doubled, as `InterGroup.doubling` takes it. */
export type Doubling = 0 | 1 | 2 | 3;

/**
 * The report says what a dispatch is, because the host does not know the grid, or runs it twice by
 * one pipeline.
 */
export const namedByReport = 3;

/**
 * Values of the report other than a dimension: the replica that runs alone, on the grid as it is.
 */
export const firstReplicaAlone = 4;
export const secondReplicaAlone = 5;

/**
 * Every dimension of a grid has more than half the workgroups that the device allows, so none can
 * be doubled.
 */
export class GridSizeError extends BelayError {
  override readonly name = "GridSizeError";

  constructor(kernel: string, grid: Grid, limit: number) {
    const size = grid.join(" by ");
    super(
      "BELAY331",
      `kernel "${kernel}" cannot be doubled on a grid of ${size} workgroups: the device allows ${limit}`,
      { help: helpToFit },
    );
  }
}

/** What is asked of a kernel. */
export interface DoublingOptions {
  /** Its name. */
  readonly kernel: string;
  /** The device's limit on workgroups per dimension. */
  readonly limit: number;
  /** As in `InterGroup`. */
  readonly mostWorkgroups: number | undefined;
}

/**
 * Twice a grid, in the first dimension that has room under the device's limit. Undefined for a grid
 * of which the device is going to run nothing, be it empty or refused. Where no dimension has room,
 * it is the grid itself, to be run once for each replica, if the kernel can do that
 * (`mostWorkgroups`); else throws a `GridSizeError`.
 *
 * `asked`: the arguments of `dispatchWorkgroups`, converted as WebGPU does.
 */
export function doubleGrid(
  asked: readonly unknown[],
  { kernel, limit, mostWorkgroups }: DoublingOptions,
): { readonly grid: Grid; readonly doubling: Doubling } | undefined {
  const [x, y = 1, z = 1] = asked.map((size) => (size === undefined ? size : Math.trunc(Number(size))));
  const grid = [x ?? Number.NaN, y, z] as const;
  if (!grid.every((size) => size > 0 && size <= limit)) return undefined;
  const doubling = grid.findIndex((size) => 2 * size <= limit);
  if (mostWorkgroups !== undefined && (doubling < 0 || grid[0] * y * z > mostWorkgroups))
    return { grid, doubling: namedByReport };
  if (doubling < 0) throw new GridSizeError(kernel, grid, limit);
  return {
    grid: grid.map((size, dimension) => (dimension === doubling ? 2 * size : size)) as unknown as Grid,
    doubling: doubling as Doubling,
  };
}
