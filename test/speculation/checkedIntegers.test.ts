/**
 * Integers that may leave 32 bits, on the GPU: iterations where they do run on the CPU, so that
 * every loop leaves what JavaScript leaves.
 */
import type { SpeculateCall } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });

/** Bodies of loops, each with true if an integer of some iteration leaves 32 bits. */
const bodies: readonly (readonly [string, boolean])[] = [
  ["out[i] = a[i]! + b[i]! > 0 ? 1 : 2;", true],
  ["out[i] = a[i]! - b[i]! < u[i]! ? 1 : 2;", true],
  ["out[i] = a[i]! < u[i]! ? 1 : 2;", true],
  ["out[i] = u[i]! - v[i]! > 5 ? 1 : 2;", true],
  ["out[i] = u[i]! + v[i]! > u[i]! ? 1 : 2;", true],
  ["out[i] = u[i]! * v[i]! > u[i]! ? 1 : 2;", true],
  ["out[i] = Math.abs(a[i]!) + Math.abs(b[i]!) < 50 ? 1 : 2;", true],
  ["out[i] = Math.abs(a[i]!) > b[i]! ? 1 : 2;", true],
  ["out[i] = -a[i]! > b[i]! ? 1 : 2;", true],
  ["out[i] = Math.abs(u[i]! - v[i]!);", true],
  ["out[i] = Math.abs(u[i]! - v[i]!) > 5 ? Math.abs(-u[i]!) : 2;", true],
  ["out[i] = Math.floor((u[i]! - v[i]!) / 2);", true],
  ["out[i] = Math.floor((a[i]! - b[i]!) / 2);", true],
  ["out[i] = Math.ceil(-a[i]! / 2);", true],
  ["out[i] = (u[i]! - v[i]!) * (u[i]! - v[i]!);", true],
  ["out[i] = a[i]! * b[i]! > 100 ? 1 : 2;", true],
  ["out[i] = a[i]! * b[i]! + 1;", true],
  ["out[i] = (a[i]! * b[i]! - a[i]!) % 7;", true],
  ["out[i] = a[i]! % b[i]! === 0 ? 1 : 2;", true],
  ["out[i] = Math.max(a[i]! + b[i]!, a[i]! - b[i]!);", true],
  ["const s = a[i]! + b[i]!; const t = s - u[i]!; out[i] = t > 0 ? t : s;", true],
  ["let s = 1; for (let j = 0; j < 12; j++) s = s * 9 + c[i]!; out[i] = s > 0 ? s % 1000 : 7;", true],
  ["let s = 0; for (let j = 0; j < c[i]!; j++) s += a[i]!; out[i] = s < 0 ? 1 : s > 9 ? 2 : 3;", true],
  ["let s = 0; while (s < 100) s += c[i]! + 1; out[i] = s;", false],
  ["out[i] = out[a[i]! + b[i]!] ?? 5; out[(a[i]! + b[i]!) & 7] = 3;", true],
  ["if (a[i]! + b[i]! === 5) continue; out[i] = a[i]!;", true],
  ["x[i] = 1 / (a[i]! * b[i]! * 0 + 0 * a[i]!);", true],
  ["x[i] = 1 / (a[i]! % b[i]!);", true],
  ["total += a[i]!; if (total > 100) total -= 50; out[i] = total > 3 ? 1 : 2;", true],
  ["out[i] = (i & 1 ? a[i]! : u[i]!) + 1 > 7 ? 1 : 2;", true],
  ["let k = 0; out[i] = (u[a[i]! & 15] ?? (k = i)) - b[i]! > k ? 1 : 2;", true],
  ["let s = i; if (a[i]! > 3) s = a[i]! + b[i]!; out[i] = s >= 0 ? 1 : 2;", true],
];

const extremes = [0, 1, -1, 7, -3, 2 ** 31 - 1, -(2 ** 31), 2 ** 30, -100];
const pairs = extremes.flatMap((one) => extremes.map((other) => [one, other] as const));

const source = bodies
  .map(
    (
      [body],
      at,
    ) => `export async function run${at}(a: Int32Array, b: Int32Array, u: Uint32Array, v: Uint32Array,
  c: Uint8Array, x: Float32Array, out: Int32Array) {
  "use speculate";
  let total = 0;
  //#pragma omp for target(webgpu) precision(f32)
  for (let i = 0; i < a.length; i++) { ${body} }
  return total;
}`,
  )
  .join("\n");

it("leave what JavaScript leaves", async () => {
  const device = await devices.sharedDevice();
  const { code, diagnostics } = replaceLoops(source, "integers.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const onCpu: number[] = [];
  const onDevice = evaluate(code!, async (call: SpeculateCall) => {
    const done = await speculate(call, { device, fallback: "never" });
    expect(done.statistics.committed).toBeGreaterThan(0);
    onCpu.push(done.statistics.onCpu);
    return done;
  });
  const written = evaluate(source);
  for (const [at, [body, leaves]] of bodies.entries()) {
    const resultOf = async (exports: typeof written) => {
      const data = [
        Int32Array.from(pairs, ([one]) => one),
        Int32Array.from(pairs, ([, other]) => other),
        Uint32Array.from(pairs, ([, other]) => other),
        Uint32Array.from(pairs, ([one]) => one),
        Uint8Array.from(pairs, ([one, other]) => one ^ other),
        new Float32Array(pairs.length),
        new Int32Array(pairs.length),
      ];
      return { returned: await exports[`run${at}`]!(...(data as never[])), data };
    };
    expect(await resultOf(onDevice), body).toEqual(await resultOf(written));
    expect(onCpu.pop()! > 0, body).toBe(leaves);
  }
});

const words = [0, 1, -1, 7, 2 ** 31 - 1, -(2 ** 31), 2 ** 32 - 1, 2_000_000_000];
/** Expressions with constants of more than 32 bits, or with products of more than 53. */
const expressions = [
  ...["<", ">=", "===", "+", "%"].map((operator) => `u[i]! ${operator} 4294967297`),
  ...["<=", ">", "!==", "-"].map((operator) => `-2147483649 ${operator} a[i]!`),
  ...["4294967295 * a[i]!", "a[i]! * u[i]!", "a[i]! / 1e10", "Math.min(a[i]!, 1e10)"],
];

it("compute with constants of more than 32 bits as JavaScript does", async () => {
  const device = await devices.sharedDevice();
  const stores = expressions.map((code, place) =>
    /[<>=]/.test(code) ? `if (${code}) out[${place} * n + i] = 1;` : `out[${place} * n + i] = ${code};`,
  );
  const source = `export async function run(a: Int32Array, u: Uint32Array, n: number, out: Int32Array) {
  "use speculate";
  //#pragma omp for target(webgpu)
  for (let i = 0; i < n; i++) { ${stores.join(" ")} }
}`;
  const { code, diagnostics } = replaceLoops(source, "constants.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const onDevice = evaluate(code!, (call: SpeculateCall) => speculate(call, { device, fallback: "never" }));
  const written = evaluate(source);
  const resultOf = async (exports: typeof written) => {
    const out = new Int32Array(words.length * expressions.length);
    const data = [Int32Array.from(words), Uint32Array.from(words), words.length, out];
    await exports.run!(...(data as never[]));
    return out;
  };
  expect(await resultOf(onDevice)).toEqual(await resultOf(written));
});

it("bail out also in windows that were proven to have no dependences", async () => {
  const device = await devices.sharedDevice();
  const source = `export async function run(a: Int32Array, out: Int32Array) {
  "use speculate";
  //#pragma omp for target(webgpu)
  for (let i = 0; i < a.length; i++) out[(i * 5) % 64] = a[i]! + a[i]! > 100 ? 1 : 2;
}`;
  const { code } = replaceLoops(source, "proven.ts");
  const onDevice = evaluate(code!, (call: SpeculateCall) => speculate(call, { device, fallback: "never" }));
  const small = Int32Array.from({ length: 64 }, (_, at) => at);
  const large = Int32Array.from({ length: 64 }, (_, at) => (at % 9 === 0 ? 2 ** 31 - 1 : at));
  for (const data of [small, small, small, large]) {
    const [actual, expected] = [new Int32Array(64), new Int32Array(64)];
    await onDevice.run!(...([data, actual] as never[]));
    await evaluate(source).run!(...([data, expected] as never[]));
    expect(actual).toEqual(expected);
  }
});
