/** The check of a dispatch whose results are sums of products. */
import { type CheckKernels, checkKernels, obstacleToCheck, reportSize, reportWords } from "./checkKernels.ts";
import type { SumsOfProducts } from "./sumsOfProducts.ts";

/** The buffers of a dispatch. Their ranges are those that the kernel sees. */
export interface CheckedBuffers {
  /** The range of the left operand. */
  readonly left: GPUBufferBinding;
  /** The range of the right operand. */
  readonly right: GPUBufferBinding;
  /** The range of the results. */
  readonly output: GPUBufferBinding;
  /** The range of the numbers that are added, if there is one. */
  readonly added?: GPUBufferBinding;
}

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
  readonly #kernels: CheckKernels;
  readonly #layout: GPUBindGroupLayout;
  readonly #pipelines: Readonly<Record<"combine" | "compare", GPUComputePipeline>>;
  /** The digests before and after a dispatch; absent if all of the output are results. */
  readonly #digests: { readonly before: GPUComputePipeline; readonly after: GPUComputePipeline } | undefined;
  readonly #buffers: Readonly<Record<"combined" | "report" | "seed", GPUBuffer>>;
  /** The dispatches since the last verdict. */
  #checked = 0;

  /**
   * Creates the check for an output with a bound range of so many bytes. Throws a `TypeError` if
   * sums of this kind cannot be checked.
   */
  constructor(device: GPUDevice, sums: SumsOfProducts, outputBytes: number) {
    const obstacle = obstacleToCheck(sums);
    if (obstacle !== undefined) throw new TypeError(`these sums cannot be checked: ${obstacle}`);
    const kernels = checkKernels(sums, outputBytes);
    const { maxStorageBufferBindingSize, maxComputeWorkgroupsPerDimension: most } = device.limits;
    if (kernels.combinedBytes > maxStorageBufferBindingSize)
      throw new TypeError(
        `these sums cannot be checked: a buffer of ${kernels.combinedBytes} bytes is needed`,
      );
    if (Math.max(...kernels.combine, ...kernels.compare) > most)
      throw new TypeError("these sums cannot be checked: the grid of the check is too large");
    this.#device = device;
    this.#kernels = kernels;
    const entry = (binding: number, type: GPUBufferBindingType): GPUBindGroupLayoutEntry => ({
      binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type },
    });
    const read = sums.added ? [0, 1, 2, 3] : [0, 1, 2];
    this.#layout = device.createBindGroupLayout({
      entries: [
        ...read.map((binding) => entry(binding, "read-only-storage")),
        entry(4, "storage"),
        entry(5, "storage"),
        entry(6, "uniform"),
      ],
    });
    const layout = device.createPipelineLayout({ bindGroupLayouts: [this.#layout] });
    const module = device.createShaderModule({ label: "belay: check of sums", code: kernels.source });
    const pipeline = (entryPoint: string, constants: Record<string, number> = {}) =>
      device.createComputePipeline({ layout, compute: { module, entryPoint, constants } });
    this.#pipelines = { combine: pipeline("combine"), compare: pipeline("compare") };
    this.#digests =
      kernels.outside > 0
        ? { before: pipeline("digest"), after: pipeline("digest", { factor: 2 ** 32 - 1 }) }
        : undefined;
    const { STORAGE, COPY_DST, COPY_SRC, UNIFORM } = GPUBufferUsage;
    const buffer = (size: number, usage: number) =>
      device.createBuffer({ label: "belay: check of sums", size, usage });
    this.#buffers = {
      combined: buffer(kernels.combinedBytes, STORAGE),
      report: buffer(reportSize, STORAGE | COPY_SRC | COPY_DST),
      seed: buffer(4, UNIFORM | COPY_DST),
    };
  }

  /** The multiplications of the check, as a fraction of those of the sums. */
  get work(): number {
    return this.#kernels.work;
  }

  /** Encodes what the check needs before a dispatch: a digest of the words that are no results. */
  before(pass: GPUComputePassEncoder, buffers: CheckedBuffers): void {
    if (this.#digests) this.#digest(pass, buffers, this.#digests.before);
  }

  /** Encodes the check after a dispatch. It draws other weights each time. */
  after(pass: GPUComputePassEncoder, buffers: CheckedBuffers): void {
    const { combine, compare } = this.#pipelines;
    const seed = crypto.getRandomValues(new Uint32Array(1));
    this.#device.queue.writeBuffer(this.#buffers.seed, 0, seed);
    if (this.#digests) this.#digest(pass, buffers, this.#digests.after);
    pass.setBindGroup(0, this.#bind(buffers));
    pass.setPipeline(combine);
    pass.dispatchWorkgroups(...this.#kernels.combine);
    pass.setPipeline(compare);
    pass.dispatchWorkgroups(...this.#kernels.compare);
    this.#checked++;
  }

  /** Returns the verdict on all dispatches since the last one, which have been submitted. */
  async verdict(): Promise<SumsVerdict> {
    const { report } = this.#buffers;
    const expected = this.#kernels.compared * this.#checked;
    this.#checked = 0;
    const staging = this.#device.createBuffer({
      label: "belay: check of sums",
      size: reportSize,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    try {
      const encoder = this.#device.createCommandEncoder();
      encoder.copyBufferToBuffer(report, 0, staging, 0, reportSize);
      encoder.clearBuffer(report);
      this.#device.queue.submit([encoder.finish()]);
      await staging.mapAsync(GPUMapMode.READ);
      return this.#read(new DataView(staging.getMappedRange().slice(0)), expected);
    } finally {
      staging.destroy();
    }
  }

  /** Destroys the buffers of the check. */
  destroy(): void {
    for (const buffer of Object.values(this.#buffers)) buffer.destroy();
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

  #digest(pass: GPUComputePassEncoder, buffers: CheckedBuffers, pipeline: GPUComputePipeline): void {
    pass.setBindGroup(0, this.#bind(buffers));
    pass.setPipeline(pipeline);
    pass.dispatchWorkgroups(...this.#kernels.digest);
  }

  #bind({ left, right, output, added }: CheckedBuffers): GPUBindGroup {
    const { combined, report, seed } = this.#buffers;
    const [first, second] = this.#kernels.isMirrored ? [right, left] : [left, right];
    const resources = [
      first,
      second,
      output,
      added,
      { buffer: combined },
      { buffer: report },
      { buffer: seed },
    ];
    const entries = resources.flatMap((resource, binding) => (resource ? [{ binding, resource }] : []));
    return this.#device.createBindGroup({ layout: this.#layout, entries });
  }
}
