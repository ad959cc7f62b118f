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
  const kernels = kernelsOf(loop);
  const check = (kernel: LoopKernel): Phase => ({ kernel, phase: "check", isSingle: false });
  const schedule = (kernel: LoopKernel): Phase => ({ kernel, phase: "scheduling", isSingle: true });
  const compute = (kernel: LoopKernel): Phase => ({ kernel, phase: "computation", isSingle: false });
  const commit = (kernel: LoopKernel): Phase => ({ kernel, phase: "commit", isSingle: false });
  const ifMarked = (phase: Phase) => (hasMarks(loop) ? [phase] : []);
  const ifNeeded = (phase: Phase) => (hasMarks(loop) || mayReport(loop) ? [phase] : []);
  switch (name) {
    case "write bitmap":
      return {
        name,
        phases: [
          check(kernels.fillBitmap),
          check(kernels.checkBitmap),
          schedule(kernels.scheduleInPlace),
          compute(kernels.execute),
        ],
        epochs: 1,
        bytesPerSlot: 0,
        marksPerElement: 0,
      };
    case "in place":
      return {
        name,
        phases: [
          ...ifNeeded(check(kernels.mark)),
          ...ifMarked(check(kernels.check)),
          schedule(kernels.scheduleInPlace),
          compute(kernels.execute),
        ],
        epochs: 1,
        bytesPerSlot: 0,
        marksPerElement: 1,
      };
    case "proven":
      return {
        name,
        phases: [
          schedule(kernels.scheduleProven),
          compute(recordsStores ? kernels.executeRecordingStores : kernels.execute),
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
          check(kernels.markAll),
          check(kernels.reserve),
          schedule(kernels.scheduleReserved),
          compute(kernels.executeHeld),
        ],
        epochs: 1,
        bytesPerSlot: 12,
        marksPerElement: 2,
      };
    case "logged":
      return {
        name,
        phases: [
          compute(kernels.compute),
          ...ifMarked(check(kernels.checkLog)),
          schedule(kernels.scheduleLogged),
          ...ifMarked(commit(kernels.order)),
          commit(kernels.commit),
        ],
        epochs: 2,
        bytesPerSlot: logBytes(size),
        marksPerElement: 1,
      };
    case "multi-version":
      return {
        name,
        phases: [schedule(kernels.scheduleMultiVersion), compute(kernels.advance)],
        epochs: 1,
        bytesPerSlot: versionBytes(size),
        marksPerElement: 2,
        continues: true,
      };
  }
}

type Kernels = ReturnType<typeof writeBitmapKernels> &
  ReturnType<typeof inPlaceKernels> &
  ReturnType<typeof loggedKernels> &
  ReturnType<typeof multiVersionKernels> &
  ReturnType<typeof schedulingKernels>;

/** The kernels of a loop, by name. */
const kernelsOf = oncePerLoop(
  (loop): Kernels => ({
    ...writeBitmapKernels(loop),
    ...inPlaceKernels(loop),
    ...loggedKernels(loop),
    ...multiVersionKernels(loop),
    ...schedulingKernels(loop),
  }),
);
