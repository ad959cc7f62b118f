/** Finds the bytes that a dispatch overwrites, whatever their earlier values were. */
import type { BindingPoint, Fill, FillLimit, GridProduct } from "../../compiler/contract.ts";
import type { BufferRange } from "../webgpu/resources.ts";

/** The bytes from `start` to `end` of each element, for the first `count` elements of an array. */
interface Part {
  readonly start: number;
  end: number;
  count: number;
}

/**
 * Returns the number of workgroups in each dimension. Converts the arguments of
 * `dispatchWorkgroups` as WebGPU does.
 */
export function workgroupsOf(grid: readonly unknown[]): readonly number[] {
  return [0, 1, 2].map((i) => (grid[i] === undefined ? 1 : Math.trunc(Number(grid[i]))));
}

/** Returns the bound ranges that all stores together overwrite on a grid of workgroups. */
export function filledBy(
  fills: readonly Fill[],
  grid: readonly number[],
  rangeAt: (of: BindingPoint) => BufferRange | undefined,
): BufferRange[] {
  if (!grid.every((count) => count >= 1)) return [];
  const rows = new Map<string, { readonly range: BufferRange; readonly stride: number; parts: Part[] }>();
  for (const fill of fills) {
    const { of, stride, offset, bytes } = fill;
    const range = rangeAt(of);
    const count = elementsOf(fill, grid, rangeAt);
    if (!range || count < 1) continue;
    const key = `${of.group} ${of.binding} ${stride}`;
    const row = rows.get(key) ?? { range, stride, parts: [] };
    rows.set(key, row);
    row.parts.push({ start: offset, end: offset + bytes, count });
  }
  return [...rows.values()].flatMap(({ range, stride, parts }) =>
    joined(parts).flatMap(({ start, end, count }) => {
      const isAll = end - start >= stride || count === 1;
      const size = count === 1 ? end - start : count * stride;
      return isAll ? [{ ...range, offset: range.offset + start, size }] : [];
    }),
  );
}

/**
 * Joins parts that are adjacent or overlap. The joined part has as many elements as the shorter
 * one.
 */
function joined(parts: readonly Part[]): readonly Part[] {
  const longest = new Map<string, Part>();
  for (const part of parts) {
    const key = `${part.start} ${part.end}`;
    const other = longest.get(key);
    if (!other || other.count < part.count) longest.set(key, part);
  }
  const rest: Part[] = [];
  for (const part of [...longest.values()].sort((a, b) => a.start - b.start)) {
    const last = rest.at(-1);
    if (last && part.start <= last.end) {
      last.end = Math.max(last.end, part.end);
      last.count = Math.min(last.count, part.count);
    } else rest.push({ ...part });
  }
  return rest;
}

/**
 * Returns the number of elements that a store overwrites without a gap, beginning with the first.
 */
function elementsOf(
  { terms, limits }: Fill,
  grid: readonly number[],
  rangeAt: (of: BindingPoint) => BufferRange | undefined,
): number {
  const ids = terms.map(({ factor, count, limits: own }) => ({
    factor: onGrid(factor, grid),
    count: Math.min(onGrid(count, grid), ...own.map((each) => firstExcluded(each, rangeAt))),
  }));
  if (ids.some(({ count }) => count < 1)) return 0;
  // The sums of the terms reach all numbers below this one. A term with a larger factor leaves a
  // gap.
  let reached = 1;
  for (const { factor, count } of ids.sort((a, b) => a.factor - b.factor)) {
    if (factor > reached) break;
    reached += factor * (count - 1);
  }
  return Math.min(reached, ...limits.map((each) => firstExcluded(each, rangeAt)));
}

const onGrid = ({ scale, dimensions }: GridProduct, grid: readonly number[]): number =>
  dimensions.reduce((product, i) => product * grid[i]!, scale);

/** Returns the first value that a limit excludes. */
function firstExcluded(
  { bound, minus, divisor }: FillLimit,
  rangeAt: (of: BindingPoint) => BufferRange | undefined,
): number {
  if (typeof bound === "number") return Math.ceil((bound - minus) / divisor);
  const range = rangeAt(bound.of);
  const length = range ? Math.floor((range.size - bound.offset) / bound.stride) : 0;
  return Math.ceil((length - minus) / divisor);
}
