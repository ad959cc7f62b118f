/**
 * Loops whose reductions are found in their statements, on the GPU: every variable is what
 * JavaScript leaves, on hostile data.
 */
import type { SpeculateCall, Speculated } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { scanLoop } from "belay-speculate/internal/loops/analysis/scanLoop";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate, evaluateTranslated } from "../support/loops/loopPrograms.ts";
import { sample } from "../support/sample.ts";
import { changeKernels } from "./changedKernels.ts";

const devices = testDevices({ full: true });

/** Bodies of loops over `x` and `y`, with the operators of the reductions found in them. */
const bodies: readonly (readonly [body: string, operators: string])[] = [
  ["x += a[i]!;", "+"],
  ["x -= a[i]!;", "+"],
  ["x += u[i]!; y -= u[i]!;", "+ +"],
  ["x = (x + a[i]!) | 0; y++;", "+ +"],
  ["if (a[i]! > 3) x++; else y--;", "+ +"],
  ["for (let j = 0; j < c[i]!; j++) x += c[j]!;", "+"],
  ["x = Math.imul(x, a[i]! | 1); y ^= a[i]!;", "* ^"],
  ["x |= a[i]!; y = y & ~a[i]!;", "| &"],
  ["x = Math.max(x, a[i]!); y = Math.min(u[i]! >>> 1, y);", "max min"],
  ["if (a[i]! > x) x = a[i]!;", ">"],
  ["if (x > a[i]!) x = a[i]!;", "<"],
  ["x = a[i]! >= x ? a[i]! : x;", ">="],
  ["if (f[i]! > x) { x = f[i]!; y = i; }", ">"],
  ["if (f[i]! >= x) { x = f[i]!; y = i; }", ">="],
  ["if (f[i]! < x) { y = i * 2; x = f[i]!; }", "<"],
  ["if (f[i]! <= x) { x = f[i]!; y = f[n - 1 - i]!; }", "<="],
  ["x = Math.max(x, f[i]!); y = Math.min(y, f[i]!, f[0]!);", "max min"],
  ["const v = a[i]!; if (c[i]! > 2 && v > x) { const w = c[i]!; x = v; y = w; }", ">"],
  ["for (let j = 0; j < 3; j++) if (f[i * 3 + j]! > x) { x = f[i * 3 + j]!; y = j; }", ">"],
  ["if (f[i]! > 0) x = f[i]!; if (a[i]! === 3) y = i;", "= ="],
  ["if (f[i]! > x) { x = f[i]!; y = i; } if (i > 20 && a[i]! === 7) break;", ">"],
  ["if (a[i]! === 7) continue; if (a[2 * i]! > x) { x = a[2 * i]!; y = i; }", ">"],
  ["out[i] = a[i]!; out[c[i]!] = i; x += out[i]!; if (out[i]! > y) y = out[i]!;", "+ >"],
  ["y = (y - a[i]!) | 0; x = (x - u[i]!) >>> 0;", "+ +"],
  ["for (let j = 0; j < 2; j++) x = (x + a[2 * i + j]!) | 0; if (c[i]! > 2) y = (u[i]! + y) | 0;", "+ +"],
  ["y = Math.max(y, a[i]!) | 0; x = Math.min(x, u[i]!) >>> 0;", "max min"],
  ["y = (y - a[2 * i]!) | 0; x = Math.imul(x, a[i]!) >>> 0;", "+"],
  ["x += c[i]! * 3; y -= c[i]!;", "+ +"],
  ["x += 2; if (a[i]! > 3) y -= 40;", "+ +"],
  // Other uses of the variable keep the order.
  ["if (a[i]! > x) x = a[i]!; out[i] = x;", ""],
  ["if (a[i]! > x) { x = a[i]!; break; }", ""],
  ["if (a[i]! > x) x = a[i]!; else if (a[i]! < y) y = a[i]!;", "<"],
  ["if (a[y]! > x) { x = a[y]!; y = i & 7; }", ""],
  ["if (a[i]! > x) x = a[i]! + 1;", ""],
  ["x += a[i]!; if (i === 9) x = 0;", ""],
  ["if (a[i]! > x) { x = a[i]!; y = i; } if (i === 30) y = -1;", ""],
  ["x += f[i]!;", ""],
];

/** Bodies of loops in which the variable `x`, or also `y`, is scanned. */
const scanned: readonly string[] = [
  "if (a[i]! > 3) out[x++] = a[i]!;",
  "if (a[i]! > 3) out[x++] = i; else out[n - 1 - y++] = i;",
  "if (c[i]! > 2 && f[i]! > 0) { out[x] = i; x += 2; }",
  "x = (x + a[i]!) | 0; out[i] = x;",
  "out[i] = x; x += c[i]!; y -= c[i]!;",
  "x += a[i]!; out[i] = x;",
  "out[i] = y - x; if (c[i]! > 2) x -= a[i]!; y += c[i]!;",
  "for (let j = 0; j < (c[i]! & 3); j++) { out[x] = j; x++; }",
  "if (a[i]! === 7) continue; out[x++] = a[i]!; if (i > 30 && a[i]! === 5) break;",
  "out[c[x & 3]!] = x; if (a[i]! > 0) x++;",
  "if (a[2 * i]! > 0) out[x++] = a[2 * i]!;",
  "for (let j = 0; j < c[i]!; j++) if (a[j]! > 0) x++; out[i] = x;",
];

/**
 * Bodies in which what the variable adds depends on iterations before, and one whose addresses
 * follow from numbers alone.
 */
const inOrder: readonly string[] = [
  "if (out[i]! > 3) x++; out[c[i]!] = i; out[i] = x;",
  "if (a[out[i]! & 7]! > 3) x++; out[c[i]!] = i; out[i] = x;",
  "if (x < 9) out[x++] = a[i]!;",
  "out[x++] = a[i]!; if (a[i]! > 3) x = 0;",
  "if (a[i]! > 3) { out[x++] = i; } if (out[i]! > 5) break;",
  "out[x & 7] = i; x += 3;",
  "x += x & 1; x++; out[i] = x;",
  "const v = out[i]!; for (let j = 0; j < v; j++) x++; out[x & 7] = x;",
];

/** Returns a module with a function for each body. */
const moduleOf = (bodies: readonly string[]) =>
  bodies
    .map(
      (body, at) => `
export async function run${at}(a: Int32Array, u: Uint32Array, c: Uint8Array, f: Float32Array,
  out: Int32Array, n: number, x: number, y: number) {
  "use speculate";
  //#pragma omp for target(webgpu)
  for (let i = 0; i < n; i++) { ${body} }
  return [x, y];
}`,
    )
    .join("\n");

const whole = [0, 1, -1, 7, 3, 2 ** 31 - 1, -(2 ** 31), 5, -100, 7];
const single = [0, -0, Number.NaN, 1, -1, Number.POSITIVE_INFINITY, 1e-40, -0, 0, Number.NEGATIVE_INFINITY];

/** Returns the arrays of a call with `n` iterations. Some are short, and some have few values. */
function arraysOf(n: number, kind: number) {
  const at = <Value>(values: readonly Value[], place: number) =>
    values[(place * 7 + ((place * place) >> 3) + kind) % (kind % 2 === 0 ? values.length : 3)]!;
  const filled = <Type extends Int32Array | Uint32Array | Uint8Array | Float32Array>(
    array: Type,
    values: readonly number[],
  ): Type => {
    for (let place = 0; place < array.length; place++) array[place] = at(values, place);
    return array;
  };
  const length = kind === 3 ? Math.max(0, n - 2) : 3 * n;
  return [
    filled(new Int32Array(length), whole),
    filled(new Uint32Array(length), whole),
    filled(new Uint8Array(length), whole),
    filled(new Float32Array(length), single),
    new Int32Array(length),
  ] as const;
}

const starts = [
  [0, -1],
  [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  [-0, Number.NaN],
  [5, 2 ** 31 - 1],
  [2 ** 31 - 1, 2 ** 32 - 1],
  [5e9, 0.5],
] as const;

type Start = readonly [x: number, y: number];

/**
 * Executes each body on the device, with the values of `x` and `y` that belong to a number of
 * iterations and a kind of data. Returns a call of each body's loop.
 */
async function expectWritten(
  bodies: readonly string[],
  runsOf: (at: number) => readonly (readonly [n: number, kind: number, start: Start])[],
  device: GPUDevice,
): Promise<SpeculateCall[]> {
  const source = moduleOf(bodies);
  const { code, diagnostics } = replaceLoops(source, "loops.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const calls: SpeculateCall[] = [];
  const onDevice = new Set<string>();
  const translated = evaluate(code!, async (call) => {
    calls[Number(call.loop.name.slice(3))] = call;
    const done: Speculated = await speculate(call, { device, fallback: "never" });
    if (done.statistics.rounds > 0) onDevice.add(call.loop.name);
    return done;
  });
  const written = evaluate(source);
  for (const [at, body] of bodies.entries()) {
    for (const [n, kind, [x, y]] of runsOf(at)) {
      const [expected, given] = [arraysOf(n, kind), arraysOf(n, kind)];
      const returned = await written[`run${at}`]!(...([...expected, n, x, y] as never[]));
      const result = await translated[`run${at}`]!(...([...given, n, x, y] as never[]));
      const about = { body, n, kind };
      expect({ ...about, result, given }).toEqual({ ...about, result: returned, given: expected });
    }
  }
  expect(onDevice.size).toBe(bodies.length);
  return calls;
}

it("finds the reductions of a loop, which leave what JavaScript leaves", async () => {
  const texts = bodies.map(([body]) => body);
  const runsOf = (at: number) => [
    // The value from before the loop makes the result wrap.
    [40, 0, [2 ** 31 - 1, -(2 ** 31)]] as const,
    ...[0, 1, 40, 1100].flatMap((n) => {
      const [first, ...others] = [...starts.entries()];
      const met = [first!, ...(n > 40 ? [] : sample(others, at, 2))];
      return met.map(([kind, start]) => [n, kind, start] as const);
    }),
  ];
  const calls = await expectWritten(texts, runsOf, await devices.sharedDevice());
  const found = calls.map(({ loop }) => loop.reductions.map(({ operator }) => operator).join(" "));
  expect(found).toEqual(bodies.map(([, operators]) => operators));
});

it("leaves what JavaScript leaves on the CPU too", async () => {
  const source = moduleOf([...bodies.map(([body]) => body), ...scanned]);
  const { exports, calls } = evaluateTranslated(source);
  const written = evaluate(source);
  for (const name of Object.keys(written))
    for (const n of [0, 1, 2, 40])
      for (const [kind, [x, y]] of starts.entries()) {
        const [expected, given] = [arraysOf(n, kind), arraysOf(n, kind)];
        const returned = await written[name]!(...([...expected, n, x, y] as never[]));
        const result = await exports[name]!(...([...given, n, x, y] as never[]));
        const about = { name, n, x, y };
        expect({ ...about, result, given }).toEqual({ ...about, result: returned, given: expected });
      }
  expect(new Set(calls.map(({ loop }) => loop.name)).size).toBe(Object.keys(written).length);
});

it("adds up small integers to more than 32 bits", async () => {
  const { exports, calls } = evaluateTranslated(`export async function run(s: Int16Array) {
  "use speculate";
  let total = 0;
  for (let i = 0; i < s.length; i++) total += s[i]!;
  return total;
}`);
  const s = new Int16Array(70_000).fill(2 ** 15 - 1);
  expect(await exports.run!(...([s] as never[]))).toBe(70_000 * (2 ** 15 - 1));
  expect(calls.map(({ loop }) => loop.reductions)).toMatchObject([[{ name: "total", isWide: true }]]);
});

describe("a sum that a double may not hold", () => {
  const source = `export async function run(a: Int32Array, total: number, seen: number) {
  "use speculate";
  for (let i = 0; i < a.length; i++) { total += a[i]!; if (a[i]! > 1) seen++; }
  return [total, seen];
}`;
  const a = Int32Array.from({ length: 200_000 }, (_, at) => (at % 5) - 1);

  /** Returns what the loop leaves, and how it was executed, if a sum begins with \`before\`. */
  async function executed(before: number, largestChange: number | undefined) {
    const device = await devices.sharedDevice();
    const steps: number[] = [];
    let statistics: Speculated["statistics"] | undefined;
    const { run } = evaluate(replaceLoops(source, "loops.ts").code!, async (call) => {
      const [sum, ...others] = call.loop.reductions;
      expect(sum).toMatchObject({ name: "total", isWide: true, largestChange: 2 ** 31 });
      const { largestChange: _, ...unlimited } = sum!;
      const changed = largestChange === undefined ? unlimited : { ...sum!, largestChange };
      const loop = { ...call.loop, reductions: [changed, ...others] };
      const reductions = { ...call.reductions, total: before };
      const done = await speculate(
        { ...call, loop, reductions },
        { device, fallback: "never", onProgress: ({ done }) => steps.push(done) },
      );
      ({ statistics } = done);
      return done;
    });
    const returned = await run!(...([a, 0, 0] as never[]));
    expect(steps).toEqual([...steps].sort((one, other) => one - other));
    return { returned, ...statistics! };
  }
  const written = (before: number) => evaluate(source).run!(...([a, before, 0] as never[]));

  it("is added up in parts that a double surely holds", async () => {
    const { returned, committed, onCpu, rounds } = await executed(7, 2 ** 53 / 70_000);
    expect({ returned, committed, onCpu }).toEqual({
      returned: await written(7),
      committed: 200_000,
      onCpu: 0,
    });
    expect(rounds).toBeGreaterThan(2);
  });

  it("is left to the CPU where it may round, as each addition rounds there", async () => {
    const before = 2 ** 53 - 100;
    const { returned, onCpu, reason } = await executed(before, 2 ** 31);
    expect({ returned, onCpu }).toEqual({ returned: await written(before), onCpu: 200_000 });
    expect(reason).toBe("a double may not hold a sum");
    expect((await executed(before, undefined)).returned).not.toEqual(returned);
  });
});

it("says that a clause cannot coerce a minimum", () => {
  const errorsIn = (clause: string, coercion: string) =>
    replaceLoops(
      `export async function run(u: Uint32Array, s: number) {
  "use speculate";
  //#pragma omp for target(webgpu) ${clause}
  for (let i = 0; i < u.length; i++) { s = Math.min(s, u[i]!)${coercion}; }
  return s;
}`,
      "loops.ts",
    ).diagnostics.flatMap(({ severity, code }) => (severity === "error" ? [code] : []));
  expect(errorsIn("reduction(min:s)", " | 0")).toEqual(errorsIn("reduction(max:s)", ""));
  expect(errorsIn("reduction(min:s)", " | 0")).toHaveLength(1);
  expect(errorsIn("reduction(min:s)", "")).toEqual([]);
  expect(errorsIn("", " >>> 0")).toEqual([]);
});

it("scans what iterations only add to, and leaves what JavaScript leaves", async () => {
  const runsOf = (at: number) =>
    [
      [0, 0, [0, 0]],
      [1, 1, [0, 0]],
      [40, at % 3, [0, 0]],
      [40, 3, [5, 2 ** 31 - 1]],
      [at < scanned.length ? 2500 : 40, 0, [1, 2]],
    ] as const;
  const calls = await expectWritten([...scanned, ...inOrder], runsOf, await devices.sharedDevice());
  const found = calls.map(({ loop }) => scanLoop(loop) !== null);
  expect(found).toEqual([...scanned.map(() => true), ...inOrder.map(() => false)]);
});

it.each([
  ["select(earlier, later", "select(later, earlier", 12],
  ["before += scanned[level.sums + workgroup.x]", "before += 0u", 0],
  ["var before = level.base", "var before = 0u", 0],
] as const)("notices a kernel without %s", async (find, put, at) => {
  const device = await devices.sharedDevice();
  const changed = changeKernels(device, find, put);
  const body = at === 0 ? scanned[0]! : bodies[at]![0];
  await expect(expectWritten([body], () => [[2500, 0, [3, 0]]], device)).rejects.toThrow("deeply equal");
  expect(changed()).toBeGreaterThan(0);
});

it("leaves what JavaScript leaves if arrays overlap", async () => {
  const bodies = [
    "if (a[i]! > 3) out[x++] = a[i]!;",
    "out[i] = x; x += a[i]! & 3;",
    "if (a[i]! > x) { x = a[i]!; y = i; } out[i] = i;",
    "x += a[i]!; out[n - 1 - i] = i;",
    "switch (a[i]! & 3) { case 0: x++; break; case 1: x += 2; default: x += 5; } out[i] = x;",
  ];
  const source = moduleOf(bodies);
  const { code } = replaceLoops(source, "loops.ts");
  const device = await devices.sharedDevice();
  const translated = evaluate(code!, (call) => speculate(call, { device }));
  const written = evaluate(source);
  const { u, c, f } = { u: new Uint32Array(1), c: new Uint8Array(1), f: new Float32Array(1) };
  for (const [at, body] of bodies.entries())
    for (const [from, to] of [
      [0, 0],
      [1, 0],
      [0, 3],
    ] as const) {
      const [expected, given] = [0, 1].map(() => arraysOf(40, 0)[0]) as [Int32Array, Int32Array];
      const argumentsOf = (data: Int32Array) =>
        [data.subarray(from), u, c, f, data.subarray(to), 40, 1, -5] as never[];
      const returned = await written[`run${at}`]!(...argumentsOf(expected));
      const result = await translated[`run${at}`]!(...argumentsOf(given));
      expect({ body, from, to, result, given }).toEqual({
        body,
        from,
        to,
        result: returned,
        given: expected,
      });
    }
});
