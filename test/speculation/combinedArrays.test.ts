/**
 * Loops that only combine integers with elements of an array, such as histograms, on the GPU: every
 * element is what JavaScript leaves, on hostile data.
 */
import type { SpeculateCall, Speculated } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { combiningLoop } from "belay-speculate/internal/loops/analysis/combiningLoop";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });

/** Bodies of loops, with the operators of the arrays that they combine. */
const bodies: readonly (readonly [body: string, operators: string])[] = [
  ["h[c[i]!]++;", "h+"],
  ["h[a[i]!]--; g[c[i]!] += a[i]!;", "h+ g+"],
  ["h[c[i]!] -= a[i]!; g[a[i]! & 3] = (g[a[i]! & 3]! + a[i]!) | 0;", "h+ g+"],
  ["h[c[i]!] = (h[c[i]!]! >>> 0) + i; g[c[i]!] = (i + g[c[i]!]!) >>> 0;", "h+ g+"],
  ["h[c[i]!] |= 1 << i; g[c[i]!] &= ~i;", "h| g&"],
  ["const k = a[i]! & 7; if (a[i]! > 2) { h[k] ^= a[i]!; total += c[i]!; }", "h^"],
  ["h[c[i]!] = Math.max(h[c[i]!]!, a[i]!); g[c[i]!] = Math.min(g[c[i]!]!, i);", "hmax gmin"],
  ["for (let j = 0; j < 4; j++) h[c[i]! + j] += j;", "h+"],
  ["if (d[i]! >= 0 && d[i]! < 1) h[Math.floor(d[i]! * 8)]++;", "h+"],
  ["h[c[i]! - 3]++; if (a[i]! === 7 && i > 30) break;", "h+"],
  ["h[d[i]! * 2 - 1] += 2;", "h+"],
  ["h[c[i]!] += 2147483647; g[c[i]!] -= 4294967295;", "h+ g+"],
  // Other uses of the elements keep the order.
  ["h[c[i]!]++; total += h[0]!;", ""],
  ["total = h[c[i]!]++;", ""],
  ["h[c[i]!] = h[a[i]! & 7]! + 1;", ""],
  ["h[c[i]!]++; h[c[i]!] |= 1;", ""],
  ["h[c[i]!] = 3 - h[c[i]!]!;", ""],
  ["h[c[i]!] = Math.max(h[c[i]!]! >>> 0, a[i]!);", ""],
  ["f[c[i]!] += 1;", ""],
];

const n = 200;
const values = [0, 1, 2, 3, 7, -1, 100, 2 ** 31 - 1, -(2 ** 31), 5, 6];
const doubles = [0, 0.25, 0.99, -0, 1, 0.5, Number.NaN, 1e300, -3.5, 1.5];
const filled = <T extends ArrayLike<number> & { fill(value: number): T }>(
  array: T,
  from: readonly number[],
) =>
  Object.assign(
    array,
    Array.from(array, (_, at) => from[(at * 7) % from.length]!),
  );

const given = () => [
  filled(new Int32Array(8), [2 ** 31 - 1, 0, -5]),
  filled(new Uint32Array(8), [2 ** 32 - 1, 0, 5]),
  new Float32Array(8),
  filled(new Int32Array(n), values),
  filled(new Uint8Array(n), [0, 1, 2, 3, 200, 7, 4, 4, 4]),
  filled(new Float64Array(n), doubles),
];

const sourceOf = (body: string) => `
export async function run(h: Int32Array, g: Uint32Array, f: Float32Array, a: Int32Array, c: Uint8Array, d: Float64Array,
  n: number) {
  "use speculate";
  let total = 0;
  for (let i = 0; i < n; i++) { ${body} }
  return total;
}`;

it.each(bodies)("combine elements as JavaScript does: %s", async (body, operators) => {
  const source = sourceOf(body);
  const { code, diagnostics } = replaceLoops(source, "loops.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const device = await devices.newDevice();
  const executed: Speculated[] = [];
  const combined = new Set<string>();
  const { run } = evaluate(code!, async (call: SpeculateCall) => {
    const { loop } = call.doubles?.(call).call ?? call;
    for (const { name, operator } of combiningLoop(loop).arrays)
      if (operator) combined.add(`${name.at(-1)}${operator}`);
    const done = await speculate(call, { device, fallback: "never" });
    executed.push(done);
    return done;
  });
  const [expected, left] = [given(), given()];
  const returned = await evaluate(source).run!(...([...expected, n] as never[]));
  expect(await run!(...([...left, n] as never[]))).toEqual(returned);
  expect(left).toEqual(expected);
  expect([...combined].join(" ")).toBe(operators);
  const [{ statistics }] = executed as [Speculated];
  if (operators && statistics.onCpu === 0)
    expect(statistics).toMatchObject({ plans: ["in place"], rounds: 1 });
});
