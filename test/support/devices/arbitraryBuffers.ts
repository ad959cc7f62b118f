/** Random kernels that copy buffers of random types, in one of the ways of real programs. */

import { parse } from "belay-gpu/internal/wgsl/parser";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import type { Type } from "belay-gpu/internal/wgsl/types";
import fc from "fast-check";

/** A type as WGSL, with the structs that it consists of. */
interface WrittenType {
  readonly text: string;
  readonly structs: readonly string[];
}

export interface BufferKernel {
  /**
   * The kernel. It copies binding 0 to binding 1, both arrays of one type, with 16 elements per
   * workgroup.
   */
  readonly code: string;
  /** The type of the elements. */
  readonly type: Type;
}

const scalar = fc.constantFrom("f32", "u32", "i32");
const leaf = fc.oneof(
  scalar,
  fc.tuple(fc.constantFrom(2, 3, 4), scalar).map(([size, of]) => `vec${size}<${of}>`),
  fc.tuple(fc.constantFrom(2, 3, 4), fc.constantFrom(2, 3, 4)).map(([c, r]) => `mat${c}x${r}<f32>`),
);

const { type: written } = fc.letrec<{ type: WrittenType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 2, depthSize: "small" },
    leaf.map((text) => ({ text, structs: [] })),
    fc.tuple(tie("type"), fc.integer({ min: 1, max: 2 })).map(([of, count]) => ({
      text: `array<${of.text}, ${count}>`,
      structs: of.structs,
    })),
    fc.array(tie("type"), { minLength: 1, maxLength: 3 }).map((members) => {
      const inner = members.flatMap(({ structs }) => structs);
      const body = members.map(({ text }, i) => `m${i}: ${text}`).join(", ");
      // Equal structs get the same name, so that they are declared once.
      const name = `S${hash(body)}`;
      return { text: name, structs: [...inner, `struct ${name} { ${body} }`] };
    }),
  ),
}));

const ways = ["whole", "parts", "indexed", "local", "in place"] as const;

export const bufferKernels: fc.Arbitrary<BufferKernel> = fc
  .tuple(written, fc.constantFrom(...ways))
  .map(([{ text, structs }, way]) => {
    const declarations = [
      ...new Set(structs),
      `@group(0) @binding(0) var<storage, read> a: array<${text}>;`,
      `@group(0) @binding(1) var<storage, read_write> b: array<${text}>;`,
    ].join("\n");
    const type = elementType(declarations);
    const code = `${declarations}
      @compute @workgroup_size(16) fn main(@builtin(global_invocation_id) id: vec3u) {
        let i = id.x;
        if (i < arrayLength(&a)) { ${bodyFor(way, type)} }
      }`;
    return { code, type };
  });

function bodyFor(way: (typeof ways)[number], type: Type): string {
  switch (way) {
    case "whole":
      return "b[i] = a[arrayLength(&a) - 1u - i];";
    case "parts":
      return leavesOf(type, "", false)
        .map((path) => `b[i]${path} = a[i]${path};`)
        .join(" ");
    case "indexed":
      return leavesOf(type, "", true)
        .map((path) => `b[i]${path} = a[i]${path};`)
        .join(" ");
    case "local":
      return "var all = a[i]; let other = a[i / 2u]; if (i % 2u == 1u) { all = other; } b[i] = all;";
    case "in place":
      return "let before = b[i]; b[i] = a[i]; if (i % 3u == 0u) { b[i] = before; }";
  }
}

/** Returns the paths to the scalars of a type, with constant indices or computed ones. */
function leavesOf(type: Type, path: string, isIndexed: boolean): string[] {
  const at = (i: number, count: number) => (isIndexed ? `[(i + ${i}u) % ${count}u]` : `[${i}]`);
  const each = (count: number, element: Type) =>
    Array.from({ length: count }, (_, i) => leavesOf(element, path + at(i, count), isIndexed)).flat();
  switch (type.kind) {
    case "struct":
      return type.members.flatMap(({ name, type: member }) => leavesOf(member, `${path}.${name}`, isIndexed));
    case "array":
      return each(Number(type.count), type.element);
    case "matrix":
      return each(type.columns, { kind: "vector", size: type.rows, element: type.element });
    case "vector":
      return each(type.size, type.element);
    default:
      return [path];
  }
}

function elementType(declarations: string): Type {
  const program = resolve(parse(declarations).module);
  const buffer = program.module.declarations.find((each) => each.kind === "globalVariable");
  const type = buffer && program.declaredTypeOf(buffer);
  if (type?.kind !== "array") throw new Error("the buffer is an array");
  return type.element;
}

function hash(text: string): string {
  let sum = 0;
  for (const letter of text) sum = (Math.imul(sum, 31) + letter.charCodeAt(0)) >>> 0;
  return sum.toString(36);
}
