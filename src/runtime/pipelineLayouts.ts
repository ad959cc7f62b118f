import type { BindingPoint } from "../compiler/contract.ts";
import type { BindGroups } from "./bindGroups.ts";
import { flags, makeSilently } from "./nativeObjects.ts";

/** The program's explicit pipeline layout. */
export interface LayoutRecord {
  readonly descriptor: GPUPipelineLayoutDescriptor;
  readonly groups: readonly (GPUBindGroupLayout | null | undefined)[];
}

/** What can be added to an explicit pipeline layout. */
export interface LayoutRoom {
  /** Where: a bind group of its own if possible, else behind the program's bindings of a group. */
  readonly reportBinding: BindingPoint;
  /** How many storage buffers more the device allows. */
  readonly storageBuffers: number;
}

/** The program's explicit pipeline layouts, and how they take in what Belay adds. */
export class PipelineLayouts {
  readonly #device: GPUDevice;
  readonly #bindGroups: BindGroups;
  readonly #records = new WeakMap<GPUPipelineLayout, LayoutRecord>();

  constructor(device: GPUDevice, bindGroups: BindGroups) {
    this.#device = device;
    this.#bindGroups = bindGroups;
  }

  track(layout: GPUPipelineLayout, descriptor: GPUPipelineLayoutDescriptor): void {
    this.#records.set(layout, { descriptor, groups: [...descriptor.bindGroupLayouts] });
  }

  recordOf(layout: GPUPipelineLayout): LayoutRecord | undefined {
    return this.#records.get(layout);
  }

  /** Undefined when parts of the layout are not known. */
  roomIn(record: LayoutRecord): LayoutRoom | undefined {
    const { groups } = record;
    if (groups.some((group) => group && !this.#bindGroups.entriesOf(group))) return undefined;
    const { maxBindGroups, maxStorageBuffersPerShaderStage } = this.#device.limits;
    const taken = groups.flatMap((_, index) => this.entriesAt(record, index).filter(isStorageBuffer));
    const storageBuffers = maxStorageBuffersPerShaderStage - taken.length;
    const alone = (group: number) => ({ reportBinding: { group, binding: 0 }, storageBuffers });
    if (groups.length < maxBindGroups) return alone(groups.length);
    const empty = groups.findIndex((_, index) => this.entriesAt(record, index).length === 0);
    if (empty >= 0) return alone(empty);
    const group = groups.length - 1;
    const binding = Math.max(...this.entriesAt(record, group).map((entry) => entry.binding)) + 1;
    return { reportBinding: { group, binding }, storageBuffers };
  }

  entriesAt({ groups }: LayoutRecord, index: number): readonly GPUBindGroupLayoutEntry[] {
    const group = groups[index];
    return (group && this.#bindGroups.entriesOf(group)) ?? [];
  }

  /** The program's pipeline layout with storage buffers added. */
  extend(record: LayoutRecord, points: readonly BindingPoint[]): GPUPipelineLayout {
    const { made } = makeSilently(this.#device, () => {
      const bindGroupLayouts = [...record.groups];
      for (const group of new Set(points.map((point) => point.group))) {
        const added = points.filter((point) => point.group === group);
        const entries = [...this.entriesAt(record, group), ...added.map(storageBufferAt)];
        bindGroupLayouts[group] = this.#device.createBindGroupLayout({ label: "belay", entries });
      }
      return this.#device.createPipelineLayout({
        ...record.descriptor,
        bindGroupLayouts,
      } as GPUPipelineLayoutDescriptor);
    });
    return made;
  }
}

function storageBufferAt({ binding }: BindingPoint): GPUBindGroupLayoutEntry {
  return { binding, visibility: flags.shaderStageCompute, buffer: { type: "storage" } };
}

function isStorageBuffer({ buffer, visibility }: GPUBindGroupLayoutEntry): boolean {
  const isVisible = (visibility & flags.shaderStageCompute) !== 0;
  return isVisible && buffer !== undefined && (buffer.type ?? "uniform") !== "uniform";
}
