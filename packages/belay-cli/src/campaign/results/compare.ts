import type { StruckStructure } from "../model/faultModel.ts";
import { type Difference, differenceOf, type Rate } from "./statistics.ts";
import type { CellSummary, Summary } from "./summary.ts";

/** The difference between the rates of two cells. */
export interface RateComparison {
  readonly rates: readonly [Rate, Rate];
  readonly difference: Difference;
  /** True if the interval of the difference contains zero. */
  readonly same: boolean;
}

/** Two cells of the same structure. */
export interface CellComparison {
  readonly configurations: readonly [string, string];
  readonly structure: StruckStructure;
  /** The rates of silent corruption among all faults that struck. */
  readonly sdc: RateComparison;
  /** The rates of noticed faults among those that were not masked. */
  readonly noticed: RateComparison;
}

type Entry = Pick<CellSummary, "configuration" | "structure">;

/** The differences between two campaigns. */
export interface CampaignComparison {
  readonly compared: readonly CellComparison[];
  /** The struck entries of each campaign that have no counterpart in the other one. */
  readonly unmatched: readonly [readonly Entry[], readonly Entry[]];
}

type Cells = Pick<Summary, "cells">;

/**
 * Compares the cells of two campaigns. A cell is paired with the same configuration if both
 * campaigns have it, otherwise with the same flavor.
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
 * Compares the configurations of each flavor within one campaign: the first one with each of the
 * others.
 */
export function compareWithinFlavors({ cells }: Cells): CellComparison[] {
  const first = new Map<string, CellSummary>();
  const nameOf = (flavor: CellSummary["flavor"], structure: StruckStructure) => `${flavor}/${structure}`;
  return cells.flatMap((cell) => {
    const name = nameOf(cell.flavor, cell.structure);
    const reference = first.get(name);
    if (reference) return [compareCells(reference, cell)];
    first.set(name, cell);
    return [];
  });
}

function compareCells(a: CellSummary, b: CellSummary): CellComparison {
  const compared = (which: "sdc" | "noticed"): RateComparison => {
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
