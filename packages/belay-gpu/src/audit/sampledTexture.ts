/** Textures of sampled dispatches. Pages load this part for kernels with textures only. */
import type { BindingPoint } from "../analysis/bindings.ts";
import type { WrongWord } from "../qualify/qualification.ts";
import type { Bounds } from "../reference/intervals.ts";
import { type BoundTexture, TextureContents } from "../reference/textures.ts";
import type { CopiedTexture } from "./copiedTexture.ts";
import { Pages, type PlaceComparison, pageBytes, type SampledContents } from "./sampledContents.ts";

export { textureSupport } from "../reference/textureCalls.ts";

/** A texture of which only some pages are known. A load from another page gives zeros. */
export class SampledTexture extends TextureContents implements SampledContents {
  readonly before: Pages;
  readonly after: Pages;
  readonly copied: CopiedTexture;
  readonly #tracksLoads: boolean;
  /** The texels that were loaded before they were stored. Empty unless loads are tracked. */
  readonly #loads = new Set<number>();
  onStore: ((texel: number) => void) | undefined;

  constructor(copied: CopiedTexture, tracksLoads: boolean) {
    const { format, levels, texture, bytes } = copied;
    const { dimension } = texture;
    super({ format, size: levels[0]!.size, dimension, mipLevelCount: levels.length }, []);
    this.before = new Pages(bytes);
    this.after = new Pages(bytes);
    this.copied = copied;
    this.#tracksLoads = tracksLoads;
  }

  reset(): void {
    this.before.forgetMissing();
    this.forgetStores();
    this.#loads.clear();
  }

  noteCompared(): void {
    for (const texel of this.stored) this.after.need(this.#offsetOf(texel));
    for (const texel of this.#loads) this.after.need(this.#offsetOf(texel));
  }

  get hasForeignStores(): boolean {
    for (const texel of this.#loads) {
      if (this.stored.has(texel)) continue;
      const [before, after] = [this.before, this.after].map((pages) => this.#bytesIn(pages, texel)!);
      if (before!.some((byte, i) => byte !== after![i])) return true;
    }
    return false;
  }

  get storedPlaces(): Iterable<number> {
    return this.stored;
  }

  compareAt(texel: number): PlaceComparison {
    return { isBounded: this.isBounded(texel), isRight: this.allows(texel, this.#viewAfter(texel), 0) };
  }

  describe(name: string, texel: number): Omit<WrongWord, "wrong"> {
    return this.describeTexel(name, texel, this.#viewAfter(texel), 0);
  }

  override load(texel: number, r: Bounds, isInexact: boolean): void {
    if (!this.stored.has(texel)) {
      this.before.need(this.#offsetOf(texel));
      const { bytesPerTexel } = this.copied;
      this.replace(texel, this.#bytesIn(this.before, texel) ?? new Uint8Array(bytesPerTexel));
      if (this.#tracksLoads) this.#loads.add(texel);
    }
    super.load(texel, r, isInexact);
  }

  override store(texel: number, r: Bounds, isInexact: boolean): void {
    super.store(texel, r, isInexact);
    this.onStore?.(texel);
  }

  /** Returns the offset of a texel in a copy. No texel is in two pages. */
  #offsetOf(texel: number): number {
    const { level, x, row } = this.placeOf(texel);
    const { offset, bytesPerRow } = this.copied.levels[level]!;
    return offset + row * bytesPerRow + x * this.copied.bytesPerTexel;
  }

  #bytesIn(pages: Pages, texel: number): Uint8Array | undefined {
    const offset = this.#offsetOf(texel);
    const start = offset % pageBytes;
    return pages.known(offset)?.subarray(start, start + this.copied.bytesPerTexel);
  }

  #viewAfter(texel: number): DataView {
    const { buffer, byteOffset, byteLength } = this.#bytesIn(this.after, texel)!;
    return new DataView(buffer, byteOffset, byteLength);
  }
}

/** Returns the part of a texture that a kernel sees, as the executor takes it. */
export function boundTexture({ group, binding }: BindingPoint, texture: SampledTexture): BoundTexture {
  const { baseArrayLayer, arrayLayerCount } = texture.copied.view;
  return {
    group,
    binding,
    texture,
    ...(baseArrayLayer !== undefined && { baseArrayLayer }),
    ...(arrayLayerCount !== undefined && { arrayLayerCount }),
  };
}
