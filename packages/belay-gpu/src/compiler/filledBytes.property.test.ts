import fc from "fast-check";
import { expect, it } from "vitest";
import { FilledBytesFinder } from "./filledBytes.ts";

const divisor = fc.integer({ min: 1, max: 6 });
const step = fc.integer({ min: 0, max: 40 });
const layouts = fc.record({
  groups: fc.integer({ min: 1, max: 4 }),
  size: fc.integer({ min: 1, max: 24 }),
  divisors: fc.tuple(divisor, divisor, divisor),
  /** The distances of neighbors in each digit, or of neighbors in a dense array. */
  steps: fc.option(fc.tuple(step, step, step, step)),
  inner: fc.integer({ min: 1, max: 4 }),
  limit: fc.option(fc.integer({ min: 1, max: 24 })),
});
type Layout = typeof layouts extends fc.Arbitrary<infer Type> ? Type : never;

/** Returns the steps of the three digits, of the last quotient, and of the inner loop. */
function stepsOf({ divisors: [a, b, c], steps, inner }: Layout): readonly number[] {
  return steps ? [...steps, 1] : [c * b * inner, inner, b * inner, a * b * c * inner, 1];
}

/** Returns a kernel that takes an index apart and stores to a place that the digits decide. */
function codeOf(layout: Layout): string {
  const { size, divisors, inner, limit } = layout;
  const [a, b, c] = divisors;
  const [first, second, third, last, loop] = stepsOf(layout);
  return `@group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(${size}) fn main(@builtin(global_invocation_id) id: vec3u) {
      let p = id.x % ${a}; let rest = id.x / ${a};
      let q = rest % ${b}; let rest_2 = rest / ${b};
      let r = rest_2 % ${c}; let s = rest_2 / ${c};
      for (var i = 0u; i < ${inner}; i++) {
        ${limit === null ? "" : `if (r * ${inner} + i >= ${limit}) { continue; }`}
        out[p * ${first} + q * ${second} + r * ${third} + s * ${last} + i * ${loop}] = 1;
      }
    }`;
}

/** Returns the words that the kernel stores to, by executing it. */
function stored(layout: Layout): Set<number> {
  const { groups, size, divisors, inner, limit } = layout;
  const [a, b, c] = divisors;
  const [first, second, third, last, loop] = stepsOf(layout) as [number, number, number, number, number];
  const words = new Set<number>();
  for (let id = 0; id < groups * size; id++) {
    const [p, rest] = [id % a, Math.floor(id / a)];
    const [q, rest2] = [rest % b, Math.floor(rest / b)];
    const [r, s] = [rest2 % c, Math.floor(rest2 / c)];
    for (let i = 0; i < inner; i++) {
      if (limit === null || r * inner + i < limit)
        words.add(p * first + q * second + r * third + s * last + i * loop);
    }
  }
  return words;
}

it("claims only words that kernels with digits of an index store to", () => {
  let claimed = 0;
  const finder = new FilledBytesFinder();
  fc.assert(
    fc.property(layouts, (layout) => {
      const { groups } = layout;
      const kernel = { source: codeOf(layout), entryPoint: undefined, constants: {} };
      const dispatch = { grid: [groups, 1, 1], sizeOf: () => 2 ** 16, wordAt: () => undefined };
      const words = stored(layout);
      for (const { offset, size } of finder.find(kernel, dispatch)) {
        claimed += size / 4;
        for (let word = offset / 4; word < (offset + size) / 4; word++) expect(words).toContain(word);
      }
    }),
    { seed: 7, numRuns: 600 },
  );
  expect(claimed).toBeGreaterThan(3000);
});
