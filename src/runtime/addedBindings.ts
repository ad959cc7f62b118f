import type { BindingPoint, InterGroup } from "../compiler/contract.ts";
import { BindGroupCache } from "./bindGroupCache.ts";
import type { BindGroups, SetGroup, SetGroups } from "./bindGroups.ts";
import { type Kernel, prove } from "./kernels.ts";
import { makeSilently } from "./nativeObjects.ts";
import { rangeOf } from "./reportArena.ts";
import type { BufferRange } from "./resources.ts";
import type { ShadowBuffers } from "./shadowBuffers.ts";
import { noOffsets } from "./steps.ts";

/** Where a protected kernel binds what the program does not know of: its report, and shadows of the program's buffers. */
export function addedPoints({ protection, interGroup }: Kernel): readonly BindingPoint[] {
  const { group, binding } = protection.layout!;
  return [{ group, binding }, ...(interGroup?.shadows ?? []).map(({ at }) => at)];
}

export interface AddedBindingsDescriptor {
  readonly pipeline: GPUComputePipeline;
  readonly kernel: Kernel;
  /**
   * The program's bind groups that need a counterpart, because the pipeline's layout has more entries there or is not
   * the one that the program knows. What is added elsewhere is alone in its bind group.
   */
  readonly replaced: ReadonlySet<number>;
  /** Whether the pipeline that the program knows takes bind groups of this layout. */
  readonly accepts: (layout: GPUBindGroupLayout) => boolean;
}

/** What a dispatch of a protected pipeline takes, as the program has set its bind groups. */
export interface Bound {
  /** The bind groups to set in place of the program's. */
  readonly groups: SetGroups;
  /** The parts of the program's buffers that the kernel changes in place. */
  readonly shadowed: readonly BufferRange[];
}

/** What Belay binds for a protected pipeline. */
export class AddedBindings {
  readonly #bindGroups: BindGroups;
  readonly #shadows: ShadowBuffers;
  readonly #descriptor: AddedBindingsDescriptor;
  readonly #layouts: ReadonlyMap<number, GPUBindGroupLayout>;
  /** Which of the program's buffers have shadows, and where those are bound. */
  readonly #pairs: InterGroup["shadows"];
  readonly #made = new BindGroupCache();
  /** What is set whatever the program sets. */
  #fixed: Bound | undefined;

  constructor(
    device: GPUDevice,
    bindGroups: BindGroups,
    shadows: ShadowBuffers,
    descriptor: AddedBindingsDescriptor,
  ) {
    this.#bindGroups = bindGroups;
    this.#shadows = shadows;
    this.#descriptor = descriptor;
    this.#pairs = descriptor.kernel.interGroup?.shadows ?? [];
    const { pipeline, kernel, replaced } = descriptor;
    const indices = new Set([...addedPoints(kernel).map(({ group }) => group), ...replaced]);
    // An invalid pipeline is reported to the program; what follows from it is not its concern.
    const { made } = makeSilently(device, () =>
      [...indices].map((index) => [index, pipeline.getBindGroupLayout(index)] as const),
    );
    this.#layouts = new Map(made);
  }

  /** Leaves out what the program has not provided for. */
  bindFor(own: SetGroups): Bound {
    if (this.#fixed) return this.#fixed;
    const ranges = this.#pairs.map(({ of }) => this.#rangeAt(of, own));
    const groups = new Map<number, SetGroup>();
    for (const [index, layout] of this.#layouts) {
      const group = this.#groupAt(index, layout, own, ranges);
      if (group) groups.set(index, group);
    }
    const bound = { groups, shadowed: ranges.filter((range) => range !== undefined) };
    if (this.#descriptor.replaced.size === 0 && this.#pairs.length === 0) this.#fixed = bound;
    return bound;
  }

  /** `known`: what the program has bound where shadows are to stand in. */
  #groupAt(
    index: number,
    layout: GPUBindGroupLayout,
    own: SetGroups,
    known: readonly (BufferRange | undefined)[],
  ): SetGroup | undefined {
    const { replaced, accepts } = this.#descriptor;
    const program = replaced.has(index) ? (own.get(index) ?? null) : undefined;
    if (program !== undefined) {
      const programsLayout = program?.group && this.#bindGroups.layoutOf(program.group);
      if (!programsLayout || !accepts(programsLayout)) return undefined;
    }
    const shadows: { readonly binding: number; readonly range: BufferRange }[] = [];
    for (const [i, { at }] of this.#pairs.entries()) {
      const range = known[i];
      if (at.group !== index) continue;
      if (!range) return undefined;
      shadows.push({ binding: at.binding, range });
    }
    const group = this.#made.get(
      [...(program?.group ? [program.group] : []), ...shadows.map(({ range }) => range.buffer)],
      shadows.flatMap(({ range: { offset, size } }) => [offset, size]),
      () => {
        const entries = shadows.map(({ binding, range }) => {
          return { binding, resource: { ...range, buffer: this.#shadowOf(range.buffer) } };
        });
        return this.#bindGroups.extend(program?.group ?? null, layout, [...this.#report(index), ...entries]);
      },
    );
    return { group, offsets: program?.offsets ?? noOffsets };
  }

  #report(index: number): GPUBindGroupEntry[] {
    const { protection, slot } = this.#descriptor.kernel;
    const { group, binding } = protection.layout!;
    return index === group ? [{ binding, resource: rangeOf(slot) }] : [];
  }

  #rangeAt({ group, binding }: BindingPoint, own: SetGroups): BufferRange | undefined {
    const set = own.get(group);
    return set && this.#bindGroups.rangeAt(set, binding);
  }

  #shadowOf(original: GPUBuffer): GPUBuffer {
    const { kernel } = this.#descriptor;
    const { buffer, failed } = this.#shadows.of(original);
    const known = failed.then((error) => {
      if (error)
        kernel.refused = `no memory for a copy of what the kernel changes in place: ${error.message}`;
    });
    prove(kernel, known);
    return buffer;
  }
}
