import type { BufferRange } from "./resources.ts";

/** The range of a buffer that a copy from or to a texture uses. */
export interface TexelRange {
  /** The range, extended to whole words. */
  readonly range: BufferRange;
  /**
   * True if the copy uses all bytes of the range. It does not if there are gaps between rows or
   * images.
   */
  readonly isFilled: boolean;
}

/** The size of a texel block in bytes, and its width and height in texels. */
interface Block {
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
}

/** Returns the range of words that contains all texels of a copy. */
export function texelRange(
  { buffer, offset = 0, bytesPerRow, rowsPerImage }: GPUTexelCopyBufferInfo,
  { texture, aspect = "all" }: GPUTexelCopyTextureInfo,
  size: GPUExtent3D | GPUExtent3DStrict,
): TexelRange {
  const { width, height, depthOrArrayLayers: images } = extentOf(size);
  const block = blockOf(texture.format, aspect);
  const rowBytes = Math.ceil(width / block.width) * block.bytes;
  const rows = Math.ceil(height / block.height);
  const rowStride = bytesPerRow ?? rowBytes;
  const imageRows = rowsPerImage ?? rows;
  const isEmpty = rowBytes === 0 || rows === 0 || images === 0;
  const bytes = isEmpty ? 0 : ((images - 1) * imageRows + rows - 1) * rowStride + rowBytes;
  const start = offset - (offset % 4);
  // The device rejects a range that reaches past the end of the buffer.
  const last = Math.max(buffer.size, offset + bytes);
  const end = Math.min(last, Math.ceil((offset + bytes) / 4) * 4);
  const areRowsDense = rowStride === rowBytes || rows * images <= 1;
  const isDense = areRowsDense && (imageRows === rows || images <= 1);
  return {
    range: { buffer, offset: start, size: end - start },
    isFilled: isDense && start === offset && end === offset + bytes,
  };
}

/** Returns the block of a format, for the aspect that is copied. */
function blockOf(format: GPUTextureFormat, aspect: GPUTextureAspect): Block {
  const compressed = /^(bc|etc2|eac|astc)/.test(format);
  if (!compressed) return { bytes: texelBytes(format, aspect), width: 1, height: 1 };
  const [, width, height] = /^astc-(\d+)x(\d+)/.exec(format) ?? [undefined, "4", "4"];
  const isHalf = /^(bc1|bc4|etc2-rgb8|eac-r11)/.test(format);
  return { bytes: isHalf ? 8 : 16, width: Number(width), height: Number(height) };
}

function texelBytes(format: GPUTextureFormat, aspect: GPUTextureAspect): number {
  if (format === "stencil8" || aspect === "stencil-only") return 1;
  if (/^depth/.test(format)) return format === "depth16unorm" ? 2 : 4;
  // Channels of different widths share a word.
  if (/^(rgb10a2|rg11b10|rgb9e5)/.test(format)) return 4;
  const [, channels, bits] = /^([rgba]+)(\d+)/.exec(format)!;
  return (channels!.length * Number(bits)) / 8;
}

/** Returns the size of a copy, given as a list or as a dictionary. */
export function extentOf(size: GPUExtent3D | GPUExtent3DStrict): Required<GPUExtent3DDict> {
  const [width = 0, height = 1, depthOrArrayLayers = 1] =
    Symbol.iterator in size ? size : [size.width, size.height, size.depthOrArrayLayers];
  return { width, height, depthOrArrayLayers };
}
