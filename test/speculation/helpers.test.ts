/**
 * Functions that loops call. Both processors leave what the source leaves as it is written, also in
 * the variables that functions change.
 */
import type { SpeculateCall } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate, executeInParts } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });

const helpers = `
let seed = 3;
const next = () => { seed = (seed * 5 + 1) & 1023; return seed; };
const flip = () => { isOn = !isOn; };
let isOn = false;
function firstAbove(list: Int32Array, low: number) { for (const x of list) { if (x > low) return x; } return -1; }
function nested(list: Int32Array, low: number) { if (low > 8) return 100; const x = firstAbove(list, low); return x + 1000; }
function kindOf(x: number) { switch (x & 3) { case 0: return 5; case 1: x++; default: return x; case 2: return 7; } }
const identity = <T extends number>(x: T): number => x;
const gcd = (x: number, y: number): number => (y === 0 ? x : gcd(y, x % y));
function place(list: Int32Array, x: number, low: number, high: number): number {
  if (low >= high) return low;
  const middle = (low + high) >> 1;
  return list[middle]! < x ? place(list, x, middle + 1, high) : place(list, x, low, middle);
}
function steps(x: number, count = 0): number {
  for (let k = 0; k < 3; k++) if (x === k) { if (k > 1) return steps(0, count + 10); return count; }
  switch (x & 1) { case 0: return steps(x >> 1, count + 1); default: { const odd = x; return steps(3 * odd + 1 - odd * 2, count + 2); } }
}
const norm = ({ x, y: z = 4 }: { x: number; y?: number }, scale = 2) => Math.abs(x) * scale + z;
const mixed = ({ gain, list: t }: { gain: number; list: Int32Array }, [u, v = 3]: readonly number[]) => gain * u! + v + t[1]!;
const listed = (p: Readonly<{ gain: number; list: Int32Array }>, x: number) => {
  const { gain } = p;
  return p.list[x & 15]! + p.list.length - gain;
};
function scaled(o: { gain: number; list: Int32Array }, x: number) { return x > 4 ? x * o.gain : listed(o, x); }
function countdown(x: number, y = x + 1) { while (x > 0) { x -= y; if (x === 7) return -7; } return x; }
`;

/** Bodies of loops, in a function with variables that helpers of it change. */
const bodies = [
  "out[i] = next();",
  "if (a[i]! > 5) next(); out[i] = seed;",
  "flip(); out[i] = isOn ? a[i]! : -1;",
  "out[i] = firstAbove(a, i);",
  "out[i] = nested(a, i) + nested(a, 2 * i);",
  "out[i] = kindOf(a[i]!) * 10 + kindOf(i);",
  "out[i] = identity(a[i]!) + identity<number>(i);",
  "out[i] = countdown(a[i]!) + countdown(a[i]!, 3);",
  "add(i); if (a[i] === 6) add(total); out[i] = total;",
  "out[i] = gcd(a[i]! * 6, 15 + i) + gcd(a[i]!, a[0]!);",
  "out[i] = place(options.list, a[i]!, 0, a.length);",
  "out[i] = steps(a[i]!);",
  "out[i] = norm({ y: next(), x: next() - seed - 7 }) + norm({ x: i }, 3);",
  "const t = [i, a[i]!]; out[i] = mixed(options, t) + mixed(options, [i]) + t.at(-1)! + a.at(-2)! + a.at(0)!;",
  "const { gain, shift: by } = options; out[i] = a[i]! * gain + by;",
  "let { gain } = options; gain += i; const { list } = options; out[i] = gain + list[i]!;",
  "out[i] = scaled(options, a[i]!) + listed(options, i);",
  "if (add(1) > 3) return [total, i]; out[i] = total;",
];

it("give what they give as they are written", async () => {
  const source =
    helpers +
    bodies
      .map(
        (body, at) => `
export async function run${at}(a: Int32Array, out: Int32Array,
  options: { readonly gain: number; shift: number; list: Int32Array }) {
  "use speculate";
  let total = 1;
  const add = (x: number) => { total = (total + x) | 0; return total; };
  //#pragma omp for target(webgpu)
  for (let i = 0; i < a.length; i++) { ${body} }
  return [total, seed, isOn];
}`,
      )
      .join("\n");
  const { code, diagnostics } = replaceLoops(source, "helpers.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const device = await devices.newDevice();
  const written = evaluate(source);
  const executions = [
    evaluate(code!, executeInParts),
    evaluate(code!, async (call: SpeculateCall) => {
      const done = await speculate(call, { device, fallback: "never" });
      expect(done.statistics.rounds).toBeGreaterThan(0);
      return done;
    }),
  ];
  for (const [at, body] of bodies.entries()) {
    const resultOf = async (exports: typeof written) => {
      const a = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3);
      const out = new Int32Array(a.length);
      const options = { gain: 3, shift: -2, list: a.slice().reverse() };
      return { returned: await exports[`run${at}`]!(...([a, out, options] as never[])), a, out };
    };
    const expected = await resultOf(written);
    for (const one of executions) expect(await resultOf(one), body).toEqual(expected);
  }
});

it.each([
  ["const shrink = () => { n--; };", "for (let i = 0; i < n; i++) shrink();"],
  ["const skip = () => { i++; };", "for (i = 0; i < n; i++) skip();"],
  ["const swap = () => { a = out; };", "for (let j = 0; j < n; j++) { swap(); a[j] = 1; }"],
  [
    "const other = () => { options = { gain: 1 }; };",
    "for (let j = 0; j < n; j++) { out[j] = options.gain; other(); }",
  ],
  ["const set = (o: { gain: number }) => { o.gain = n; };", "for (let j = 0; j < n; j++) set(options);"],
  [
    "const other = (o: { gain: number }) => { o = { gain: 1 }; return o.gain; };",
    "for (let j = 0; j < n; j++) out[j] = other(options);",
  ],
])("are refused if they change what a loop counts or accesses: %s", (helper, loop) => {
  const source = `export async function run(a: Int32Array, out: Int32Array, n: number, options: { gain: number }) {
  "use speculate";
  let i = 0;
  ${helper}
  //#pragma omp for target(webgpu)
  ${loop}
}`;
  const { diagnostics } = replaceLoops(source, "refused.ts");
  expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true);
});
