/** Arrays of arrays and arrays of objects in loops, against the source as it is written. */
import { speculate } from "belay-speculate/internal/engine/speculate";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate, evaluateTranslated } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });

/** Returns a function with a loop over arrays of arrays, and of objects. */
const around = (
  loop: string,
) => `interface Particle { x: number; v: number; readonly mass: number; name?: string }
type Grid = number[][];
const MATRIX = [[1, 2, 1], [2, 4, 2], [1, 2, 1]];
const STOPS = [{ at: 0, value: 0.5 }, { at: 3, value: -0 }];
const energy = (p: Particle, scale: number) => p.mass * p.v * p.v * scale;
const cell = (grid: Grid, y: number, x: number) => grid[y]![x]!;
export async function run(g: Grid, h: readonly (readonly number[])[], ps: Particle[], out: Float64Array, where: Int32Array) {
  "use speculate";
  let s = 0;
  //#pragma omp for target(webgpu)
  ${loop}
  return s;
}`;

/** Each with true if the loop has to run as it is written for the data. */
const loops: [loop: string, leaves?: true][] = [
  [
    "for (let y = 0; y < g.length; y++) for (let x = 0; x < g[y]!.length; x++) g[y]![x] = g[y]![x]! * 2 + h[y]![x]!;",
  ],
  [
    "for (let y = 0; y < g.length; y++) { const row = g[y]!; for (let x = 1; x < row.length - 1; x++) out[x] = row[x - 1]! + row[x + 1]!; }",
  ],
  [
    "for (let y = 1; y < h.length - 1; y++) for (let x = 1; x < h[0]!.length - 1; x++) { let sum = 0; for (let dy = -1; dy <= 1; dy++) for (let dx = -1; dx <= 1; dx++) sum += h[y + dy]![x + dx]! * MATRIX[dy + 1]![dx + 1]!; g[y]![x] = sum / 16; }",
  ],
  ["for (const row of g) for (const value of row) s += value;"],
  ["for (const row of h) for (let x = 0; x < row.length; x++) row[x]! > 2 ? s++ : s--;"],
  ["for (let i = 0; i < g.length; i++) { const [a, b] = g[i]!; out[i] = a! - b!; }"],
  ["g.forEach((row, y) => { out[y] = row[0]! / 3; });"],
  ["for (let i = 0; i < 3; i++) { s += cell(g, i, i); g[i]![i] = -0; }"],
  ["for (let i = 0; i < ps.length; i++) { ps[i]!.x += ps[i]!.v * 0.1; }"],
  [
    "for (let i = 0; i < ps.length; i++) { const p = ps[i]!; p.x += p.v * 0.1; if (p.x > 1) { p.x = 1; p.v = -p.v; } }",
  ],
  ["for (const p of ps) { p.v -= 9.81 * 0.01; p.x += p.v; }"],
  ["for (const { x, mass } of ps) s += x * mass;"],
  ["ps.forEach((p, i) => { out[i] = p.x; p.x = i; });"],
  ["for (const p of ps) s += energy(p, 0.5);"],
  [
    "for (let i = 0; i < ps.length; i++) for (let j = 0; j < ps.length; j++) if (i !== j) ps[i]!.v += (ps[j]!.x - ps[i]!.x) * ps[j]!.mass;",
  ],
  ["for (let i = 0; i < ps.length; i++) for (const q of ps) ps[i]!.v += q.mass;"],
  ["for (let i = 0; i < 4; i++) out[where[i]!] = ps[where[i]!]!.x;"],
  ["for (let i = 0; i < 4; i++) g[where[i]! % 3]![where[i]! % 2] = i + 1.5;"],
  ["for (let i = 0; i < 2; i++) { const { at, value } = STOPS[i]!; out[at] = value + i; }"],
  ["for (let i = 0; i < ps.length; i++) { g[0]![i % 3]!++; s += ps.length + g.length + h[0]!.length; }"],
  // These access what is no element, or what is no array.
  ["for (let i = 0; i < 5; i++) { out[i]! += 1; g[i]![0] = i; }", true],
  ["for (let i = 0; i < 5; i++) { out[i]! += 1; s += ps[i]!.x; }", true],
  ["for (let i = 0; i < 3; i++) g[i]![i + 1] = 7;", true],
  ["for (let i = 0; i < 3; i++) s += h[i]![where[i]! + 2] ?? 0.5;"],
  ["for (let i = 0; i < 4; i++) { out[i] = i; s += g[where[i]! + 1]![0] ?? 3; }", true],
  ["for (let i = 0; i < 4; i++) { out[i] = i; s += ps[where[i]! + 1]!.x ?? 3; }", true],
  ["for (let i = 0; i < 4; i++) { out[i] = i; s += g[where[i]! + 1]!.length; }", true],
  ["for (let i = 0; i < 3; i++) { s += i; g[i - 1]![0] = i; }", true],
];

const data = (change: (given: ReturnType<typeof plain>) => unknown = () => {}) => {
  const given = plain();
  change(given);
  return given;
};

function plain() {
  const g = [
    [1.5, -0, Number.NaN],
    [2 ** 60, -7, 0.1],
    [3, 4, 5],
  ];
  const h: unknown[] = [
    [2, 7, 1],
    [8, 2, 8],
    [1, 8, 2],
  ];
  const ps: object[] = [1, 0.5, 3, -2].map((x, at) => ({ x, v: at - 1.25, mass: 2 + at, name: "p" }));
  return { g: g as unknown[], h, ps, out: new Float64Array(5), where: Int32Array.of(3, 0, 2, 1) };
}

async function resultOf({ run }: ReturnType<typeof evaluate>, given: ReturnType<typeof plain>) {
  const returned = await (run!(...(Object.values(given) as never[])) as Promise<unknown>).catch(String);
  return { returned, given };
}

it.each(loops)("are copied, and changed as by the source: %s", async (loop, leaves) => {
  const source = around(loop);
  const { exports, calls, diagnostics } = evaluateTranslated(source);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(await resultOf(exports, data())).toEqual(await resultOf(evaluate(source), data()));
  if (!leaves) expect(calls).toHaveLength(1);
});

it("are executed on the GPU, and left to the source where they have no element", async () => {
  const device = await devices.sharedDevice();
  for (const [at, [loop, leaves]] of loops.entries()) {
    if (at % 3 > 0 && !loop.includes("??")) continue;
    const source = around(loop);
    let onGpu = 0;
    const exports = evaluate(replaceLoops(source, "loops.ts").code!, async (call) => {
      const done = await speculate(call, { device, fallback: "never" });
      onGpu += done.statistics.committed - done.statistics.onCpu;
      return done;
    });
    expect(await resultOf(exports, data()), loop).toEqual(await resultOf(evaluate(source), data()));
    expect(onGpu > 0, loop).toBe(!leaves);
  }
});

it("run as they are written if parts are shared, missing or of another kind", async () => {
  class Row extends Array<number> {}
  /** Each takes the second place in a list of the data. */
  const values: ["g" | "ps", (given: ReturnType<typeof plain>) => unknown][] = [
    ["g", ({ g }) => g[0]],
    ["g", ({ h }) => h[2]],
    ["g", () => [1, 2]],
    ["g", () => [1, 2, 3, 4]],
    ["g", () => null],
    ["g", () => [1, "2", 3]],
    ["g", () => Row.of(1, 2, 3)],
    ["g", () => Object.freeze([1, 2, 3])],
    ["g", () => Float64Array.of(1, 2, 3)],
    ["ps", ({ ps }) => ps[0]],
    ["ps", () => Object.freeze({ x: 1, v: 2, mass: 3 })],
    ["ps", () => ({ x: "1", v: 2, mass: 3 })],
    ["ps", () => ({ v: 2, mass: 3 })],
    ["ps", () => Object.create({ x: 1, v: 2, mass: 3 })],
    ["ps", () => Object.defineProperty({}, "x", { get: () => 7, set: () => {} })],
    ["ps", () => null],
  ];
  const source = around(`for (let i = 0; i < ps.length - 1; i++) {
    ps[i]!.x += ps[i + 1]!.x;
    g[i]![0] = g[i]![1]! + h[i]![2]!;
  }`);
  for (const [at, [list, value]] of values.entries()) {
    const changed = () => data((given) => given[list].splice(1, 1, value(given) as object));
    const { exports, calls } = evaluateTranslated(source);
    const expected = await resultOf(evaluate(source), changed());
    expect(await resultOf(exports, changed()), `value ${at}`).toEqual(expected);
    expect(calls, `value ${at}`).toEqual([]);
  }
  const { exports, calls } = evaluateTranslated(source);
  const sparse = () => data((given) => Reflect.deleteProperty(given.g, 1));
  expect(await resultOf(exports, sparse())).toEqual(await resultOf(evaluate(source), sparse()));
  expect(calls).toEqual([]);
});

it("may be shared by a loop that only reads them", async () => {
  const source = around("for (let i = 0; i < 3; i++) out[i] = g[i]![i]! + h[i]![0]!;");
  const { exports, calls } = evaluateTranslated(source);
  const change = (given: ReturnType<typeof plain>) => {
    given.g[1] = given.g[0];
    given.h = given.g;
  };
  expect(await resultOf(exports, data(change))).toEqual(await resultOf(evaluate(source), data(change)));
  expect(calls).toHaveLength(1);
});

it("keep the order of calls that are not awaited", async () => {
  const source = around("for (let i = 0; i < g.length; i++) g[i]![0] = g[i]![0]! * 2 + h[i]![0]!;");
  const { exports } = evaluateTranslated(source);
  const row = [1];
  const call = (addend: number) =>
    exports.run!(...([[row], [[addend]], [], new Float64Array(), new Int32Array()] as never[]));
  await Promise.all([1, 2, 3].map(call));
  expect(row).toEqual([19]);
});

it("are refused where the loop uses an array or an object as a value", () => {
  const textOf = (loop: string) =>
    replaceLoops(around(loop), "f.ts").diagnostics.flatMap(({ severity, message, help }) =>
      severity === "error" ? [`${message}: ${help}`] : [],
    );
  const used =
    "not parallelized because an array or object in an array used as a value cannot run on a GPU: name it in a `const`, and use its numbers; a loop cannot replace it";
  expect(textOf("for (let i = 0; i < 3; i++) g[i] = [1, 2, 3];")).toEqual([used]);
  expect(textOf("for (let i = 0; i < 3; i++) [g[i], g[0]] = [g[0]!, g[i]!];")).toEqual([used]);
  expect(textOf("for (const p of ps) if (p.name === 'a') s++;")).toHaveLength(1);
});
