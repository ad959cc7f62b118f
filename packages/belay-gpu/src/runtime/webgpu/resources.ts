import { Layer } from "./layer.ts";
import { flags, makeSilently } from "./nativeObjects.ts";
import { copyDescriptor } from "./steps.ts";

/** What GPU work reads and writes. */
export type Resource = GPUBuffer | GPUTexture;

/** A part of a buffer, in bytes. */
export interface BufferRange {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly size: number;
}

/** A part of a buffer, or all of a resource. */
export type Place = Resource | BufferRange;

export function resourceOf(place: Place): Resource {
  return "buffer" in place ? place.buffer : place;
}

/** Whether a place is all of its resource. */
export function isWhole(place: Place): boolean {
  return !("buffer" in place) || (place.offset === 0 && place.size >= place.buffer.size);
}

/** All of a buffer. */
export function whole(buffer: GPUBuffer): BufferRange {
  return { buffer, offset: 0, size: buffer.size };
}

export function isTexture(resource: object): resource is GPUTexture {
  return "createView" in resource;
}

/** An offset that no buffer has: for it, the device refuses to give a part of what is mapped. */
export const BEYOND = 2 ** 52;

/** Returns the end of a range, where it begins if that is past the end of its buffer. */
export function endOf({ offset, size }: BufferRange): number {
  return Math.max(offset, offset + size);
}

/** Whether a buffer can be mapped in a mode. */
export function isMapMode({ usage }: GPUBuffer, mode: number): boolean {
  const needed =
    mode === flags.mapRead ? flags.bufferMapRead : mode === flags.mapWrite ? flags.bufferMapWrite : 0;
  return (usage & needed) !== 0;
}

/** Whether `mapAsync` of a buffer takes these arguments. */
export function isMappable(buffer: GPUBuffer, mode: number, offset = 0, asked?: number): boolean {
  const start = Math.trunc(offset);
  const size = asked === undefined ? buffer.size - start : Math.trunc(asked);
  const isAligned = start % 8 === 0 && size % 4 === 0;
  return isMapMode(buffer, mode) && isAligned && start >= 0 && size >= 0 && start + size <= buffer.size;
}

/** A texture like another one, as far as copies and passes are concerned. */
export function textureLike(texture: GPUTexture, usage: number): GPUTextureDescriptor {
  const { width, height, depthOrArrayLayers, mipLevelCount, sampleCount, dimension, format } = texture;
  const size = { width, height, depthOrArrayLayers };
  return { size, mipLevelCount, sampleCount, dimension, format, usage };
}

interface ViewRecord {
  readonly texture: GPUTexture;
  readonly descriptor: GPUTextureViewDescriptor | undefined;
}

/** Remembers which textures stand behind views, and which textures a canvas shows. */
export class Textures {
  readonly #device: GPUDevice;
  readonly #views = new WeakMap<GPUTextureView, ViewRecord>();
  /** Textures that a canvas shows, and what stands in for each when commands run again. */
  readonly #shown = new WeakMap<GPUTexture, GPUTexture | null>();
  readonly #layer = new Layer<GPUTexture, undefined>((native) => {
    const views = this.#views;
    return {
      createView(descriptor) {
        const view = native.createView.call(this, descriptor);
        views.set(view, { texture: this, descriptor: copyDescriptor(descriptor) });
        return view;
      },
    };
  });

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  follow(texture: GPUTexture): void {
    this.#layer.attach(texture, undefined);
  }

  /** A canvas shows this texture, and takes it back after the current frame. */
  show(texture: GPUTexture): void {
    if (this.#shown.has(texture)) return;
    this.#shown.set(texture, null);
    this.follow(texture);
  }

  isShown(resource: Resource): boolean {
    return this.#shown.has(resource as GPUTexture);
  }

  /** The texture behind a view; a texture stands for its own default view. */
  behind(view: GPUTextureView | GPUTexture): GPUTexture | undefined {
    return isTexture(view) ? view : this.#views.get(view)?.texture;
  }

  /** Whether a view is all of its texture, with all aspects. */
  isWhole(view: GPUTextureView | GPUTexture): boolean {
    const texture = this.behind(view);
    if (texture === undefined) return false;
    const { aspect = "all" } = this.#views.get(view as GPUTextureView)?.descriptor ?? {};
    return texture.mipLevelCount === 1 && texture.depthOrArrayLayers === 1 && aspect === "all";
  }

  /** A copy's place when it runs again: a canvas has its texture back by then. */
  again(place: GPUTexelCopyTextureInfo): GPUTexelCopyTextureInfo {
    return { ...place, texture: this.#standIn(place.texture) };
  }

  /** As `again`, for what a pass draws to. */
  viewAgain(view: GPUTextureView | GPUTexture): GPUTextureView | GPUTexture {
    const texture = this.behind(view);
    if (!texture || !this.isShown(texture)) return view;
    return this.sameView(view, this.#standIn(texture));
  }

  /**
   * A view of another texture that is like a view of its own; a texture stands for its default
   * view.
   */
  sameView(view: GPUTextureView | GPUTexture, other: GPUTexture): GPUTextureView {
    return other.createView(this.#views.get(view as GPUTextureView)?.descriptor);
  }

  #standIn(texture: GPUTexture): GPUTexture {
    const known = this.#shown.get(texture);
    if (known === undefined) return texture;
    if (known) return known;
    const usage = flags.textureCopySrc | flags.textureCopyDst | flags.renderAttachment;
    // Canvases can be drawn to in sRGB, through a view of another format than their own.
    const linear = texture.format.replace("-srgb", "") as GPUTextureFormat;
    const isColor = linear === "rgba8unorm" || linear === "bgra8unorm";
    const viewFormats: GPUTextureFormat[] = isColor ? [linear, `${linear}-srgb`] : [];
    const { made } = makeSilently(this.#device, () =>
      this.#device.createTexture({ ...textureLike(texture, usage), viewFormats }),
    );
    this.#shown.set(texture, made);
    return made;
  }
}
