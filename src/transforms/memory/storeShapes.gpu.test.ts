/** One bit flips in what a kernel is about to store to: what a scrub makes of it afterwards must be right, or known to be lost. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Flip, runCoded } from "../../../test/codedKernels.ts";
import { runKernel } from "../../../test/kernelRunner.ts";
import { testDevices } from "../../../test/testDevices.ts";
import { type SchemeName, schemes } from "../../codes/scheme.ts";
import type { Redundancy } from "../../compiler/contract.ts";
import { protect } from "../../compiler/protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const words = (length: number, seed: number) =>
  Uint32Array.from({ length }, (_, i) => Math.imul(i + seed, 0x9e3779b9));

/** How lanes store, the type of what they store, and words of it that nobody stores to, in each element. */
const shapes = [
  ["up to a bound", "u32", "if (i < 30u) { b[i] = a[i] * 3u; }"],
  ["under a condition", "u32", "if (i % 2u == 0u || i < 9u) { b[i] = a[i]; }"],
  ["in two branches", "u32", "if (i % 3u == 0u) { b[i] = a[i]; } else { b[i] = 7u; }"],
  ["after a return", "u32", "if (i % 8u == 5u) { return; } b[i] = a[i];"],
  ["beside lines", "u32", "if (i < 27u) { b[i + 5u] = a[i]; }"],
  ["in rows of some width", "u32", "if (i < 22u) { b[i + arrayLength(&a) - 23u] = a[i]; }"],
  ["in a loop that begins late", "u32", "for (var k = i; k < 30u; k += 64u) { b[k] = a[k]; }"],
  ["of pairs", "vec2u", "if (i < 13u) { b[i] = a[i]; }"],
  ["of three words, all", "vec3u", "b[i] = a[i];"],
  ["of three words, some", "vec3u", "if (i < 6u) { b[i] = a[i]; }"],
  ["of four words", "vec4f", "if (i != 3u) { b[i] = a[i]; }"],
  ["of components", "vec4u", "b[i].y = a[i].x; if (i > 2u) { b[i].z = 4u; }"],
  ["of a component chosen by number", "vec4u", "b[i][i % 4u] = a[i].x;"],
  ["of matrices", "mat3x3f", "if (i < 5u) { b[i] = a[i]; }"],
  ["of structs", "S", "if (i != 2u) { b[i] = a[i]; }"],
  ["of arrays", "array<u32, 3>", "if (i < 6u) { b[i] = a[i]; }"],
  ["in a function", "u32", "f(i);"],
] as const;

const declarations = `struct S { x: vec3f, y: u32, z: vec2u }`;
const kernel = (type: string, body: string) => `${declarations}
  @group(0) @binding(0) var<storage, read> a: array<${type}>;
  @group(0) @binding(1) var<storage, read_write> b: array<${type}>;
  fn f(i: u32) { if (i < 23u) { b[i] = ${type === "u32" ? "a[i]" : "a[0]"}; } }
  @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; ${body} }`;

const codes = ["secded64", "secded128", "secded256", "secded1024", "detect", "detect256"] as const;
const length = 132;
const input = { buffers: { 0: words(length, 1), 1: words(length, 2) }, workgroups: [4, 1, 1] as const };

async function expectContained(redundancy: Redundancy, memory: SchemeName, code: string) {
  const result = protect(code, { redundancy, memory, features: ["subgroups"] });
  const stored = result.entryPoints[0]!.memory!.bindings.find(({ of }) => of.binding === 1)!;
  if (stored.mode !== "checked") return;
  const plain = await runKernel(device, code, input);
  for (let turn = 0; turn < 4; turn++) {
    const flips = flipsOf(schemes[memory].granuleBytes / 4, turn);
    const { scrubbed, uncorrectable } = await runCoded(device, result, input, flips);
    const { words: after, uncorrectable: lost } = scrubbed[1]!;
    const wrong = [...after.keys()].filter((i) => after[i] !== plain.buffers[1]![i]);
    if (schemes[memory].corrects) expect([turn, wrong]).toEqual([turn, []]);
    else expect(wrong.length).toBeLessThanOrEqual(lost + uncorrectable);
  }
}

/** One bit of each granule, in the last turn of its check word. */
function flipsOf(granuleWords: number, turn: number): Flip[] {
  return Array.from({ length: Math.floor(length / granuleWords) }, (_, granule) => {
    const mask = 2 ** ((7 * granule + 11 * turn) % 32);
    return turn === 3
      ? { binding: 1, word: granule, mask, inChecks: true }
      : { binding: 1, word: granule * granuleWords + ((granule + turn) % granuleWords), mask };
  });
}

describe.each(codes)("%s", (memory) => {
  it.each(shapes)("contains a flip where stores are made %s", async (_, type, body) => {
    await expectContained("none", memory, kernel(type, body));
  });
});

it.each(shapes.slice(0, 8))("contains a flip where replicas store %s", async (_, type, body) => {
  await expectContained("inter", "secded128", kernel(type, body));
});

it("relies on what a lane that is alone takes out of its change", async () => {
  const code = kernel("u32", "if (i < 30u) { b[i] = a[i] * 3u; }");
  const result = protect(code, { redundancy: "none", memory: "secded128", features: ["subgroups"] });
  const repair = "change ^= wrong;";
  expect(result.code).toContain(repair);
  const plain = await runKernel(device, code, input);
  const after = async (own: string) => {
    const flips = [{ binding: 1, word: 29, mask: 1 << 9 }];
    return (await runCoded(device, { ...result, code: own }, input, flips)).scrubbed[1]!.words[29];
  };
  expect(await after(result.code)).toBe(plain.buffers[1]![29]);
  expect(await after(result.code.replace(repair, ""))).not.toBe(plain.buffers[1]![29]);
});
