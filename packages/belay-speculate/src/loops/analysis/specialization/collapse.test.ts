import { expect, it } from "vitest";
import { sequentialLoop } from "../../javascript/sequential.ts";
import { translate } from "../../translate.ts";
import { collapse } from "./collapse.ts";

function loopFrom(body: string) {
  const source = `export async function test(a: Float32Array, b: Int32Array, p: Uint32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) precision(f32) speculate(${["a", "b"].filter((name) => body.includes(`${name}[`))})
  for (let i = 0; i < 8; i++) { ${body} }
}`;
  const { loops, diagnostics } = translate(source, "test.ts");
  expect(diagnostics).toEqual([]);
  return loops[0]!.loop;
}

const rows = 8;
const columns = 5;
const numbersOf = (loop: ReturnType<typeof loopFrom>, n = columns) => ({
  inputs: Object.fromEntries(loop.inputs.map(({ name }) => [name, n])),
  lengths: { a: rows * columns, b: rows * columns, p: rows },
  first: 0,
  step: 1,
  count: rows,
});

it.each([
  "const x = p[i]!; for (let j = 0; j < n; j++) { a[i * n + j] = a[i * n + j]! + x; }",
  "for (let j = 0; j < n; j++) { if (a[i * n + j]! < 3) { b[i * n + j] = j; } else { a[i * n + j] = i; } }",
  "for (let j = 2; j < n; j += 2) { const x = b[i * n + j]!; b[i * n + j] = (x + i) | 0; }",
])("turns become iterations: %s", (body) => {
  const loop = loopFrom(body);
  const numbers = numbersOf(loop);
  const collapsed = collapse(loop, numbers);
  expect(collapsed?.count).toBeGreaterThan(8);
  const [before, after] = [{ ...numbers, loop }, collapsed!].map(({ loop, inputs, first, step, count }) => {
    const a = Float32Array.from({ length: rows * columns }, (_, place) => place % 7);
    const b = Int32Array.from({ length: rows * columns }, (_, place) => place * place);
    const p = Uint32Array.from({ length: rows }, (_, place) => 3 * place);
    sequentialLoop(loop)({ a, b, p }, { ...inputs, $first: first, $step: step }, {}, {}, 0, count);
    return { a, b };
  });
  expect(after).toEqual(before);
});

it.each([
  ["a turn accesses what another one stores", "for (let j = 0; j < n; j++) { a[i * n + j] = a[i * n]!; }"],
  ["rows overlap", "for (let j = 0; j < n; j++) { a[i + j] = i; }"],
  [
    "something follows the inner loop",
    "let x = 0; for (let j = 0; j < n; j++) { x = (x + b[j]!) | 0; } a[i] = x;",
  ],
  [
    "a value goes from turn to turn",
    "let x = 0; for (let j = 0; j < n; j++) { x = (x + 1) | 0; a[i * n + j] = x; }",
  ],
  [
    "the inner loop may be left",
    "for (let j = 0; j < n; j++) { if (p[i] === 3) { break; } a[i * n + j] = i; }",
  ],
  ["an element may not exist", "for (let j = 0; j < n; j++) { a[i * n + j] = p[i + j]!; }"],
  ["a row has another length", "for (let j = 0; j < p[i]!; j++) { a[(i * n + j) | 0] = j; }"],
])("stays as it is where %s", (_, body) => {
  const loop = loopFrom(body);
  expect(collapse(loop, numbersOf(loop))).toBeNull();
});

it("stays as it is where the numbers make rows leave the array, or there are many iterations", () => {
  const loop = loopFrom("for (let j = 0; j < n; j++) { a[i * n + j] = 1; }");
  expect(collapse(loop, numbersOf(loop))).not.toBeNull();
  expect(collapse(loop, numbersOf(loop, columns + 1))).toBeNull();
  expect(collapse(loop, { ...numbersOf(loop), lengths: { a: 2 ** 21 }, count: 2 ** 18 })).toBeNull();
});
