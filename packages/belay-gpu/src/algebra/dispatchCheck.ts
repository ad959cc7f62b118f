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
import { reportStride, reportWords } from "./checkKernels.ts";
import type { SumsOfProducts } from "./sumsOfProducts.ts";
import { type CheckWork, newWork, type StepName, type SumsPipelines } from "./sumsPipelines.ts";

/** The words of the buffer that a check keeps. */
const drawWords = {
  /** The seed of the weights, and the first word of the report. */
  seed: 0,
  own: 1,
  /** The number of sums that a complete check compares. */
  expected: 2,
  /** The same seed and the first word of the report on the second comparison. */
  again: 64,
} as const;
const drawCount = 66;

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
    if (!hasMismatch && hasRun && report[${reportWords.undecided}] > 0u) {
      add(${findings.undecided}u);
    } else if (report[${second}] > 0u) {
      add(${findings.refuted}u);
    } else {
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

/** The check of dispatches with the same sums. */
export class DispatchCheck implements SumsFindings {
  readonly slot: ReportSlot;
  readonly #sums: SumsOfProducts;
  readonly #pipelines: SumsPipelines;
  readonly #conclude: OwnKernel;
  readonly #work: CheckWork;
  readonly #skippable: BufferRange;
  readonly #found: (findings: Findings) => void;
  readonly #groups = new WeakCache<GPUBindGroup>();

  /**
   * Calls `found` with the findings of each look. `skippable` is the report of the kernel under
   * redundancy.
   */
  constructor(
    device: GPUDevice,
    arena: ReportArena,
    conclude: OwnKernel,
    {
      sums,
      pipelines,
      skippable,
      found,
    }: {
      readonly sums: SumsOfProducts;
      readonly pipelines: SumsPipelines;
      readonly skippable: ReportSlot;
      readonly found: (findings: Findings) => void;
    },
  ) {
    this.#sums = sums;
    this.#pipelines = pipelines;
    this.#conclude = conclude;
    this.#found = found;
    const { bufferStorage, bufferUniform, bufferCopyDst } = flags;
    const [seed] = crypto.getRandomValues(new Uint32Array(1));
    const words = new Uint32Array(drawCount);
    words.set([seed!, 0, pipelines.kernels.compared], drawWords.seed);
    words.set([seed!, reportStride], drawWords.again);
    const usage = bufferStorage | bufferUniform | bufferCopyDst;
    const draw = device.createBuffer({ label, size: words.byteLength, usage });
    device.queue.writeBuffer(draw, 0, words);
    this.#skippable = rangeOf(skippable);
    this.#work = newWork(device, pipelines.kernels, { draw, skippable: this.#skippable });
    this.slot = arena.allocate({ bytes: 4 * (slotWords.total + findingCount), cells: findingCount });
  }

  /**
   * Encodes a dispatch without redundancy, its check, and the dispatch under redundancy, as
   * `CheckedDispatch` describes it.
   */
  run(commands: PassCommands, call: DispatchCall, alone: () => void, again: () => void): void {
    const { report, draw } = this.#work;
    alone();
    this.#encode(commands, call, ["combine", "compare"]);
    again();
    this.#encode(commands, call, ["compare"], 4 * drawWords.again);
    const buffers = [whole(report), whole(draw), this.#skippable, rangeOf(this.slot)];
    this.#conclude.encode(commands, buffers, 1);
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

  #encode(commands: PassCommands, call: DispatchCall, names: readonly StepName[], draw = 0): void {
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
      `${placesOf(ranges)}${draw}`,
      () => this.#pipelines.group(buffers, this.#work, draw),
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
