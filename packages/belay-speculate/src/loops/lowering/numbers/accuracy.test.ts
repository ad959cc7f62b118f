import { expect, it } from "vitest";
import { translate } from "../../translate.ts";

const sourceOf = (
  body: string,
  clauses: string,
) => `export async function test(x: Float32Array, y: Float32Array, a: Int32Array, z: number, k: number) {
    "use speculate";
    let s = 0;
    //#pragma omp for target(webgpu) ${clauses}
    for (let i = 0; i < a.length; i++) { ${body} }
    return s;
  }`;

/** Returns the code that warnings about f32 underline, with the end of their codes. */
function warned(body: string, clauses = ""): string[] {
  const source = sourceOf(body, `${clauses} precision(f32)`);
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
  expect(doubles(body)).toHaveLength(1);
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

/** Returns the code of a loop that needs doubles, which a GPU computes with integers. */
const doubles = (body: string, clauses = "") => underlined(body, clauses, "BELAY535");

/** Returns the code that is refused because only the CPU gives its doubles. */
const refused = (body: string, clauses = "") => underlined(body, clauses, "BELAY520");

function underlined(body: string, clauses: string, label: string): string[] {
  const source = sourceOf(body, clauses);
  const { diagnostics } = translate(source, "test.ts");
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  expect(errors.filter(({ code }) => code !== "BELAY520")).toEqual([]);
  return diagnostics.flatMap(({ code, span }) =>
    code === label ? [source.slice(span.start, span.end)] : [],
  );
}

it.each([
  ["y[i] = x[i]! * 0.5 + 1;", "y[i] = x[i]! * 0.5 + 1"],
  ["y[i] = x[i]! * z;", "y[i] = x[i]! * z"],
  ["y[i] = x[i]! / 3;", "x[i]! / 3"],
  ["y[i] = a[i]! / 3;", "y[i] = a[i]! / 3"],
  ["y[i] = Math.sqrt(x[i]!);", "Math.sqrt(x[i]!)"],
  ["y[i] = a[i]!;", "y[i] = a[i]!"],
  ["s = x[i]! * 3;", "s = x[i]! * 3"],
  ["let t = 0; for (let j = 0; j < 9; j++) t += x[j]!; y[i] = t; y[0] = t;", "y[i] = t"],
  ["if (x[i]! * 3 > 1) a[i] = 1; if (x[i]! > z) a[i] = 2;", "x[i]! * 3 > 1"],
])("computes in doubles what an f32 does not hold, and says so once: %s", (body, expected) => {
  expect(doubles(body)).toEqual([expected]);
  expect(refused(body)).toEqual([]);
  expect(doubles(body, "precision(f32)")).toEqual([]);
});

it.each([
  ["y[i] = Math.sin(x[i]!);", "Math.sin(x[i]!)"],
  ["y[i] = x[i]! ** 3;", "x[i]! ** 3"],
])("refuses functions whose last bits JavaScript leaves open: %s", (body, expected) => {
  expect(refused(body)).toEqual([expected]);
  expect(refused(body, "precision(f32)")).toEqual([]);
});

it.each([
  ["s = Math.fround(s + x[i]!);", "reduction(+:s)"],
  ["s += x[i]!;", "reduction(+:s)"],
  ["s = Math.max(s, x[i]! * 3);", "reduction(max:s)"],
])("refuses reductions of floats that need an order or doubles: %s", (body, clause) => {
  expect(refused(body, clause)).toEqual([body.slice(0, -1)]);
});

it.each([
  "y[i] = x[i]! * 3;",
  "y[i] = x[i]! + y[i]!;",
  "y[i] = Math.fround(x[i]! * y[i]!) + 1;",
  "y[i] = Math.fround(z) * x[i]!;",
  "y[i] = z;",
  "y[i] = x[i]! * i;",
  "y[i] = Math.max(x[i]! * 3, 0);",
  "const t = x[i]! - y[i]!; y[i] = t; if (Math.fround(t) > 2) a[i] = 1;",
  "s = Math.fround(s + x[i]!);",
  "if (x[i]! > s) s = x[i]!;",
  "y[i] = x[i]! > 0.1 ? Math.floor(x[i]!) % 3 : -x[i]!;",
])("takes floats that 32 bits hold: %s", (body) => {
  const changed = body.replaceAll("i;", "(i & 255);");
  expect([...refused(changed), ...doubles(changed)]).toEqual([]);
});

it("warns of sums over iterations, unless they say that they are f32", () => {
  expect(warned("s += x[i]!;", "reduction(+:s)")).toEqual(["34: s += x[i]!"]);
  expect(warned("s = s * x[i]!;", "reduction(*:s)")).toEqual(["34: s = s * x[i]!"]);
  expect(warned("s = Math.fround(s + x[i]!);", "reduction(+:s)")).toEqual([]);
  expect(warned("s = Math.fround(s + a[i]!);", "reduction(+:s)")).toEqual([]);
  expect(warned("s = Math.max(s, x[i]!);", "reduction(max:s)")).toEqual([]);
  expect(warned("s = Math.fround(s + x[i]!);")).toEqual([]);
});
