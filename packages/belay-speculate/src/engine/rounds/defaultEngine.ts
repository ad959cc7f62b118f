import { combiningLoop } from "../../loops/analysis/combiningLoop.ts";
import { logSize } from "../../loops/analysis/logSize.ts";
import { type ScanLoop, scanLoop } from "../../loops/analysis/scanLoop.ts";
import { collapse } from "../../loops/analysis/specialization/collapse.ts";
import { specialize } from "../../loops/analysis/specialization/specialize.ts";
import { markedElements } from "../../loops/kernels/marks.ts";
import { PhaseTimer } from "../device/phaseTimer.ts";
import type { Workspace } from "../device/workspace.ts";
import type { Handover } from "../policy/handover.ts";
import type { LastRounds } from "../policy/loopProfile.ts";
import { firstPlan, type PlanName } from "../policy/planChoice.ts";
import { type EngineOutcome, type LoopExecution, type Part, partOf } from "./execution.ts";
import { kernelsOf, planOf } from "./plans.ts";
import { ScannedValues, scanned } from "./scan.ts";
import { longestSegment, Segment } from "./segment.ts";
import { SharedState } from "./sharedState.ts";

export interface DefaultOptions {
  /** True to measure the time of each phase. It needs the feature `timestamp-query`. */
  readonly timings?: boolean;
  /** The policy that lets the CPU take over. Without it, the CPU only executes bail-outs. */
  readonly handover?: Handover | null;
  /** The first plan, which must be possible for the loop. Without it, the engine chooses. */
  readonly plan?: PlanName;
  /**
   * False to check windows that an earlier execution has proven. They are not checked by default.
   */
  readonly reuse?: boolean;
  /**
   * The listener to call before the host gives the GPU further rounds, with the number of executed
   * iterations. An error of the listener ends the execution.
   */
  readonly beforeRounds?: (executed: number) => void;
}

/**
 * Runs a loop on the default engine. It executes windows of iterations on the GPU, and commits
 * those whose inputs no earlier iteration changed, until none is left. The arrays in the buffers
 * and the variables in the execution are then those of the sequential loop.
 */
export async function runDefault(
  workspace: Workspace,
  execution: LoopExecution,
  options: DefaultOptions = {},
): Promise<EngineOutcome> {
  const timer = options.timings ? new PhaseTimer(workspace) : null;
  const handover = options.handover ?? null;
  try {
    const loop = options.plan ? execution.loop : combiningLoop(execution.loop);
    const given = { ...execution, loop };
    const collapsed = options.plan ? null : collapse(loop, given);
    if (!collapsed) return await new DefaultExecution(workspace, given, timer, handover).run(options);
    // A collapsed loop has no dependences and no bail-outs. Its iterations are parts of the loop's.
    const all = { ...given, ...collapsed };
    const beforeRounds = (executed: number) =>
      options.beforeRounds?.(Math.floor((executed / all.count) * execution.count));
    const outcome = await new DefaultExecution(workspace, all, timer, null).run({ ...options, beforeRounds });
    return { ...outcome, executed: execution.count };
  } finally {
    timer?.destroy();
  }
}

class DefaultExecution {
  readonly #workspace: Workspace;
  readonly #execution: LoopExecution;
  /** The loops that replace one with variables to scan; null if it has none. */
  readonly #scan: ScanLoop | null;
  readonly #before: LastRounds | null;
  readonly #shared: SharedState;
  #done = 0;
  #ended = false;
  #onCpu = 0;
  /**
   * The number of iterations that the CPU executes at a bail-out. It doubles each time, so that
   * moving data never dominates.
   */
  #chunk = 1;

  constructor(
    workspace: Workspace,
    execution: LoopExecution,
    timer: PhaseTimer | null,
    handover: Handover | null,
  ) {
    this.#workspace = workspace;
    this.#execution = { ...execution, loop: specialize(execution.loop, execution) };
    const isCounted = Math.abs(execution.step) * execution.count < 2 ** 31;
    this.#scan = isCounted ? scanLoop(this.#execution.loop) : null;
    this.#before = workspace.profileOf(this.#execution.loop).lastRounds;
    this.#shared = new SharedState(this.#execution, timer, handover, this.#before);
  }

  async run({ plan, reuse = true, beforeRounds }: DefaultOptions): Promise<EngineOutcome> {
    this.#shared.reuses = reuse;
    const { loop, lengths, count } = this.#execution;
    const { main, changes } = this.#scan ?? { main: loop, changes: loop };
    const longest = Math.min(
      ...[loop, changes].map((each) => longestSegment({ ...this.#execution, loop: each }, this.#workspace)),
    );
    const first = plan ?? this.#before?.plan ?? firstPlan(main, markedElements(main, lengths));
    while (this.#done < count && !this.#ended) {
      const part = partOf(this.#execution, this.#done, Math.min(longest, count - this.#done));
      await this.#advance(part, this.#shared.plan ?? first, beforeRounds);
    }
    const { plans, rounds, evaluated, timer, window, longest: tried } = this.#shared;
    // Iterations that bailed out will bail out again. Fewer encoded rounds reach them sooner.
    const expected = this.#onCpu > this.#done / 2 ? 1 : rounds;
    const last = { plan: this.#shared.plan ?? first, window, longest: tried, rounds: expected };
    this.#workspace.profileOf(loop).keepRounds(last);
    return {
      executed: this.#done,
      ended: this.#ended,
      rounds,
      misspeculated: evaluated - (this.#done - this.#onCpu),
      onCpu: this.#onCpu,
      plans,
      phases: timer?.times ?? null,
      // With several segments, none has seen all iterations.
      overwritten: this.#onCpu === 0 && count <= longest ? this.#shared.overwritten : null,
    };
  }

  /** Executes a part on the GPU as far as possible, and more on the CPU if it must. */
  async #advance(whole: Part, plan: PlanName, beforeRounds: DefaultOptions["beforeRounds"]): Promise<void> {
    const { count, onCpu } = this.#execution;
    const [scan, before] = [this.#scan, this.#done];
    const { pipelines } = this.#workspace;
    // The main loop compiles during the scan. Its kernels are the same for logs of any size.
    if (scan) pipelines.prepare(scan.main, kernelsOf(planOf(plan, scan.main, logSize(scan.main, 1))));
    const part = scan ? await scanned(this.#workspace, whole, scan, this.#shared) : whole;
    const segment = new Segment(this.#workspace, part, this.#shared, (more) => beforeRounds?.(before + more));
    const values = scan && new ScannedValues(part, scan);
    const result = await segment.run(plan, values);
    await values?.take(this.#workspace, result.done);
    const waiting = result.waiting.map(({ from, to }) => ({ from: this.#done + from, to: this.#done + to }));
    this.#done += result.done;
    this.#ended = result.ended;
    if (result.stopped === null) return;
    // Waiting iterations come before one that ends the loop.
    const slow = result.stopped === "slow";
    const to = this.#ended ? this.#done : slow ? count : Math.min(count, this.#done + this.#chunk);
    if (!slow) this.#chunk *= 2;
    const milliseconds = slow ? this.#shared.handover!.nextCpuTime() : Infinity;
    const start = this.#done;
    const after = await onCpu(start, to, { waiting, milliseconds });
    for (const { from, to } of waiting) this.#onCpu += to - from;
    this.#onCpu += after.next - start;
    this.#done = after.next;
    this.#ended ||= after.ended;
  }
}
