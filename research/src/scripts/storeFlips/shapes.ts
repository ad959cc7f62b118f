/**
 * The kernels that store in every shape: alone, together, to parts of granules, in order and not.
 */

/**
 * The ways of storing to `b` by the invocation `i` of `n`. Each has a name, the type of the
 * elements, and the statements.
 */
export const storeShapes = [
  ["everywhere", "u32", "b[i] = a[i] * 3u;"],
  ["up to a bound", "u32", "if (i < n - 2u) { b[i] = a[i] * 3u; }"],
  ["under a condition", "u32", "if (i % 2u == 0u || i < 9u) { b[i] = a[i]; }"],
  ["in two branches", "u32", "if (i % 3u == 0u) { b[i] = a[i]; } else { b[i] = 7u; }"],
  ["after a return", "u32", "if (i % 8u == 5u) { return; } b[i] = a[i];"],
  ["beside lines", "u32", "if (i < n - 5u) { b[i + 5u] = a[i]; }"],
  ["in rows of some width", "u32", "if (i < n - 10u) { b[i + arrayLength(&a) - n + 9u] = a[i]; }"],
  ["in reverse", "u32", "b[n - 1u - i] = a[i];"],
  ["in a loop that begins late", "u32", "for (var k = i; k < n - 2u; k += 2u * n) { b[k] = a[k]; }"],
  ["twice", "u32", "b[i] = a[i]; b[i + n] = 5u;"],
  ["of pairs", "vec2u", "if (i < n / 2u - 3u) { b[i] = a[i]; }"],
  ["of three words, all", "vec3u", "b[i] = a[i];"],
  ["of three words, some", "vec3u", "if (i < 6u) { b[i] = a[i]; }"],
  ["of four words", "vec4f", "if (i != 3u) { b[i] = a[i]; }"],
  ["of components", "vec4u", "b[i].y = a[i].x; if (i > 2u) { b[i].z = 4u; }"],
  ["of a component chosen by number", "vec4u", "b[i][i % 4u] = a[i].x;"],
  ["of matrices", "mat3x3f", "if (i < n / 5u - 1u) { b[i] = a[i]; }"],
  ["of structs", "S", "if (i < n / 4u && i != 2u) { b[i] = a[i]; }"],
  ["of arrays", "array<u32, 3>", "if (i < n / 4u) { b[i] = a[i]; }"],
  ["in a function", "u32", "f(i);"],
  [
    "by atomic operations",
    "atomic<u32>",
    "atomicAdd(&b[i / 2u], a[i]); if (i < 7u) { atomicStore(&b[n + i], 4u); }",
  ],
] as const;

/** Returns the words of the buffers of a kernel of `n` invocations. */
export const wordsOfShapes = (n: number) => 4 * n + 4;

/** Returns a kernel of `n` invocations, in workgroups of size `workgroup`. */
export function storeKernel(type: string, body: string, n: number, workgroup: number): string {
  const loaded = type.startsWith("atomic") ? "u32" : type;
  return `struct S { x: vec3f, y: u32, z: vec2u }
    const n = ${n}u;
    @group(0) @binding(0) var<storage, read> a: array<${loaded}>;
    @group(0) @binding(1) var<storage, read_write> b: array<${type}>;
    ${body === "f(i);" ? "fn f(i: u32) { if (i < n - 9u) { b[i] = a[i]; } }" : ""}
    @compute @workgroup_size(${workgroup}) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; ${body} }`;
}

/** Returns words that are positive numbers in every type. */
export const numbersFrom = (count: number, seed: number): Uint32Array<ArrayBuffer> =>
  new Uint32Array(Float32Array.from({ length: count }, (_, i) => seed + i / 1024).buffer);
