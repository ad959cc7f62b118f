import type { BindingAccess, BindingKind } from "../../compiler/contract.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { wholeGranules } from "../memory/granules.ts";
import { dataOf, dataOn } from "../webgpu/attachedData.ts";
import type { DeclaredUsages } from "../webgpu/declaredUsages.ts";
import type { ErrorScopes } from "../webgpu/errorScopes.ts";
import type { Members } from "../webgpu/growingSet.ts";
import { flags, makeGroupSilently, makeSilently } from "../webgpu/nativeObjects.ts";
import type { Owners } from "../webgpu/owners.ts";
import { noGroup, type SetGroup } from "../webgpu/passCommands.ts";
import { noOffsets } from "../webgpu/replayStep.ts";
import {
  type BufferRange,
  endOf,
  type GpuResource,
  isTexture,
  type Textures,
  whole,
} from "../webgpu/resources.ts";
import { WeakCache } from "../webgpu/weakCache.ts";

/**
 * The resources that GPU work reads and writes. A written resource is also listed as read if
 * results depend on its earlier contents.
 */
export interface ResourceAccess {
  readonly read: Members<GpuResource>;
  readonly written: Members<GpuResource>;
}

/** The access of a pipeline to each binding of a bind group; undefined if unknown. */
export type GroupAccess = ReadonlyMap<number, BindingAccess["access"]> | undefined;

/** The kinds of the bindings of a bind group, by binding. */
export type BindingKinds = ReadonlyMap<number, BindingKind>;

/** Returns the kinds of the bindings of one group. */
export function kindsIn(bindings: readonly BindingAccess[], group: number): BindingKinds {
  const inGroup = bindings.filter((each) => each.group === group);
  return new Map(inGroup.map(({ binding, kind }) => [binding, kind]));
}

/** A range of a buffer, or a texture, that a shader may use. */
export interface UsedResourceRange {
  readonly binding: number;
  readonly place: BufferRange | GPUTexture;
  /** The view of a texture; absent for the default one. */
  readonly view?: GPUTextureViewDescriptor | undefined;
  readonly mode: BindingAccess["access"];
}

/**
 * A bind group that the program sets, with its contents. They are undefined for an unknown bind
 * group. Bind groups with equal contents and without dynamic offsets are set by the same object.
 */
export interface ProgramGroup extends SetGroup {
  readonly contents?: GroupContents | undefined;
}

/** The bindings that a default layout has besides those that the program declared. */
export interface LayoutExtension {
  readonly entries: readonly GPUBindGroupEntry[];
  /** A layout without them, once the program's own pipeline is compiled. */
  declared: GPUBindGroupLayout | undefined;
  /** Makes such a layout. The device then tells mistakes as the program expects. */
  makeDeclared(): Promise<GPUBindGroupLayout>;
}

/** The known properties of a default layout. */
interface DefaultLayout {
  /** Layouts have the same key if a bind group for one of them fits the pipelines of the other. */
  readonly key: object;
  /** The kinds of the bindings; undefined if the shader is unknown. */
  readonly kinds: BindingKinds | undefined;
  readonly extension?: LayoutExtension | undefined;
}

/** The bind groups that the program has set, by index. */
export type ProgramGroups = readonly (ProgramGroup | undefined)[];

interface GroupDescriptor {
  readonly entries: readonly GPUBindGroupEntry[];
  readonly layout: GPUBindGroupLayout;
  /** The entries of the layout. Absent for a default layout, which the browser creates. */
  readonly declared: readonly GPUBindGroupLayoutEntry[] | undefined;
  /** The entries that Belay adds to these. */
  readonly added: readonly GPUBindGroupEntry[];
  /** The first bind group with these contents. */
  readonly group: GPUBindGroup;
  /** True if the device may reject the bind group, although it accepts an extended one. */
  readonly isMistake: boolean;
}

/** The contents of bind groups. Bind groups with equal contents share them. */
export class GroupContents implements ProgramGroup, GroupDescriptor {
  readonly entries: readonly GPUBindGroupEntry[];
  readonly layout: GPUBindGroupLayout;
  readonly declared: readonly GPUBindGroupLayoutEntry[] | undefined;
  readonly added: readonly GPUBindGroupEntry[];
  readonly group: GPUBindGroup;
  readonly offsets = noOffsets;
  readonly contents = this;
  readonly isMistake: boolean;
  /** True once the device has accepted a bind group with these contents. */
  isAccepted = false;
  /** The resources that an unknown shader may read and write, once they were needed. */
  access: ResourceAccess | undefined = undefined;
  /** The latest use of the bind group, and of others with it. */
  use: object | undefined = undefined;
  /** The latest use without redundancy, and the one that runs if its results are not right. */
  alone: object | undefined = undefined;
  again: object | undefined = undefined;
  /** The latest sums of a dispatch. */
  sums: object | undefined = undefined;

  constructor({ entries, layout, declared, added, group, isMistake }: GroupDescriptor) {
    this.entries = entries;
    this.layout = layout;
    this.declared = declared;
    this.added = added;
    this.group = group;
    this.isMistake = isMistake;
  }
}

/** The contents of bind groups and of their layouts. */
export class BindGroups {
  readonly #device: GPUDevice;
  readonly #owners: Owners;
  readonly #textures: Textures;
  readonly #usages: DeclaredUsages;
  readonly #scopes: ErrorScopes;
  readonly #layouts = new WeakMap<GPUBindGroupLayout, readonly GPUBindGroupLayoutEntry[]>();
  readonly #defaults = new WeakMap<GPUBindGroupLayout, DefaultLayout>();
  /** Programs often create the same bind group again for each dispatch. */
  readonly #contents = new WeakCache<GroupContents>();
  /** The entries of bind groups that Belay has extended. */
  readonly #extended = new WeakMap<GPUBindGroup, readonly GPUBindGroupEntry[]>();

  constructor({ device, owners, scopes, textures, usages }: RuntimeContext) {
    this.#device = device;
    this.#owners = owners;
    this.#textures = textures;
    this.#usages = usages;
    this.#scopes = scopes;
  }

  createLayout(descriptor: GPUBindGroupLayoutDescriptor): GPUBindGroupLayout {
    const layout = this.#device.createBindGroupLayout(descriptor);
    this.#layouts.set(layout, [...descriptor.entries]);
    return layout;
  }

  trackDefaultLayout(layout: GPUBindGroupLayout, known: DefaultLayout): void {
    this.#defaults.set(layout, known);
  }

  /**
   * Returns the entries of an explicit layout. Undefined for a layout that the hardened device did
   * not create.
   */
  entriesOf(layout: GPUBindGroupLayout): readonly GPUBindGroupLayoutEntry[] | undefined {
    return this.#layouts.get(layout);
  }

  createGroup(descriptor: GPUBindGroupDescriptor): GPUBindGroup {
    const { layout, label } = descriptor;
    const entries = [...descriptor.entries];
    const { key = layout, extension } = this.#defaults.get(layout) ?? {};
    const objects: object[] = [key];
    let text = `${label}`;
    let isMistake = false;
    const native = entries.map((entry) => {
      const range = boundRange(entry.resource);
      objects.push(range?.buffer ?? entry.resource);
      text += range ? ` ${entry.binding}:${range.offset}:${range.size}` : ` ${entry.binding}`;
      const declared = this.#asDeclared(entry, layout, range);
      const now = boundRange(declared.resource)?.buffer ?? declared.resource;
      // A binding of storage must have whole words. A larger one in its place would.
      isMistake ||= now !== objects.at(-1) || (range !== undefined && range.size % 4 !== 0);
      return declared;
    });
    const own = { ...descriptor, entries: native };
    let first: GPUBindGroup | undefined;
    const contents = this.#contents.get(objects, text, () => {
      first = this.#create(own, extension, false);
      const declared = this.#layouts.get(layout);
      return new GroupContents({
        entries,
        layout,
        declared,
        added: extension?.entries ?? [],
        group: first,
        isMistake,
      });
    });
    const group = first ?? this.#create(own, extension, contents.isAccepted);
    dataOn(group).set(this, contents);
    return group;
  }

  /** Creates a bind group, with more entries if the program's layout has them. */
  #create(
    own: GPUBindGroupDescriptor & { readonly entries: readonly GPUBindGroupEntry[] },
    extension: LayoutExtension | undefined,
    isAccepted: boolean,
  ): GPUBindGroup {
    if (!extension) return this.#device.createBindGroup(own);
    // Passes set the first one of equal bind groups, so others need no more entries.
    const { declared } = extension;
    if (isAccepted && declared) return this.#device.createBindGroup({ ...own, layout: declared });
    const entries = [...own.entries, ...extension.entries];
    const create = () => this.#device.createBindGroup({ ...own, entries });
    if (isAccepted) return create();
    const { result, accepted } = this.#scopes.restated(create, async (message) => {
      const layout = await extension.makeDeclared();
      const { failed } = makeSilently(this.#device, () => this.#device.createBindGroup({ ...own, layout }));
      return (await failed)?.message ?? message;
    });
    void accepted.then((isAccepted) => {
      const contents = this.#contentsOf(result);
      if (contents && isAccepted) contents.isAccepted = true;
    });
    return result;
  }

  #contentsOf(group: GPUBindGroup): GroupContents | undefined {
    return dataOf(group)?.get(this) as GroupContents | undefined;
  }

  /**
   * Returns the bind group to set. It is the first one with equal contents, so that equal commands
   * have equal records. It is another one if an offset reaches past the end of a buffer that the
   * program declared smaller.
   */
  toSet(given: GPUBindGroup | null, offsets: readonly unknown[]): ProgramGroup {
    const contents = given ? this.#contentsOf(given) : undefined;
    if (offsets.length === 0) return contents ?? (given ? { group: given, offsets } : noGroup);
    if (!contents) return { group: given, offsets };
    const { group } = contents;
    const set = { group, offsets, contents };
    const isPast = contents.entries.some(({ binding }) => {
      const range = this.rangeAt(set, binding);
      return range !== undefined && this.#usages.isPast(range.buffer, endOf(range));
    });
    if (!isPast) return set;
    const own = contents.entries.map(({ binding, resource }) => {
      const range = boundRange(resource);
      return {
        binding,
        resource: range ? { ...range, buffer: this.#usages.asDeclared(range.buffer) } : resource,
      };
    });
    const entries = [...own, ...contents.added];
    const { label } = group;
    return { group: makeGroupSilently(this.#device, { label, layout: contents.layout, entries }), offsets };
  }

  /**
   * Creates a bind group for another layout, with the entries of the program's, if any, and more.
   * The map `granules` has the granule size in bytes for each binding that is rounded up to whole
   * granules.
   */
  extend(
    contents: GroupContents | undefined,
    layout: GPUBindGroupLayout,
    more: readonly GPUBindGroupEntry[],
    granules: ReadonlyMap<number, number>,
  ): GPUBindGroup {
    const own = contents?.entries ?? [];
    const entries = [...own.map((entry) => this.#sized(entry, granules.get(entry.binding))), ...more];
    const label = contents ? contents.group.label : "belay";
    const made = makeGroupSilently(this.#device, { label, layout, entries });
    this.#extended.set(made, entries);
    return made;
  }

  /**
   * Returns the entries of a bind group as the device has them. Undefined for a bind group that
   * neither the program nor Belay created on this device.
   */
  nativeEntriesOf(group: GPUBindGroup): readonly GPUBindGroupEntry[] | undefined {
    const extended = this.#extended.get(group);
    const contents = this.#contentsOf(group);
    if (extended || !contents) return extended;
    return [...contents.entries.map((entry) => this.#sized(entry)), ...contents.added];
  }

  /**
   * Returns the range of a buffer that a shader sees at a binding. Undefined if no known buffer is
   * bound there.
   */
  rangeAt({ contents, offsets }: ProgramGroup, binding: number): BufferRange | undefined {
    const entry = contents?.entries.find((each) => each.binding === binding);
    const range = entry && boundRange(entry.resource);
    if (!contents || !range) return undefined;
    if (offsets.length === 0) return range;
    const dynamic = (contents.declared ?? [])
      .filter(({ buffer }) => buffer?.hasDynamicOffset)
      .map((each) => each.binding)
      .sort((a, b) => a - b);
    const offset = range.offset + (dynamicOffsets(offsets)[dynamic.indexOf(binding)] ?? 0);
    return { ...range, offset };
  }

  /** Returns the ranges of buffers and the textures that a shader may read or write, by binding. */
  resources(set: ProgramGroup, by: GroupAccess): UsedResourceRange[] {
    if (!set.contents) return [];
    const isPlaced = this.isPlaced(set);
    return [...this.#uses(set.contents, by)].flatMap(
      ({ binding, bound, resource, mode }): UsedResourceRange[] => {
        if (isTexture(resource)) {
          const view = this.#textures.descriptorOf(bound as GPUTextureView);
          return [{ binding, place: resource, view, mode }];
        }
        const place = isPlaced ? this.rangeAt(set, binding) : whole(resource);
        return place ? [{ binding, place, mode }] : [];
      },
    );
  }

  /**
   * Returns whether the offsets of all bindings are known. An unknown layout does not tell which
   * bindings have dynamic offsets.
   */
  isPlaced({ group, offsets, contents }: ProgramGroup): boolean {
    return offsets.length === 0 || !group || contents?.declared !== undefined;
  }

  /** Returns all resources of a bind group, those included that no shader uses. */
  resourcesIn({ contents }: ProgramGroup): readonly GpuResource[] {
    return contents?.entries.flatMap(({ resource }) => this.#resourceOf(resource) ?? []) ?? [];
  }

  /**
   * Returns whether only `destroy` and mappings can make the resources of a bind group unusable. A
   * canvas takes its textures back, and external textures expire.
   */
  isLasting({ contents }: ProgramGroup): boolean {
    const isLasting = ({ resource }: GPUBindGroupEntry) => {
      const range = boundRange(resource);
      if (range) return this.#owners.owns(range.buffer);
      const texture = this.#textures.textureOf(resource as GPUTextureView);
      return this.#owners.owns(resource) && !(texture && this.#textures.isShown(texture));
    };
    return contents?.entries.every(isLasting) ?? false;
  }

  /** Returns the resources of a bind group that an unknown shader may read and write. */
  accessOf(group: GPUBindGroup): ResourceAccess | undefined {
    const contents = this.#contentsOf(group);
    if (!contents || contents.access) return contents?.access;
    const access = { read: new Set<GpuResource>(), written: new Set<GpuResource>() };
    for (const { resource, mode } of this.#uses(contents, undefined)) {
      if (mode !== "write") access.read.add(resource);
      if (mode !== "read") access.written.add(resource);
    }
    contents.access = access;
    return access;
  }

  *#uses({ entries, declared }: GroupContents, by: GroupAccess) {
    for (const { binding, resource: bound } of entries) {
      const resource = this.#resourceOf(bound);
      if (!resource) continue;
      // Without a known layout, the resource's own usage decides.
      const layoutEntry = declared?.find((entry) => entry.binding === binding);
      const canBeWritten = layoutEntry ? isWritable(layoutEntry) : canBeStored(resource);
      const mode = by ? by.get(binding) : canBeWritten ? "read_write" : "read";
      if (mode !== undefined) yield { binding, bound, resource, mode };
    }
  }

  #resourceOf(bound: GPUBindingResource): GpuResource | undefined {
    const range = boundRange(bound);
    if (range) return range.buffer;
    if ("createView" in bound) return bound;
    return this.#textures.textureOf(bound as GPUTextureView);
  }

  /**
   * Returns an entry with an explicit size: that of the program's buffer, or rounded up to whole
   * granules.
   */
  #sized(entry: GPUBindGroupEntry, granuleBytes?: number): GPUBindGroupEntry {
    const range = boundRange(entry.resource);
    if (!range || range.size < 0 || !this.#usages.isVerified(range.buffer)) return entry;
    const size = granuleBytes === undefined ? range.size : wholeGranules(range.size, granuleBytes);
    return { binding: entry.binding, resource: { ...range, size } };
  }

  /** Returns a texture view that the device validates against the program's declared usages. */
  #viewAsDeclared(resource: GPUBindingResource, kind: BindingKind | undefined): GPUBindingResource {
    const { textureBinding, textureStorage } = flags;
    const usages =
      kind === "texture"
        ? textureBinding
        : kind === "storageTexture"
          ? textureStorage
          : textureBinding | textureStorage;
    return this.#usages.usedView(resource as GPUTextureView, this.#textures, usages);
  }

  /** `range` is the range of a buffer that the entry binds. */
  #asDeclared(
    entry: GPUBindGroupEntry,
    layout: GPUBindGroupLayout,
    range: BufferRange | undefined,
  ): GPUBindGroupEntry {
    const { binding, resource } = entry;
    const inLayout = this.#layouts.get(layout)?.find((each) => each.binding === binding);
    const kind = inLayout ? kindOf(inLayout) : this.#defaults.get(layout)?.kinds?.get(binding);
    if (!range) return { binding, resource: this.#viewAsDeclared(resource, kind) };
    const buffer = this.#usages.bound(range.buffer, kind, endOf(range));
    // The default size of a binding reaches to the end of the buffer, which may be larger than the
    // program knows.
    if (buffer === range.buffer) return this.#sized(entry);
    return { binding, resource: "buffer" in resource ? { ...resource, buffer } : { buffer } };
  }
}

/**
 * Returns the range of a buffer that an entry binds, without dynamic offsets. Undefined for another
 * resource.
 */
export function boundRange(bound: GPUBindingResource): BufferRange | undefined {
  if ("buffer" in bound) {
    const { buffer, offset = 0, size = buffer.size - offset } = bound;
    return { buffer, offset, size };
  }
  return "mapState" in bound ? { buffer: bound, offset: 0, size: bound.size } : undefined;
}

/** Returns the offsets among the arguments of `setBindGroup` after the bind group. */
function dynamicOffsets(args: readonly unknown[]): readonly number[] {
  const [list = [], start = 0, length] = args as readonly [Iterable<number>?, number?, number?];
  return [...list].slice(start, length === undefined ? undefined : start + length);
}

/** Returns the kind of a binding that an explicit layout declares. */
function kindOf({ buffer, texture, storageTexture }: GPUBindGroupLayoutEntry): BindingKind {
  if (buffer) return (buffer.type ?? "uniform") === "uniform" ? "uniform" : "storage";
  return storageTexture ? "storageTexture" : texture ? "texture" : "other";
}

function isWritable({ buffer, storageTexture }: GPUBindGroupLayoutEntry): boolean {
  if (buffer) return buffer.type === "storage";
  return storageTexture !== undefined && storageTexture.access !== "read-only";
}

function canBeStored(resource: GpuResource): boolean {
  const storage = isTexture(resource) ? flags.textureStorage : flags.bufferStorage;
  return (resource.usage & storage) !== 0;
}
