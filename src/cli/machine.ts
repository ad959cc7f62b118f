/** What reports tell of the machine that something was measured on. */
import type { Ceilings } from "../bench/ceilings.ts";
import type { AdapterChoice } from "../runtime/adapter.ts";
import { rate } from "./quantities.ts";

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

type Fact = readonly [name: string, value: string];

export function machineFacts({ adapter, node, platform, date }: MeasuredOn): readonly Fact[] {
  return [
    ["Adapter", adapter.description],
    ["Chosen because", adapter.reason],
    ["Node.js", node],
    ["Platform", platform],
    ["Date", date],
  ];
}

export function ceilingFacts({ memory, cache, flops, integers, invocations }: Ceilings): readonly Fact[] {
  return [
    ["Copy, in memory", rate(memory, "B/s")],
    ["Copy, in the cache", rate(cache, "B/s")],
    ["Fused multiply-adds", rate(flops, "FLOP/s")],
    ["Integer multiply-adds", rate(integers, "op/s")],
    ["Copies of a word", rate(invocations, "/s")],
  ];
}

/** A sentence, with a space before it, where times are not those of a GPU. */
export function caveatOf({ kind }: AdapterChoice): string {
  return kind === "hardware" ? "" : " A software adapter ran this: its times say nothing about a GPU.";
}
