/** Headers, `while`, loops over elements, and properties of objects, against the source. */
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { evaluate, evaluateTranslated } from "../support/loops/loopPrograms.ts";

/** Returns the loop in a function of arrays `a` and `b`, and of `n`. */
const around = (before: string, loop: string, after = "") => `class Grid {
  cells = new Int32Array(8);
  #hidden = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6);
  width = 3;
  async run(n: number) {
    "use speculate";
    //#pragma omp for target(webgpu)
    for (let i = 0; i < n; i++) this.cells[i] = this.#hidden[i]! * this.width + i;
    return this.cells;
  }
}
class Base { static readonly step = Int32Array.of(2, 7); base = Int32Array.of(5, 6, 7, 8); }
interface Shape { readonly cells: Int32Array; readonly scale: number }
class Window extends Base {
  count: number;
  constructor(private readonly cells: Int32Array, protected width = 2) {
    super();
    this.count = 4;
  }
  async run(this: Window & Shape, scale: number) {
    "use speculate";
    //#pragma omp for target(webgpu)
    for (let i = 0; i < this.count; i++)
      this.cells[i] = this.base[i]! * this.width + Base.step[i & 1]! + scale * this.scale;
    return this.cells;
  }
  readonly scale = 3;
}
async function scaled(this: Shape, n: number) {
  "use speculate";
  const add = (x: number) => x + this.scale;
  //#pragma omp for target(webgpu)
  for (let i = 0; i < n; i++) this.cells[i] = this.cells[i]! * this.scale;
  return add(n);
}
const literal = {
  cells: Int32Array.of(4, 5),
  table: Object.freeze([7, 8, 9]),
  inner: undefined as undefined | { length: number },
  async run(n: number) {
    "use speculate";
    //#pragma omp for target(webgpu)
    for (let i = 0; i < n; i++) this.cells[i] = this.table[i]! + literal.cells[i]!;
    const { cells, inner: { length } = { length: 2 } } = this, table = this.table;
    //#pragma omp for target(webgpu)
    for (let i = 0; i < n; i++) cells[i] = cells[i]! * table[i]! + length;
    return cells;
  },
};
export const ofClass = async (a: Int32Array, b: Int32Array, n: number) => [
  await new Grid().run(n),
  await new Window(a).run(n),
  await scaled.call({ cells: b, scale: 4 }, n),
  await literal.run(2),
  a,
  b,
];
interface Pair { readonly left: Int32Array; right: Int32Array; gain: number; inner: { shift: number } }
export async function run(a: Int32Array, b: Int32Array, n: number, pair: Pair) {
  "use speculate";
  ${before}
  //#pragma omp for target(webgpu)
  ${loop}
  return [${after}];
}`;

const forms: [before: string, loop: string, after?: string][] = [
  ["let i;", "for (i = 0; i < n; i++) b[i] = a[i]!;", "i"],
  ["let i = 9;", "for (i = n; i > 2; i -= 2) b[i] = a[i]! + i;", "i"],
  ["let i = 1;", "for (; i < n; i += 3) { if (a[i] === 5) break; b[i] = i; }", "i"],
  ["", "for (var i = 0; i < n; i++) b[i] = 1;", "i"],
  ["let i = 2;", "while (i < n) { b[i] = a[i]! * 2; i++; }", "i"],
  ["let i = n;", "while (i >= 0 && a[i] !== 4) { b[i] = 7; i--; }", "i"],
  ["let i = 0;", "while (i < n) { if (a[i] === 3) { i += 2; continue; } b[i] = 1; i++; }", "i"],
  ["let i = 0;", "while (a[i]! > 0 && i < n) { b[i] = 1; i += 1; }", "i"],
  ["let k = 0;", "for (let i = 0; k++ < 3 && i < n; i++) b[i] = k;", "k"],
  ["let k = 0;", "for (let i = 0; i < n && k++ < 3; i++) b[i] = k;", "k"],
  ["", "for (let i = 0; i + 1 < n; i += 2) b[i] = a[i + 1]!;"],
  ["", "for (let i = n; i - 1 >= 0; i--) b[i] = a[i - 1]!;"],
  ["", "for (let i = 0, j = 5; i < n; i += 2, j--) b[i] = j;"],
  ["", "for (let i = n, j = -4; i > 0; i--, j += 3) b[i] = j;"],
  ["", "for (let i = 0, j = n - 1; i < n; j = i++) b[i] = a[j]!;"],
  ["let s = 0;", "for (const x of a) s += x;", "s"],
  ["let s = 0;", "for (let x of a) { if (x === 5) continue; x *= 2; s += x; if (s > 30) break; }", "s"],
  ["", "for (let i = 0; i < n; i++) pair.right[i] = pair.left[i]! * pair.gain + pair.inner.shift;"],
  ["", "for (let i = 0; i < pair.left.length; i++) b[i] = pair.left[i]!;"],
  ["", "for (const x of pair.left) b[x & 7] = x;"],
  ["", "for (let i = 0; i < n; i++) b[i] = a.at(-i)! + (a.at(i - 9) ?? 5) + (a.at(2 * i) ?? 7);"],
  ["", "for (let i = 0; i < n; i++) b[i] = a.at(a[i + 3]!) ?? 1;"],
  [
    "",
    "for (let i = 0; i < n; i++) { const x = a[i + 3]! & -1; b[i] = a.at(-1 - a[i + 3]!)! + a.at(-1 - x)!; }",
  ],
  ["const c = Uint8Array.from(a);", "for (let i = 0; i < n; i++) b[i] = a.at(-1 - c[i + 3]!)!;"],
  ["", "for (let i = 1; i < n; i++) b[i] = pair.left.at(-1 - i)! + a.at(i % 3)! + a.at(n)!;"],
  [
    "",
    "for (let i = 0; i < n; i++) { let s = 0; for (let k = a[i]!, end = a[i + 1]! + 3; k < end; k++) s += k ** 2; b[i] = s; }",
  ],
  [
    "",
    "for (let i = 0; i < n; i++) { let s = 0; for (let k = i, end = k + 3, from = k++; k < end; k++) s += k * from; b[i] = s; }",
  ],
  ["", "for (let i = 0, odd = false; i < n; i++, odd = !odd) { let i2 = i; b[i] = odd ? a[i2]! : -i; }"],
  ["let s = 1;", "for (let i = n; i > 0; s *= 2, s += 1, i--) b[i - 1] = s & 255;", "s"],
  ["", "for (let i = 0, x = 1; i < n; i++, x = a[i]!) b[i] = x;"],
  ["", "for (let i = 0, x = 1; i < n; x += a[i]!, i++) { if (x > 5) continue; b[i] = x; }"],
  [
    "",
    "for (let i = 0; i < n; i++) { if (a[i]! / 4 > 1) b[i] = 1; b[a[i + 1]! / 2] = 2; if ((a[i]! / 3) % 1 > 0.5) b[i]!++; }",
  ],
  ["", "for (let i = 0; i < n; i++) { if (a[i]! / b[i]!) b[i] = 3; if (a[i + 5]! / 3 === i / 3) b[1] = 4; }"],
  ["let i = -1;", "while (++i < n) b[i] = a[i]! + i;", "i"],
  ["let i = -1;", "while (++i < n && a[i] !== 5) b[i] = i;", "i"],
  ["let i = n;", "while (i--) { if (a[i] === 4) continue; b[i] = 7 + i; }", "i"],
  ["let i = n;", "while (i-- > 2) { if (a[i] === 1) break; b[i] = i; }", "i"],
  ["let i = n;", "while (--i >= 0) b[i] = i;", "i"],
  ["let i = n + 1;", "while (--i) b[i - 1] = i;", "i"],
  ["let i = 0;", "while (i++ < n - 1) b[i] = i;", "i"],
  ["", "for (let i = n; i--; ) b[i] = a[i]!;"],
  ["let i;", "for (i = n; --i >= 0; ) b[i] = a[i]!;", "i"],
  ["", "for (let i = -1, j = 3; ++i < n; ) b[i] = j;"],
  ["", "a.forEach((x) => { b[x & 7] = x; });"],
  ["let s = 0;", "a.forEach((x, i) => { if (x === 5) return; s += x * i; b[i] = x; });", "s"],
  [
    "let s = 0;",
    "a.forEach(function (x, i) { x += i; if (x > 6) { b[i] = x; return; } s = s * 3 + x; });",
    "s",
  ],
  ["", "a.forEach((x, i) => (b[i] = x * n));"],
  ["", "pair.left.forEach((x, i) => { for (let k = 0; k < x; k++) if (k === i) return; b[i] = 1; });"],
  [
    "",
    "for (let i = 0; i < n; i++) { let s = i; a.forEach((x, k) => { if (k === i) return; s += x; }); b[i] = s; }",
  ],
  ["", "for (let i = 0; i < n; i++) { let s = 0; [a[i]!, i].forEach((x) => { s += x; }); b[i] = s; }"],
  ["let s = 0;", "[...a].forEach((x) => { s += x; });", "s"],
  ["let s = 0;", "a.forEach((x, i) => { if (i === 6) throw new Error('at ' + x + s); s += x; });", "s"],
];

it.each(forms)("are translated and give what the source gives: %s %s", async (before, loop, after) => {
  const source = around(before, loop, after);
  const isRefused = ["continue; } b", "k++ < 3 && i", "[...a].forEach", "x = a[i]!)", "x += a[i]!, i++"].some(
    (part) => loop.includes(part),
  );
  const { exports, calls, diagnostics } = evaluateTranslated(source);
  expect(diagnostics.some(({ severity }) => severity === "error")).toBe(isRefused);
  for (const n of [0, 1, 5, 8]) {
    const resultOf = async ({ run }: typeof exports) => {
      const [a, b] = [Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6), new Int32Array(8)];
      const shared = Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
      const pair = { left: shared, right: n === 5 ? shared : b, gain: 3, inner: { shift: 1 } };
      const returned = await (run!(...([a, b, n, pair] as never[])) as Promise<unknown>).catch(String);
      return { returned, a, b, shared };
    };
    expect(await resultOf(exports), loop).toEqual(await resultOf(evaluate(source)));
  }
  expect(calls.length > 0).toBe(!isRefused);
});

it("read properties of `this`: of classes, of their parameters and bases, of `this` parameters", async () => {
  const source = around("", "for (let i = 0; i < n; i++) b[i] = 0;");
  const { exports, calls } = evaluateTranslated(source);
  const resultOf = ({ ofClass }: typeof exports) =>
    ofClass!(...([Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8), Int32Array.of(3, 1, 4), 3] as never[]));
  expect(await resultOf(exports)).toEqual(await resultOf(evaluate(source)));
  expect(calls.map(({ loop }) => loop.arrays.map(({ name }) => name))).toEqual([
    ["this$cells", "this$hidden"],
    ["this$cells", "this$base", "Base$step"],
    ["this$cells"],
    ["this$cells", "this$table", "literal$cells"],
    ["cells", "table"],
  ]);
});

it("run as written if a property is computed, or an object does not exist", async () => {
  const source = around("", "for (let i = 0; i < n; i++) pair.right[i] = pair.gain;");
  const { exports, calls } = evaluateTranslated(source);
  const written = evaluate(source);
  for (const run of [exports.run!, written.run!]) {
    let reads = 0;
    const right = new Int32Array(8);
    const counting = {
      right,
      get gain() {
        return ++reads;
      },
    };
    await run(...([right, right, 4, counting] as never[]));
    expect([...right]).toEqual([1, 2, 3, 4, 0, 0, 0, 0]);
    await run(...([right, right, 0, null] as never[]));
    await expect(run(...([right, right, 1, null] as never[]))).rejects.toThrow(TypeError);
    class Inherits {
      get gain() {
        return ++reads;
      }
      right = right;
    }
    await run(...([right, right, 2, new Inherits()] as never[]));
    expect([...right]).toEqual([5, 6, 3, 4, 0, 0, 0, 0]);
  }
  expect(calls).toEqual([]);
});

it("refuse a property that the loop changes, or whose object may change", () => {
  const errorsOf = (loop: string) =>
    replaceLoops(around("let other = pair;", loop), "f.ts").diagnostics.flatMap(({ code, severity }) =>
      severity === "error" ? [code] : [],
    );
  expect(errorsOf("for (let i = 0; i < n; i++) pair.gain += i;")).toEqual(["BELAY511"]);
  expect(errorsOf("for (let i = 0; i < n; i++) { b[i] = other.gain; other = pair; }")).not.toEqual([]);
});

/**
 * Stores at an index that is an element, and once at one that does not exist. That sets a property
 * `undefined`, which keeps the number unrounded.
 */
const unroundedStores = [
  "f[e[i]!] = f[i]! * 0.1;",
  "f[e[i]!] = Math.fround(f[i]! * 3.3);",
  "const t = Math.abs(f[i]! * 3.5); const u = t; f[e[i]!] = -u;",
  "f[e[i]!] = 0.1;",
  "f[e[i]!] = scale;",
  "f[e[i]!] = i + f[i]! + 0.7;",
  "f[e[i]!] = e[i]!;",
  "a[e[i]!] = f[i]!;",
  "a[e[i]!] = -2.5;",
  "a[e[i]!] = f[i]! > 1 ? 1 : 0;",
  "a[e[i]!] = i / 3;",
  "a[e[i]!] = 2 ** 40;",
  "c[e[i]!] = f[i]!;",
  "c[e[i]!] = 3.25;",
];

it.each(unroundedStores)("store what the source stores where no element exists: %s", async (body) => {
  const source = `
export async function run(a: Uint32Array, c: Uint8ClampedArray, e: Uint8Array, f: Float32Array, scale: number) {
  "use speculate";
  //#pragma omp for target(webgpu)
  for (let i = 0; i < 5; i++) { ${body} }
}`;
  const { exports, calls } = evaluateTranslated(source);
  const resultOf = async ({ run }: typeof exports) => {
    const arrays = [
      new Uint32Array(5),
      new Uint8ClampedArray(5),
      Uint8Array.of(0, 2, 3, 1),
      Float32Array.of(0.1, 1.7, 3.3, 5.1, 2.9),
    ];
    await run!(...([...arrays, 0.3] as never[]));
    return arrays.map((array) => [array, Object.getOwnPropertyDescriptor(array, "undefined")]);
  };
  const expected = await resultOf(evaluate(source));
  expect(expected.some(([, property]) => property !== undefined)).toBe(true);
  expect(await resultOf(exports)).toEqual(expected);
  expect(calls).toHaveLength(1);
});
