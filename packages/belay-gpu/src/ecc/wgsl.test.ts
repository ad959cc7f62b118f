/** The WGSL of each scheme, compared with its host side. */

import { randomNumbers } from "belay-research/internal/bench/ecc/randomStrikes";
import { comparedSchemes } from "belay-research/internal/ecc/index";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import {
  arbitraryWords,
  bitsOf,
  type CodedWords,
  checksOf,
  wordsOf,
  wrongGranules,
} from "../../../../test/support/devices/wrongGranules.ts";
import { runKernel } from "../../../../test/support/kernels/kernelRunner.ts";
import { type DawnValidator, startDawn } from "../../../../test/support/wgsl/dawnValidator.ts";
import { parse, resolve } from "../wgsl/index.ts";
import { type MemoryScheme, schemes } from "./scheme.ts";

const { newDevice } = testDevices();
let device: GPUDevice;
let dawn: DawnValidator;
beforeAll(async () => {
  device = await newDevice();
  dawn = await startDawn();
});
afterAll(() => dawn.close());

/** Returns WGSL that reads a granule of `words` words from the buffer `data`. */
function granuleFrom({ granuleType }: MemoryScheme, words: number): string {
  const each = Array.from({ length: words }, (_, i) => `data[${words}u * i + ${i}u]`);
  if (words <= 4) return `${granuleType}(${each.join()})`;
  const quads = Array.from({ length: words / 4 }, (_, q) => `vec4(${each.slice(4 * q, 4 * q + 4).join()})`);
  return `${granuleType}(${quads.join()})`;
}

/**
 * Returns a kernel that stores the check word, the syndrome, the sum of contributions, the status
 * and the corrected data of each granule.
 */
function kernelOf(scheme: MemoryScheme): string {
  const words = wordsOf(scheme);
  const part = (p: number) =>
    words === 1 ? "" : words <= 4 ? `.${"xyzw"[p]}` : `[${p >> 2}].${"xyzw"[p & 3]}`;
  const sum = Array.from({ length: words }, (_, p) => `code_contribution(${p}u + zero, granule${part(p)})`);
  const quads = Array.from({ length: words / 4 }, (_, q) => `code_quad(${q}u + zero, granule[${q}])`);
  const stores = Array.from({ length: words }, (_, p) => `results[at + ${4 + p}u] = fixed.data${part(p)};`);
  return `${scheme.wgsl("code_")}${scheme.wgslOfParts("code_")}
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> checks: array<u32>;
@group(0) @binding(2) var<storage, read_write> results: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = id.x;
  if (i >= arrayLength(&checks)) { return; }
  let zero = groups.y - 1u;
  let granule = ${granuleFrom(scheme, words)};
  let at = ${4 + words}u * i;
  results[at] = code_encode(granule);
  let syndrome = code_syndrome(granule, checks[i]);
  results[at + 1u] = syndrome;
  results[at + 2u] = ${sum.join(" ^ ")};
  ${words > 4 ? `if (results[at + 2u] != (${quads.join(" ^ ")})) { results[at + 2u] = ~results[at + 2u]; }` : ""}
  var fixed = code_correct(granule, syndrome);
  if (code_status(syndrome) != fixed.status) { fixed.status = 9u; }
  for (var p = 0u; p < ${words}u; p++) {
    let wrong = code_wrong(p, syndrome) ^ granule${words === 1 ? "" : words <= 4 ? "[p]" : "[p / 4u][p % 4u]"};
    if (wrong != fixed.data${words === 1 ? "" : words <= 4 ? "[p]" : "[p / 4u][p % 4u]"}) { fixed.status = 8u; }
  }
  results[at + 3u] = fixed.status;
  ${stores.join("\n  ")}
}`;
}

/** Returns the same results, computed on the host. */
function expected(scheme: MemoryScheme, { data, checks }: CodedWords): number[][] {
  const words = wordsOf(scheme);
  const [fixed, fixedChecks] = [data.slice(), checks.slice()];
  const flagged = new Set(scheme.verify(fixed, fixedChecks).uncorrectable);
  return [...checksOf(scheme, data)].map((check, i) => {
    const syndrome = (check ^ checks[i]!) >>> 0;
    const status = syndrome === 0 ? 0 : flagged.has(i) ? 2 : 1;
    return [check, syndrome, check, status, ...fixed.subarray(i * words, (i + 1) * words)];
  });
}

/**
 * Returns sets of wrong bits: none, each single bit, each bit with another one, and random sets of
 * each larger weight. The weights from 3 to 8 have 200 sets each, the others one.
 */
function someErrors(scheme: MemoryScheme): number[][] {
  const bits = Array.from({ length: bitsOf(scheme) }, (_, bit) => bit);
  const pairs = bits.map((bit) => [bit, (bit + 1 + ((bit * 7) % (bits.length - 1))) % bits.length]);
  const random = randomNumbers(bits.length);
  const more = bits.slice(2).flatMap((_, i) =>
    Array.from({ length: i < 6 ? 200 : 1 }, () => {
      const chosen = new Set<number>();
      while (chosen.size < i + 3) chosen.add(random(bits.length));
      return [...chosen];
    }),
  );
  return [[], ...bits.map((bit) => [bit]), ...pairs, ...more];
}

/** Returns the results of a scheme's kernel, in rows like those of `expected`. */
async function found(scheme: MemoryScheme, cases: CodedWords): Promise<number[][]> {
  const words = wordsOf(scheme);
  const count = cases.checks.length;
  const buffers = {
    0: cases.data as Uint32Array<ArrayBuffer>,
    1: cases.checks as Uint32Array<ArrayBuffer>,
    2: new Uint32Array(count * (4 + words)),
  };
  const workgroups = [Math.ceil(count / 64), 1, 1] as const;
  const results = (await runKernel(device, kernelOf(scheme), { buffers, workgroups })).buffers[2]!;
  return Array.from({ length: count }, (_, i) => [
    ...results.subarray(i * (4 + words), (i + 1) * (4 + words)),
  ]);
}

describe.each(Object.values(comparedSchemes))("$name", (scheme) => {
  const cases = () => wrongGranules(scheme, arbitraryWords(wordsOf(scheme)), someErrors(scheme));

  it("does on the GPU what it does on the host", async () => {
    expect(await found(scheme, cases())).toEqual(expected(scheme, cases()));
  });

  it("is valid for Dawn and for the compiler", async () => {
    expect(await dawn.validate(scheme.wgsl("a_") + scheme.wgsl("b_"))).toEqual({ ok: true });
    expect(resolve(parse(scheme.wgsl("a_")).module).diagnostics).toEqual([]);
  });
});

it("is noticed when a rotation is wrong", async () => {
  const scheme = schemes.secded32;
  const cases = wrongGranules(scheme, arbitraryWords(1), [[], [5]]);
  const wgsl = (prefix: string) => scheme.wgsl(prefix).replace("<< 2u", "<< 3u");
  expect(await found({ ...scheme, wgsl }, cases)).not.toEqual(expected(scheme, cases));
});
