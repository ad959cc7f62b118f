/** The check of dispatches on the device, which decides there whether they are computed again. */
import { reportWords as slotWords } from "../compiler/contract.ts";
import type { DispatchCall } from "../runtime/context/dispatchCall.ts";
import { type ReportArena, type ReportSlot, rangeOf } from "../runtime/context/reportArena.ts";
import type { ProtectedKernel } from "../runtime/pipelines/protectedKernels.ts";
import type { CheckedDispatch, ExecutionTurn, SumsFindings } from "../runtime/recording/sumsChecking.ts";
import { flags } from "../runtime/webgpu/nativeObjects.ts";
import { OwnKernel } from "../runtime/webgpu/ownKernel.ts";
import type { PassCommands } from "../runtime/webgpu/passCommands.ts";
import { noOffsets } from "../runtime/webgpu/replayStep.ts";
import { type BufferRange, placesOf, whole } from "../runtime/webgpu/resources.ts";
import { WeakCache } from "../runtime/webgpu/weakCache.ts";
import { reportStride, reportWords } from "./checkKernels.ts";
import type { Operand } from "./operand.ts";
import type { SumsOfProducts } from "./sums.ts";
import {
  type CheckDispatch,
  type CheckGroups,
  type CheckWork,
  newWork,
  type SumsPipelines,
} from "./sumsPipelines.ts";

/**
 * The words of the buffer that a check keeps. A draw is the seed of the weights, and the first word
 * of the report.
 */
const drawWords = {
  /** The draw of a comparison that decides. */
  seed: 0,
  /** The number of sums that a complete first comparison compares; 0 if there is none. */
  expected: 2,
  /** The draw of the second comparison, with the same seed. */
  again: 64,
  /** The draw of a comparison that leaves the decision to the host. */
  deferred: 128,
} as const;
const drawCount = 130;
type Draw = Exclude<keyof typeof drawWords, "expected">;
type CheckStep = "combine" | "compare";

const label = "belay: check of sums";

/** The words of the findings, all of which are zero if there are none. */
const findings = {
  checked: 0,
  repaired: 1,
  refuted: 2,
  undecided: 3,
  largest: 4,
  /** The first repair: its result plus one, the difference and the bound. */
  result: 5,
  difference: 6,
  bound: 7,
} as const;
/** The first word of the report of comparisons that leave the decision to the host. */
const deferred = 8;
const findingCount = deferred + reportStride;

/** The findings since the last look. */
export interface Findings {
  readonly checked: number;
  readonly repaired: number;
  readonly refuted: number;
  readonly undecided: number;
  /** The number of checks of results in place that ran at once, as their work cannot run again. */
  readonly atOnce: number;
  /** The first repair, if there is one and the check ran. */
  readonly first?: { readonly result: number; readonly difference: number; readonly bound: number };
}

/** The facts about executions whose results no other execution replaces. */
export interface Settled {
  /** The largest bound of their sums. */
  readonly bound: number;
  /** True if results were in doubt, and nothing decided about them. */
  readonly isInDoubt: boolean;
}

const second = reportStride + reportWords.mismatches;

const CONCLUDE = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> report: array<u32, ${2 * reportStride}>;
@group(0) @binding(1) var<storage, read_write> draw: array<u32, ${drawCount}>;
@group(0) @binding(2) var<storage, read_write> skippable: array<u32>;
@group(0) @binding(3) var<storage, read_write> slot: array<u32>;
fn add(finding: u32) { slot[${slotWords.total}u + finding]++; }
@compute @workgroup_size(1) fn conclude() {
  add(${findings.checked}u);
  let largest = ${slotWords.total + findings.largest}u;
  slot[largest] = max(slot[largest], report[${reportWords.largest}]);
  if (skippable[${slotWords.skip}] == 0u) {
    let hasMismatch = report[${reportWords.mismatches}] > 0u;
    let hasRun = report[${reportWords.compared}] == draw[${drawWords.expected}];
    // Only the second comparison is made of results in place.
    let decided = select(0u, ${reportStride}u, draw[${drawWords.expected}] == 0u);
    if (!hasMismatch && hasRun && report[decided + ${reportWords.undecided}] > 0u) {
      add(${findings.undecided}u);
    } else if (report[${second}] > 0u) {
      add(${findings.refuted}u);
    } else if (hasMismatch || !hasRun) {
      if (slot[${slotWords.total + findings.repaired}] == 0u && hasMismatch) {
        slot[${slotWords.total + findings.result}] = report[${reportWords.result}] + 1u;
        slot[${slotWords.total + findings.difference}] = report[${reportWords.difference}];
        slot[${slotWords.total + findings.bound}] = report[${reportWords.bound}];
      }
      add(${findings.repaired}u);
    }
  }
  for (var i = 0u; i < ${2 * reportStride}u; i++) { report[i] = 0u; }
  skippable[${slotWords.skip}] = 0u;
  let seed = draw[${drawWords.seed}] * 747796405u + 2891336453u;
  draw[${drawWords.seed}] = seed;
  draw[${drawWords.again}] = seed;
}`;

/** Returns the small kernel that all checks of a device share. It ends the check of a dispatch. */
export const concluding = (device: GPUDevice): OwnKernel =>
  new OwnKernel(device, {
    label,
    code: CONCLUDE,
    buffers: ["storage", "storage", "storage", "storage"],
  });

/** The parts of the check of dispatches with the same sums. */
interface CheckParts {
  readonly sums: SumsOfProducts;
  readonly pipelines: SumsPipelines;
  /** The kernel under redundancy. */
  readonly kernel: ProtectedKernel;
  /**
   * True if the host decides with the verification of an epoch. Its work is executed again if some
   * sums do not agree, and the device decides then.
   */
  readonly defers: boolean;
  /**
   * True if the dispatch may load from its output, so that it cannot run twice in a row. Only the
   * host can decide then.
   */
  readonly runsOnce: boolean;
  /** The variants of the kernel that run. */
  readonly variants: Pick<CheckedDispatch, "alone" | "again">;
  /** The buffer of the sums if the results are functions of them, and that of other numbers. */
  readonly kept: BufferRange | undefined;
  readonly others: readonly Operand[];
  /** Takes the findings of each look. */
  readonly found: (findings: Findings) => void;
  readonly settled: (settled: Settled) => void;
}

/** The check of dispatches with the same sums. */
export class DispatchCheck implements SumsFindings {
  readonly slot: ReportSlot;
  readonly kernel: ProtectedKernel;
  readonly #device: GPUDevice;
  readonly #defers: boolean;
  readonly #runsOnce: boolean;
  readonly #variants: CheckParts["variants"];
  readonly #kept: CheckParts["kept"];
  readonly #others: CheckParts["others"];
  /** The compared sums of a dispatch. */
  readonly #compared: number;
  /** The doubt that a later execution decides. */
  #doubt: { readonly isWrong: boolean; readonly first: Findings["first"] } | undefined;
  /** The largest bound of the executions whose results may stay. */
  #bound = 0;
  /** The number of dispatches that are counted as checked, and that may run again. */
  #counted = 0;
  readonly #sums: SumsOfProducts;
  readonly #pipelines: SumsPipelines;
  readonly #conclude: OwnKernel;
  #concluding: GPUBindGroup | undefined;
  readonly #work: CheckWork;
  readonly #skippable: BufferRange;
  readonly #found: (findings: Findings) => void;
  readonly #settled: (settled: Settled) => void;
  readonly #steps: Readonly<Record<CheckStep, CheckDispatch>>;
  readonly #groups = new WeakCache<CheckGroups>();

  constructor(
    device: GPUDevice,
    arena: ReportArena,
    conclude: OwnKernel,
    { sums, pipelines, kernel, defers, runsOnce, variants, kept, others, found, settled }: CheckParts,
  ) {
    this.#device = device;
    this.kernel = kernel;
    this.#defers = defers;
    this.#runsOnce = runsOnce;
    this.#variants = variants;
    this.#kept = kept;
    this.#others = others;
    this.#compared = pipelines.kernels.compared;
    this.#sums = sums;
    this.#pipelines = pipelines;
    const [combine, compare] = pipelines.stepsOf(["combine", "compare"]);
    this.#steps = { combine: combine!, compare: compare! };
    this.#conclude = conclude;
    this.#found = found;
    this.#settled = settled;
    const { bufferStorage, bufferUniform, bufferCopyDst } = flags;
    const words = new Uint32Array(drawCount);
    words.set([newSeed(), 0, runsOnce ? 0 : this.#compared], drawWords.seed);
    words.set([words[drawWords.seed]!, reportStride], drawWords.again);
    words.set([newSeed(), slotWords.total + deferred], drawWords.deferred);
    const usage = bufferStorage | bufferUniform | bufferCopyDst;
    const draw = device.createBuffer({ label, size: words.byteLength, usage });
    device.queue.writeBuffer(draw, 0, words);
    this.#skippable = rangeOf(kernel.slot);
    this.#work = newWork(device, pipelines.kernels, { draw, skippable: this.#skippable });
    this.slot = arena.allocate({ bytes: 4 * (slotWords.total + findingCount), cells: findingCount });
  }

  /** Returns the check of a dispatch. It may check the dispatch again and again. */
  of(call: DispatchCall): CheckedDispatch {
    const run = this.#defers ? this.#deferring(call) : this.#deciding(call);
    return { findings: this, ...this.#variants, run };
  }

  /**
   * Returns a function that leaves the decision about a dispatch to the host. Combining needs no
   * results. Before the dispatch, it may overlap with it.
   */
  #deferring(call: DispatchCall): CheckedDispatch["run"] {
    const groups = this.#groupsOf(call, "deferred");
    return (commands, alone, again) => {
      commands.onlyFirst(() => this.#encode(commands, groups, "combine"));
      if (this.#runsOnce) commands.onlyFirst(alone);
      else alone();
      commands.onlyFirst(() => this.#encode(commands, groups, "compare"));
      commands.onlyLater((later) => this.#decide(later, call, again));
    };
  }

  /**
   * Returns a function that lets the device decide about a dispatch. Codes for memory verify the
   * factors with the dispatch, so that combining waits for it.
   */
  #deciding(call: DispatchCall): CheckedDispatch["run"] {
    return (commands, alone, again) => {
      alone();
      this.#decide(commands, call, again);
    };
  }

  /** Encodes the dispatch under redundancy, and the checks that decide if the device skips it. */
  #decide(commands: PassCommands, call: DispatchCall, again: (commands: PassCommands) => void): void {
    const { report, draw } = this.#work;
    const groups = this.#groupsOf(call, "seed");
    this.#encode(commands, groups, "combine");
    if (!this.#runsOnce) this.#encode(commands, groups, "compare");
    again(commands);
    this.#encode(commands, this.#groupsOf(call, "again"), "compare");
    this.#concluding ??= this.#conclude.bind([report, whole(draw), this.#skippable, rangeOf(this.slot)]);
    this.#conclude.dispatch(commands, this.#concluding, 1);
  }

  read(words: Uint32Array, execution: ExecutionTurn, dispatches: number): boolean {
    // The results of earlier executions, too, are replaced.
    if (execution === "replaced") this.#bound = 0;
    const isDeferred = this.#defers && execution === "first" && dispatches > 0;
    const isInDoubt = isDeferred && this.#readDeferred(words, dispatches);
    const at = (finding: keyof typeof findings) => words[slotWords.total + findings[finding]]!;
    const checked = at("checked");
    if (checked === 0) return isInDoubt;
    if (execution !== "replaced") this.#addBound(floatOf(at("largest")));
    const result = at("result");
    const own = { result: result - 1, difference: floatOf(at("difference")), bound: floatOf(at("bound")) };
    const refuted = at("refuted");
    const doubt = execution === "later" ? this.#doubt : undefined;
    if (doubt) this.#doubt = undefined;
    // A fault that is gone leaves no other trace.
    const wasWrong = doubt?.isWrong && refuted === 0;
    const first = result > 0 ? own : doubt?.first;
    this.#found({
      checked: this.#newOf(checked, execution),
      repaired: Math.max(at("repaired"), wasWrong ? 1 : 0),
      refuted,
      undecided: at("undecided"),
      atOnce: execution === "first" && this.#runsOnce ? checked : 0,
      ...(first && { first }),
    });
    return isInDoubt;
  }

  settle(): void {
    this.#settled({ bound: this.#bound, isInDoubt: this.#doubt !== undefined });
    this.#bound = 0;
    this.#counted = 0;
    this.#doubt = undefined;
  }

  /** Counts the checked dispatches of an execution. Returns how many were not counted before. */
  #newOf(checked: number, execution: ExecutionTurn): number {
    // The execution that replaced results has counted their dispatches.
    if (execution === "replaced") return 0;
    const added = execution === "first" ? checked : Math.max(0, checked - this.#counted);
    this.#counted += added;
    return added;
  }

  #addBound(bound: number): void {
    this.#bound = Math.max(this.#bound, bound);
  }

  /** Takes what the first execution of dispatches has left. Returns true if it is in doubt. */
  #readDeferred(words: Uint32Array, dispatches: number): boolean {
    const at = (word: keyof typeof reportWords) => words[slotWords.total + deferred + reportWords[word]]!;
    const seed = Uint32Array.of(newSeed());
    this.#device.queue.writeBuffer(this.#work.draw, 4 * drawWords.deferred, seed);
    const hasRun = at("compared") === (dispatches * this.#compared) % 2 ** 32;
    const hasMismatch = at("mismatches") > 0;
    if (hasRun && !hasMismatch && at("undecided") === 0) {
      this.#addBound(floatOf(at("largest")));
      const checked = this.#newOf(dispatches, "first");
      this.#found({ checked, repaired: 0, refuted: 0, undecided: 0, atOnce: 0 });
      return false;
    }
    const [result, difference, bound] = [at("result"), floatOf(at("difference")), floatOf(at("bound"))];
    const first = hasMismatch ? { result, difference, bound } : undefined;
    this.#doubt = { isWrong: hasMismatch || !hasRun, first };
    return true;
  }

  /** Returns the buffers in which the comparison with a draw works. */
  #workOf(draw: Draw): CheckWork {
    return draw === "deferred" ? { ...this.#work, report: rangeOf(this.slot) } : this.#work;
  }

  #encode(commands: PassCommands, groups: CheckGroups, name: CheckStep): void {
    const { pipeline, group, workgroups } = this.#steps[name];
    commands.noteAdded(groups[group]);
    commands.setPipeline(pipeline);
    commands.setBindGroup(0, { group: groups[group], offsets: noOffsets });
    commands.dispatchWorkgroups(workgroups);
  }

  /** Returns the bind groups with which a dispatch is checked. */
  #groupsOf(call: DispatchCall, draw: Draw): CheckGroups {
    const { left, right, output, added, scale } = this.#sums;
    const rangeAt = ({ of }: SumsOfProducts["left"]) => {
      const isAt = (each: DispatchCall["bound"][number]) =>
        each.of.group === of.group && each.of.binding === of.binding;
      return call.bound.find(isAt)!.place as BufferRange;
    };
    const buffers = {
      left: rangeAt(left),
      right: rangeAt(right),
      output: this.#kept ?? rangeAt(output),
      ...(this.#kept && { functions: rangeAt(output) }),
      ...(added && { added: rangeAt(added) }),
      ...(scale && { scale: rangeAt(scale) }),
    };
    const others = this.#others.map(rangeAt);
    const ranges = [...Object.values(buffers), ...others];
    return this.#groups.get(
      ranges.map(({ buffer }) => buffer),
      `${placesOf(ranges)}${draw}`,
      () => this.#pipelines.groups({ ...buffers, others }, this.#workOf(draw), 4 * drawWords[draw]),
    );
  }
}

/** Returns a new seed of the weights. */
const newSeed = () => crypto.getRandomValues(new Uint32Array(1))[0]!;

const scratch = new DataView(new ArrayBuffer(4));

function floatOf(word: number): number {
  scratch.setUint32(0, word);
  return scratch.getFloat32(0);
}
