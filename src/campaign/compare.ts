import type { StruckStructure } from "./faultModel.ts";
import { type Difference, differenceOf, type Rate } from "./statistics.ts";
import type { CellSummary, Summary } from "./summary.ts";

/** How a rate of one campaign differs from that of another. */
export interface Compared {
  readonly configuration: string;
  /** In the second campaign, where it is not the same. */
  readonly against: string;
  readonly structure: StruckStructure;
  readonly rates: readonly [Rate, Rate];
  readonly difference: Difference;
  /** Whether the interval leaves no difference out. */
  readonly same: boolean;
}

/** The two rates that are compared: silent corruption among all faults, and faults noticed among those with an effect. */
export interface CellComparison {
  readonly sdc: Compared;
  readonly noticed: Compared;
}

/** Compares the cells that two campaigns have in common. */
export function compareCampaigns(a: Summary, b: Summary): CellComparison[] {
  return a.cells.flatMap((cell) => {
    const other = b.cells.find(
      ({ configuration, structure }) => configuration === cell.configuration && structure === cell.structure,
    );
    return other ? [compareCells(cell, other)] : [];
  });
}

/** Compares two configurations of one campaign, such as the two checks, structure by structure. */
export function compareConfigurations({ cells }: Summary, first: string, second: string): CellComparison[] {
  return cells.flatMap((cell) => {
    if (cell.configuration !== first) return [];
    const other = cells.find(
      ({ configuration, structure }) => configuration === second && structure === cell.structure,
    );
    return other ? [compareCells(cell, other)] : [];
  });
}

function compareCells(a: CellSummary, b: CellSummary): CellComparison {
  const compared = (which: "sdc" | "noticed"): Compared => {
    const difference = differenceOf(a[which], b[which]);
    return {
      configuration: a.configuration,
      against: b.configuration,
      structure: a.structure,
      rates: [a[which], b[which]],
      difference,
      same: difference.low <= 0 && difference.high >= 0,
    };
  };
  return { sdc: compared("sdc"), noticed: compared("noticed") };
}
