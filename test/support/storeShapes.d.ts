/** Kernels that store in every shape: alone, together, to parts of granules, in order and not. */
/**
 * A way of storing to `b` by the invocation `i` of `n`: its name, the type of the elements, and the
 * statements.
 */
export declare const storeShapes: readonly [
  readonly ["everywhere", "u32", "b[i] = a[i] * 3u;"],
  readonly ["up to a bound", "u32", "if (i < n - 2u) { b[i] = a[i] * 3u; }"],
  readonly ["under a condition", "u32", "if (i % 2u == 0u || i < 9u) { b[i] = a[i]; }"],
  readonly ["in two branches", "u32", "if (i % 3u == 0u) { b[i] = a[i]; } else { b[i] = 7u; }"],
  readonly ["after a return", "u32", "if (i % 8u == 5u) { return; } b[i] = a[i];"],
  readonly ["beside lines", "u32", "if (i < n - 5u) { b[i + 5u] = a[i]; }"],
  readonly ["in rows of some width", "u32", "if (i < n - 10u) { b[i + arrayLength(&a) - n + 9u] = a[i]; }"],
  readonly ["in reverse", "u32", "b[n - 1u - i] = a[i];"],
  readonly ["in a loop that begins late", "u32", "for (var k = i; k < n - 2u; k += 2u * n) { b[k] = a[k]; }"],
  readonly ["twice", "u32", "b[i] = a[i]; b[i + n] = 5u;"],
  readonly ["of pairs", "vec2u", "if (i < n / 2u - 3u) { b[i] = a[i]; }"],
  readonly ["of three words, all", "vec3u", "b[i] = a[i];"],
  readonly ["of three words, some", "vec3u", "if (i < 6u) { b[i] = a[i]; }"],
  readonly ["of four words", "vec4f", "if (i != 3u) { b[i] = a[i]; }"],
  readonly ["of components", "vec4u", "b[i].y = a[i].x; if (i > 2u) { b[i].z = 4u; }"],
  readonly ["of a component chosen by number", "vec4u", "b[i][i % 4u] = a[i].x;"],
  readonly ["of matrices", "mat3x3f", "if (i < n / 5u - 1u) { b[i] = a[i]; }"],
  readonly ["of structs", "S", "if (i < n / 4u && i != 2u) { b[i] = a[i]; }"],
  readonly ["of arrays", "array<u32, 3>", "if (i < n / 4u) { b[i] = a[i]; }"],
  readonly ["in a function", "u32", "f(i);"],
  readonly [
    "by atomic operations",
    "atomic<u32>",
    "atomicAdd(&b[i / 2u], a[i]); if (i < 7u) { atomicStore(&b[n + i], 4u); }",
  ],
];
/** Words that the buffers of a kernel of `n` invocations have. */
export declare const wordsOfShapes: (n: number) => number;
/** A kernel of `n` invocations, in workgroups of some size. */
export declare function storeKernel(type: string, body: string, n: number, workgroup: number): string;
/** Words that are positive numbers in every type. */
export declare const numbersFrom: (count: number, seed: number) => Uint32Array<ArrayBuffer>;
//# sourceMappingURL=storeShapes.d.ts.map
