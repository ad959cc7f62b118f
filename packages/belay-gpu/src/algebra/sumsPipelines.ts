/** The pipelines and the buffers of a check of sums of products. */
import { flags } from "../runtime/webgpu/nativeObjects.ts";
import { type BufferRange, whole } from "../runtime/webgpu/resources.ts";
import {
  buffersOf,
  type CheckKernels,
  type CheckOptions,
  checkKernels,
  drawSize,
  firstOther,
  obstacleToCheck,
  reportSize,
} from "./checkKernels.ts";
import type { SumsOfProducts } from "./sums.ts";

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
  /** The range of the scales, if there are any. */
  readonly scale?: GPUBufferBinding;
}

/** The buffers of a dispatch whose results may be functions of sums. */
interface BoundBuffers extends CheckedBuffers {
  /** The range of the results, or of the sums of which they are functions. */
  readonly output: GPUBufferBinding;
  /** The range of these functions, if there are any. */
  readonly functions?: GPUBufferBinding;
  /** The ranges with the other numbers of these functions. */
  readonly others?: readonly GPUBufferBinding[];
}

/** The buffers in which a check works. */
export interface CheckWork {
  /** The weighted sums of the right operand. */
  readonly combined: GPUBuffer;
  readonly report: BufferRange;
  /** The uniform buffer with the seed of the weights and the first word of the report. */
  readonly draw: GPUBuffer;
  /** The report of the kernel that is skipped if all sums agree, for pipelines that decide. */
  readonly skippable?: GPUBufferBinding;
}

/** The steps of a check. */
export type StepName = "digestBefore" | "digestAfter" | "combine" | "compare";

/**
 * The bind groups of the steps. Combining has its own. Without the results, it may run while these
 * are computed.
 */
export interface CheckGroups {
  readonly combine: GPUBindGroup;
  readonly others: GPUBindGroup;
}

/** A dispatch of a kernel of the check. */
export interface CheckDispatch {
  readonly pipeline: GPUComputePipeline;
  readonly group: keyof CheckGroups;
  readonly workgroups: readonly [number, number];
}

const label = "belay: check of sums";

/** Creates the buffers in which a check works, beside those that are given. */
export function newWork(
  device: GPUDevice,
  { combinedBytes }: CheckKernels,
  given: Pick<CheckWork, "draw" | "skippable">,
): CheckWork {
  const { bufferStorage, bufferCopyDst, bufferCopySrc } = flags;
  const usage = bufferStorage | bufferCopySrc | bufferCopyDst;
  return {
    combined: device.createBuffer({ label, size: combinedBytes, usage: bufferStorage }),
    report: whole(device.createBuffer({ label, size: reportSize, usage })),
    ...given,
  };
}

/** The pipelines that check the dispatches with sums of one kind. */
export class SumsPipelines {
  readonly kernels: CheckKernels;
  readonly #device: GPUDevice;
  readonly #layouts: Readonly<Record<keyof CheckGroups, GPUBindGroupLayout>>;
  readonly #pipelines: ReadonlyMap<StepName, GPUComputePipeline>;

  /**
   * Creates the pipelines for an output with a bound range of so many bytes. Throws a `TypeError`
   * if sums of this kind cannot be checked.
   */
  constructor(device: GPUDevice, sums: SumsOfProducts, outputBytes: number, options: CheckOptions = {}) {
    const obstacle = obstacleToCheck(sums);
    if (obstacle !== undefined) throw new TypeError(`these sums cannot be checked: ${obstacle}`);
    const { decides = false, activation } = options;
    const kernels = checkKernels(sums, outputBytes, options);
    const { maxStorageBufferBindingSize, maxComputeWorkgroupsPerDimension: most } = device.limits;
    if (kernels.combinedBytes > maxStorageBufferBindingSize)
      throw new TypeError(
        `these sums cannot be checked: a buffer of ${kernels.combinedBytes} bytes is needed`,
      );
    if (Math.max(...kernels.combine, ...kernels.compare) > most)
      throw new TypeError("these sums cannot be checked: the grid of the check is too large");
    this.#device = device;
    this.kernels = kernels;
    const isCombined = combinedBy(kernels);
    const entry = (binding: number, type: GPUBufferBindingType): GPUBindGroupLayoutEntry => ({
      binding,
      visibility: flags.shaderStageCompute,
      buffer: { type },
    });
    const read = [
      0,
      1,
      2,
      ...(sums.added && !kernels.isInPlace ? [3] : []),
      ...(sums.scale ? [8] : []),
      ...(activation ? [9] : []),
      ...buffersOf(activation, sums).map((_, i) => firstOther + i),
    ];
    const entries = [
      ...read.map((binding) => entry(binding, "read-only-storage")),
      entry(4, "storage"),
      entry(5, "storage"),
      entry(6, "uniform"),
      ...(decides ? [entry(7, "storage")] : []),
    ];
    const buffers = entries.filter(({ buffer }) => buffer?.type !== "uniform").length;
    if (buffers > device.limits.maxStorageBuffersPerShaderStage)
      throw new TypeError(`these sums cannot be checked: ${buffers} storage buffers are needed`);
    // GPUs load faster from a buffer to which a kernel cannot store.
    const loaded = (each: GPUBindGroupLayoutEntry) =>
      each.binding === 4 ? entry(4, "read-only-storage") : each;
    this.#layouts = {
      combine: device.createBindGroupLayout({ entries: entries.filter(isCombined) }),
      others: device.createBindGroupLayout({ entries: entries.map(loaded) }),
    };
    const layouts = {
      combine: device.createPipelineLayout({ bindGroupLayouts: [this.#layouts.combine] }),
      others: device.createPipelineLayout({ bindGroupLayouts: [this.#layouts.others] }),
    };
    const module = device.createShaderModule({ label, code: kernels.source });
    const pipeline = (entryPoint: string, constants: Record<string, number> = {}) => {
      const layout = layouts[groupOf(entryPoint)];
      return device.createComputePipeline({ label, layout, compute: { module, entryPoint, constants } });
    };
    const pipelines: [StepName, GPUComputePipeline][] = [
      ["combine", pipeline("combine")],
      ["compare", pipeline("compare")],
    ];
    if (kernels.outside > 0)
      pipelines.push(
        ["digestBefore", pipeline("digest")],
        ["digestAfter", pipeline("digest", { factor: 2 ** 32 - 1 })],
      );
    this.#pipelines = new Map(pipelines);
  }

  /** Returns the steps with these names. There are no digests if all of the output are results. */
  stepsOf(names: readonly StepName[]): CheckDispatch[] {
    const { combine, compare, digest } = this.kernels;
    const workgroups = { combine, compare, digestBefore: digest, digestAfter: digest };
    return names.flatMap((name) => {
      const pipeline = this.#pipelines.get(name);
      return pipeline ? [{ pipeline, group: groupOf(name), workgroups: workgroups[name] }] : [];
    });
  }

  /** Returns the bind groups of all steps. The seed of the weights is at an offset of `draw`. */
  groups(
    { left, right, output, added, scale, functions, others = [] }: BoundBuffers,
    work: CheckWork,
    offset = 0,
  ): CheckGroups {
    const [first, second] = this.kernels.isMirrored ? [right, left] : [left, right];
    const { combined, report, draw, skippable } = work;
    const resources = [
      first,
      second,
      output,
      this.kernels.isInPlace ? undefined : added,
      { buffer: combined },
      report,
      { buffer: draw, offset, size: drawSize },
      skippable,
      scale,
      functions,
      ...others,
    ];
    const entries = resources.flatMap((resource, binding) => (resource ? [{ binding, resource }] : []));
    const group = (layout: GPUBindGroupLayout, entries: GPUBindGroupEntry[]) =>
      this.#device.createBindGroup({ label, layout, entries });
    return {
      combine: group(this.#layouts.combine, entries.filter(combinedBy(this.kernels))),
      others: group(this.#layouts.others, entries),
    };
  }
}

/**
 * Returns whether combining has a binding: the second factor, combinations, the draw, scales, and
 * the results if they have old numbers.
 */
const combinedBy =
  ({ isInPlace }: CheckKernels) =>
  ({ binding }: { readonly binding: number }): boolean =>
    [1, 4, 6, 8, ...(isInPlace ? [2] : [])].includes(binding);

const groupOf = (step: string): keyof CheckGroups => (step === "combine" ? "combine" : "others");
