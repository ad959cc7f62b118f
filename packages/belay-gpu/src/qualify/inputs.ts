/** Numbers for buffers: edge values, and numbers that can be indices. */
import { halfToBits } from "../wgsl/constants/float16.ts";
import { sizeWith } from "../wgsl/layout.ts";
import type { Type } from "../wgsl/types.ts";
import { leavesOf } from "./leaves.ts";

/**
 * The numbers in an input: values at the edges of their types, or small numbers below `below` that
 * kernels may take as indices and sizes.
 */
export type InputNumbers = "edges" | { readonly below: number } | { readonly all: number };

const integers = [
  0, 1, 2, 3, 5, 7, 31, 32, 33, 255, 256, 65535, 65536, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff,
  0xfffffffe, 0xaaaaaaaa, 0x55555555, 12345678, 0xdeadbeef, 0x01020304, 0x80808080, 0x7f7f7f7f, 0xff00ff00,
  100, 1000, 0xfff0, 0x3f800000, 0x40490fdb, 9,
];
const floats = [
  0, 0.5, -0.5, 1, -1, 1.5, 2.5, -2.5, 3, 0.1, -0.3, 0.75, 2, 3.25, -3.1, 10, -7.25, 100.125, 1e-3, 1e6, -1e6,
  1e-20, 3e20, 0.999999, 1.000001, -0.01, 127, 255.5, 0.25, 65504, 1e-7, 42,
];

/** Returns the bytes of a buffer, with a number of elements for an array without a length. */
export function filledBuffer(type: Type, elements: number, contents: InputNumbers): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.max(16, Math.ceil(sizeWith(type, elements) / 4) * 4));
  const view = new DataView(bytes.buffer);
  let i = 0;
  for (const { offset, type: scalar } of leavesOf(type, sizeWith(type, elements))) {
    if (scalar.name === "f32") view.setFloat32(offset, floatAt(i, contents), true);
    else if (scalar.name === "f16") {
      const x = floatAt(i, contents);
      const isNormal = Math.abs(x) >= 2 ** -14 && Math.abs(x) <= 65504;
      view.setUint16(offset, halfToBits(isNormal ? x : 0), true);
    } else view.setUint32(offset, integerAt(i, contents), true);
    i++;
  }
  return bytes;
}

function floatAt(i: number, contents: InputNumbers): number {
  // Both the position within the list and the multiples of its length change the number.
  if (contents === "edges") return floats[(i + 5 * Math.floor(i / 32)) % 32]!;
  return ((i * 7) % 33) / 4 - 4;
}

function integerAt(i: number, contents: InputNumbers): number {
  if (contents === "edges") return integers[(i + 5 * Math.floor(i / 32)) % 32]!;
  return "all" in contents ? contents.all : (i * 7 + Math.floor(i / 64)) % contents.below;
}

/** Returns the sizes that subgroups of a device may have. */
export function subgroupSizes({ adapterInfo }: GPUDevice): number[] {
  const least = adapterInfo?.subgroupMinSize || 4;
  const most = adapterInfo?.subgroupMaxSize || 128;
  const sizes: number[] = [];
  for (let size = least; size <= most; size *= 2) sizes.push(size);
  return sizes;
}
