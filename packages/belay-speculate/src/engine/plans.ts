import type { Loop } from "../loops/ir.ts";
import { addressLoop } from "../loops/kernels/addressLoop.ts";
import { claimKernels, mostClaims } from "../loops/kernels/claims.ts";
import { inPlaceKernels } from "../loops/kernels/inPlace.ts";
import type { Kernel } from "../loops/kernels/kernel.ts";
import { loggedKernels } from "../loops/kernels/logged.ts";
import { type LogSize, logBytes, versionBytes } from "../loops/kernels/logSize.ts";
import { hasMarks } from "../loops/kernels/marks.ts";
import { schedulingKernels } from "../loops/kernels/scheduling.ts";
import { versionedKernels } from "../loops/kernels/versioned.ts";
import { mayReport } from "../loops/kernels/walk.ts";

/** The phases of a round, by which times are told. The default engine has no recovery: what is not committed is in the next round again. */
export type PhaseName = "scheduling" | "computation" | "check" | "commit" | "recovery";

/** One dispatch of a round. */
export interface Phase {
  readonly kernel: Kernel;
  readonly phase: PhaseName;
  /** Whether it has one invocation in all, as the scheduler has, or one for each iteration that the round looks at. */
  readonly isSingle: boolean;
}

/** What a round consists of. */
export interface Plan {
  readonly name: PlanName;
  readonly phases: readonly Phase[];
  /** Epochs that a round uses up. */
  readonly epochs: number;
  /** Bytes that it needs for each iteration of a window, besides the marks. */
  readonly bytesPerSlot: number;
  /** Words for each marked element; for each version of it where a round continues another one. */
  readonly marksPerElement: number;
  /** Whether a round begins with what the one before it left, so that its first kernel decides how long its window is. */
  readonly continues?: true;
  /** Whether it finds out which elements are stored to. */
  readonly covers?: true;
}

/**
 * - `claimed`: as `in place`, and finds out that nothing depends in less time, but nothing else.
 * - `in place`: executes windows up to the first iteration that depends on another one; where that makes too many of them, they conflict.
 * - `proven`: executes windows that `in place` has found in an earlier execution with the same addresses, and checks nothing.
 * - `by reservation`: executes iterations that are the first to touch what they touch, in place; the others wait.
 * - `logged`: executes iterations on what was there before the window, and commits those before the first that should have
 *   seen something else.
 * - `versioned`: executes iterations on what earlier ones of the window stored the last time, until they store nothing else.
 */
export type PlanName = "claimed" | "in place" | "proven" | "by reservation" | "logged" | "versioned";

/** The plan of a name for a loop, whose iterations log so much at most; `proven`, it may find out what is overwritten. */
export function planOf(name: PlanName, loop: Loop, size: LogSize, covers = false): Plan {
  const kernels = kernelsOf(loop);
  const check = (kernel: Kernel): Phase => ({ kernel, phase: "check", isSingle: false });
  const schedule = (kernel: Kernel): Phase => ({ kernel, phase: "scheduling", isSingle: true });
  const compute = (kernel: Kernel): Phase => ({ kernel, phase: "computation", isSingle: false });
  const commit = (kernel: Kernel): Phase => ({ kernel, phase: "commit", isSingle: false });
  const ifMarked = (phase: Phase) => (hasMarks(loop) ? [phase] : []);
  const ifNeeded = (phase: Phase) => (hasMarks(loop) || mayReport(loop) ? [phase] : []);
  switch (name) {
    case "claimed":
      return {
        name,
        phases: [
          check(kernels.claim),
          check(kernels.checkClaims),
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
          compute(covers ? kernels.executeCovering : kernels.execute),
        ],
        epochs: 1,
        bytesPerSlot: 0,
        marksPerElement: 0,
        ...(covers && { covers }),
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
    case "versioned":
      return {
        name,
        phases: [schedule(kernels.scheduleVersioned), compute(kernels.advance)],
        epochs: 1,
        bytesPerSlot: versionBytes(size),
        marksPerElement: 2,
        continues: true,
      };
  }
}

/** Elements from which bits are worth while: fewer words are as near. */
const fewestClaimed = 2 ** 16;

/** The plan to begin a loop with that may depend on so many elements, when nothing else is known of it. */
export function firstPlan(loop: Loop, marked: number): PlanName {
  const addresses = addressLoop(loop);
  if (!addresses?.isExact) return "logged";
  if (addresses.isPredicted) return "in place";
  const stores = (loop.mostStores ?? Infinity) + loop.carried.length;
  return hasMarks(loop) && stores <= mostClaims && marked >= fewestClaimed ? "claimed" : "in place";
}

type Kernels = ReturnType<typeof claimKernels> &
  ReturnType<typeof inPlaceKernels> &
  ReturnType<typeof loggedKernels> &
  ReturnType<typeof versionedKernels> &
  ReturnType<typeof schedulingKernels>;

const emitted = new WeakMap<Loop, Kernels>();

/** All kernels of a loop, by their names; emitted once. */
function kernelsOf(loop: Loop): Kernels {
  const known = emitted.get(loop) ?? {
    ...claimKernels(loop),
    ...inPlaceKernels(loop),
    ...loggedKernels(loop),
    ...versionedKernels(loop),
    ...schedulingKernels(loop),
  };
  emitted.set(loop, known);
  return known;
}
