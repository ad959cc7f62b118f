/** Small arrays that an iteration makes, against the source as it is written. */
import { speculate } from "belay-speculate/internal/engine/speculate";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate, evaluateTranslated } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });

const around = (body: string) => `const SIZE = 3;
const sortInto = (t: number[], k: number) => {
  if (t[k]! > t[k + 1]!) [t[k], t[k + 1]] = [t[k + 1]!, t[k]!];
};
export async function run(a: Int32Array, f: Float32Array, d: Float64Array, n: number, m: number) {
  "use speculate";
  let s = 0;
  //#pragma omp for target(webgpu)
  for (let i = 0; i < n; i++) { ${body} }
  return s;
}`;

const loops = [
  "const t = [a[i]!, a[i + 1]!, a[i + 2]!]; sortInto(t, 0); sortInto(t, 1); sortInto(t, 0); a[i] = t[1]!;",
  "const t = new Float32Array(3); for (let k = 0; k < 3; k++) t[k] = d[i + k]! * 0.1; f[i] = t[0]! + t[2]!;",
  "const t = new Float64Array(SIZE); t[1] = d[i]! / 3; t[2]! += 2; d[i] = t[0]! - t[1]! * t[2]!;",
  "const t = new Array(4).fill(0); for (let k = 0; k < 8; k++) t[a[i + k]! & 3]++; a[i] = t[0]! * 8 + t[3]!;",
  "const t = Int8Array.of(a[i]!, 200, -0); t[2] = f[i]! * 100; a[i] = t[0]! + t[1]! * t[2]!;",
  "const t = new Uint8Array([1, 2]); t[0]! -= a[i]!; t[1] = 1e9; a[i] = t[0]! * t[1]!;",
  "const t = new Uint32Array(2); t[0] = a[i]!; t[1] = ~a[i]!; s += t[0]! > t[1]! ? 1 : 0;",
  "const t = [-0, a[i]! * 0]; d[i] = 1 / t[a[i]! & 1]!;",
  "const t = [f[i]! > 0, a[i]! > 5]; if (t[0] !== t[1]) a[i] = t.length;",
  "const t = [3, 1.5, a[i]!]; for (const x of t) d[i] = d[i]! + x; d[i + 1] = Math.max(...t, i) - Math.min(...t);",
  "const t = [a[i]!, 7], u = t; u[1] = 9; const [x, y] = t; a[i] = x - y;",
  "for (let k = 0; k < 2; k++) { const t = [k, a[i + k]!]; t[k]! += 5; a[i] = a[i]! + t[0]! * t[1]!; }",
  "const t = [0, 1, 2, 3, 4]; for (let k = 0; k < m && k < 5; k++) t[k & 3] = t[4 - (k & 3)]! + a[i]!; a[i] = t[m & 3]!;",
  "const t = new Uint16Array(2); if (a[i]! & 1) t[0] = 70000; else t[1]++; a[i] = t[0]! + t[1]!;",
];

const data = () => {
  const a = Int32Array.from({ length: 24 }, (_, at) => ((at * 7919 + 13) % 23) - 7);
  const f = Float32Array.from(a, (value) => value / 3);
  return [a, f, Float64Array.from(a, (value) => value / 7), 16, 3] as const;
};

async function resultOf({ run }: ReturnType<typeof evaluate>) {
  const given = data();
  return { returned: await run!(...(given as unknown as never[])), given };
}

it.each(loops)("are variables of the iteration: %s", async (body) => {
  const source = around(body);
  const { exports, calls, diagnostics } = evaluateTranslated(source);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(await resultOf(exports)).toEqual(await resultOf(evaluate(source)));
  expect(calls).toHaveLength(1);
});

it("are executed on the GPU", async () => {
  const device = await devices.newDevice();
  for (const body of loops.filter((_, at) => at % 3 === 0)) {
    let onGpu = 0;
    const exports = evaluate(replaceLoops(around(body), "loops.ts").code!, async (call) => {
      const done = await speculate(call, { device, fallback: "never" });
      onGpu += done.statistics.committed - done.statistics.onCpu;
      return done;
    });
    expect(await resultOf(exports), body).toEqual(await resultOf(evaluate(around(body))));
    expect(onGpu, body).toBeGreaterThan(0);
  }
});

it.each([
  ["const t = [1, 2, 3]; a[i] = t[a[i]!]!;", "an element that `t` may not have", "`t[k & 1]`"],
  ["const t = [1, 2, 3, 4]; a[i] = t[a[i]! & 7]!;", "an element that `t` may not have", "`t[k & 3]`"],
  [
    "const t = [1, 2, 3, 4]; a[i] = t[Math.abs(a[i]! % 4)]!;",
    "an element that `t` may not have",
    "`t[k & 3]`",
  ],
  ["const t = [1, 2]; a[i] = t[m]!;", "an element that `t` may not have", "`t[k & 1]`"],
  ["const t = [1]; a[i] = t[f[i]!]!;", "an element that `t` may not have", "`t[k & 0]`"],
  ["const t = new Array(2); a[i] = t[0];", "may have no value yet", "`.fill(0)`"],
  ["const t = new Float32Array(n); f[i] = t[0]!;", "with a length that is no constant", "before the loop"],
  ["const t = new Float32Array(100); f[i] = t[0]!;", "an array of 65 elements", "at most 64"],
  ["let t = [1]; t = [2]; a[i] = t[0]!;", "an array that the loop makes", ""],
  ["const t = [1, 2]; s += t;", "an array used as a value", "access its elements"],
])("are refused with what to write instead: %s", (body, reason, help) => {
  const [first] = replaceLoops(around(body), "f.ts").diagnostics;
  expect(first!.message).toContain(reason);
  expect(first!.help ?? "").toContain(help);
});
