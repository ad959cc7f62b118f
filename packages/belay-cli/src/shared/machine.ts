/** The facts in reports about the machine of a measurement. */
import type { AdapterChoice } from "belay-node/internal/adapter";

/** The machine and the time of a measurement. */
export interface MeasuredOn {
  readonly adapter: AdapterChoice;
  readonly node: string;
  readonly platform: string;
  readonly date: string;
}

/** Returns this machine and the current time. */
export function measuredOn(adapter: AdapterChoice): MeasuredOn {
  const platform = `${process.platform} ${process.arch}`;
  return { date: new Date().toISOString(), node: process.version, platform, adapter };
}

/** A row of a table of facts. */
export type Fact = readonly [name: string, value: string];

export function machineFacts({ adapter, node, platform, date }: MeasuredOn): readonly Fact[] {
  return [
    ["Adapter", adapter.description],
    ["Chosen because", adapter.reason],
    ["Node.js", node],
    ["Platform", platform],
    ["Date", date],
  ];
}

/**
 * Returns a caveat if times are not those of a GPU, beginning with a space; otherwise an empty
 * text.
 */
export function caveatOf({ kind }: AdapterChoice): string {
  return kind === "hardware" ? "" : " A software adapter ran this: its times say nothing about a GPU.";
}
