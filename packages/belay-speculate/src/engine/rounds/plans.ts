import { type LogSize, logBytes, versionBytes } from "../../loops/analysis/logSize.ts";
import type { LoopKernel } from "../../loops/kernels/code/kernel.ts";
import { inPlaceKernels } from "../../loops/kernels/inPlace.ts";
import { loggedKernels } from "../../loops/kernels/logged.ts";
import { hasMarks } from "../../loops/kernels/marks.ts";
import { multiVersionKernels } from "../../loops/kernels/multiVersion.ts";
import { schedulingKernels } from "../../loops/kernels/scheduling.ts";
import { writeBitmapKernels } from "../../loops/kernels/writeBitmap.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import { oncePerLoop } from "../../loops/tree/oncePerLoop.ts";
import { mayReport } from "../../loops/tree/walk.ts";
import type { PhaseName } from "../device/phaseTimer.ts";
import type { PlanName } from "../policy/planChoice.ts";

/** One dispatch of a round. */
export interface Phase {
  readonly kernel: LoopKernel;
  readonly phase: PhaseName;
  /**
   * True for one invocation in total, as in the scheduler; false for one per iteration of the
   * round.
   */
  readonly isSingle: boolean;
}

/** The kernels and the memory of a round. */
export interface Plan {
  readonly name: PlanName;
  readonly phases: readonly Phase[];
  /** The number of epochs that a round uses. */
  readonly epochs: number;
  /** The bytes for each iteration of a window, besides the marks. */
  readonly bytesPerSlot: number;
  /**
   * The words for each marked element; for each of its versions if a round continues another one.
   */
  readonly marksPerElement: number;
  /**
   * True if a round begins with the results of the previous one, so that its first kernel decides
   * the length of its window.
   */
  readonly continues?: true;
  /** True if the rounds record which elements are stored to. */
  readonly recordsStores?: true;
}

/**
 * Returns the plan of a name for a loop, with logs of the given size. `recordsStores` only applies
 * to `proven`.
 */
export function planOf(name: PlanName, loop: Loop, size: LogSize, recordsStores = false): Plan {
  const kernel = kernelOf(loop);
  const check = (kernel: LoopKernel): Phase => ({ kernel, phase: "check", isSingle: false });
  const schedule = (kernel: LoopKernel): Phase => ({ kernel, phase: "scheduling", isSingle: true });
  const compute = (kernel: LoopKernel): Phase => ({ kernel, phase: "computation", isSingle: false });
  const commit = (kernel: LoopKernel): Phase => ({ kernel, phase: "commit", isSingle: false });
  const ifMarked = (phase: () => Phase) => (hasMarks(loop) ? [phase()] : []);
  const ifNeeded = (phase: () => Phase) => (hasMarks(loop) || mayReport(loop) ? [phase()] : []);
  switch (name) {
    case "write bitmap":
      return {
        name,
        phases: [
          check(kernel("fillBitmap")),
          check(kernel("checkBitmap")),
          schedule(kernel("scheduleInPlace")),
          compute(kernel("execute")),
        ],
        epochs: 1,
        bytesPerSlot: 0,
        marksPerElement: 0,
      };
    case "in place":
      return {
        name,
        phases: [
          ...ifNeeded(() => check(kernel("mark"))),
          ...ifMarked(() => check(kernel("check"))),
          schedule(kernel("scheduleInPlace")),
          compute(kernel("execute")),
        ],
        epochs: 1,
        bytesPerSlot: 0,
        marksPerElement: 1,
      };
    case "proven":
      return {
        name,
        phases: [
          schedule(kernel("scheduleProven")),
          compute(recordsStores ? kernel("executeRecordingStores") : kernel("execute")),
        ],
        epochs: 1,
        bytesPerSlot: 0,
        marksPerElement: 0,
        ...(recordsStores && { recordsStores }),
      };
    case "by reservation":
      return {
        name,
        phases: [
          check(kernel("markAll")),
          check(kernel("reserve")),
          schedule(kernel("scheduleReserved")),
          compute(kernel("executeHeld")),
        ],
        epochs: 1,
        bytesPerSlot: 12,
        marksPerElement: 2,
      };
    case "logged":
      return {
        name,
        phases: [
          compute(kernel("compute")),
          ...ifMarked(() => check(kernel("checkLog"))),
          schedule(kernel("scheduleLogged")),
          ...ifMarked(() => commit(kernel("order"))),
          commit(kernel("commit")),
        ],
        epochs: 2,
        bytesPerSlot: logBytes(size),
        marksPerElement: 1,
      };
    case "multi-version":
      return {
        name,
        phases: [schedule(kernel("scheduleMultiVersion")), compute(kernel("advance"))],
        epochs: 1,
        bytesPerSlot: versionBytes(size),
        marksPerElement: 2,
        continues: true,
      };
  }
}

/** Returns the kernels of a plan in the order of its dispatches. */
export const kernelsOf = ({ phases }: Plan): readonly LoopKernel[] => phases.map(({ kernel }) => kernel);

/** Returns a function that makes a loop's kernels, each once, when a plan needs them. */
const kernelOf = oncePerLoop((loop) => {
  const makers = {
    ...writeBitmapKernels(loop),
    ...inPlaceKernels(loop),
    ...loggedKernels(loop),
    ...multiVersionKernels(loop),
    ...schedulingKernels(loop),
  };
  const made = new Map<keyof typeof makers, LoopKernel>();
  return (name: keyof typeof makers): LoopKernel => {
    const kernel = made.get(name) ?? makers[name]();
    made.set(name, kernel);
    return kernel;
  };
});
