import { type BindingAccess, nameInCode } from "../../compiler/contract.ts";
import type { Diagnostic } from "../../diagnostics/diagnostic.ts";
import { leftAlone, ProtectionError } from "../context/coverage.ts";
import { type AddedPoint, addedPoints, checkedGranules } from "./addedPoints.ts";
import type { LayoutRecord, PipelineLayouts } from "./pipelineLayouts.ts";
import type { GuardedPipeline } from "./pipelineRecord.ts";
import {
  checkedVariant,
  type KernelChoice,
  type KernelRequest,
  type Kernels,
  type KernelVariant,
  type ProtectedKernel,
} from "./protectedKernels.ts";

/** The plan for creating a pipeline. */
export interface PipelinePlan {
  readonly descriptor: GPUComputePipelineDescriptor;
  readonly choice: KernelChoice;
  readonly request: KernelRequest;
  /** The program's explicit layout. */
  readonly explicit?: LayoutRecord | undefined;
  /** The protected kernel; absent if the program's own kernel runs. */
  readonly guarded?: GuardedPipeline;
}

/**
 * Plans pipelines: their kernels, and the bindings that their layouts have besides the program's.
 */
export class PipelinePlans {
  readonly #kernels: Kernels;
  readonly #layouts: PipelineLayouts;
  /** True if the device records the layouts of the program. */
  readonly #knowsLayouts: boolean;
  readonly #sources = new WeakMap<GPUShaderModule, string>();

  constructor(kernels: Kernels, layouts: PipelineLayouts, knowsLayouts: boolean) {
    this.#kernels = kernels;
    this.#layouts = layouts;
    this.#knowsLayouts = knowsLayouts;
  }

  trackModule(module: GPUShaderModule, source: string): void {
    this.#sources.set(module, source);
  }

  /**
   * Returns the plan for a pipeline. Throws a `ProtectionError` in strict mode if the kernel is not
   * fully covered. With `isUnmixed`, the plan replaces one whose replicas subgroups mixed.
   */
  plan(descriptor: GPUComputePipelineDescriptor, variant?: KernelVariant, isUnmixed = false): PipelinePlan {
    const { layout, label } = descriptor;
    // The device rejects a descriptor without these members in its own words.
    const { module, entryPoint, constants = {} }: Partial<GPUProgrammableStage> = descriptor.compute ?? {};
    const source = module && this.#sources.get(module);
    const explicit = layout === "auto" ? undefined : this.#layouts.recordOf(layout);
    const room = explicit && this.#layouts.roomIn(explicit);
    const request: KernelRequest = {
      source: source ?? "",
      entryPoint,
      label: label ?? "",
      constants,
      room,
      ...(variant && { variant }),
    };
    if (source === undefined) return this.leaveAlone(descriptor, request, leftAlone.unknownModule());
    if (layout !== "auto" && !room && this.#knowsLayouts)
      return this.leaveAlone(descriptor, request, leftAlone.unknownLayout());
    const choice = isUnmixed ? this.#kernels.chooseUnmixed(request) : this.#kernels.choose(request);
    // Results of a kernel that runs alone are checked by algebra. The program already has the
    // pipeline that others replace.
    if (!checkedVariant(variant) && !isUnmixed) this.#checkStrict(choice, request);
    const { kernel, bindings = [] } = choice;
    if (!kernel) return { descriptor, choice, request, explicit };
    const guarded = this.#guard(descriptor, kernel, explicit, bindings);
    return { descriptor, choice, request, explicit, guarded };
  }

  /**
   * Returns a plan for the program's own pipeline, with the reason why it is unprotected. Throws a
   * `ProtectionError` in strict mode.
   */
  leaveAlone(
    descriptor: GPUComputePipelineDescriptor,
    request: KernelRequest,
    reason: Diagnostic,
  ): PipelinePlan {
    const choice = this.#kernels.leaveAlone(request, reason);
    this.#checkStrict(choice, request);
    return { descriptor, choice, request };
  }

  #guard(
    descriptor: GPUComputePipelineDescriptor,
    kernel: ProtectedKernel,
    explicit: LayoutRecord | undefined,
    bindings: readonly BindingAccess[],
  ): GuardedPipeline {
    const compute = stageOf(kernel, descriptor.compute);
    const points = addedPoints(kernel);
    const checked = checkedGranules(kernel);
    const isShared = ({ group }: { group: number }) =>
      explicit
        ? this.#layouts.entriesAt(explicit, group).length > 0
        : bindings.some((each) => each.group === group);
    // Only the program's own pipeline has the default layouts for bind groups that are replaced
    // later.
    const seen = kernel.memory?.checks && !explicit ? bindings.map(({ group }) => group) : checked.keys();
    const shared = new Set([...points.filter(isShared).map(({ group }) => group), ...seen]);
    const withReport = explicit ? undefined : groupWithReport(kernel, points, shared);
    if (withReport !== undefined) shared.delete(withReport);
    const extended = explicit && this.#layouts.extend(explicit, points, checked);
    const layout = extended?.made ?? descriptor.layout;
    return {
      kernel,
      descriptor: { ...descriptor, compute, layout },
      layoutFailed: extended?.failed,
      shared,
      withReport,
    };
  }

  #checkStrict({ coverage, strict }: KernelChoice, request: KernelRequest): void {
    const uncovered =
      coverage.redundancy === "none" || coverage.diagnostics.some(({ severity }) => severity !== "info");
    if (!strict || !uncovered) return;
    this.#kernels.recordRejection(request);
    throw new ProtectionError(coverage);
  }
}

/**
 * Returns the program's bind group that has the report after the program's own bindings. Undefined
 * if there is none, or if it has to be replaced for another reason.
 */
function groupWithReport(
  { protection, usesReport, memory }: ProtectedKernel,
  points: readonly AddedPoint[],
  shared: ReadonlySet<number>,
): number | undefined {
  const { group } = protection.layout!;
  const isAlone = points.filter((point) => point.group === group).length === 1;
  return usesReport && isAlone && memory === undefined && shared.has(group) ? group : undefined;
}

/** Returns the stage with the protected kernel in place of the program's own. */
function stageOf(
  { protection, entryPoint, module }: ProtectedKernel,
  own: GPUProgrammableStage,
): GPUProgrammableStage {
  const inCodeOnly = new Set(Object.values(protection.renamed));
  // The device rejects an unknown name as it rejects the empty one. Names that exist only in the
  // protected code must be unknown.
  const keyOf = (name: string) => (inCodeOnly.has(name) ? "" : nameInCode(protection, name));
  const values = Object.entries(own.constants ?? {});
  return {
    ...own,
    module,
    entryPoint: nameInCode(protection, entryPoint),
    constants: Object.fromEntries(values.map(([name, value]) => [keyOf(name), value])),
  };
}
