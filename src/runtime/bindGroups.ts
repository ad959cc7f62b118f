import type { BindingAccess } from "../compiler/contract.ts";
import { flags, makeSilently } from "./nativeObjects.ts";
import { isTexture, type Resource, type Textures } from "./resources.ts";

/** What GPU work reads and writes. What is written is listed as read only where its contents before matter to a result. */
export interface Access {
  readonly read: ReadonlySet<Resource>;
  readonly written: ReadonlySet<Resource>;
}

/** What a pipeline does with each binding of a bind group; undefined when that is not known. */
export type GroupAccess = ReadonlyMap<number, BindingAccess["access"]> | undefined;

interface Bound {
  readonly binding: number;
  readonly resource: Resource;
  /** Whether the layout lets a shader write; undefined for a layout that the browser made. */
  readonly writable: boolean | undefined;
}

interface GroupRecord {
  readonly entries: readonly GPUBindGroupEntry[];
  readonly bound: readonly Bound[];
  readonly accesses: Map<GroupAccess, Access>;
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
    const layout = this.#device.createBindGroupLayout({ ...descriptor, entries });
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
    const entries = [...descriptor.entries];
    const hidden = this.#hidden.get(descriptor.layout);
    const all = hidden ? [...entries, hidden] : entries;
    const group = this.#device.createBindGroup({ ...descriptor, entries: all });
    const layout = this.#layouts.get(descriptor.layout);
    const writable = layout && new Set(layout.filter(isWritable).map(({ binding }) => binding));
    const bound = entries.flatMap(({ binding, resource: of }): Bound[] => {
      const resource = this.#resourceOf(of);
      return resource ? [{ binding, resource, writable: writable?.has(binding) }] : [];
    });
    this.#groups.set(group, { entries, bound, accesses: new Map() });
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
    let access = record.accesses.get(by);
    if (!access) {
      access = accessTo(record.bound, by);
      record.accesses.set(by, access);
    }
    return access;
  }

  #resourceOf(bound: GPUBindingResource): Resource | undefined {
    if ("buffer" in bound) return bound.buffer;
    if ("mapState" in bound || "createView" in bound) return bound;
    return this.#textures.behind(bound as GPUTextureView);
  }
}

function accessTo(bound: readonly Bound[], by: GroupAccess): Access {
  const access = { read: new Set<Resource>(), written: new Set<Resource>() };
  for (const { binding, resource, writable } of bound) {
    // Where nothing else is known, the resource's own usage decides.
    const mode = by ? by.get(binding) : (writable ?? canBeStored(resource)) ? "read_write" : "read";
    if (mode !== undefined && mode !== "write") access.read.add(resource);
    if (mode !== undefined && mode !== "read") access.written.add(resource);
  }
  return access;
}

function isWritable({ buffer, storageTexture }: GPUBindGroupLayoutEntry): boolean {
  if (buffer) return buffer.type === "storage";
  return storageTexture !== undefined && storageTexture.access !== "read-only";
}

function canBeStored(resource: Resource): boolean {
  const storage = isTexture(resource) ? flags.textureStorage : flags.bufferStorage;
  return (resource.usage & storage) !== 0;
}
