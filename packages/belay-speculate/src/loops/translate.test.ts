import { describe, expect, it } from "vitest";
import { evaluate, evaluateTranslated } from "../../../../test/support/loops/loopPrograms.ts";
import { translate } from "./translate.ts";
import type { Loop } from "./tree/ir.ts";

const parameters = `a: Int32Array, u: Uint32Array, c: Uint8Array, f: Float32Array, p: Int32Array, n: number, width: number, scale: number, flag: boolean`;

const file = (body: string, { before = "", header = "let i = 0; i < n; i++", top = "" } = {}) => `${top}
export async function run(${parameters}) {
  "use speculate";
  ${before}
  //#pragma omp for target(webgpu) speculate(a) precision(f32)
  for (${header}) { a[p[i]!]; ${body} }
}
`;

const loopOf = (source: string): Loop => {
  const { loops, diagnostics } = translate(source, "f.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return loops[0]!.loop;
};

const refusal = (source: string) => {
  const { loops, diagnostics } = translate(source, "f.ts");
  expect(loops).toEqual([]);
  return diagnostics.map(
    ({ code, span, message }) => `${code} ${source.slice(span.start, span.end)}: ${message}`,
  );
};

describe("the number of iterations", () => {
  it.each([
    ["let i = 0; i < n; i++", "0", "1", "Math.max(0, n)"],
    ["let i = 1; i <= n; i += 1", "1", "1", "Math.max(0, n)"],
    ["let i = n - 1; i >= 0; i--", "(n - 1)", "-1", "Math.max(0, n)"],
    ["let i = n; i > 0; i -= 2", "n", "-2", "Math.max(0, Math.ceil((n) / 2))"],
    ["let i = 0; n > i; i = i + 3", "0", "3", "Math.max(0, Math.ceil((n) / 3))"],
    ["let i = 0; i !== n; ++i", "0", "1", "Math.max(0, n)"],
    ["let i = 0, end = a.length - 1; i < end; i++", "0", "1", "Math.max(0, a.length - 1)"],
    ["let i = 0; i < n / 2; i++", "0", "1", "Math.max(0, Math.ceil((n / 2)))"],
    ["let i = 0; i < n; i += width", "0", "width", "Math.max(0, Math.ceil((n) / width))"],
    ["var i = 0; i < n; i++", "0", "1", "Math.max(0, n)"],
  ])("for (%s)", (header, first, step, count) => {
    const { loops } = translate(file("a[i]++;", { header }), "f.ts");
    expect(loops).toMatchObject([{ host: { first, step, count } }]);
  });

  it.each([
    ["let i = 0; i < a[0]!; i++", "a[0]!: not parallelized because where it ends may change while it runs"],
    [
      "let i = 0; i < n; i *= 2",
      "let i = 0; i < n; i *= 2: not parallelized because its header does not count",
    ],
    [
      "let i = 0; i < n; i--",
      "let i = 0; i < n; i--: not parallelized because it counts away from where it ends",
    ],
    [
      "let i = 0; i !== n; i += 2",
      "let i = 0; i !== n; i += 2: not parallelized because it may step over where it ends",
    ],
    [
      "let i = 0; i < n; i += 0",
      "let i = 0; i < n; i += 0: not parallelized because its step is no positive integer",
    ],
    [
      "let i = 0.5; i < n; i++",
      "let i = 0.5; i < n; i++: not parallelized because it does not count from integer to integer",
    ],
    [
      "let i = 0; i < 5000000000; i++",
      "let i = 0; i < 5000000000; i++: not parallelized because its index may have more than 32 bits",
    ],
  ])("for (%s) is not known", (header, message) => {
    expect(refusal(file("a[0] = 1;", { header }))).toEqual([`BELAY510 ${message}`]);
  });

  it("is not known when a function outside of the loop's uses the index", () => {
    const source = `let i = 0;\n${file("a[0] = 1;", { header: "i = 0; i < n; i++" })}`;
    expect(refusal(source)).toEqual([
      "BELAY510 i = 0: not parallelized because its index is used outside of it",
    ]);
  });

  it("is not known when the body changes the index", () => {
    expect(refusal(file("i += 1;"))[0]).toContain(
      "BELAY510 i += 1: not parallelized because `i` changes in its body",
    );
  });
});

describe("roles of arrays", () => {
  it.each([
    ["a[i] = c[i]!;", "owned"],
    ["a[i] += a[i]! + 1;", "owned"],
    ["a[2 * i] = 1; a[2 * i + 1] = a[2 * i]!;", "owned"],
    ["for (let j = 0; j < 4; j++) a[i * 4 + j] = j;", "owned"],
    ["for (let j = 0; j < width; j++) a[i * width + j] = j;", "owned"],
    ["for (let k = i * width; k < (i + 1) * width; k++) a[k] = k;", "owned"],
    ["const k = 3 * i; a[k + (c[0]! & 1)] = 1;", "owned"],
    ["a[p[i]!] = 1;", "tracked"],
    ["a[i] = a[i + 1]!;", "tracked"],
    ["a[0] = i;", "tracked"],
    ["a[2 * i] = 1; a[2 * i + 2] = 1;", "tracked"],
    ["a[i * width] = 1;", "tracked"],
    ["for (let j = 0; j <= width; j++) a[i * width + j] = j;", "tracked"],
    ["a[i] = 1; a[n - i] = 2;", "tracked"],
    ["a[i & 7] = 1;", "tracked"],
    ["f[0] = a[i]!;", "read"],
  ])("%s", (body, role) => {
    const source = file(body).replace("a[p[i]!];", "");
    expect(loopOf(source).arrays.find(({ name }) => name === "a")).toMatchObject({ role });
  });
});

describe("facts about an iteration", () => {
  it.each([
    ["a[p[i]!] = 1;", 0, 1],
    ["a[p[i]!]++;", 1, 1],
    ["if (flag) { a[p[i]!] = a[0]! + a[1]!; } else a[1]++;", 2, 1],
    ["for (let j = 0; j < 4; j++) a[p[i]!] = a[j]!;", 4, 4],
    ["for (let j = 0; j < a[j]!; j++) a[p[i]!] = 1;", null, null],
    ["for (let j = 0; j < 3; j++) for (let k = j; k < 5; k += 2) a[p[k]!] = 1;", 0, 9],
    ["let k = 9; while (k > 0) k = (k - 1) | 0; a[p[i]!] = k;", 0, 1],
    ["f[i] = a[p[i]!]! > 0 ? a[i]! : 0; a[0] = 1;", 2, 1],
  ])("%s makes %s loads and %s stores at most", (body, mostLoads, mostStores) => {
    expect(loopOf(file(body).replace("a[p[i]!];", ""))).toMatchObject({ mostLoads, mostStores });
  });

  it.each([
    ["a[p[i]!] = a[i]! + 1;", true],
    ["if (c[i]! > 3) a[p[i]!] = a[i]!;", true],
    ["const x = a[i]!; a[p[i]!] = x > 3 ? x : 0;", true],
    ["a[a[i]! & 7] = 1;", false],
    ["if (a[i]! > 3) a[p[i]!] = 1;", false],
    ["let x = 0; x = a[p[i]!]!; f[x & 3] = 1; a[p[i]!] = 1;", false],
    ["f[i] = a[p[i]!]!; a[(p[i]! & 7) + (f[i]! & 7)] = 1;", false],
    ["a[p[i]!] = 1; total = i; a[total & 7] = 1;", false],
  ])("%s has addresses that are known before: %s", (body, addressesAreFixed) => {
    const source = file(body, { before: "let total = 0;" }).replace("a[p[i]!];", "");
    expect(loopOf(source)).toMatchObject({ addressesAreFixed });
  });
});

describe("integers", () => {
  it.each([
    "a[i] = a[i]! + p[i]!;",
    "a[i] = a[i]! * 3 - p[i]! * 5;",
    "a[i] = (a[i]! / 3) | 0;",
    "u[i] = (u[i]! / c[i]!) >>> 0;",
    "a[i] = (a[i]! * p[i]!) | 0;",
    "a[i] = -a[i]!;",
    "u[i] = (u[i]! * 1664525 + 1013904223) >>> 0;",
    "if (((a[i]! + p[i]!) | 0) > 0) a[i] = 0;",
    "a[i] = a[Math.floor(i / width)]! + a[i % width]!;",
    "let sum = 0; for (let j = 0; j < 9; j++) sum += a[j]!; a[i] = sum;",
    "let count = 0; for (let j = 0; j < width; j++) if (c[j]! > 3) count++; if (count > 3) a[i] = count;",
    "let lo = 0, hi = n; while (lo < hi) { const mid = (lo + hi) >>> 1; if (u[mid]! < i) lo = mid + 1; else hi = mid; } a[i] = lo;",
    "for (let k = u[i]!; k < u[i + 1]!; k++) a[c[k]!] = 1;",
    "a[i] = Math.imul(a[i]!, p[i]!) ^ (u[i]! >>> 7);",
    "if (u[i]! < n) a[i] = 1;",
    "if (a[i]! > 2.5) a[i] = 1;",
    "c[i] = a[i]! > 0 ? 255 : 0;",
    "a[i] = a[u[i]! + 1]! + a[p[i]! - 1]! + a[u[i]! + c[i]!]!;",
    "if (a[i]! + p[i]! > 0) a[i] = 0;",
    "a[a[i]! + p[i]!] = 0;",
    "a[i] = a[i]! * p[i]! + 1;",
    "a[a[i]! % p[i]!] = 1;",
    "if (a[i]! < u[i]!) a[i] = 1;",
    "let x = 1; for (let j = 0; j < 99; j++) x = x * 3; a[i] = x;",
    "let x = 0; while (x < n) x += c[x]!; a[i] = x;",
  ])("%s is exact", (body) => {
    loopOf(file(body));
  });

  it.each([
    ["a[a[i]! / 2] = 1;", "a[i]! / 2", "may be no integer"],
    ["if (a[i]! / 2 > 1) a[i] = 1;", "a[i]! / 2 > 1", "may be no integer"],
    ["if (a[i]! < f[i]!) a[i] = 1;", "a[i]! < f[i]!", "an f32 may not hold"],
  ])("%s is not", (body, place, reason) => {
    expect(refusal(file(body))[0]).toMatch(
      new RegExp(`^BELAY514 ${place.replace(/[^\w\s]/g, "\\$&")}.*(${reason})`),
    );
  });
});

it.each([
  ["a[i] = +(c[i]! in a);", "c[i]! in a", "`in`"],
  ["a[i] = 2 * ((i as never) in Infinity);", "(i as never) in Infinity", "`in`"],
  ["a[i] = +((i as never) instanceof Number);", "(i as never) instanceof Number", "`instanceof`"],
])("%s is no arithmetic", (body, place, operator) => {
  const [found] = refusal(file(body));
  expect(found).toContain(place);
  expect(found).toContain(operator);
});

describe("numbers from outside", () => {
  const inputsOf = (body: string) => {
    const { loops } = translate(file(body), "f.ts");
    return Object.fromEntries(
      loops[0]!.loop.inputs.map(({ name, type }) => [loops[0]!.host.inputs[name], type]),
    );
  };

  it.each([
    ["a[i * width] = n;", { width: "i32", n: "i32" }],
    ["f[i] = f[i]! * scale;", { "Math.fround(scale)": "f32" }],
    ["f[i] = i * scale;", { "Math.fround(scale)": "f32" }],
    ["f[i] = f[i]! * (scale * scale + 1 / n);", { "Math.fround(((scale * scale) + (1 / n)))": "f32" }],
    ["if (flag) a[i] = 1;", { "(flag ? 1 : 0)": "i32" }],
    [
      "const x = i * scale; f[i] = Math.sin(x); a[Math.floor(i / width)] = 1;",
      { "Math.fround(scale)": "f32", width: "i32" },
    ],
    ["a[i] = width << 3;", { "(width << 3)": "i32" }],
  ])("%s", (body, inputs) => {
    expect(inputsOf(body)).toEqual(inputs);
  });

  it("are constants where the file says so", () => {
    const top = "const SIZE = 64, LIMIT = -0.5;";
    const loop = loopOf(file("a[i * SIZE] = 1; if (f[i]! < LIMIT) f[i] = SIZE;", { top }));
    expect(loop.inputs).toEqual([]);
  });
});

describe("the loop for the CPU", () => {
  it("compares in a way that no compiler takes for type arguments", async () => {
    const source = file("a[i] = a[i] ?? (i << a[u[i]! + c[i]!]!);");
    const resultOf = async (exports: ReturnType<typeof evaluate>) => {
      const [a, u, c] = [Int32Array.of(5, 6, 7), Uint32Array.of(1, 1, 1, 1), Uint8Array.of(0, 1, 1, 0)];
      await exports.run!(...([a, u, c, new Float32Array(4), new Int32Array(4), 4, 1, 1, true] as never[]));
      return [...a];
    };
    const { exports, calls } = evaluateTranslated(source);
    expect(await resultOf(exports)).toEqual(await resultOf(evaluate(source)));
    expect(calls.length).toBe(1);
  });
});

describe("functions of the file", () => {
  const top = `
const twice = (x: number) => x * 2;
function clamp(x: number, low: number, high = 100) { if (x < low) return low; if (x > high) { return high; } return x; }
function find(list: Int32Array, x: number) { for (let j = 0; j < 8; j++) { if (list[j] === x) return j; } return -1; }
const put = (list: Int32Array, at: number, x: number) => { if (at < 0) return; list[at] = twice(x); };
function next(x: number) { x = (x * 5 + 1) & 15; return x; }
`;

  it("are inlined, with what they return early", async () => {
    const source = file("a[i] = clamp(a[i]!, -5); put(a, find(p, i), next(i) + twice(3));", { top });
    const numbers = [-9, 3, 200, 7, 0, 0, 0, 0];
    const resultOf = async (exports: ReturnType<typeof evaluate>) => {
      const [a, p] = [Int32Array.from(numbers), Int32Array.of(3, 1, 0, 2, 9, 9, 9, 9)];
      await exports.run!(
        ...([a, new Uint32Array(8), new Uint8Array(8), new Float32Array(8), p, 8, 1, 1, true] as never[]),
      );
      return [...a];
    };
    const { exports, calls } = evaluateTranslated(source);
    expect(await resultOf(exports)).toEqual(await resultOf(evaluate(source)));
    expect(await resultOf(exports)).not.toEqual(numbers);
    expect(calls.length).toBe(2);
  });

  it.each([
    [
      "a[i] = f1(i);",
      "const f1 = (x: number): number => f2(x); const f2 = (x: number): number => f1(x);",
      "BELAY515 f1(x): not parallelized because `f1` calls itself through another function",
    ],
    [
      "a[i] = f4(i);",
      "const f4 = (x: number): number => (x < 1 ? 1 : f4(x - 1) + f4(x - 2) + f4(x - 3) + f4(x - 4));",
      "BELAY515 f4(x - 1): not parallelized because `f4` calls itself at 4 places",
    ],
    [
      "a[i] = outer(i);",
      'import { outer } from "./other.ts";',
      "BELAY513 outer(i): not parallelized because `outer` is imported from `./other.ts`, which cannot be read",
    ],
    [
      "a[i] = later(i);",
      "let later = (x: number) => x; later = (x) => x + 1;",
      "BELAY513 later(i): not parallelized because `later` may be any function",
    ],
    [
      "a[i] = half(i);",
      "function half(x: number) { if (x > 3) return x; }",
      "BELAY513 half(i): not parallelized because `half` does not return a value on each path",
    ],
    [
      "a[i] = Math.random();",
      "",
      "BELAY513 Math.random(): not parallelized because `Math.random` gives another value each time",
    ],
    [
      "console.log(i);",
      "",
      "BELAY513 console.log(i): not parallelized because `console.log` may do anything",
    ],
  ])("%s is refused", (body, helpers, message) => {
    expect(refusal(file(body, { top: helpers }))).toEqual([message]);
  });
});

describe("statements that give what they give as they are written", () => {
  const top = `
enum Kind { None, Wall = 3, Door, Both = Wall | 4 }
const LIMITS = { low: -3, high: 1 << 3 } as const;
function sumTo(list: Int32Array, end: number) { var s = 0; for (var j = 0; j < end; j++) { var x = list[j]!; s = (s + x) | 0; } return s; }
`;
  it.each([
    "switch (i) { case 0: a[0] = 1; case 1: a[1] = i; }",
    "switch (i & 3) { case 3: a[0] ^= 5; case 2: { a[1] = 7; } case 1: a[2] = i; break; default: a[3] = 9; }",
    "switch (i & 3) { default: a[0] = i; case 1: a[1] = i; break; case 2: a[2]!++; case 3: a[3] = i; }",
    "switch (i & 3) { case 0: if (flag) { break; } case 1: const t = i; a[t] = 4; case 2: a[i] = 5; }",
    "switch (p[i]) { case 1: case 2: case 3: a[i] = 8; case 4: a[0]!++; }",
    "[a[i], a[0]] = [a[0]!, a[i]!];",
    "let x = i, y = 3; [x, y] = [y, x]; [y] = [(x + y) | 0, 9]; a[i] = x; a[0] = y;",
    "let x = 0; [x, a[x]] = [2, i]; a[i] = x;",
    "let [x, y] = [p[i]!, i]; if (x > y) [x, y] = [y, x]; a[i] = (y - x) | 0;",
    "const [, y] = [a[i]++, a[i]!]; a[0] = y;",
    "a[i] ||= 7; a[0] &&= i; f[i] ??= 3; a[99] ??= 4;",
    "let x = p[i]!; x ||= 5; x &&= 3; a[i] = x;",
    "var x = i; if (flag) { var y = 1; } else { y = 2; } a[i] = x + y;",
    "for (var j = 0; j < 3; j++) a[j] = i; for (var j = 2; j >= 0; j--) p[j] = j;",
    "for (var j = 0; j < 3; j++) { if (a[j] === i) break; } a[i] = j;",
    "for (var j = 0; j < 2; j++) for (var j = 0; j < 3; j++) a[j] = i + j;",
    "for (var j = 0; j < 3; j++) a[j] = i; for (var k = j, j = 0; j < 2; j++) p[j] = k;",
    "let s = 0; for (const x of p) { if (x < 0) continue; if (x > 90) break; s = (s + x) | 0; } a[i] = s;",
    "let s = 0; for (const x of a) { s = (s * 3 + x) | 0; a[3] = i; } a[i] = s;",
    "for (let x of c) { x = x + 1; a[x & 3] = x; }",
    "outer: for (const x of p) for (const y of c) { if (x === y) continue outer; if (y > 2) break outer; a[i] = x; }",
    "a[i] = Number.isNaN(f[i]!) ? 1 : Number.isFinite(f[i]!) ? 2 : 3; a[0] = Number.isInteger(f[i]!) ? 1 : 0;",
    "a[i] = Number.isNaN(f[i + 9]!) || Number.isFinite(f[i + 9]!) || Number.isInteger(f[i + 9]!) ? 1 : 0;",
    "a[i] = Number.isNaN(p[i + 9]!) || Number.isFinite(p[i + 9]!) || Number.isInteger(p[i + 9]!) ? 1 : 0;",
    "a[i] = Number.isInteger(p[i]!) && Number.isFinite(scale) && !Number.isNaN(i) && Number.isInteger(n) ? 1 : 0;",
    "if (p[i + 3]! + 1 < 1e20) a[i] = 1; if (-1e20 > p[i + 3]!) a[0] = 2; if (p[i + 3]! !== 0.5) a[1] = 3;",
    "if ((p[i + 3]! % 3) >= -1e300) a[i] = 1; if (p[i]! <= 1e20) a[2] = 7;",
    "a[i] = Kind.Door + Kind.Both * Kind.None; if (a[i] === Kind.Wall) a[i] = LIMITS.high + LIMITS.low;",
    "a[i] = sumTo(p, i) + sumTo(c as never, 3);",
  ])("%s", async (body) => {
    const source = file(body, { top }).replace("a[p[i]!];", "");
    const resultOf = async (exports: ReturnType<typeof evaluate>, flag: boolean) => {
      const f = Float32Array.of(1, Number.NaN, 2.5, -0, Infinity, -7, 1e-45, -Infinity);
      const [a, p] = [Int32Array.of(5, 0, -2, 9, 0, 0, 1, 3), Int32Array.of(3, 1, 0, 2, 4, 99, -1, 9)];
      const data = [a, new Uint32Array(8), Uint8Array.of(0, 1, 2, 255), f, p];
      await exports.run!(...([...data, 8, 1, 0.5, flag] as never[]));
      return data;
    };
    const { exports, calls, diagnostics } = evaluateTranslated(source);
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    for (const flag of [true, false])
      expect(await resultOf(exports, flag)).toEqual(await resultOf(evaluate(source), flag));
    expect(calls.length).toBe(2);
  });
});

describe("what a GPU does not have", () => {
  it.each([
    ["const o = { x: 1 };", "an object"],
    ['const s = "xy";', "a string"],
    ["const b = 1n;", "a bigint"],
    ["const t = new Map();", "an object that the loop makes"],
    ["a[i] = arguments.length;", "`arguments` is not declared"],
    ["try { a[i] = 1; } catch {}", "an exception"],
    ["for (const x of scale) a[i] = x;", "the type of `scale` is not known"],
    ["for (const [x] of p) a[i] = x;", "destructuring"],
    ["for (const x in p) a[i] = x;", "a loop over a collection"],
    ["await 0;", "`await`"],
    ["using x = p;", "`using`"],
    ["const [x] = p;", "destructuring"],
    ["const { x } = p;", "a property of an object"],
    ["const { x = 1 } = p;", "destructuring"],
    ["[a[i], a[0]] = p;", "destructuring"],
    ["a[width++] ||= 1;", "`||=` with an index that changes something"],
    ["if (flag) { var v = 1; } a[i] = v;", "`v`, which may have no value yet,"],
    ["for (let j = 0; j < 3; j++) { if (j > 0) a[i] = v; var v = j; }", "`v`"],
    ["a[i] = Number.parseFloat(3);", "`Number.parseFloat` may do anything"],
    ["let x; if (flag) x = 1; a[i] = x;", "`x`, which may have no value yet,"],
    ["a.sort();", "`a.sort` may do anything"],
    ["this.x = 1;", "a property of an object"],
    ["q[i] = 1;", "`q` is not declared"],
    ["a = p;", "`a` cannot be assigned"],
  ])("%s is refused", (body, reason) => {
    const found = refusal(file(body));
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`not parallelized because ${reason}`);
  });

  it("is told once for each statement, and not again for what follows from it", () => {
    const source = file("const x = Math.random(); a[i] = x + 1; const y = x; f[i] = y; console.log(i);");
    expect(refusal(source)).toHaveLength(2);
  });
});

describe("types", () => {
  it.each([
    ["function run(a, n)", "/** @param {Int32Array} a  @param {number} n */", "js"],
    ["function run(a, n = 3)", "/** @param {Int32Array} a */", "js"],
    ["function run(n: number, b = new Int32Array(3), a = b)", "", "ts"],
    ["function run(a: Words, n: number)", "type Words = Int32Array;", "ts"],
    ["function run(n: number, a = Int32Array.from([1]))", "", "ts"],
    ["function run(n: number, a: Int32Array<ArrayBuffer>)", "", "ts"],
    ["function run(n: number, a: Readonly<Int32Array>)", "", "ts"],
  ])("%s %s", (signature, before, language) => {
    const source = `${before}\n${signature.replace("function", "async function")} {\n"use speculate";\n//#pragma omp for target(webgpu) speculate(a)\nfor (let i = 1; i < n; i++) a[i] = a[i - 1];\n}`;
    const { loops, diagnostics } = translate(source, `f.${language}`);
    expect(diagnostics).toEqual([]);
    expect(loops).toMatchObject([{ loop: { arrays: [{ name: "a", element: "i32", role: "tracked" }] } }]);
  });

  it.each([
    ["a: Set<number>", "`a` is a Set"],
    ["a: BigInt64Array", "`a` is a BigInt64Array"],
    ["a: any", "the type of `a` is not known"],
  ])("%s is refused", (parameter, reason) => {
    const source = `export async function f(${parameter}) {\n"use speculate";\n//#pragma omp for target(webgpu) speculate(a)\nfor (let i = 1; i < 9; i++) a[i] = 1;\n}`;
    expect(refusal(source)).toEqual([`BELAY512 a: not parallelized because ${reason}`]);
  });
});
