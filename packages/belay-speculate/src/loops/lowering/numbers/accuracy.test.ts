import { expect, it } from "vitest";
import { translate } from "../../translate.ts";

/** Returns the code that warnings about f32 underline, with the end of their codes. */
function warned(body: string, clauses = ""): string[] {
  const source = `export async function test(x: Float32Array, y: Float32Array, a: Int32Array, z: number, k: number) {
    "use speculate";
    let s = 0;
    //#pragma omp for target(webgpu) ${clauses}
    for (let i = 0; i < a.length; i++) { ${body} }
    return s;
  }`;
  const { diagnostics } = translate(source, "test.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return diagnostics.flatMap(({ code, span }) =>
    ["BELAY533", "BELAY534"].includes(code)
      ? [`${code.slice(-2)}: ${source.slice(span.start, span.end)}`]
      : [],
  );
}

it.each([
  ["a[Math.floor(x[i]! * 10)]!++;", ["33: Math.floor(x[i]! * 10)"]],
  ["a[i] = (x[i]! / z) | 0;", ["33: (x[i]! / z) | 0"]],
  ["if (x[i]! > z) a[i] = 1;", ["33: x[i]! > z"]],
  ["if (z >= x[i]!) a[i] = 1;", ["33: z >= x[i]!"]],
  ["a[i] = x[i]! * x[i]! < y[i]! ? 1 : 0;", ["33: x[i]! * x[i]! < y[i]!"]],
  ["if (x[i]! * 0.5) a[i] = 1;", ["33: x[i]! * 0.5"]],
  ["if (x[i]! === y[i]! + 1) a[i] = 1;", ["33: x[i]! === y[i]! + 1"]],
  ["a[i] = x[i]! * 3;", ["33: a[i] = x[i]! * 3"]],
  ["a[i] = Math.imul(x[i]! + 1, 3);", ["33: Math.imul(x[i]! + 1, 3)"]],
  ["let u = x[i]!; if (u > 2) u = u * 2; a[i] = u | 0;", ["33: u > 2", "33: u | 0"]],
  ["const u = Math.sqrt(x[i]!); if (u > 2) a[i] = 1;", ["33: u > 2"]],
  ["switch (x[i]! * 2) { case 4: a[i] = 1; break; default: a[i] = 2; }", ["33: 4"]],
  ["if (Math.fround(x[i]! * y[i]! + 1) > 2) a[i] = 1;", ["33: Math.fround(x[i]! * y[i]! + 1) > 2"]],
  ["if (Math.min(x[i]! + 1, y[i]!) < 2) a[i] = 1;", ["33: Math.min(x[i]! + 1, y[i]!) < 2"]],
  ["y[i] = x[i]! * y[i]! + 1; if (y[i]! > 2) a[i] = 1;", ["33: y[i]! > 2"]],
  ["s += x[i]!;", ["34: s += x[i]!"]],
  ["s = x[i]! + s;", ["34: s = x[i]! + s"]],
  ["s = y[i]! + s + x[i]!;", ["34: s = y[i]! + s + x[i]!"]],
  ["s = s * x[i]!;", ["34: s = s * x[i]!"]],
  ["s = x[i]! - (s as number);", ["34: s = x[i]! - (s as number)"]],
  ["let t = 0; for (let j = 0; j < 9; j++) t += x[j]!; y[i] = t;", ["34: t += x[j]!"]],
])("warns where a double would decide otherwise: %s", (body, expected) => {
  expect(warned(body)).toEqual(expected);
});

it.each([
  "if (x[i]! > y[i]!) a[i] = 1;",
  "if (x[i]! > 0.1) a[i] = 1;",
  "if (x[i]! !== 0.1) a[i] = 1;",
  "a[i] = x[i]! | 0; a[i] = x[i]!;",
  "a[Math.floor(x[i]!)]! = 1;",
  "a[Math.floor(Math.fround(x[i]! * 10))]!++;",
  "a[i] = Math.fround(x[i]! / Math.fround(z)) | 0;",
  "if (x[i]! > Math.fround(z)) a[i] = 1;",
  "if (Math.fround(Math.fround(x[i]! * y[i]!) + 1) > 2) a[i] = 1;",
  "if (x[i]! % y[i]! < 1 && !x[i]! && Math.abs(x[i]!) < y[i]!) a[i] = 1;",
  "y[i] = x[i]! * 0.5 + 1;",
  "y[i] = x[i]! * 2; if (y[i]! > 2) a[i] = 1;",
  "let u = x[i]!; u = Math.fround(u * 2); a[i] = u;",
  "a[i] = (i / 2) | 0; if (i > 2.5) a[i] = 1;",
  "s = (s + a[i]!) | 0;",
  "y[i] = i * z;",
])("does not where it decides the same: %s", (body) => {
  expect(warned(body)).toEqual([]);
});

it("warns of sums over iterations, unless they say that they are f32", () => {
  expect(warned("s += x[i]!;", "reduction(+:s)")).toEqual(["34: s += x[i]!"]);
  expect(warned("s = s * x[i]!;", "reduction(*:s)")).toEqual(["34: s = s * x[i]!"]);
  expect(warned("s = Math.fround(s + x[i]!);", "reduction(+:s)")).toEqual([]);
  expect(warned("s = Math.fround(s + a[i]!);", "reduction(+:s)")).toEqual([]);
  expect(warned("s = Math.max(s, x[i]!);", "reduction(max:s)")).toEqual([]);
  expect(warned("s = Math.fround(s + x[i]!);")).toEqual([]);
});
