import type { Structure } from "belay-gpu/internal/compiler/configurations";
import type { Tuning } from "belay-gpu/internal/runtime/tuning/tune";
import type { MemoryTuning } from "belay-gpu/internal/runtime/tuning/tuneMemory";
import type { ReferenceResult, RunResult, SentPolicy } from "./runWorkload.ts";

/** The tasks of a process with a workload, each with its question and answer. */
export interface WorkloadTasks {
  /** The task of importing the workload, and no more. */
  load: { readonly asks: object; readonly answer: null };
  run: { readonly asks: { readonly policy: SentPolicy }; readonly answer: RunResult };
  reference: { readonly asks: { readonly tolerance: number }; readonly answer: ReferenceResult };
  tune: {
    readonly asks: { readonly cover: readonly Structure[]; readonly runs: number };
    readonly answer: Tuning;
  };
  tuneMemory: { readonly asks: { readonly runs: number }; readonly answer: MemoryTuning };
}

/** A question with the path of the workload's module. */
export type Task = {
  [Kind in keyof WorkloadTasks]: { readonly kind: Kind; readonly path: string } & WorkloadTasks[Kind]["asks"];
}[keyof WorkloadTasks];

/** A message of the process with the workload. */
export type WorkloadMessage =
  /** The sign of progress when a run begins or ends. It restarts the time limit. */
  | { readonly kind: "step"; readonly doing?: string }
  | { readonly kind: "answer"; readonly value: unknown }
  | {
      readonly kind: "failure";
      readonly code?: string;
      readonly message: string;
      readonly help?: string;
      readonly stack: string;
    };
