import { flags, original, shadow } from "./nativeObjects.ts";

/** What GPU work reads and writes. */
export type Resource = GPUBuffer | GPUTexture;

/** What a piece of GPU work may reach. Everything written is also touched. */
export interface Access {
  readonly touched: Set<Resource>;
  readonly written: Set<Resource>;
}

/** Remembers which buffers and textures stand behind bind groups and views. */
export class Resources {
  readonly #textures = new WeakMap<GPUTextureView, GPUTexture>();
  /** The bindings of an explicit layout through which a shader can write. */
  readonly #writable = new WeakMap<GPUBindGroupLayout, ReadonlySet<number>>();
  readonly #bindGroups = new WeakMap<GPUBindGroup, Access>();

  trackTexture(texture: GPUTexture): void {
    const createView = original(texture, "createView");
    shadow(texture, {
      createView: (descriptor) => {
        const view = createView(descriptor);
        this.#textures.set(view, texture);
        return view;
      },
    });
  }

  trackLayout(layout: GPUBindGroupLayout, entries: readonly GPUBindGroupLayoutEntry[]): void {
    const writable = entries.filter(({ buffer, storageTexture }) =>
      buffer ? buffer.type === "storage" : storageTexture && storageTexture.access !== "read-only",
    );
    this.#writable.set(layout, new Set(writable.map(({ binding }) => binding)));
  }

  trackBindGroup(
    group: GPUBindGroup,
    layout: GPUBindGroupLayout,
    entries: readonly GPUBindGroupEntry[],
  ): void {
    const writable = this.#writable.get(layout);
    const access: Access = { touched: new Set(), written: new Set() };
    for (const { binding, resource: bound } of entries) {
      const resource = this.#resourceOf(bound);
      if (!resource) continue;
      access.touched.add(resource);
      // A layout made by the browser does not say what it allows, so the resource's own usage decides.
      if (writable ? writable.has(binding) : canBeStored(resource)) access.written.add(resource);
    }
    this.#bindGroups.set(group, access);
  }

  /** What a shader may reach through a bind group. */
  accessOf(group: GPUBindGroup): Access | undefined {
    return this.#bindGroups.get(group);
  }

  #resourceOf(bound: GPUBindingResource): Resource | undefined {
    if ("buffer" in bound) return bound.buffer;
    if ("mapState" in bound || "createView" in bound) return bound;
    return this.#textures.get(bound as GPUTextureView);
  }
}

function canBeStored(resource: Resource): boolean {
  const storage = "createView" in resource ? flags.textureStorage : flags.bufferStorage;
  return (resource.usage & storage) !== 0;
}
