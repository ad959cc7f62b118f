import { flags, makeSilently } from "./nativeObjects.ts";
import { Overlay } from "./overlay.ts";
import type { Owners } from "./owners.ts";

/** A resource that GPU work reads or writes. */
export type GpuResource = GPUBuffer | GPUTexture;

/** A range of a buffer, in bytes. */
export interface BufferRange {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly size: number;
}

/** A range of a buffer, or a whole resource. */
export type ResourceRange = GpuResource | BufferRange;

export function resourceOf(place: ResourceRange): GpuResource {
  return "buffer" in place ? place.buffer : place;
}

/** Returns whether a range covers its whole resource. */
export function isWhole(place: ResourceRange): boolean {
  return !("buffer" in place) || (place.offset === 0 && place.size >= place.buffer.size);
}

/** Returns the range of a whole buffer. */
export function whole(buffer: GPUBuffer): BufferRange {
  return { buffer, offset: 0, size: buffer.size };
}

/** Returns the offsets and sizes of ranges, as a text. */
export function placesOf(ranges: readonly BufferRange[]): string {
  let text = "";
  for (const { offset, size } of ranges) text += `${offset} ${size} `;
  return text;
}

export function isTexture(resource: object): resource is GPUTexture {
  return "createView" in resource;
}

/** An offset past the end of every buffer. The device rejects `getMappedRange` with it. */
export const OFFSET_BEYOND_BUFFERS = 2 ** 52;

/** Returns the end of a range. A negative size counts as zero. */
export function endOf({ offset, size }: BufferRange): number {
  return Math.max(offset, offset + size);
}

/** Returns whether a range consists of whole words of its buffer, as writes and copies need. */
export function hasWholeWords(range: BufferRange): boolean {
  const { buffer, offset, size } = range;
  return offset % 4 === 0 && size % 4 === 0 && offset >= 0 && size >= 0 && endOf(range) <= buffer.size;
}

/** Returns whether the usage of a buffer allows a map mode. */
export function isMapMode({ usage }: GPUBuffer, mode: number): boolean {
  const needed =
    mode === flags.mapRead ? flags.bufferMapRead : mode === flags.mapWrite ? flags.bufferMapWrite : 0;
  return (usage & needed) !== 0;
}

/** Returns whether these are valid arguments of `mapAsync`. */
export function isMappable(
  buffer: GPUBuffer,
  mode: number,
  offset = 0,
  size = buffer.size - offset,
): boolean {
  const isAligned = offset % 8 === 0 && size % 4 === 0;
  return isMapMode(buffer, mode) && isAligned && size >= 0 && offset + size <= buffer.size;
}

/** Returns the descriptor of a texture with the same properties for copies and passes. */
export function textureLike(texture: GPUTexture, usage: number): GPUTextureDescriptor {
  const { width, height, depthOrArrayLayers, mipLevelCount, sampleCount, dimension, format } = texture;
  const size = { width, height, depthOrArrayLayers };
  return { size, mipLevelCount, sampleCount, dimension, format, usage };
}

interface ViewRecord {
  readonly texture: GPUTexture;
  readonly descriptor: GPUTextureViewDescriptor | undefined;
}

/** The textures of views, and the textures that canvases show. */
export class Textures {
  readonly #device: GPUDevice;
  readonly #owners: Owners;
  readonly #views = new WeakMap<GPUTextureView, ViewRecord>();
  /**
   * The textures that a canvas shows, each with its replacement for re-execution once that exists.
   * Undefined before the first of them.
   */
  #shown: WeakMap<GPUTexture, GPUTexture | null> | undefined = undefined;
  readonly #overlay = new Overlay<GPUTexture, undefined>((native) => {
    const views = this.#views;
    const owners = this.#owners;
    return {
      createView(descriptor) {
        const view = native.createView.call(this, descriptor);
        views.set(view, { texture: this, descriptor });
        return owners.own("textureView", view);
      },
    };
  });

  constructor(device: GPUDevice, owners: Owners) {
    this.#device = device;
    this.#owners = owners;
  }

  follow(texture: GPUTexture): void {
    this.#overlay.attach(texture, undefined);
  }

  /** Records that a canvas shows this texture. The canvas takes it back after the current frame. */
  show(texture: GPUTexture): void {
    this.#shown ??= new WeakMap();
    if (this.#shown.has(texture)) return;
    this.#shown.set(texture, null);
    this.follow(this.#owners.own("texture", texture));
  }

  /** True if a canvas has shown a texture. */
  get hasShown(): boolean {
    return this.#shown !== undefined;
  }

  isShown(resource: GpuResource): boolean {
    return this.#shown?.has(resource as GPUTexture) ?? false;
  }

  /** Returns the texture of a view. A texture stands for its own default view. */
  textureOf(view: GPUTextureView | GPUTexture): GPUTexture | undefined {
    return isTexture(view) ? view : this.#views.get(view)?.texture;
  }

  /** Returns the descriptor of a view; undefined for a texture's default view. */
  descriptorOf(view: GPUTextureView | GPUTexture): GPUTextureViewDescriptor | undefined {
    return this.#views.get(view as GPUTextureView)?.descriptor;
  }

  /** Returns whether a view covers its whole texture, with all aspects. */
  isWhole(view: GPUTextureView | GPUTexture): boolean {
    const texture = this.textureOf(view);
    if (texture === undefined) return false;
    const { aspect = "all" } = this.descriptorOf(view) ?? {};
    return texture.mipLevelCount === 1 && texture.depthOrArrayLayers === 1 && aspect === "all";
  }

  /**
   * Returns the texture of a copy for re-execution. A canvas has taken its texture back by then, so
   * the copy uses a replacement.
   */
  forReplay(place: GPUTexelCopyTextureInfo): GPUTexelCopyTextureInfo {
    return { ...place, texture: this.#standIn(place.texture) };
  }

  /** Returns the view of an attachment for re-execution, as `again` does for copies. */
  viewForReplay(view: GPUTextureView | GPUTexture): GPUTextureView | GPUTexture {
    const texture = this.textureOf(view);
    if (!texture || !this.isShown(texture)) return view;
    return this.sameView(view, this.#standIn(texture));
  }

  /**
   * Returns a view of another texture with the same descriptor. A texture stands for its default
   * view.
   */
  sameView(view: GPUTextureView | GPUTexture, other: GPUTexture): GPUTextureView {
    return other.createView(this.descriptorOf(view));
  }

  #standIn(texture: GPUTexture): GPUTexture {
    const known = this.#shown?.get(texture);
    if (known === undefined) return texture;
    if (known) return known;
    const usage = flags.textureCopySrc | flags.textureCopyDst | flags.renderAttachment;
    // A canvas can be drawn to in sRGB, through a view of another format than its own.
    const linear = texture.format.replace("-srgb", "") as GPUTextureFormat;
    const isColor = linear === "rgba8unorm" || linear === "bgra8unorm";
    const viewFormats: GPUTextureFormat[] = isColor ? [linear, `${linear}-srgb`] : [];
    const { made } = makeSilently(this.#device, () =>
      this.#device.createTexture({ ...textureLike(texture, usage), viewFormats }),
    );
    this.#shown?.set(texture, made);
    return made;
  }
}
