/** The observed executions of loops, from the GPU of this machine or from a recording. */
import type { Statistics } from "belay-speculate";
import { newDevice } from "../page/adapter.ts";
import { type LoopExample, loopExamples } from "./loopExamples.ts";
import { type Round, type TracedKernel, traceRounds } from "./roundTrace.ts";

/** One observed execution of a loop. */
export interface ObservedLoop {
  readonly kernels: readonly TracedKernel[];
  readonly rounds: readonly Round[];
  readonly plans: readonly string[];
  /** True if the array has the bits that the sequential loop computes. */
  readonly isSequential: boolean;
}

/** Recorded executions, by the names of the loops. */
export interface RecordedLoops {
  readonly adapter: string;
  readonly date: string;
  readonly loops: Readonly<Record<string, ObservedLoop>>;
}

/** Executes a loop on the GPU of this machine, and observes its rounds. */
export async function executeLoop({ run }: LoopExample): Promise<ObservedLoop> {
  const device = await newDevice();
  try {
    const trace = traceRounds(device);
    let statistics: Statistics | undefined;
    const actual = await run({
      device,
      fallback: "never",
      onExecuted: (_loop, found) => {
        statistics = found;
      },
    });
    const expected = await run({ engine: "sequential" });
    return {
      kernels: [...trace.kernels],
      rounds: await trace.rounds(),
      plans: statistics!.plans,
      isSequential: actual.every((word, at) => word === expected[at]),
    };
  } finally {
    device.destroy();
  }
}

/** Executes all loops of the picker, by their names. */
export async function executeAllLoops(): Promise<Record<string, ObservedLoop>> {
  const executed: Record<string, ObservedLoop> = {};
  for (const example of loopExamples) executed[example.name] = await executeLoop(example);
  return executed;
}
