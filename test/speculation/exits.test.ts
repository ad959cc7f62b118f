/**
 * Loops that leave their function by `return` or `throw`, and variables that become true or false.
 * Both processors leave what the source leaves as it is written.
 */
import type { SpeculateCall } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { resident } from "belay-speculate/internal/engine/transfer/resident";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate, executeInParts } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });

/** Bodies of functions with a loop. `a` counts up in steps of 3 from `low`. */
const bodies = [
  "LOOP for (let i = 0; i < n; i++) if (a[i] === k) return i; return -1;",
  "LOOP for (let i = n - 1; i >= 0; i--) { out[i] = i; if (a[i]! < k) return a[i]; } return undefined;",
  "LOOP for (const x of a) { if (x > k) return x; } return null;",
  "let i = 3; LOOP for (; i < n; i += 2) { if (a[i]! > k) return i; if (a[i] === 31) break; } return -i;",
  // Several statements leave, and there is a break and a continue.
  `LOOP for (let i = 0; i < n; i++) {
     const twice = a[i]! * 2, isEven = twice % 4 === 0;
     if (twice > k + 100) break;
     if (isEven) continue;
     out[i] = twice;
     if (twice > k) return { i, twice, isEven, label: \`at \${i}\`, list: [a[i + 1], n] };
     if (twice === 2 * low + 24) return;
   }
   return out[0];`,
  // Out of nested and labeled loops, with effects before and in the statement.
  `let total = 0; LOOP outer: for (let i = 0; i < n; i++) {
     inner: for (let j = 0; j < 4; j++) {
       total += j;
       if (j === 2 && i % 3 === 0) continue outer;
       if (a[i]! + j === k) return total++ * 100 + j + total;
       if (j > i) break inner;
     }
     switch (a[i]! & 7) { case 1: total += 10; case 2: if (total > k) return [total, i]; break; default: total -= 1; }
   }
   return total;`,
  `LOOP for (let i = 0; i < n; i++) {
     let x = a[i]!; x += i; if (x >= k) throw new RangeError(\`\${x} at \${i}\`); out[i] = x;
   } return 0;`,
  // Numbers of every kind: minus zero, doubles, beyond 32 bits, and elements that do not exist.
  "LOOP for (let i = 0; i < n; i++) { const z = a[i]! * 0; if (a[i] === k) return z; } return 1;",
  "LOOP for (let i = 0; i < n; i++) { const z = f[i]! * 0.1; if (f[i]! > 4) return [z, -z, f[i]! / 3]; } return 1;",
  "LOOP for (let i = 0; i < n; i++) { const z = a[i]! * 100000000; if (a[i]! > k) return z; } return 1;",
  "LOOP for (let i = 0; i < n; i++) { const z = a[i + 20]; if (a[i]! > k) return z; } return 1;",
  "LOOP for (let i = 0; i < n; i++) { const z = f[i + 20]; out[i] = i; if (a[i]! > k) return [z, typeof z]; } return 1;",
  // A name of the loop hides one outside, whose value it has.
  "const x = k; LOOP for (let i = 0; i < n; i++) { const k = x, n = k; if (a[i]! > k) return [k, n, x, i]; } return k;",
  // Flags.
  "let found = false; LOOP for (let i = 0; i < n; i++) { if (a[i] === k) { found = true; break; } } return found;",
  "let odd = k > 3; LOOP for (let i = 0; i < n; i++) { if (a[i]! > k) odd = !odd; out[i] = odd ? 1 : 2; } return odd;",
  "let all = true, any = false; LOOP for (let i = 0; i < n; i++) { all &&= a[i]! > k; any ||= a[i] === k; } return [all, any];",
  "LOOP for (let i = 0, was = true, last = k; i < n; i++) { out[i] = was ? last : -last; was = a[i]! > k; last = a[i]! ^ last; if (last === 40) return [was, last]; }",
  // The value before each iteration, with a variable of the same name inside.
  "let total = 1; LOOP for (let i = 0; i < n; i++) { if (a[i]! > k) { let total = a[i]!; total += 2; out[i] = total; } total = (total * 3 + a[i]!) & 255; } return total;",
];

const sourceOf = (all: readonly string[]) =>
  all
    .map(
      (body, at) => `
export async function run${at}(a: Int32Array, f: Float32Array, out: Int32Array, n: number, k: number, low: number) {
  "use speculate";
  ${body.replace("LOOP", "\n//#pragma omp for target(webgpu)\n")}
}`,
    )
    .join("\n");

const length = 24;
const low = -20;

async function resultOf(run: (...args: never[]) => unknown, n: number, k: number) {
  const a = Int32Array.from({ length }, (_, at) => low + 3 * at);
  const f = Float32Array.from({ length }, (_, at) => at * 0.3);
  const out = new Int32Array(length).fill(-7);
  try {
    return { returned: await run(...([a, f, out, n, k, low] as never[])), a, out };
  } catch (thrown) {
    return { thrown: `${thrown}`, a, out };
  }
}

it("leave the function as the source does", async () => {
  const source = sourceOf(bodies);
  const { code, diagnostics } = replaceLoops(source, "exits.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const device = await devices.sharedDevice();
  const written = evaluate(source);
  let calls = 0;
  const inOrder = evaluate(code!, async (call: SpeculateCall) => {
    calls++;
    return executeInParts(call);
  });
  const onDevice = evaluate(code!, async (call: SpeculateCall) => {
    const done = await speculate(call, { device, fallback: "never" });
    expect(done.statistics.rounds).toBeGreaterThan(0);
    return done;
  });
  for (const [at, body] of bodies.entries()) {
    for (const [n, k] of [
      [length, 10],
      [length, 13],
      [length, -20],
      [length, 1000],
      [0, 10],
      [7, 40],
    ] as const) {
      const name = `run${at}`;
      const expected = await resultOf(written[name]!, n, k);
      const where = `${body} with n = ${n} and k = ${k}`;
      const before = calls;
      expect(await resultOf(inOrder[name]!, n, k), where).toEqual(expected);
      expect(calls, where).toBe(before + 1);
      if (n > 0) expect(await resultOf(onDevice[name]!, n, k), where).toEqual(expected);
    }
  }
});

it("see in the statement what the loop left in arrays that stay on the device", async () => {
  const device = await devices.sharedDevice();
  const source = `
export async function first(cells: Int32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu)
  for (let i = 0; i < n; i++) { cells[i] = i * i; if (i * i > 50) return [cells[i], cells[i - 1], i]; }
  return [];
}
const sum = (list: Int32Array) => list.reduce((x, y) => x + y);
export async function total(cells: Int32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu)
  for (let i = 0; i < n; i++) { cells[i] = i * 2; if (i > 20) return sum(cells); }
  return 0;
}`;
  const { code, diagnostics } = replaceLoops(source, "resident.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const written = evaluate(source);
  const onDevice = evaluate(code!, (call: SpeculateCall) => speculate(call, { device, fallback: "never" }));
  const [cells, expected] = [new Int32Array(64), new Int32Array(64)];
  const kept = resident(cells);
  for (const name of ["first", "total", "first"]) {
    const results = await Promise.all(
      [onDevice, written].map((one, at) => one[name]!(...([[cells, expected][at], 64] as never[]))),
    );
    expect(results[0]).toEqual(results[1]);
  }
  await kept.read();
  expect(cells).toEqual(expected);
  kept.release();
});

it.each([
  ["if (a[i]! > k) return await other(i);", "waiting in a loop cannot run on a GPU"],
  ["out[i] = checked(a[i]!);", "an exception in a function that the loop calls cannot run on a GPU"],
  [
    "let x; if (k > 3) x = i; if (a[i]! > k) return x;",
    "`x` in a statement that leaves the function cannot run on a GPU",
  ],
  [
    "const half = (v: number) => v / 2; if (a[i]! > k) return half(i);",
    "`half` is used before it is declared",
  ],
  ["flag = a[i]! > k;", "`flag` is a boolean here and a number elsewhere"],
])("are refused where the statement or a value needs more: %s", (body, message) => {
  const helper = "function checked(x: number) { if (x < 0) throw new Error(); return x; }";
  const loop = `let flag = 0; LOOP for (let i = 0; i < n; i++) { ${body} } return flag;`;
  const { diagnostics } = replaceLoops(`${helper}${sourceOf([loop])}`, "refused.ts");
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  expect(errors.map((one) => one.message)).toEqual([`not parallelized because ${message}`]);
});
