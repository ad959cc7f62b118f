/** Plain arrays of numbers, tables and strings in loops, against the source as it is written. */
import type { SpeculateCall } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate, evaluateTranslated } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });

/** Returns a function with a loop over plain arrays, a typed array and a string. */
const around = (body: string, before = "") => `const TABLE = [3, 1, 4, 1, 5];
const WEIGHTS: readonly number[] = [0.25, 0.5, 0.25];
export async function run(
  x: number[], y: Array<number>, z: readonly number[], t: Int32Array, text: string, n: number,
) {
  "use speculate";
  let s = 0;
  const own = new Array(8).fill(2);
  ${before}
  //#pragma omp for target(webgpu)
  for (let i = 0; i < n; i++) { ${body} }
  return { s, own };
}`;

/** Each with true if the loop has to run as it is written for the data. */
const loops: [body: string, leaves?: true][] = [
  ["x[i] = x[i]! * 2 + y[i]!;"],
  ["x[i]! += TABLE[i % 5]!; t[i] = x[i]! > 2 ? 1 : 0;"],
  ["y[i] = WEIGHTS[0]! * x[i]! + WEIGHTS[1]! * z[i]! + WEIGHTS[2]!;"],
  ["x[z[i]!]!++;"],
  ["s += z[i]!; x[i] = s;"],
  ["s = (s + TABLE[i % 5]!) | 0;"],
  ["s = (s * 31 + text.charCodeAt(i)) | 0; t[i] = text.length;"],
  ["own[i] = x[i]! / 3; own[0] = -0;"],
  ["let m = 0; for (const value of z) m = Math.max(m, value - i); x[i] = m;"],
  ["t[i] = text.charCodeAt(i) === 0x62 ? 1 : 2;"],
  ["if (i < x.length - 1) x[i] = x[i + 1]!;"],
  // These make an array longer, or read what is no element.
  ["t[i] = i + 7; x[8 + i] = i; y[i] = 5;", true],
  ["t[i]! += 1; s += z[i - 1] ?? 0.5;"],
  ["y[i] = z[i + 1] ?? 0.5;"],
  ["t[i] = text.charCodeAt(i + 4) ?? 7;", true],
  ["s += z[t[i]! + 3 * i] ?? 3; x[z[i]!] = (x[z[i]!] ?? 0) + 1;"],
  ["y[i] = (z[x[7 - i]!] ?? 3) + x.at(-i)! - z.at(i - 2)!;", true],
  ["s += z[t[i + 1]!] ?? 3;", true],
  ["s += z.at(i - 9) ?? 3;"],
  [
    `const isVowel = (c: string) => c === "a" || c === "e";
     const c = text[i]!; if (isVowel(c) !== (c >= "f")) s += i + 1;
     if (i > 0 && text[i - 1]! < c) t[i] = 2;`,
  ],
  ['switch (text.charAt(i)) { case "a": t[i] = 1; break; case "c": case "e": s++; default: t[i] = 3; }'],
  ['if (text[i + 4] === "e") s += 2; else if (text[t[i]! + i] === "b") s++;', true],
  ["y[i] = z.at(i - 8)! + z.at(t[i + 1]!)! + (z.at(2 * i) ?? 0.5);"],
  ["x[-1] = i; t[i] = 1;", true],
  ["t[i] = text.charCodeAt(i + 6);", true],
  ["t[z[i]! + 0.5] = 1; x[z[i]! + 0.5] = 9;", true],
];

const data = (share = false) => {
  const x = [1.5, -0, Infinity, 2 ** 60, -7, 0.1, 3, 4];
  const y = [2, 7, 1, 8, 2, 8, 1, 8];
  const z = [1, 2, 0, 5, 4, 3, 7, 6];
  return [x, share ? x : y, share ? x : z, new Int32Array(8), "abcÄ\u{1F600}efg", 8] as const;
};

async function resultOf({ run }: ReturnType<typeof evaluate>, given: readonly unknown[]) {
  const returned = await (run!(...(given as never[])) as Promise<unknown>).catch(String);
  return { returned, given, keys: given.map((one) => Object.keys(Object(one))) };
}

it.each(loops)("are copied, and changed as by the source: %s", async (body) => {
  const source = around(body);
  const { exports, calls, diagnostics } = evaluateTranslated(source);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  for (const share of [false, true]) {
    const expected = await resultOf(evaluate(source), data(share));
    expect(await resultOf(exports, data(share)), `share ${share}`).toEqual(expected);
  }
  expect(calls).toHaveLength(2);
});

it("are executed on the GPU, and left to the source where it accesses no element", async () => {
  const device = await devices.sharedDevice();
  for (const [at, [body, leaves]] of loops.entries()) {
    if (at % 2 > 0 && !body.includes("??")) continue;
    const source = around(body);
    const { code } = replaceLoops(source, "loops.ts");
    let onGpu = 0;
    const exports = evaluate(code!, async (call: SpeculateCall) => {
      const done = await speculate(call, { device, fallback: "never" });
      onGpu += done.statistics.committed - done.statistics.onCpu;
      return done;
    });
    expect(await resultOf(exports, data()), body).toEqual(await resultOf(evaluate(source), data()));
    expect(onGpu > 0, body).toBe(!leaves);
  }
});

it("become longer by a store of the GPU past their end", async () => {
  const device = await devices.sharedDevice();
  for (const body of [
    "x[i] = z[i]! * 2 + 1;",
    "t[i] = t[i]! + 1; x[i] = i;",
    "if (z[i]! > 2) x[s++] = i;",
    "x[z[i]!] = i;",
    "t[z[i]!] = i; if (t[i]! > 3) x[i] = 4;",
  ]) {
    const source = around(body);
    const { code } = replaceLoops(source, "loops.ts");
    let begun = 0;
    const exports = evaluate(code!, (call) => {
      begun++;
      return speculate(call, { device, fallback: "never" });
    });
    for (const length of [0, 3]) {
      const given = () => [Array(length).fill(9), ...data().slice(1)];
      const expected = await resultOf(evaluate(source), given());
      expect(await resultOf(exports, given()), `${body} ${length}`).toEqual(expected);
    }
    expect(begun, body).toBe(2);
  }
});

it("run as they are written if they hold something else", async () => {
  const source = around("x[i] = x[i]! * 2 + TABLE[i % 5]!; s += z[i]!;");
  class Longer extends Array<number> {}
  const sparse: number[] = [];
  sparse[7] = 1;
  const strange: unknown[] = [
    [1, 2, "3", 4, 5, 6, 7, 8],
    [1, null, 3, 4, 5, 6, 7, undefined],
    sparse,
    Longer.of(1, 2, 3, 4, 5, 6, 7, 8),
    Object.freeze([1, 2, 3, 4, 5, 6, 7, 8]),
    Float64Array.of(1, 2, 3, 4, 5, 6, 7, 8),
    [1n],
    null,
    7,
  ];
  const { exports, calls } = evaluateTranslated(source);
  for (const value of strange) {
    const given = () => [structured(value), [0], [...Array(8).keys()], new Int32Array(1), "", 8];
    expect(await resultOf(exports, given())).toEqual(await resultOf(evaluate(source), given()));
  }
  expect(calls).toEqual([]);
});

/** Returns a copy of an array, and other values themselves. */
const structured = (value: unknown) =>
  Array.isArray(value) && !Object.isFrozen(value) ? Object.assign(value.slice(0, 0), value) : value;

it("keep the order of calls that are not awaited", async () => {
  const source = around("x[i] = x[i]! * 2 + y[i]!;");
  const { exports } = evaluateTranslated(source);
  const x = [1, 2, 3];
  const calls = [1, 2, 3].map((y) =>
    exports.run!(...([x, [y, y, y], [], new Int32Array(1), "", 3] as never[])),
  );
  await Promise.all(calls);
  expect(x).toEqual([19, 27, 35]);
});

it("refuse what is no number, and say what to write", () => {
  const textOf = (body: string) =>
    replaceLoops(around(body), "f.ts").diagnostics.flatMap(({ severity, message, help }) =>
      severity === "error" ? [`${message}: ${help}`] : [],
    );
  const used =
    "not parallelized because a character of a string used as something else cannot run on a GPU: compare it with a character, or take its code: `text.charCodeAt(i)`";
  for (const body of [
    "t[i] = text[i]!;",
    "s += text[i]!;",
    "s = +text[i]!;",
    "s = text[i]! | 0;",
    "if (text[i]) s++;",
    "s = Math.max(text.charAt(i), 1);",
    "if (text[i] === 5) s++;",
    "let c = 'a'; c = text[i]!; if (c === 'b') s++;",
    "s = i > 3 ? text[i]! : 'a';",
  ])
    expect(textOf(body), body).toEqual([used]);
  expect(textOf('if (text[i] === "ab") s++;')).toHaveLength(1);
  expect(textOf("x.push(i);")).toEqual([
    "not parallelized because `x.push` makes the array longer: make it long enough before the loop, and store to its elements",
  ]);
});
