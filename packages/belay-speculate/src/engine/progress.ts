import { hasOpenRounding } from "../loops/analysis/openRounding.ts";
import { longestWindow } from "../loops/kernels/control.ts";
import { takesLong } from "../loops/kernels/walk.ts";
import type { Part } from "./execution.ts";
import type { Experience } from "./experience.ts";
import type { Pace } from "./pace.ts";
import type { PhaseTimer } from "./phaseTimer.ts";
import type { PlanName } from "./plans.ts";

/** The first window of a plan that depends on how the iterations do. */
export const firstWindow = 1 << 16;
/** Most iterations with loops that are executed at once before it is known how long these take. */
const longestUntried = 1 << 20;
/** What an iteration may log, where the loop does not say how much it accesses; grows when that turns out to be too little. */
const assumedAccesses = 16;
/** Milliseconds that a round should take at most and at least, as systems reset a GPU that does not answer. */
const roundTimes = { most: 200, least: 20 };

/** What the segments of one execution share: what was learned, and what happened. */
export class Progress {
  readonly plans: PlanName[] = [];
  /** The last of them that needs no proof from before. */
  plan: PlanName | null = null;
  rounds = 0;
  /** Iterations that rounds looked at, some more than once. */
  evaluated = 0;
  /** What the plan `logged` assumes of loops that do not say. */
  accesses = assumedAccesses;
  /** Most iterations that a window may have so that a round does not take too long. */
  longest: number;
  /** Iterations of the first window of a plan that depends on how the iterations do. */
  window: number;
  /** Whether windows that were proven earlier need no check. */
  reuses = true;
  /** Names of arrays that the last segment overwrote completely and never loaded from; null where that is not known. */
  overwritten: readonly string[] | null = null;
  /** Rounds that the first segment is expected to take. */
  expected: number;
  readonly timer: PhaseTimer | null;
  readonly pace: Pace | null;
  /** Whether results depend on how long windows are, as other kernels may round in other ways. */
  readonly #isOpen: boolean;

  constructor({ loop }: Part, timer: PhaseTimer | null, pace: Pace | null, before: Experience | null) {
    // Other data may have longer ones than before.
    const tried = before?.longest ?? firstWindow;
    this.longest = takesLong(loop) ? Math.min(tried, longestUntried) : longestWindow;
    this.#isOpen = hasOpenRounding(loop) && takesLong(loop);
    this.window = before?.window ?? firstWindow;
    this.expected = before?.rounds ?? 1;
    this.timer = timer;
    this.pace = pace;
  }

  /**
   * Keeps windows so short that a round, which took so many milliseconds, does not take too long. Where results depend on windows, these
   * grow whatever the clock says, and become shorter only before the system takes the GPU away.
   */
  bound(roundTime: number): void {
    const most = this.#isOpen ? longestUntried : longestWindow;
    if (roundTime > roundTimes.most) this.longest = Math.max(1, this.longest >> 2);
    else if (this.#isOpen || roundTime < roundTimes.least) this.longest = Math.min(most, this.longest * 4);
  }
}
