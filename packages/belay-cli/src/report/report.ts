/**
 * What a report says, in the order it is read. Commands describe their results in these terms; this
 * folder only renders them.
 */
export interface Report {
  readonly title: string;
  readonly verdict: Verdict;
  readonly sections: readonly Section[];
}

/**
 * Whether something is right. Null: nothing is wrong, but something is missing, such as what a slow
 * machine did not finish.
 */
export type Judgement = boolean | null;

/** The class of a judgement in pages and pictures. */
export const classOf = (ok: Judgement): string => (ok === null ? "open" : ok ? "ok" : "bad");

export interface Verdict {
  readonly ok: Judgement;
  readonly headline: string;
  readonly detail: string;
}

export type Section =
  | TableSection
  | BarsSection
  | RangesSection
  | ListingsSection
  | FaultsSection
  | FactsSection
  | CommandsSection;

interface SectionBase {
  readonly title: string;
  /** A sentence that says how to read the section. */
  readonly lead?: string;
}

export interface TableSection extends SectionBase {
  readonly kind: "table";
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

export interface Column {
  readonly label: string;
  readonly align?: "start" | "end";
}

export interface Cell {
  readonly text: string;
  /** Shown as a mark before the text; the text says the same in words. */
  readonly ok?: Judgement;
}

/** Horizontal bars, grouped: one group per name, one bar per series. */
export interface BarsSection extends SectionBase {
  readonly kind: "bars";
  /** What a bar's length means, with its unit. */
  readonly axis: string;
  /** In drawing order; the first one is the reference. */
  readonly series: readonly string[];
  readonly bars: readonly Bar[];
  /** The bars of a group are parts of one bar, one behind the other. */
  readonly stacked?: true;
  /** A value to hold the bars against, drawn as a line. */
  readonly reference?: number;
}

export interface Bar {
  readonly group: string;
  readonly series: string;
  readonly value: number;
  /** Written at the end of the bar; may be empty. */
  readonly label: string;
}

/** Values with their intervals over a number, as one line per series. */
export interface RangesSection extends SectionBase {
  readonly kind: "ranges";
  /** What the number along the page is, and what the values are, with their unit. */
  readonly across: string;
  readonly axis: string;
  readonly series: readonly string[];
  readonly ranges: readonly Range[];
}

export interface Range {
  readonly series: string;
  readonly at: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Whole sources, with something to say about some of their lines. */
export interface ListingsSection extends SectionBase {
  readonly kind: "listings";
  readonly listings: readonly Listing[];
}

export interface Listing {
  readonly title: string;
  readonly source: string;
  readonly remarks: readonly Remark[];
}

export interface Remark {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
  /** How strongly the line is marked, from 0 to 1; the text says it in words. */
  readonly weight: number;
}

export interface FaultsSection extends SectionBase {
  readonly kind: "faults";
  readonly faults: readonly ReportedFault[];
}

/** A detected fault and the place in the WGSL source where it was detected. */
export interface ReportedFault {
  readonly title: string;
  readonly source: string;
  readonly span: { readonly start: number; readonly end: number };
  readonly facts: Facts;
}

export type Facts = readonly (readonly [name: string, value: string])[];

export interface FactsSection extends SectionBase {
  readonly kind: "facts";
  readonly facts: Facts;
}

export interface CommandsSection extends SectionBase {
  readonly kind: "commands";
  readonly commands: readonly string[];
}
