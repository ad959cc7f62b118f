/** Copies of textures in buffers. */
import { texelFormat } from "../reference/texelFormats.ts";
import type { BoundResource } from "../runtime/context/dispatchCall.ts";
import type { BufferRange } from "../runtime/webgpu/resources.ts";

/** A mip level in a copy. */
export interface CopiedLevel {
  readonly size: readonly [width: number, height: number, depth: number];
  /** The first byte of the level in the copy. */
  readonly offset: number;
  readonly bytesPerRow: number;
}

/** The copied part of a texture: the mip levels that a view has, with all layers. */
export interface CopiedTexture {
  readonly texture: GPUTexture;
  /** The format in which kernels see the texels. */
  readonly format: GPUTextureFormat;
  readonly view: GPUTextureViewDescriptor;
  readonly levels: readonly CopiedLevel[];
  readonly bytesPerTexel: number;
  /** The size of the copy. */
  readonly bytes: number;
}

/** Returns the copied part of a texture, or the reason why the executor cannot load it. */
export function copiedTexture(texture: GPUTexture, view: BoundResource["view"] = {}): CopiedTexture | string {
  const { baseMipLevel = 0, mipLevelCount = texture.mipLevelCount - baseMipLevel } = view;
  const format = view.format ?? texture.format;
  const layout = texelFormat(format);
  if (!layout) return `it uses a texture of format "${format}"`;
  if (texture.sampleCount > 1) return "it uses a texture with several samples";
  if ("swizzle" in view) return "it uses a view with other components than its texture";
  const halved = (length: number, level: number) => Math.max(length >> level, 1);
  const { width, height, depthOrArrayLayers, dimension } = texture;
  let bytes = 0;
  const levels = Array.from({ length: mipLevelCount }, (_, i) => {
    const level = baseMipLevel + i;
    const depth = dimension === "3d" ? halved(depthOrArrayLayers, level) : depthOrArrayLayers;
    const size = [halved(width, level), halved(height, level), depth] as const;
    // Rows of a copy are multiples of 256 bytes.
    const bytesPerRow = Math.ceil((size[0] * layout.bytes) / 256) * 256;
    const offset = bytes;
    bytes += bytesPerRow * size[1] * size[2];
    return { size, offset, bytesPerRow };
  });
  return { texture, format, view, levels, bytesPerTexel: layout.bytes, bytes };
}

/** The bytes that a copy takes at most, so that a part of them can begin at a multiple of 16. */
export const roomFor = ({ bytes }: CopiedTexture): number => bytes + 16;

/** Returns the part of some memory that holds a copy. It begins at a whole texel. */
export function placeIn({ buffer, offset }: BufferRange, { bytes }: CopiedTexture): BufferRange {
  return { buffer, offset: Math.ceil(offset / 16) * 16, size: bytes };
}

/** Encodes the copy of a texture to a range of a buffer. */
export function encodeTextureCopy(encoder: GPUCommandEncoder, copied: CopiedTexture, to: BufferRange): void {
  const { texture, view, levels } = copied;
  for (const [i, { size, offset, bytesPerRow }] of levels.entries()) {
    const mipLevel = (view.baseMipLevel ?? 0) + i;
    const layout = { buffer: to.buffer, offset: to.offset + offset, bytesPerRow, rowsPerImage: size[1] };
    encoder.copyTextureToBuffer({ texture, mipLevel }, layout, size);
  }
}
