/**
 * Random calls of a program, awaited or not, on arrays that stay on a device or not, leave the same
 * results as in order.
 */

import { speculate } from "belay-speculate/internal/engine/speculate";
import { type ResidentArray, resident } from "belay-speculate/internal/engine/transfer/resident";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import fc from "fast-check";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate } from "../support/loops/loopPrograms.ts";

const devices = testDevices();
/** `MIXED_CALLS=3000` runs a long search. */
const numRuns = Number(process.env.MIXED_CALLS ?? 40);
const size = 24;

const program = `
let total = 0;
export const get = () => total;
export async function scale(a: Int32Array, f: Float32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(f)
  for (let i = 0; i < n; i++) f[i] = f[i]! !== f[i]! ? Math.fround(i) : Math.fround(Math.min(f[i]!, 9) * 2);
}
export async function pick(a: Int32Array, f: Float32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a)
  for (let i = 0; i < n; i++) {
    if (!(f[i]! < 3)) a[i] = (a[i]! + 1) | 0;
    if (f[i]! !== f[i]!) a[(i + 1) % ${size}] = (a[i]! * 3) | 0;
    if (Math.sign(f[i]!) === -1) a[i] = a[i]! ^ 5;
  }
}
export async function add(a: Int32Array, f: Float32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) reduction(+:total)
  for (let i = 0; i < n; i++) total += a[i]! & 15;
}
export async function fill(a: Int32Array, f: Float32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a)
  for (let i = 0; i < n; i++) a[i] = (total + i) | 0;
}
export async function draw(a: Int32Array, f: Float32Array, n: number) {
  "use speculate";
  let s = n > 7 ? -1 : 77;
  //#pragma omp for target(webgpu) speculate(a)
  for (let i = 0; i < n; i++) { s = (Math.imul(s, 1664525) + 1013904223) >>> 0; a[i] = s; }
  return s;
}
export async function refused(a: Int32Array, f: Float32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a, f)
  for (let i = 0; i < n; i++) { a[i] = a[i]! + Math.random() * 0 + 1; f[i] = -f[i]!; }
}
`;

const operation = fc.record({
  what: fc.constantFrom(
    "scale",
    "pick",
    "add",
    "fill",
    "draw",
    "refused",
    "keep",
    "read",
    "write",
    "release",
  ),
  a: fc.nat(1),
  f: fc.nat(1),
  n: fc.constantFrom(0, 1, 7, 7.5, 12, size / 2 + 0.5, size),
  isAwaited: fc.boolean(),
  isMeasured: fc.boolean(),
});
const data = fc.array(fc.constantFrom(0, -0, 1, 2.5, -3, Number.NaN, Number.POSITIVE_INFINITY, 1e-30), {
  minLength: size,
  maxLength: size,
});

type Functions = Record<string, (...parameters: unknown[]) => Promise<unknown>>;

it("leaves the same results as the program as written", async () => {
  const device = await devices.newDevice();
  let isMeasured = false;
  const { code, diagnostics } = replaceLoops(program, "program.ts");
  expect(diagnostics.flatMap(({ severity, code }) => (severity === "error" ? [code] : []))).toEqual([
    "BELAY513",
  ]);
  let onDevice = 0;
  await fc.assert(
    fc.asyncProperty(data, fc.array(operation, { maxLength: 10 }), async (floats, operations) => {
      const real = evaluate(code!, async (call) => {
        const done = await speculate(call, { device, fallback: isMeasured ? "measured" : "never" });
        if (done.statistics.rounds > 0) onDevice++;
        return done;
      }) as unknown as Functions;
      const model = evaluate(program) as unknown as Functions;
      const make = () => [
        ...[3, 8].map((k) => Int32Array.from({ length: size }, (_, i) => (i * k) % 11)),
        ...[1, 5].map((k) => Float32Array.from(floats, (_, i) => floats[(i * k) % size]!)),
      ];
      const [arrays, expected] = [make(), make()];
      const kept = new Map<number, ResidentArray>();
      const under: Promise<unknown>[] = [];
      const returned: unknown[] = [];
      for (const [turn, { what, a, f, n, isAwaited, isMeasured: measured }] of operations.entries()) {
        isMeasured = measured;
        const place = n > 7 ? a : 2 + f;
        const own = kept.get(place);
        let promise: Promise<unknown> | undefined;
        if (what === "keep") kept.set(place, resident(arrays[place]!));
        else if (what === "read") promise = own?.read();
        else if (what === "release") {
          promise = own?.read();
          own?.release();
          kept.delete(place);
        } else if (what === "write") {
          promise = own?.write([turn, -turn], 2);
          if (own) expected[place]!.set([turn, -turn], 2);
        } else {
          // The program as written executes a loop before it returns.
          const last = model[what]!(expected[a], expected[2 + f], n);
          promise = real[what]!(arrays[a], arrays[2 + f], n);
          returned.push(Promise.all([promise, last]));
        }
        if (!promise) continue;
        under.push(promise);
        if (isAwaited) await promise;
      }
      await Promise.all(under);
      for (const own of kept.values()) await own.read();
      for (const own of kept.values()) own.release();
      for (const [found, last] of (await Promise.all(returned)) as [unknown, unknown][])
        expect(found).toBe(last);
      expect(arrays).toEqual(expected);
      expect(real.get!()).toBe(model.get!());
    }),
    { numRuns, seed: 23 },
  );
  expect(onDevice).toBeGreaterThan(0);
}, 3_600_000);
