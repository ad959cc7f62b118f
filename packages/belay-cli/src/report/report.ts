/**
 * The content of a report in reading order. Commands describe their results in these terms, and
 * this folder renders them.
 */
export interface ReportDocument {
  readonly title: string;
  readonly verdict: ReportVerdict;
  readonly sections: readonly Section[];
}

/**
 * The judgement of a result. Null: nothing is wrong, but something is missing, such as work that a
 * slow machine did not finish.
 */
export type Judgement = boolean | null;

/** Returns the CSS class of a judgement in pages and pictures. */
export const classOf = (ok: Judgement): string => (ok === null ? "open" : ok ? "ok" : "bad");

export interface ReportVerdict {
  readonly ok: Judgement;
  readonly headline: string;
  /** A sentence that says what to do now. */
  readonly next: string;
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
  readonly rows: readonly (readonly TableCell[])[];
}

export interface Column {
  readonly label: string;
  readonly align?: "start" | "end";
  /** True if pages leave out the column when it has only zeros. */
  readonly isCount?: true;
}

export interface TableCell {
  readonly text: string;
  /**
   * The judgement of the cell, shown as a mark before the text. The text says the same in words.
   */
  readonly ok?: Judgement;
}

/** A section with horizontal bars: one group per name, and one bar per series in a group. */
export interface BarsSection extends SectionBase {
  readonly kind: "bars";
  /** The meaning of a bar's length, with its unit. */
  readonly axis: string;
  /** The series in drawing order. The first one is the reference. */
  readonly series: readonly string[];
  readonly bars: readonly Bar[];
  /** The bars of a group are parts of one bar, end to end. */
  readonly stacked?: true;
  /** The value of a line that is drawn across the bars for comparison. */
  readonly reference?: number;
  /** A sentence on the noise of the values: the meaning of the whiskers, or why there are none. */
  readonly noise?: string;
}

export interface Bar {
  readonly group: string;
  readonly series: string;
  readonly value: number;
  /** The text at the end of the bar; may be empty. */
  readonly label: string;
  /** The interval of the value, drawn as a whisker. Parts of a stacked bar have none. */
  readonly interval?: ValueInterval;
}

/** An interval, in the unit of the value that it belongs to. */
export interface ValueInterval {
  readonly low: number;
  readonly high: number;
}

/** A section with values and their intervals, side by side in groups. */
export interface RangesSection extends SectionBase {
  readonly kind: "ranges";
  /** The meaning of the horizontal axis. `axis` is the meaning of the values, with their unit. */
  readonly across: string;
  readonly axis: string;
  readonly series: readonly string[];
  readonly ranges: readonly Range[];
}

export interface Range extends ValueInterval {
  readonly series: string;
  /** The name of the group. Groups stand in the order of the ranges. */
  readonly at: string;
  readonly value: number;
}

/** A section with whole sources and remarks on some of their lines. */
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
  /** The number of the line, from 1. */
  readonly line: number;
  readonly text: string;
  /** The strength of the line's mark, from 0 to 1. The text says the same in words. */
  readonly weight: number;
}

export interface FaultsSection extends SectionBase {
  readonly kind: "faults";
  readonly faults: readonly ReportedFault[];
}

/** An injected fault and the place in the WGSL source that it struck. */
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
