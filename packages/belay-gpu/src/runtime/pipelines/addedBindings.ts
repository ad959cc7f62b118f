import type { BindingPoint, InterGroup } from "../../compiler/contract.ts";
import { rangeOf } from "../context/reportArena.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { SumsBuffers } from "../context/sumsBuffers.ts";
import type { BoundPoint, CheckWordBindings } from "../memory/memoryProtection.ts";
import { makeSilently } from "../webgpu/nativeObjects.ts";
import type { SetGroup, SetGroups } from "../webgpu/passCommands.ts";
import { noOffsets } from "../webgpu/replayStep.ts";
import { type BufferRange, placesOf } from "../webgpu/resources.ts";
import { WeakCache } from "../webgpu/weakCache.ts";
import { addedPoints, checkedGranules, type GranulesByGroup } from "./addedPoints.ts";
import type { BindGroups, ProgramGroups } from "./bindGroups.ts";
import { awaitAcceptance, type ProtectedKernel } from "./protectedKernels.ts";
import type { ShadowBuffers } from "./shadowBuffers.ts";

const noGranules: ReadonlyMap<number, number> = new Map();

export interface AddedBindingsDescriptor {
  readonly pipeline: GPUComputePipeline;
  /** The protected kernel; undefined for the program's own, to which no buffers are added. */
  readonly kernel: ProtectedKernel | undefined;
  /**
   * The program's bind groups that are replaced by extended ones. Their layout in this pipeline has
   * more entries, or differs from the layout that the program knows. All other added buffers have
   * bind groups of their own.
   */
  readonly replaced: ReadonlySet<number>;
  /** The program's bind group that has the report already, if there is one. */
  readonly withReport: number | undefined;
  /**
   * Returns whether bind groups of this layout are valid for the pipeline that the program knows.
   */
  readonly accepts: (layout: GPUBindGroupLayout) => boolean;
}

/** The bind groups to set for one dispatch of a protected pipeline. */
export interface BoundGroups {
  /** The program's bind groups, with those of Belay in place of some or besides them. */
  readonly groups: SetGroups;
  /** The ranges of the program's buffers that the kernel changes in place. */
  readonly shadowed: readonly BufferRange[];
  /** The arena of check words that is bound, if any. */
  readonly arena: GPUBuffer | undefined;
}

/** Creates the bind groups of a protected pipeline, with the buffers that Belay adds. */
export class AddedBindings {
  readonly #bindGroups: BindGroups;
  readonly #shadows: ShadowBuffers;
  readonly #memory: CheckWordBindings;
  readonly #buffers: SumsBuffers;
  readonly #descriptor: AddedBindingsDescriptor;
  readonly #layouts: ReadonlyMap<number, GPUBindGroupLayout>;
  /** The binding points of the program's buffers that have shadows, and those of the shadows. */
  readonly #pairs: InterGroup["shadows"];
  readonly #checked: GranulesByGroup;
  readonly #made = new WeakCache<SetGroup>();

  constructor(
    { device, sums }: Pick<RuntimeContext, "device" | "sums">,
    { bindGroups, shadows }: { readonly bindGroups: BindGroups; readonly shadows: ShadowBuffers },
    memory: CheckWordBindings,
    descriptor: AddedBindingsDescriptor,
  ) {
    this.#memory = memory;
    this.#bindGroups = bindGroups;
    this.#shadows = shadows;
    this.#buffers = sums;
    this.#descriptor = descriptor;
    const { pipeline, kernel, replaced, withReport } = descriptor;
    this.#pairs = kernel?.interGroup?.shadows ?? [];
    this.#checked = kernel ? checkedGranules(kernel) : new Map();
    const points = kernel ? addedPoints(kernel) : [];
    const indices = new Set([...points.map(({ group }) => group), ...replaced]);
    if (withReport !== undefined) indices.delete(withReport);
    // The program gets the error about an invalid pipeline, but no errors that follow from it.
    const { made } = makeSilently(device, () =>
      [...indices].map((index) => [index, pipeline.getBindGroupLayout(index)] as const),
    );
    this.#layouts = new Map(made);
  }

  /**
   * Returns the bind groups for those that the program has set. Bind groups that the program has
   * not set are left out. `slot` is the first slot to which the kernel adds its sums.
   */
  bindFor(own: ProgramGroups, slot?: number): BoundGroups {
    const isSumming = slot !== undefined;
    const ranges = this.#pairs.map(({ of }) => this.#rangeAt(of, own));
    const checks = isSumming ? this.#sums(slot) : this.#checks(own);
    const added = [...checks, ...this.#kept(own)];
    const groups: (SetGroup | undefined)[] = [...own];
    for (const [index, layout] of this.#layouts)
      groups[index] = this.#groupAt(index, layout, own, ranges, added) ?? groups[index];
    const arena = isSumming ? undefined : checks[0]?.range.buffer;
    return { groups, shadowed: ranges.filter((range) => range !== undefined), arena };
  }

  /** Returns one bind group. `known` has the program's ranges whose shadows are bound. */
  #groupAt(
    index: number,
    layout: GPUBindGroupLayout,
    own: ProgramGroups,
    known: readonly (BufferRange | undefined)[],
    added: readonly BoundPoint[],
  ): SetGroup | undefined {
    const { replaced, accepts } = this.#descriptor;
    const program = replaced.has(index) ? own[index] : undefined;
    if (replaced.has(index) && !(program?.contents && accepts(program.contents.layout))) return undefined;
    const shadows: { readonly binding: number; readonly range: BufferRange }[] = [];
    for (const [i, { at }] of this.#pairs.entries()) {
      const range = known[i];
      if (at.group !== index) continue;
      if (!range) return undefined;
      shadows.push({ binding: at.binding, range });
    }
    const bound = added.filter(({ at }) => at.group === index);
    const ranges = [...shadows, ...bound].map(({ range }) => range);
    const contents = program?.contents;
    const made = this.#made.get(
      [...(contents ? [contents] : []), ...ranges.map(({ buffer }) => buffer)],
      placesOf(ranges),
      () => {
        const entries = [
          ...this.#report(index),
          ...shadows.map(({ binding, range }) => {
            return { binding, resource: { ...range, buffer: this.#shadowOf(range.buffer) } };
          }),
          ...bound.map(({ at: { binding }, range }) => ({ binding, resource: range })),
        ];
        const granules = this.#checked.get(index) ?? noGranules;
        return { group: this.#bindGroups.extend(contents, layout, entries, granules), offsets: noOffsets };
      },
    );
    return program?.offsets.length ? { ...made, offsets: program.offsets } : made;
  }

  /** Returns the arena, and the table of where the check words of the kernel's bindings are. */
  #checks(own: ProgramGroups): readonly BoundPoint[] {
    const memory = this.#descriptor.kernel?.memory;
    if (!memory?.checks) return [];
    const rows = memory.bindings.flatMap(({ of, index, mode }) => {
      const range = mode === "checked" ? this.#rangeAt(of, own) : undefined;
      return range ? [{ index, range }] : [];
    });
    return this.#memory.bindChecks(memory.checks, rows);
  }

  /** Returns the buffer for sums beside the results, which they do not belong to for long. */
  #kept(own: ProgramGroups): readonly BoundPoint[] {
    const sums = this.#descriptor.kernel?.sums;
    const results = sums && this.#rangeAt(sums.of, own);
    return results ? [{ at: sums.at, range: this.#buffers.of(sums.growth * results.size).range }] : [];
  }

  #sums(slot: number): readonly BoundPoint[] {
    const checks = this.#descriptor.kernel?.memory?.checks;
    return checks ? this.#memory.bindSlots(checks, slot) : [];
  }

  #report(index: number): GPUBindGroupEntry[] {
    const { kernel } = this.#descriptor;
    const { group, binding } = kernel?.protection.layout ?? {};
    return kernel?.usesReport && index === group
      ? [{ binding: binding!, resource: rangeOf(kernel.slot) }]
      : [];
  }

  #rangeAt({ group, binding }: BindingPoint, own: ProgramGroups): BufferRange | undefined {
    const set = own[group];
    return set && this.#bindGroups.rangeAt(set, binding);
  }

  #shadowOf(original: GPUBuffer): GPUBuffer {
    const { kernel } = this.#descriptor;
    const { buffer, failed } = this.#shadows.of(original);
    const known = failed.then((error) => {
      if (error && kernel)
        kernel.rejection = `no memory for a shadow of a buffer that the kernel changes in place: ${error.message}`;
    });
    if (kernel) awaitAcceptance(kernel, known);
    return buffer;
  }
}
