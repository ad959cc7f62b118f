import type { BindingAccess } from "../compiler/contract.ts";
import { flags, makeSilently, membersOf } from "./nativeObjects.ts";
import { isTexture, type Resource, type Textures } from "./resources.ts";

/** What GPU work reads and writes. What is written is listed as read only where its contents before matter to a result. */
export interface Access {
  readonly read: ReadonlySet<Resource>;
  readonly written: ReadonlySet<Resource>;
}

/** What a pipeline does with each binding of a bind group; undefined when that is not known. */
export type GroupAccess = ReadonlyMap<number, BindingAccess["access"]> | undefined;

interface GroupRecord {
  readonly entries: readonly GPUBindGroupEntry[];
  /** Absent for a layout that the browser made. */
  readonly layout: readonly GPUBindGroupLayoutEntry[] | undefined;
  /** The access by the last pipeline that asked; mostly, it is the only one. */
  latest?: { readonly by: GroupAccess; readonly access: Access };
}

/** Remembers what stands behind bind groups and their layouts. */
export class BindGroups {
  readonly #device: GPUDevice;
  readonly #textures: Textures;
  readonly #layouts = new WeakMap<GPUBindGroupLayout, readonly GPUBindGroupLayoutEntry[]>();
  /** Layouts with one entry that the program does not know of: what stands there. */
  readonly #hidden = new WeakMap<GPUBindGroupLayout, GPUBindGroupEntry>();
  readonly #groups = new WeakMap<GPUBindGroup, GroupRecord>();

  constructor(device: GPUDevice, textures: Textures) {
    this.#device = device;
    this.#textures = textures;
  }

  createLayout(descriptor: GPUBindGroupLayoutDescriptor): GPUBindGroupLayout {
    const entries = [...descriptor.entries];
    const layout = this.#device.createBindGroupLayout({ ...membersOf(descriptor), entries });
    this.#layouts.set(layout, entries);
    return layout;
  }

  /** The entries of an explicit layout; undefined for one that the hardened device did not make. */
  entriesOf(layout: GPUBindGroupLayout): readonly GPUBindGroupLayoutEntry[] | undefined {
    return this.#layouts.get(layout);
  }

  /** Completes every bind group that is going to be made with this layout by an entry. */
  hide(layout: GPUBindGroupLayout, entry: GPUBindGroupEntry): void {
    this.#hidden.set(layout, entry);
  }

  createGroup(descriptor: GPUBindGroupDescriptor): GPUBindGroup {
    const { layout } = descriptor;
    const entries = [...descriptor.entries];
    const hidden = this.#hidden.get(layout);
    const all = hidden ? [...entries, hidden] : entries;
    const group = this.#device.createBindGroup({ ...membersOf(descriptor), entries: all });
    this.#groups.set(group, { entries, layout: this.#layouts.get(layout) });
    return group;
  }

  /** A bind group like `group` for a layout with one more entry; undefined for a group that is not known. */
  extend(
    group: GPUBindGroup,
    layout: GPUBindGroupLayout,
    entry: GPUBindGroupEntry,
  ): GPUBindGroup | undefined {
    const record = this.#groups.get(group);
    if (!record) return undefined;
    const { made } = makeSilently(this.#device, () =>
      this.#device.createBindGroup({ label: group.label, layout, entries: [...record.entries, entry] }),
    );
    return made;
  }

  /** What a shader may do to the resources in a bind group. */
  accessOf(group: GPUBindGroup, by: GroupAccess): Access | undefined {
    const record = this.#groups.get(group);
    if (!record) return undefined;
    const { latest } = record;
    if (latest && latest.by === by) return latest.access;
    const access = this.#accessTo(record, by);
    record.latest = { by, access };
    return access;
  }

  #accessTo({ entries, layout }: GroupRecord, by: GroupAccess): Access {
    const access = { read: new Set<Resource>(), written: new Set<Resource>() };
    for (const { binding, resource: bound } of entries) {
      const resource = this.#resourceOf(bound);
      if (!resource) continue;
      // Where nothing else is known, the resource's own usage decides.
      const declared = layout?.find((entry) => entry.binding === binding);
      const canBeWritten = declared ? isWritable(declared) : canBeStored(resource);
      const mode = by ? by.get(binding) : canBeWritten ? "read_write" : "read";
      if (mode !== undefined && mode !== "write") access.read.add(resource);
      if (mode !== undefined && mode !== "read") access.written.add(resource);
    }
    return access;
  }

  #resourceOf(bound: GPUBindingResource): Resource | undefined {
    if ("buffer" in bound) return bound.buffer;
    if ("mapState" in bound || "createView" in bound) return bound;
    return this.#textures.behind(bound as GPUTextureView);
  }
}

function isWritable({ buffer, storageTexture }: GPUBindGroupLayoutEntry): boolean {
  if (buffer) return buffer.type === "storage";
  return storageTexture !== undefined && storageTexture.access !== "read-only";
}

function canBeStored(resource: Resource): boolean {
  const storage = isTexture(resource) ? flags.textureStorage : flags.bufferStorage;
  return (resource.usage & storage) !== 0;
}
