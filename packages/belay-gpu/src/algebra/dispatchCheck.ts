/** The check of dispatches on the device, which decides there whether they are computed again. */
import { reportWords as slotWords } from "../compiler/contract.ts";
import type { DispatchCall } from "../runtime/context/dispatchCall.ts";
import { type ReportArena, type ReportSlot, rangeOf } from "../runtime/context/reportArena.ts";
import type { SumsFindings } from "../runtime/recording/sumsChecking.ts";
import { flags } from "../runtime/webgpu/nativeObjects.ts";
import { OwnKernel } from "../runtime/webgpu/ownKernel.ts";
import type { PassCommands } from "../runtime/webgpu/passCommands.ts";
import { noOffsets } from "../runtime/webgpu/replayStep.ts";
import { type BufferRange, placesOf, whole } from "../runtime/webgpu/resources.ts";
import { WeakCache } from "../runtime/webgpu/weakCache.ts";
import { reportWords } from "./checkKernels.ts";
import type { SumsOfProducts } from "./sumsOfProducts.ts";
import { type CheckWork, newWork, type StepName, type SumsPipelines } from "./sumsPipelines.ts";

/** The words of the buffer with which a check controls the dispatch under redundancy. */
const controlWords = {
  /** The seed of the weights, and whether `compare` has nothing to do. */
  seed: 0,
  isOver: 1,
  /** The number of sums that a complete check compares. */
  expected: 2,
  /** The arguments of the dispatch under redundancy, and its grid if it runs. */
  arguments: 4,
  grid: 8,
  /** The outcome of the first comparison, and what it reported. */
  outcome: 12,
  result: 13,
  difference: 15,
  bound: 16,
  largest: 17,
} as const;
const controlSize = 80;

/** The outcomes of a comparison. */
const outcomes = { agreed: 0, mismatch: 1, undecided: 2 } as const;

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
const findingCount = 8;

/** The findings since the last look. */
export interface Findings {
  readonly checked: number;
  readonly repaired: number;
  readonly refuted: number;
  readonly undecided: number;
  readonly bound: number;
  /** The first repair, if there is one and the check ran. */
  readonly first?: { readonly result: number; readonly difference: number; readonly bound: number };
}

const copied = `
  control[${controlWords.result}] = report[${reportWords.result}];
  control[${controlWords.difference}] = report[${reportWords.difference}];
  control[${controlWords.bound}] = report[${reportWords.bound}];
  control[${controlWords.largest}] = report[${reportWords.largest}];
  for (var i = 0u; i < 16u; i++) { report[i] = 0u; }`;

/** Without a complete comparison, the result is no number that an output can have. */
const DECIDE = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> report: array<u32, 16>;
@group(0) @binding(1) var<storage, read_write> control: array<u32, ${controlSize / 4}>;
@compute @workgroup_size(1) fn decide() {
  var outcome = ${outcomes.agreed}u;
  if (report[${reportWords.undecided}] > 0u) { outcome = ${outcomes.undecided}u; }
  if (report[${reportWords.mismatches}] > 0u) { outcome = ${outcomes.mismatch}u; }
  if (report[${reportWords.compared}] != control[${controlWords.expected}]) {
    outcome = ${outcomes.mismatch}u;
    report[${reportWords.result}] = 0xffffffffu;
  }
  control[${controlWords.outcome}] = outcome;
  let isRight = outcome == ${outcomes.agreed}u;
  control[${controlWords.isOver}] = u32(isRight);
  for (var i = 0u; i < 3u; i++) {
    control[${controlWords.arguments}u + i] = select(control[${controlWords.grid}u + i], 0u, isRight);
  }${copied}
}`;

const CONCLUDE = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> report: array<u32, 16>;
@group(0) @binding(1) var<storage, read_write> control: array<u32, ${controlSize / 4}>;
@group(0) @binding(2) var<storage, read_write> slot: array<u32>;
fn add(finding: u32) { slot[${slotWords.total}u + finding]++; }
@compute @workgroup_size(1) fn conclude() {
  add(${findings.checked}u);
  let largest = ${slotWords.total + findings.largest}u;
  slot[largest] = max(slot[largest], control[${controlWords.largest}]);
  let outcome = control[${controlWords.outcome}];
  if (outcome == ${outcomes.undecided}u) { add(${findings.undecided}u); }
  if (outcome == ${outcomes.mismatch}u && report[${reportWords.mismatches}] > 0u) { add(${findings.refuted}u); }
  if (outcome == ${outcomes.mismatch}u && report[${reportWords.mismatches}] == 0u) {
    if (slot[${slotWords.total + findings.repaired}] == 0u) {
      slot[${slotWords.total + findings.result}] = control[${controlWords.result}] + 1u;
      slot[${slotWords.total + findings.difference}] = control[${controlWords.difference}];
      slot[${slotWords.total + findings.bound}] = control[${controlWords.bound}];
    }
    add(${findings.repaired}u);
  }
  for (var i = 0u; i < 16u; i++) { report[i] = 0u; }
  control[${controlWords.isOver}] = 0u;
  control[${controlWords.seed}] = control[${controlWords.seed}] * 747796405u + 2891336453u;
}`;

/** The small kernels that all checks of a device share. */
export class ControlKernels {
  readonly decide: OwnKernel;
  readonly conclude: OwnKernel;

  constructor(device: GPUDevice) {
    const label = "belay: check of sums";
    this.decide = new OwnKernel(device, { label, code: DECIDE, buffers: ["storage", "storage"] });
    this.conclude = new OwnKernel(device, {
      label,
      code: CONCLUDE,
      buffers: ["storage", "storage", "storage"],
    });
  }
}

/** The check of dispatches with the same sums, and with the same grid under redundancy. */
export class DispatchCheck implements SumsFindings {
  readonly slot: ReportSlot;
  readonly #sums: SumsOfProducts;
  readonly #pipelines: SumsPipelines;
  readonly #control: ControlKernels;
  readonly #work: CheckWork;
  readonly #found: (findings: Findings) => void;
  readonly #groups = new WeakCache<GPUBindGroup>();

  /**
   * Calls `found` with the findings of each look. `grid` is that of the dispatch under redundancy.
   */
  constructor(
    device: GPUDevice,
    arena: ReportArena,
    control: ControlKernels,
    {
      sums,
      pipelines,
      grid,
      found,
    }: {
      readonly sums: SumsOfProducts;
      readonly pipelines: SumsPipelines;
      readonly grid: readonly number[];
      readonly found: (findings: Findings) => void;
    },
  ) {
    this.#sums = sums;
    this.#pipelines = pipelines;
    this.#control = control;
    this.#found = found;
    const { bufferStorage, bufferUniform, bufferIndirect, bufferCopyDst } = flags;
    const draw = device.createBuffer({
      label: "belay: check of sums",
      size: controlSize,
      usage: bufferStorage | bufferUniform | bufferIndirect | bufferCopyDst,
    });
    this.#work = newWork(device, pipelines.kernels, draw);
    const words = new Uint32Array(controlSize / 4);
    words.set(crypto.getRandomValues(new Uint32Array(1)), controlWords.seed);
    words.set([pipelines.kernels.compared], controlWords.expected);
    words.set(grid, controlWords.grid);
    device.queue.writeBuffer(draw, 0, words);
    this.slot = arena.allocate({ bytes: 4 * (slotWords.total + findingCount), cells: findingCount });
  }

  /**
   * Encodes a dispatch without redundancy, its check, and the dispatch under redundancy, as
   * `CheckedDispatch` describes it.
   */
  run(
    commands: PassCommands,
    call: DispatchCall,
    alone: () => void,
    again: (dispatch: () => void) => void,
  ): void {
    const { report, draw } = this.#work;
    alone();
    this.#encode(commands, call, ["combine", "compare"]);
    this.#control.decide.encode(commands, [whole(report), whole(draw)], 1);
    again(() => commands.dispatchWorkgroupsIndirect(draw, 4 * controlWords.arguments));
    this.#encode(commands, call, ["compare"]);
    this.#control.conclude.encode(commands, [whole(report), whole(draw), rangeOf(this.slot)], 1);
  }

  read(words: Uint32Array): void {
    const at = (finding: keyof typeof findings) => words[slotWords.total + findings[finding]]!;
    const checked = at("checked");
    if (checked === 0) return;
    const result = at("result");
    const first = { result: result - 1, difference: floatOf(at("difference")), bound: floatOf(at("bound")) };
    this.#found({
      checked,
      repaired: at("repaired"),
      refuted: at("refuted"),
      undecided: at("undecided"),
      bound: floatOf(at("largest")),
      ...(result > 0 && { first }),
    });
  }

  #encode(commands: PassCommands, call: DispatchCall, names: readonly StepName[]): void {
    const { left, right, output, added } = this.#sums;
    const rangeAt = ({ of }: SumsOfProducts["left"]) => {
      const isAt = (each: DispatchCall["bound"][number]) =>
        each.of.group === of.group && each.of.binding === of.binding;
      return call.bound.find(isAt)!.place as BufferRange;
    };
    const buffers = {
      left: rangeAt(left),
      right: rangeAt(right),
      output: rangeAt(output),
      ...(added && { added: rangeAt(added) }),
    };
    const ranges = Object.values(buffers);
    const group = this.#groups.get(
      ranges.map(({ buffer }) => buffer),
      placesOf(ranges),
      () => this.#pipelines.group(buffers, this.#work),
    );
    commands.noteAdded(group);
    for (const { pipeline, workgroups } of this.#pipelines.stepsOf(names)) {
      commands.setPipeline(pipeline);
      commands.setBindGroup(0, { group, offsets: noOffsets });
      commands.dispatchWorkgroups(...workgroups);
    }
  }
}

const scratch = new DataView(new ArrayBuffer(4));

function floatOf(word: number): number {
  scratch.setUint32(0, word);
  return scratch.getFloat32(0);
}
