import { wholeGranules } from "../memory/granules.ts";
import { flags, makeSilently } from "../webgpu/nativeObjects.ts";
import type { AddedPoint, GranulesByGroup } from "./addedPoints.ts";
import type { BindGroups } from "./bindGroups.ts";
import type { LayoutRoom } from "./protectedKernels.ts";

/** An explicit pipeline layout of the program. */
export interface LayoutRecord {
  readonly descriptor: GPUPipelineLayoutDescriptor;
  readonly groups: readonly (GPUBindGroupLayout | null | undefined)[];
}

/** The program's explicit pipeline layouts, and their extension with Belay's bindings. */
export class PipelineLayouts {
  readonly #device: GPUDevice;
  readonly #bindGroups: BindGroups;
  readonly #records = new WeakMap<GPUPipelineLayout, LayoutRecord>();

  constructor(device: GPUDevice, bindGroups: BindGroups) {
    this.#device = device;
    this.#bindGroups = bindGroups;
  }

  create(descriptor: GPUPipelineLayoutDescriptor): GPUPipelineLayout {
    const layout = this.#device.createPipelineLayout(descriptor);
    this.#records.set(layout, { descriptor, groups: [...descriptor.bindGroupLayouts] });
    return layout;
  }

  recordOf(layout: GPUPipelineLayout): LayoutRecord | undefined {
    return this.#records.get(layout);
  }

  /** Returns the room for Belay's bindings. Undefined if a part of the layout is unknown. */
  roomIn(record: LayoutRecord): LayoutRoom | undefined {
    const { groups } = record;
    if (groups.some((group) => group && !this.#bindGroups.entriesOf(group))) return undefined;
    const { limits } = this.#device;
    const all = groups.flatMap((_, index) => this.entriesAt(record, index).filter(isVisible));
    const uniforms = all.filter(({ buffer }) => buffer && (buffer.type ?? "uniform") === "uniform");
    const storages = all.filter(({ buffer }) => buffer && (buffer.type ?? "uniform") !== "uniform");
    const roomAt = (group: number, binding: number): LayoutRoom => ({
      reportBinding: { group, binding },
      memoryBindings: { arena: { group, binding: binding + 1 }, table: { group, binding: binding + 2 } },
      storageBuffers: limits.maxStorageBuffersPerShaderStage - storages.length,
      uniformBuffers: limits.maxUniformBuffersPerShaderStage - uniforms.length,
    });
    if (groups.length < limits.maxBindGroups) return roomAt(groups.length, 0);
    const empty = groups.findIndex((_, index) => this.entriesAt(record, index).length === 0);
    if (empty >= 0) return roomAt(empty, 0);
    const group = groups.length - 1;
    return roomAt(group, Math.max(...this.entriesAt(record, group).map((entry) => entry.binding)) + 1);
  }

  entriesAt({ groups }: LayoutRecord, index: number): readonly GPUBindGroupLayoutEntry[] {
    const group = groups[index];
    return (group && this.#bindGroups.entriesOf(group)) ?? [];
  }

  /**
   * Creates the program's pipeline layout with added buffers. The minimum sizes of `checked`
   * bindings are rounded up to whole granules, as a kernel with checks accesses whole granules.
   */
  extend(
    record: LayoutRecord,
    points: readonly AddedPoint[],
    checked: GranulesByGroup,
  ): ReturnType<typeof makeSilently<GPUPipelineLayout>> {
    return makeSilently(this.#device, () => {
      const bindGroupLayouts = [...record.groups];
      for (const group of new Set([...points.map((point) => point.group), ...checked.keys()])) {
        const own = this.entriesAt(record, group);
        const entries = [
          ...own.map((entry) => inGranules(entry, checked.get(group)?.get(entry.binding))),
          ...points.filter((point) => point.group === group).map(entryFor),
        ];
        bindGroupLayouts[group] = this.#device.createBindGroupLayout({ label: "belay", entries });
      }
      return this.#device.createPipelineLayout({
        ...record.descriptor,
        bindGroupLayouts,
      } as GPUPipelineLayoutDescriptor);
    });
  }
}

function entryFor({ binding, type }: AddedPoint): GPUBindGroupLayoutEntry {
  return { binding, visibility: flags.shaderStageCompute, buffer: { type } };
}

function inGranules(
  entry: GPUBindGroupLayoutEntry,
  granuleBytes: number | undefined,
): GPUBindGroupLayoutEntry {
  const { buffer } = entry;
  if (!buffer?.minBindingSize || granuleBytes === undefined) return entry;
  const minBindingSize = wholeGranules(buffer.minBindingSize, granuleBytes);
  return { ...entry, buffer: { ...buffer, minBindingSize } };
}

function isVisible({ visibility }: GPUBindGroupLayoutEntry): boolean {
  return (visibility & flags.shaderStageCompute) !== 0;
}
