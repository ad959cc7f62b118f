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

/** The state that the segments of one execution share: findings and counts. */
export class SharedState {
  readonly plans: PlanName[] = [];
  /** The last plan that needs no earlier proof. */
  plan: PlanName | null = null;
  rounds = 0;
  /** The number of iterations that rounds evaluated, some more than once. */
  evaluated = 0;
  /**
   * The assumed number of accesses of an iteration in the plan `logged`, for loops that do not
   * bound it.
   */
  accesses: number = tuning.assumedAccesses;
  /** The largest window whose rounds do not take too long. */
  longest: number;
  /** The iterations of the first window, for plans whose windows adapt to conflicts. */
  window: number;
  /** True if windows that were proven earlier need no check. */
  reuses = true;
  /**
   * The names of arrays that the last segment overwrote completely and never loaded from; null if
   * unknown.
   */
  overwritten: readonly string[] | null = null;
  /** The expected number of rounds of the first segment. */
  expected: number;
  readonly timer: PhaseTimer | null;
  readonly handover: Handover | null;
  /** True if results depend on window lengths, because other kernels may round differently. */
  readonly #isOpen: boolean;

  constructor(
    { loop }: Part,
    timer: PhaseTimer | null,
    handover: Handover | null,
    before: LastRounds | null,
  ) {
    // Other data may have longer iterations than before.
    const tried = before?.longest ?? tuning.firstWindow;
    this.longest = takesLong(loop) ? Math.min(tried, tuning.longestUntried) : longestWindow;
    this.#isOpen = hasOpenRounding(loop) && takesLong(loop);
    this.window = before?.window ?? tuning.firstWindow;
    this.expected = before?.rounds ?? 1;
    this.timer = timer;
    this.handover = handover;
  }

  /**
   * Adapts the longest window to the time of a round, in milliseconds. If results depend on
   * windows, the window grows whatever the clock says. It becomes shorter only before the system
   * would reset the GPU.
   */
  bound(roundTime: number): void {
    const most = this.#isOpen ? tuning.longestUntried : longestWindow;
    if (roundTime > tuning.longestTime) this.longest = Math.max(1, this.longest >> 2);
    else if (this.#isOpen || roundTime < tuning.shortestTime) this.longest = Math.min(most, this.longest * 4);
  }
}

/** A counter of the work of one plan's rounds, which it adds to the shared state. */
export class RoundCounter {
  readonly #plan: PlanName;
  readonly #shared: SharedState;
  /** The counts when the control words were last read. */
  #counted: Work & { readonly rounds: number };
  /** The work between the last two readings. */
  #recent: Work = { evaluated: 0, executed: 0 };
  #window: number;

  /** Begins with a window of so many iterations at `base`, before which all are done. */
  constructor(plan: PlanName, shared: SharedState, base: number, window: number) {
    this.#plan = plan;
    this.#shared = shared;
    this.#counted = { rounds: 0, evaluated: 0, executed: base };
    this.#window = window;
  }

  get recent(): Work {
    return this.#recent;
  }

  /** The number of iterations that are done so far. */
  get executed(): number {
    return this.#counted.executed;
  }

  /** The number of iterations of the current window. */
  get window(): number {
    return this.#window;
  }

  /**
   * Counts rounds that took so many milliseconds and left this state, in an execution of `count`
   * iterations.
   */
  count(state: ControlState, count: number, milliseconds: number): void {
    const shared = this.#shared;
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
    shared.rounds += rounds;
    shared.evaluated += evaluated;
    if (state.state !== states.running) return;
    // The last window may be cut short by the end of the loop.
    if (state.base + state.window < count) shared.window = state.window;
    // The first round waits for data in transit, and a round of a short window says little about
    // longer ones. The search for the first dependences wastes much work, but only for a short
    // time.
    const isSearching = this.#plan === "in place" && evaluated > 2 * executed;
    if (before.rounds > 0 && !hasGrown && !isSearching)
      shared.handover?.observe(evaluated, executed, milliseconds);
    shared.bound(milliseconds / Math.max(1, rounds));
  }
}
