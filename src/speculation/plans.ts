import type { Loop } from "../loops/ir.ts";
import { inPlaceKernels } from "../loops/kernels/inPlace.ts";
import { loggedKernels, logBytes, type LogSize } from "../loops/kernels/logged.ts";
import type { Kernel } from "../loops/kernels/kernel.ts";
import { hasMarks } from "../loops/kernels/marks.ts";
import { type dispatchOffsets, schedulingKernels } from "../loops/kernels/scheduling.ts";

/** The phases of a round, by which times are told. The default engine has no recovery: what is not committed is in the next round again. */
export type PhaseName = "scheduling" | "computation" | "check" | "commit" | "recovery";

/** One dispatch of a round. */
export interface Phase {
  readonly kernel: Kernel;
  readonly phase: PhaseName;
  /** Which size the scheduler gives it; null for the scheduler itself, which is one invocation. */
  readonly size: keyof typeof dispatchOffsets | null;
}

/** What a round consists of. */
export interface Plan {
  readonly name: "in place" | "by reservation" | "logged";
  readonly phases: readonly Phase[];
  /** Epochs that a round uses up. */
  readonly epochs: number;
  /** Bytes that it needs for each iteration of a window, besides the marks. */
  readonly bytesPerSlot: number;
  /** Words for each marked element. */
  readonly marksPerElement: number;
}

/** Executes windows in which no iteration depends on another one; others conflict. */
export function inPlace(loop: Loop): Plan {
  const { mark, check, execute } = inPlaceKernels(loop);
  const checks: Phase[] = hasMarks(loop) ? [{ kernel: check, phase: "check", size: "evaluate" }] : [];
  return {
    name: "in place",
    phases: [
      { kernel: mark, phase: "check", size: "evaluate" },
      ...checks,
      { kernel: schedulingKernels(loop).scheduleInPlace, phase: "scheduling", size: null },
      { kernel: execute, phase: "computation", size: "execute" },
    ],
    epochs: 1,
    bytesPerSlot: 0,
    marksPerElement: 1,
  };
}

/** Executes iterations that are the first to touch what they touch, in place; the others wait. */
export function byReservation(loop: Loop): Plan {
  const { markAll, reserve, executeHeld } = inPlaceKernels(loop);
  return {
    name: "by reservation",
    phases: [
      { kernel: markAll, phase: "check", size: "evaluate" },
      { kernel: reserve, phase: "check", size: "evaluate" },
      { kernel: schedulingKernels(loop).scheduleReserved, phase: "scheduling", size: null },
      { kernel: executeHeld, phase: "computation", size: "execute" },
    ],
    epochs: 1,
    bytesPerSlot: 12,
    marksPerElement: 2,
  };
}

/** Executes iterations on what was there before the window, and commits those before the first that should have seen something else. */
export function logged(loop: Loop, size: LogSize): Plan {
  const { compute, check, order, commit } = loggedKernels(loop);
  return {
    name: "logged",
    phases: [
      { kernel: compute, phase: "computation", size: "evaluate" },
      ...(hasMarks(loop) ? [{ kernel: check, phase: "check", size: "evaluate" } as const] : []),
      { kernel: schedulingKernels(loop).scheduleLogged, phase: "scheduling", size: null },
      ...(hasMarks(loop) ? [{ kernel: order, phase: "commit", size: "order" } as const] : []),
      { kernel: commit, phase: "commit", size: "execute" },
    ],
    epochs: 2,
    bytesPerSlot: logBytes(size),
    marksPerElement: 1,
  };
}
