import { hasOpenRounding } from "../../loops/analysis/openRounding.ts";
import { longestWindow, states } from "../../loops/kernels/control.ts";
import { takesLong } from "../../loops/tree/walk.ts";
import type { PhaseTimer } from "../device/phaseTimer.ts";
import type { Handover } from "../policy/handover.ts";
import type { LastRounds } from "../policy/loopProfile.ts";
import type { PlanName, Work } from "../policy/planChoice.ts";
import { rounds as tuning } from "../policy/tuning.ts";
import type { Part } from "./execution.ts";
import type { ControlState } from "./rounds.ts";

/** What the segments of one execution share: what was learned, and what happened. */
export class Progress {
  readonly plans: PlanName[] = [];
  /** The last of them that needs no proof from before. */
  plan: PlanName | null = null;
  rounds = 0;
  /** Iterations that rounds looked at, some more than once. */
  evaluated = 0;
  /** What the plan `logged` assumes of loops that do not say. */
  accesses: number = tuning.assumedAccesses;
  /** Most iterations that a window may have so that a round does not take too long. */
  longest: number;
  /** Iterations of the first window of a plan that depends on how the iterations do. */
  window: number;
  /** Whether windows that were proven earlier need no check. */
  reuses = true;
  /**
   * Names of arrays that the last segment overwrote completely and never loaded from; null where
   * that is not known.
   */
  overwritten: readonly string[] | null = null;
  /** Rounds that the first segment is expected to take. */
  expected: number;
  readonly timer: PhaseTimer | null;
  readonly handover: Handover | null;
  /** Whether results depend on how long windows are, as other kernels may round in other ways. */
  readonly #isOpen: boolean;

  constructor(
    { loop }: Part,
    timer: PhaseTimer | null,
    handover: Handover | null,
    before: LastRounds | null,
  ) {
    // Other data may have longer ones than before.
    const tried = before?.longest ?? tuning.firstWindow;
    this.longest = takesLong(loop) ? Math.min(tried, tuning.longestUntried) : longestWindow;
    this.#isOpen = hasOpenRounding(loop) && takesLong(loop);
    this.window = before?.window ?? tuning.firstWindow;
    this.expected = before?.rounds ?? 1;
    this.timer = timer;
    this.handover = handover;
  }

  /**
   * Keeps windows so short that a round, which took so many milliseconds, does not take too long.
   * Where results depend on windows, these grow whatever the clock says, and become shorter only
   * before the system takes the GPU away.
   */
  bound(roundTime: number): void {
    const most = this.#isOpen ? tuning.longestUntried : longestWindow;
    if (roundTime > tuning.longestTime) this.longest = Math.max(1, this.longest >> 2);
    else if (this.#isOpen || roundTime < tuning.shortestTime) this.longest = Math.min(most, this.longest * 4);
  }
}

/** Counts the work of the rounds of one plan, and adds it to the whole execution's progress. */
export class RoundCounter {
  readonly #plan: PlanName;
  readonly #progress: Progress;
  /** What was counted when the control words were last read. */
  #counted: Work & { readonly rounds: number };
  /** What happened between the last two times. */
  #recent: Work = { evaluated: 0, executed: 0 };
  #window: number;

  /** Begins with a window of so many iterations at `base`, up to which everything is done. */
  constructor(plan: PlanName, progress: Progress, base: number, window: number) {
    this.#plan = plan;
    this.#progress = progress;
    this.#counted = { rounds: 0, evaluated: 0, executed: base };
    this.#window = window;
  }

  get recent(): Work {
    return this.#recent;
  }

  /** Iterations that are done so far. */
  get executed(): number {
    return this.#counted.executed;
  }

  /** Iterations of the window now. */
  get window(): number {
    return this.#window;
  }

  /**
   * Counts rounds that left this state in so many milliseconds, of an execution of `count`
   * iterations.
   */
  count(state: ControlState, count: number, milliseconds: number): void {
    const progress = this.#progress;
    const before = this.#counted;
    const hasGrown = state.window > this.#window;
    this.#window = state.window;
    this.#counted = {
      rounds: state.rounds,
      evaluated: state.evaluated + state.evaluated_high * 2 ** 32,
      executed: state.base + state.fresh - state.listed,
    };
    const rounds = state.rounds - before.rounds;
    const evaluated = this.#counted.evaluated - before.evaluated;
    const executed = this.#counted.executed - before.executed;
    this.#recent = { evaluated, executed };
    progress.rounds += rounds;
    progress.evaluated += evaluated;
    if (state.state !== states.running) return;
    // The last window may be shorter than it should be.
    if (state.base + state.window < count) progress.window = state.window;
    // The first round waits for data that is still on its way, and one of a short window says
    // little about longer ones. Looking for the first dependences wastes much, but not for long.
    const looks = this.#plan === "in place" && evaluated > 2 * executed;
    if (before.rounds > 0 && !hasGrown && !looks)
      progress.handover?.observe(evaluated, executed, milliseconds);
    progress.bound(milliseconds / Math.max(1, rounds));
  }
}
