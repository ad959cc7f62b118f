/** The contents of textures while kernels are executed: exact bits, and intervals of numbers. */
import type { TextureType } from "../wgsl/types.ts";
import type { FloatRange } from "./buffers.ts";
import type { Bounds } from "./intervals.ts";
import { type TexelFormat, texelFormat } from "./texelFormats.ts";
import { bitsOf, loadBits, loadedRange, numberOf, storeBits, storedRange } from "./texelNumbers.ts";
import { Undecided } from "./undecided.ts";

/** The properties of a texture, as in WebGPU. */
export interface ReferenceTextureDescriptor {
  /** The format of the texels. */
  readonly format: GPUTextureFormat;
  /** The width, the height, and the depth or the number of layers. Default: 1 each. */
  readonly size: readonly [width: number, height?: number, depthOrArrayLayers?: number];
  /** Default: `"2d"`. */
  readonly dimension?: GPUTextureDimension;
  /** Default: 1. */
  readonly mipLevelCount?: number;
  /** Default: 1. */
  readonly sampleCount?: number;
}

/** A texture as kernels see it. */
export interface ReferenceTexture {
  /** The format of its texels. */
  readonly format: GPUTextureFormat;
  /**
   * Returns the texels of a mip level: layers, their rows, and the samples of each texel. Inexact
   * numbers have the bits that were stored before.
   */
  bytes(level: number): Uint8Array<ArrayBuffer>;
  /**
   * Returns the index of the first texel whose bits an implementation may not leave in a mip level;
   * -1 if it may leave all. Zeros of floats have either sign.
   */
  wrongTexel(level: number, bytes: Uint8Array): number;
}

/** The part of a texture that a kernel sees. */
export interface BoundTexture {
  /** The number in `@group`. */
  readonly group: number;
  /** The number in `@binding`. */
  readonly binding: number;
  /** The texture; several bindings may have the same. */
  readonly texture: ReferenceTexture;
  /** Default: 0. */
  readonly baseMipLevel?: number;
  /** Default: all from the first on. */
  readonly mipLevelCount?: number;
  /** Default: 0. */
  readonly baseArrayLayer?: number;
  /** Default: all from the first on. */
  readonly arrayLayerCount?: number;
}

/**
 * Returns a texture with a copy of the texels of each mip level; zeros by default. Throws a
 * `TypeError` for a compressed or an opaque format, and for a level of another size.
 */
export function createReferenceTexture(
  descriptor: ReferenceTextureDescriptor,
  levels: readonly Uint8Array[] = [],
): ReferenceTexture {
  return new TextureContents(descriptor, levels);
}

/** A texture that generated code loads from and stores to. */
export class TextureContents implements ReferenceTexture {
  readonly format: GPUTextureFormat;
  readonly mipLevelCount: number;
  readonly sampleCount: number;
  readonly #layout: TexelFormat;
  /** The size of each mip level, and the index of its first texel. */
  readonly #levels: readonly { readonly size: readonly [number, number, number]; readonly first: number }[];
  readonly #bytes: DataView<ArrayBuffer>;
  /** The intervals of inexact numbers, by texel and component. */
  readonly #ranges = new Map<number, FloatRange>();
  /** The locations of the texels that kernels have stored. */
  readonly #stored = new Set<number>();

  constructor(
    { format, size, dimension = "2d", mipLevelCount = 1, sampleCount = 1 }: ReferenceTextureDescriptor,
    contents: readonly Uint8Array[],
  ) {
    const layout = texelFormat(format);
    if (!layout) throw new TypeError(`the reference executor does not have textures of format "${format}"`);
    this.format = format;
    this.mipLevelCount = mipLevelCount;
    this.sampleCount = sampleCount;
    this.#layout = layout;
    const [width, height = 1, depth = 1] = size;
    const halved = (length: number, level: number) => Math.max(length >> level, 1);
    let first = 0;
    this.#levels = Array.from({ length: mipLevelCount }, (_, level) => {
      const layers = dimension === "3d" ? halved(depth, level) : depth;
      const each = [halved(width, level), halved(height, level), layers] as const;
      const begin = first;
      first += each[0] * each[1] * each[2] * sampleCount;
      return { size: each, first: begin };
    });
    this.#bytes = new DataView(new ArrayBuffer(first * layout.bytes));
    for (const [level, bytes] of contents.entries()) {
      const own = this.bytes(level);
      if (own.length !== bytes.length)
        throw new TypeError(`mip level ${level} has ${own.length} bytes, not ${bytes.length}`);
      own.set(bytes);
    }
  }

  bytes(level: number): Uint8Array<ArrayBuffer> {
    const { size, first } = this.#levels[level]!;
    const texels = size[0] * size[1] * size[2] * this.sampleCount;
    return new Uint8Array(this.#bytes.buffer, first * this.#layout.bytes, texels * this.#layout.bytes);
  }

  wrongTexel(level: number, bytes: Uint8Array): number {
    const { bytes: step } = this.#layout;
    const { first } = this.#levels[level]!;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let texel = 0; texel * step < bytes.length; texel++)
      if (!this.allows(first + texel, view, texel * step)) return texel;
    return -1;
  }

  /** Returns true if an implementation may leave the texel with these bits at a location. */
  allows(texel: number, bytes: DataView, at: number): boolean {
    const own = texel * this.#layout.bytes;
    return this.#layout.channels.every((channel) => {
      const [stored, expected] = [loadBits(bytes, at, channel), loadBits(this.#bytes, own, channel)];
      const range = this.#ranges.get(texel * 4 + channel.component);
      const x = numberOf(channel, stored, bytes, at);
      return range
        ? Number.isNaN(range.low) || (x >= range.low && x <= range.high)
        : stored === expected || (x === 0 && numberOf(channel, expected, this.#bytes, own) === 0);
    });
  }

  /** The locations of the texels that kernels have stored. */
  get stored(): ReadonlySet<number> {
    return this.#stored;
  }

  /** Returns true if the specification bounds a number of a texel. */
  isBounded(texel: number): boolean {
    return this.#layout.channels.some(
      ({ component }) => !Number.isNaN(this.#ranges.get(texel * 4 + component)?.low ?? 0),
    );
  }

  /** Forgets all stores. Their texels have any contents until they are replaced. */
  forgetStores(): void {
    this.#stored.clear();
    this.#ranges.clear();
  }

  /** Replaces a texel that no kernel has stored. */
  replace(texel: number, bytes: Uint8Array): void {
    new Uint8Array(this.#bytes.buffer).set(bytes, texel * this.#layout.bytes);
  }

  /** Describes a wrong texel, of which the bits on the device are given. */
  describeTexel(name: string, texel: number, bytes: DataView, at: number) {
    const { bytes: step, channels } = this.#layout;
    const { level, x, y, z } = this.placeOf(texel);
    const numbers = (view: DataView, from: number) =>
      channels.map((channel) => numberOf(channel, loadBits(view, from, channel), view, from));
    const expected = numbers(this.#bytes, texel * step).map((each, i) => {
      const range = this.#ranges.get(texel * 4 + channels[i]!.component);
      return range ? `${range.low} to ${range.high}` : each;
    });
    return {
      place: `${name}, texel (${[x, y, z].join(", ")}),`,
      offset: (texel - this.#levels[level]!.first) * step,
      expected: expected.join(", "),
      actual: numbers(bytes, at).join(", "),
    };
  }

  /** Returns the mip level of a texel, and the place there. Several samples are at one place. */
  placeOf(texel: number) {
    const level = this.#levels.findLastIndex(({ first }) => first <= texel);
    const { first, size } = this.#levels[level]!;
    const [width, height] = size;
    const i = Math.floor((texel - first) / this.sampleCount);
    const row = Math.floor(i / width);
    return { level, x: i % width, y: row % height, z: Math.floor(row / height), row };
  }

  /** Returns the size of a mip level. */
  sizeOf(level: number): readonly [width: number, height: number, depth: number] {
    return this.#levels[level]!.size;
  }

  /** Returns the index of a texel; -1 outside of the texture. */
  locate(level: number, x: number, y: number, z: number, sample: number): number {
    const known = this.#levels[level];
    if (!known || !(sample >= 0 && sample < this.sampleCount)) return -1;
    const [width, height, depth] = known.size;
    const isInside = x >= 0 && x < width && y >= 0 && y < height && z >= 0 && z < depth;
    return isInside ? known.first + ((z * height + y) * width + x) * this.sampleCount + sample : -1;
  }

  /** Writes the bounds of a texel's components to `r`, one pair after another. */
  load(texel: number, r: Bounds, isInexact: boolean): void {
    r.set([0, 0, 0, 0, 0, 0, 1, 1]);
    const at = texel * this.#layout.bytes;
    for (const channel of this.#layout.channels) {
      const { component, kind } = channel;
      const x = numberOf(channel, loadBits(this.#bytes, at, channel), this.#bytes, at);
      const { low, high } = this.#ranges.get(texel * 4 + component) ?? { low: x, high: x };
      const isInteger = kind === "uint" || kind === "sint";
      r[2 * component] = isInteger || isInexact ? loadedRange(channel, low).low : Math.fround(x);
      r[2 * component + 1] = isInexact ? loadedRange(channel, high).high : Math.fround(x);
    }
  }

  /** Stores the components whose bounds are in `r`. */
  store(texel: number, r: Bounds, isInexact: boolean): void {
    this.#stored.add(texel);
    for (const channel of this.#layout.channels) {
      const { component } = channel;
      const range = storedRange(channel, r[2 * component]!, r[2 * component + 1]!, isInexact);
      const key = texel * 4 + component;
      this.#ranges.delete(key);
      if (range.low === range.high || !isInexact)
        storeBits(this.#bytes, texel * this.#layout.bytes, channel, bitsOf(channel, range.low));
      else this.#ranges.set(key, range);
    }
  }
}

/** A texture as the generated code of a binding sees it. */
export class TextureView {
  readonly texture: TextureContents;
  readonly levels: number;
  readonly layers: number;
  readonly samples: number;
  readonly #level: number;
  readonly #layer: number;

  constructor(bound: BoundTexture, { format, name }: TextureType, variable: string) {
    const { texture, baseMipLevel = 0, baseArrayLayer = 0 } = bound;
    if (!(texture instanceof TextureContents))
      throw new TypeError(`"${variable}" needs a texture of createReferenceTexture`);
    if (format !== undefined && format !== texture.format)
      throw new TypeError(`"${variable}" needs a texture of format "${format}", not "${texture.format}"`);
    this.texture = texture;
    this.#level = baseMipLevel;
    this.#layer = baseArrayLayer;
    this.samples = texture.sampleCount;
    this.levels = bound.mipLevelCount ?? texture.mipLevelCount - baseMipLevel;
    const layers = bound.arrayLayerCount ?? texture.sizeOf(baseMipLevel)[2] - baseArrayLayer;
    this.layers = name.includes("cube") ? layers / 6 : layers;
  }

  /** Returns one of the lengths of a mip level. */
  size(level: number, dimension: number): number {
    return this.texture.sizeOf(this.#inside(level))[dimension]!;
  }

  /** Writes the bounds of a texel's components to `r`, and returns the texel's location. */
  load(
    r: Bounds,
    isInexact: boolean,
    [x, y, z]: readonly [number, number, number],
    level: number,
    sample: number,
  ): number {
    const texel = this.texture.locate(this.#inside(level), x, y, this.#layerAt(z), sample);
    if (texel < 0) throw outOfBounds();
    this.texture.load(texel, r, isInexact);
    return texel;
  }

  /**
   * Stores the components whose bounds are in `r`, and returns the texel's location; -1 if there is
   * none, and nothing is stored.
   */
  store(r: Bounds, isInexact: boolean, [x, y, z]: readonly [number, number, number]): number {
    const texel = this.texture.locate(this.#level, x, y, this.#layerAt(z), 0);
    if (texel >= 0) this.texture.store(texel, r, isInexact);
    return texel;
  }

  #inside(level: number): number {
    if (!(level >= 0 && level < this.levels)) throw outOfBounds();
    return this.#level + level;
  }

  /** Returns the layer or the depth in the texture; -1 outside of the view. */
  #layerAt(z: number): number {
    return z >= 0 && (this.#layer === 0 || z < this.layers) ? this.#layer + z : -1;
  }
}

/** The specification leaves open what a load out of bounds returns. */
const outOfBounds = () => new Undecided("an index is out of bounds");
