/** The check of a dispatch whose results are sums of products. */
import { mapToRead } from "../diagnostics/explainAbort.ts";
import { drawSize, reportSize, reportWords } from "./checkKernels.ts";
import type { SumsOfProducts } from "./sums.ts";
import {
  type CheckedBuffers,
  type CheckWork,
  newWork,
  type StepName,
  SumsPipelines,
} from "./sumsPipelines.ts";

/** The verdict on the results of a dispatch. */
export interface SumsVerdict {
  /**
   * `"agreed"` means that no result with an error above twice the bound is alone in its weighted
   * sum. Several may cancel, with a probability of at most 2 * bound / error. `"undecided"` means
   * that sums are or may be no finite numbers, so that nothing is known.
   */
  readonly outcome: "agreed" | "mismatch" | "undecided";
  /** The largest bound: an error of a result below it may go unnoticed. */
  readonly bound: number;
  /**
   * The first mismatch, `"outside"` if words changed that are no results, or `"not run"` if the
   * check did not run.
   */
  readonly mismatch?: Mismatch | "outside" | "not run";
}

/** Weighted sums that differ by more than the bound. */
export interface Mismatch {
  /** The index of the first result of the row. */
  readonly result: number;
  /** The number of the block of columns that the sums stand for. */
  readonly block: number;
  /** The difference of the weighted sums. */
  readonly difference: number;
  /** The bound of the difference. */
  readonly bound: number;
}

/**
 * Checks dispatches whose results are sums of products. Encode `before` and `after` around each
 * dispatch, in one compute pass; then read the verdict on all of them.
 */
export class SumsCheck {
  readonly #device: GPUDevice;
  readonly #pipelines: SumsPipelines;
  readonly #work: CheckWork;
  /** The dispatches since the last verdict. */
  #checked = 0;

  /**
   * Creates the check for an output with a bound range of so many bytes. Throws a `TypeError` if
   * sums of this kind cannot be checked.
   */
  constructor(device: GPUDevice, sums: SumsOfProducts, outputBytes: number) {
    this.#device = device;
    this.#pipelines = new SumsPipelines(device, sums, outputBytes);
    const draw = device.createBuffer({
      label: "belay: check of sums",
      size: drawSize,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
    this.#work = newWork(device, this.#pipelines.kernels, { draw });
  }

  /** The multiplications of the check, as a fraction of those of the sums. */
  get work(): number {
    return this.#pipelines.kernels.work;
  }

  /**
   * Encodes what the check needs before a dispatch: a digest of the words that are no results, and
   * weighted sums of a factor and of results in place. It draws other weights each time.
   */
  before(pass: GPUComputePassEncoder, buffers: CheckedBuffers): void {
    const seed = crypto.getRandomValues(new Uint32Array(1));
    this.#device.queue.writeBuffer(this.#work.draw, 0, seed);
    this.#encode(pass, buffers, ["digestBefore", "combine"]);
  }

  /** Encodes the check after a dispatch. */
  after(pass: GPUComputePassEncoder, buffers: CheckedBuffers): void {
    this.#encode(pass, buffers, ["digestAfter", "compare"]);
    this.#checked++;
  }

  /** Returns the verdict on all dispatches since the last one, which have been submitted. */
  async verdict(): Promise<SumsVerdict> {
    const { report } = this.#work;
    const expected = this.#pipelines.kernels.compared * this.#checked;
    this.#checked = 0;
    const staging = this.#device.createBuffer({
      label: "belay: check of sums",
      size: reportSize,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    try {
      const encoder = this.#device.createCommandEncoder();
      encoder.copyBufferToBuffer(report.buffer, 0, staging, 0, reportSize);
      encoder.clearBuffer(report.buffer);
      this.#device.queue.submit([encoder.finish()]);
      await mapToRead(this.#device, staging);
      return this.#read(new DataView(staging.getMappedRange().slice(0)), expected);
    } finally {
      staging.destroy();
    }
  }

  /** Destroys the buffers of the check. */
  destroy(): void {
    const { combined, report, draw } = this.#work;
    for (const buffer of [combined, report.buffer, draw]) buffer.destroy();
  }

  #read(report: DataView, expected: number): SumsVerdict {
    const word = (name: keyof typeof reportWords) => report.getUint32(4 * reportWords[name], true);
    const number = (name: keyof typeof reportWords) => report.getFloat32(4 * reportWords[name], true);
    const bound = number("largest");
    const found = (mismatch: NonNullable<SumsVerdict["mismatch"]>): SumsVerdict => ({
      outcome: "mismatch",
      bound,
      mismatch,
    });
    if (word("compared") !== expected >>> 0) return found("not run");
    if (word("mismatches") > 0) {
      const block = word("block");
      const [difference, own] = [number("difference"), number("bound")];
      return found({ result: word("result"), block, difference, bound: own });
    }
    if (word("outside") !== 0) return found("outside");
    return { outcome: word("undecided") > 0 ? "undecided" : "agreed", bound };
  }

  #encode(pass: GPUComputePassEncoder, buffers: CheckedBuffers, names: readonly StepName[]): void {
    const groups = this.#pipelines.groups(buffers, this.#work);
    for (const step of this.#pipelines.stepsOf(names)) {
      pass.setBindGroup(0, groups[step.group]);
      pass.setPipeline(step.pipeline);
      pass.dispatchWorkgroups(...step.workgroups);
    }
  }
}
