import { expect, it } from "vitest";
import { translate } from "../translate.ts";
import { hasOpenRounding } from "./openRounding.ts";

it.each([
  ["a[p[i]!] = a[i]!", false],
  ["if (a[i]) { a[p[i]!] = 2.5; }", false],
  ["p[i] = a[p[i]!]! | 0", false],
  ["a[p[i]!] = a[i]! + 1", true],
  ["a[p[i]!] = Math.sqrt(a[i]!)", true],
  ["a[p[i]!] = p[i]!", true],
  ["a[p[i]!] = Math.max(a[i]!, a[p[i]!]!)", false],
  ["a[p[i]!] = Math.round(a[i]! % 3)", false],
  ["a[p[i]!] = -a[i]!", false],
  ["if (a[i]! < 3) { a[p[i]!] = 2.5; }", false],
  ["if (Math.fround(a[i]! * 3) < 3) { p[p[i]!] = 2; }", true],
])("tells whether the GPU may round as the CPU does not: %s", (body, open) => {
  const text = `export async function test(a: Float32Array, p: Int32Array) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a, p) precision(f32)
  for (let i = 0; i < p.length; i++) { ${body}; }
}`;
  const { loops, diagnostics } = translate(text, "test.ts");
  expect(diagnostics).toEqual([]);
  expect(hasOpenRounding(loops[0]!.loop)).toBe(open);
});
