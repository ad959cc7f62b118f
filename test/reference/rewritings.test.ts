/** The second text of kernels computes the same bits as the first, on the reference executor. */
import { functionsOf } from "belay-gpu/internal/analysis/callGraph";
import { diversifyReplicas } from "belay-gpu/internal/transforms/diversity/diversifyReplicas";
import { keepRounding } from "belay-gpu/internal/transforms/diversity/keepRounding";
import { functionOf, type Rewriting, rewritings } from "belay-gpu/internal/transforms/diversity/rewritings";
import { hiddenZero, secondTextOf, zeroOf } from "belay-gpu/internal/transforms/shared/diversity";
import { wrapEntryPoint } from "belay-gpu/internal/transforms/shared/entryPointWrapper";
import { print } from "belay-gpu/internal/wgsl/printer";
import { statements } from "belay-gpu/internal/wgsl/quote";
import fc from "fast-check";
import { expect, it } from "vitest";
import { kernel, kernelInput } from "../support/kernels/arbitraryKernels.ts";
import { runReference, translated } from "../support/kernels/reference.ts";
import { applySteps, type Step } from "../support/wgsl/goldens.ts";

const words = [
  0, 1, 2, 3, 5, 7, 31, 32, 33, 255, 65535, 65536, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe,
  0xaaaaaaaa, 12345678, 0xdeadbeef, 0x3f800000, 0xbf800000, 0x40490fdb, 0x7f7fffff, 0x00800000, 0x33000000,
  0x7f800000, 0xff800000, 0x7fc00000, 0x4b800001, 0xc0200000, 0x3eaaaaab,
];

/** The operations of the first text, by the names of their rewritings. */
const plain: Readonly<Record<keyof typeof rewritings, string>> = {
  add: "x + y",
  subtract: "x - y",
  multiply: "x * y",
  divide: "x / y",
  remainder: "x % y",
  shiftLeft: "x << m",
  shiftRight: "x >> m",
  and: "x & y",
  or: "x | y",
  xor: "x ^ y",
  negate: "-x",
  complement: "~x",
  min: "min(x, y)",
  max: "max(x, y)",
  clamp: "clamp(x, min(y, z), max(y, z))",
  select: "select(x, y, m % 3u == 1u)",
  extractBits: "extractBits(x, m, n)",
  insertBits: "insertBits(x, y, m, n)",
};
const args: Partial<Readonly<Record<keyof typeof rewritings, string>>> = {
  clamp: "x, min(y, z), max(y, z)",
  select: "x, y, m % 3u == 1u",
  extractBits: "x, m, n",
  insertBits: "x, y, m, n",
};

const cases = Object.entries(rewritings).flatMap(([name, rewriting]: [string, Rewriting]) =>
  ["u32", "i32", "f32"]
    .filter((type) => rewriting.body(type) !== undefined && !(name === "negate" && type === "u32"))
    .map((type) => ({ name: name as keyof typeof rewritings, rewriting, type })),
);

it.each(cases)("$name computes the same bits of $type", ({ name, rewriting, type }) => {
  const count = Object.keys(rewriting.parameters).length;
  const isShift = name.startsWith("shift");
  const given = args[name] ?? (count === 1 ? "x" : isShift ? "x, m" : "x, y");
  const source = `
    @group(0) @binding(0) var<storage, read> words: array<u32, 32>;
    @group(0) @binding(1) var<storage, read_write> results: array<vec2u, 1024>;
    ${functionOf("other", rewriting, type, "zero")}
    @compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
      let m = words[id.x / 32u]; let n = words[(id.x * 7u) % 32u];
      let x = bitcast<${type}>(words[id.x % 32u]); let y = bitcast<${type}>(m); let z = bitcast<${type}>(n);
      results[id.x] = vec2u(bitcast<u32>(${plain[name]}), bitcast<u32>(other(${given}, u32(groups.x == 0u))));
    }`;
  const input = {
    buffers: { 0: Uint32Array.from(words), 1: new Uint32Array(2048) },
    workgroups: [32, 1, 1] as const,
  };
  const run = runReference(translated(source, input, { floats: "nearest" }), input);
  expect(run.undecided).toBeUndefined();
  const results = new Uint32Array(run.buffers[1]!.bytes.buffer);
  const pairs = Array.from({ length: 1024 }, (_, i) => [results[2 * i]!, results[2 * i + 1]!] as const);
  expect(pairs.filter(([one, other]) => one !== other && !(type === "f32" && isNaNs(one, other)))).toEqual(
    [],
  );
  expect(new Set(pairs.map(([one]) => one)).size).toBeGreaterThan(5);
});

/** Returns true if both words are NaN, of which WGSL has no particular bits. */
const isNaNs = (...words: number[]) => words.every((word) => (word & 0x7fffffff) > 0x7f800000);

const entryPoints = new Set(["main"]);
const withSecondText: Step = (program, names) => ({
  ...program.module,
  declarations: program.module.declarations.flatMap((each) => {
    const main = functionsOf(program).find((fn) => fn === each && fn.name === "main");
    if (!main) return [each];
    const groups = ["workgroup_id", "num_workgroups"].map((name) => [name, "vec3<u32>"] as const);
    return wrapEntryPoint(program, names, main, {
      inputs: new Map(groups),
      derived: {},
      before: statements`
        let ${zeroOf(names)} = ${hiddenZero(names)};
        let ${secondTextOf(names)} = ${zeroOf(names)} == 0u;`,
      secondText: secondTextOf(names),
      attributes: main.attributes,
    });
  }),
});

it("keeps what random kernels compute, in which order matters", () => {
  fc.assert(
    fc.property(kernel, (code) => {
      const { after } = applySteps(code, [
        withSecondText,
        (program, names) => keepRounding(program, names, { entryPoints }),
        (program, names) => diversifyReplicas(program, names, { entryPoints, roomy: entryPoints }),
      ]);
      const [first, second] = [code, print(after.module)].map((text) => {
        const run = runReference(translated(text, kernelInput, { floats: "nearest" }), kernelInput);
        expect(run.undecided).toBeUndefined();
        return Object.values(run.buffers).map(({ bytes }) => bytes);
      });
      expect(second).toEqual(first);
    }),
    { numRuns: Number(process.env.REFERENCE_KERNELS ?? 12) },
  );
});
