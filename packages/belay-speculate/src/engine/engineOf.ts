import { runDefault } from "./defaultEngine.ts";
import type { Engine } from "./execution.ts";
import type { Pace } from "./pace.ts";
import type { SpeculateOptions } from "./speculate.ts";

/** The engine that a program asks for; the default one leaves the loop to the CPU when the pace says so. */
export function engineOf({ engine }: SpeculateOptions, pace: Pace | null): Engine<SpeculateOptions> {
  if (typeof engine === "function") return engine;
  return (workspace, execution, { timings = false }) => runDefault(workspace, execution, { timings, pace });
}
