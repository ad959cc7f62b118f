/** What reports tell of the machine that something was measured on. */
import type { AdapterChoice } from "belay-node/internal/adapter";

/** The machine and the time of a measurement. */
export interface MeasuredOn {
  readonly adapter: AdapterChoice;
  readonly node: string;
  readonly platform: string;
  readonly date: string;
}

/** This machine, now. */
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

/** A sentence, with a space before it, where times are not those of a GPU. */
export function caveatOf({ kind }: AdapterChoice): string {
  return kind === "hardware" ? "" : " A software adapter ran this: its times say nothing about a GPU.";
}
