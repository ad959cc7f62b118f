import { describe, expect, it } from "vitest";
import { extentOf, texelRange } from "./texelRange.ts";

const buffer = { size: 4096 } as GPUBuffer;

/** Returns the bytes of a copy, as the first one and the one after the last. */
function bytesOf(
  format: GPUTextureFormat,
  size: GPUExtent3D,
  layout: Omit<GPUTexelCopyBufferInfo, "buffer"> = {},
  aspect: GPUTextureAspect = "all",
) {
  const texture = { format } as GPUTexture;
  const { range, isFilled } = texelRange({ buffer, ...layout }, { texture, aspect }, size);
  expect(range.buffer).toBe(buffer);
  return { bytes: [range.offset, range.offset + range.size], isFilled };
}

describe("the range of a copy", () => {
  it("is that of its rows, up to the last texel", () => {
    expect(bytesOf("rgba8unorm", [3, 2], { offset: 64, bytesPerRow: 256 })).toEqual({
      bytes: [64, 64 + 256 + 12],
      isFilled: false,
    });
  });

  it("is filled if rows and images follow each other without gaps", () => {
    expect(bytesOf("rgba8unorm", [64, 2], { bytesPerRow: 256 })).toEqual({ bytes: [0, 512], isFilled: true });
    const layout = { bytesPerRow: 256, rowsPerImage: 2 };
    expect(bytesOf("rgba8unorm", [64, 2, 3], layout)).toEqual({ bytes: [0, 1536], isFilled: true });
    expect(bytesOf("rgba8unorm", [64, 2, 3], { ...layout, rowsPerImage: 3 })).toEqual({
      bytes: [0, 2 * 768 + 512],
      isFilled: false,
    });
  });

  it("is extended to whole words, but not past the buffer", () => {
    expect(bytesOf("r8unorm", [3, 1], { offset: 5 })).toEqual({ bytes: [4, 8], isFilled: false });
    expect(bytesOf("r8unorm", [4, 1], { offset: 8 })).toEqual({ bytes: [8, 12], isFilled: true });
    const odd = { size: 7 } as GPUBuffer;
    const texture = { format: "r8unorm" } as GPUTexture;
    expect(texelRange({ buffer: odd, offset: 4 }, { texture }, [3]).range).toMatchObject({
      offset: 4,
      size: 3,
    });
  });

  it("is empty if one side is", () => {
    for (const size of [
      [0, 4],
      [4, 0],
      [4, 4, 0],
    ])
      expect(bytesOf("rgba8unorm", size, { offset: 16, bytesPerRow: 256 }).bytes).toEqual([16, 16]);
  });
});

it.each<[GPUTextureFormat, GPUTextureAspect, number]>([
  ["r8unorm", "all", 1],
  ["rg16float", "all", 4],
  ["rgba32uint", "all", 16],
  ["bgra8unorm", "all", 4],
  ["rgb10a2unorm", "all", 4],
  ["rg11b10ufloat", "all", 4],
  ["rgb9e5ufloat", "all", 4],
  ["depth16unorm", "all", 2],
  ["depth32float", "all", 4],
  ["depth32float-stencil8", "depth-only", 4],
  ["depth24plus-stencil8", "stencil-only", 1],
  ["stencil8", "all", 1],
])("knows that a texel of %s (%s) has %d bytes", (format, aspect, bytes) => {
  expect(bytesOf(format, [4, 1], {}, aspect).bytes).toEqual([0, 4 * bytes]);
});

it.each<[GPUTextureFormat, number, number, number]>([
  ["bc1-rgba-unorm", 4, 4, 8],
  ["bc4-r-snorm", 4, 4, 8],
  ["bc3-rgba-unorm", 4, 4, 16],
  ["etc2-rgb8unorm", 4, 4, 8],
  ["etc2-rgba8unorm", 4, 4, 16],
  ["eac-r11unorm", 4, 4, 8],
  ["eac-rg11unorm", 4, 4, 16],
  ["astc-12x10-unorm", 12, 10, 16],
])("knows that a block of %s is %d x %d texels in %d bytes", (format, width, height, bytes) => {
  expect(bytesOf(format, [width, height]).bytes).toEqual([0, bytes]);
  // A texel more in each direction needs another block.
  const [, end] = bytesOf(format, [width + 1, height + 1], { bytesPerRow: 256 }).bytes;
  expect(end).toBe(256 + 2 * bytes);
});

it("takes the size of a copy as a list or as a dictionary", () => {
  const full = { width: 3, height: 2, depthOrArrayLayers: 5 };
  expect(extentOf([3, 2, 5])).toEqual(full);
  expect(extentOf(full)).toEqual(full);
  expect([extentOf([3]), extentOf({ width: 3 })]).toEqual(
    Array.from({ length: 2 }, () => ({ width: 3, height: 1, depthOrArrayLayers: 1 })),
  );
});
