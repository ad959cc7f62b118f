import type { Redundancy } from "belay-gpu/internal/compiler/contract";
import type { StruckStructure } from "../model/faultModel.ts";
import { type Difference, differenceOf, type Rate } from "./statistics.ts";
import type { CellSummary, Summary } from "./summary.ts";

/** How a rate of one cell differs from that of another. */
export interface Compared {
  readonly rates: readonly [Rate, Rate];
  readonly difference: Difference;
  /** Whether the interval of the difference has zero in it. */
  readonly same: boolean;
}

/** Two cells of the same structure. */
export interface CellComparison {
  readonly configurations: readonly [string, string];
  readonly structure: StruckStructure;
  /** Silent corruption, among all faults that struck. */
  readonly sdc: Compared;
  /** Faults that were noticed, among those that were not masked. */
  readonly noticed: Compared;
}

type Entry = Pick<CellSummary, "configuration" | "structure">;

/** How two campaigns differ. */
export interface CampaignComparison {
  readonly compared: readonly CellComparison[];
  /**
   * Entries in which faults have struck, and which the other campaign has nothing for: of the
   * first, and of the second.
   */
  readonly unmatched: readonly [readonly Entry[], readonly Entry[]];
}

type Cells = Pick<Summary, "cells">;

/**
 * Compares the cells of two campaigns: of the same configuration where both have it, else of the
 * same flavor.
 */
export function compareCampaigns(a: Cells, b: Cells): CampaignComparison {
  const [first, second] = [a, b].map(({ cells }) => cells.filter(({ sdc }) => sdc.trials > 0)) as [
    CellSummary[],
    CellSummary[],
  ];
  const pairs = first.flatMap((cell) => {
    const others = second.filter(({ structure }) => structure === cell.structure);
    const other =
      others.find(({ configuration }) => configuration === cell.configuration) ??
      others.find(({ flavor }) => flavor === cell.flavor);
    return other ? [[cell, other] as const] : [];
  });
  const unmatched = (cells: readonly CellSummary[], side: 0 | 1): Entry[] =>
    cells
      .filter((cell) => !pairs.some((pair) => pair[side] === cell))
      .map(({ configuration, structure }) => ({ configuration, structure }));
  return {
    compared: pairs.map(([cell, other]) => compareCells(cell, other)),
    unmatched: [unmatched(first, 0), unmatched(second, 1)],
  };
}

/**
 * Compares, in one campaign, the configurations of each flavor: the first one with each of the
 * others.
 */
export function compareWithinFlavors({ cells }: Cells): CellComparison[] {
  const first = new Map<string, CellSummary>();
  const nameOf = (flavor: Redundancy, structure: StruckStructure) => `${flavor}/${structure}`;
  return cells.flatMap((cell) => {
    const name = nameOf(cell.flavor, cell.structure);
    const reference = first.get(name);
    if (reference) return [compareCells(reference, cell)];
    first.set(name, cell);
    return [];
  });
}

function compareCells(a: CellSummary, b: CellSummary): CellComparison {
  const compared = (which: "sdc" | "noticed"): Compared => {
    const difference = differenceOf(a[which], b[which]);
    return {
      rates: [a[which], b[which]],
      difference,
      same: difference.low <= 0 && difference.high >= 0,
    };
  };
  return {
    configurations: [a.configuration, b.configuration],
    structure: a.structure,
    sdc: compared("sdc"),
    noticed: compared("noticed"),
  };
}
