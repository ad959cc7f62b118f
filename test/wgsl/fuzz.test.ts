/** Mutants of valid kernels: the front end ends without an exception for any source. */

import { parse } from "belay-gpu/internal/wgsl/parser";
import { print } from "belay-gpu/internal/wgsl/printer";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { walk } from "belay-gpu/internal/wgsl/traverse";
import { expect, test } from "vitest";
import { callCounter } from "../support/devices/countCalls.ts";
import { type Mutation, mutant, pieces } from "../support/wgsl/mutants.ts";

const seeds = [
  `enable f16, subgroups; requires pointer_composite_access; diagnostic(off, chromium.unreachable_code);
struct Particle { @align(16) position: vec3<f32>, @size(8) mass: f16, velocity: array<vec2<f32>, select(3, 4, 1 > 2)>, }
@group(0) @binding(0) var<storage, read_write> particles: array<Particle>;
@group(0) @binding(1) var<uniform> step: f32;
override size: u32 = 64u; const half = 0x1p-1f; alias Index = u32; const_assert 1 < 2;
@compute @workgroup_size(size, 1, 1,)
fn advance(@builtin(global_invocation_id) id: vec3<u32>, @builtin(subgroup_size) lanes: u32) {
  let i: Index = id.x; if i >= arrayLength(&particles) { return; }
  particles[i].position += vec3<f32>(step * half, .5, 1e-3f) * f32(particles[i].mass);
}`,
  `var<workgroup> tile: array<array<f32, 16>, 16>; @group(0) @binding(0) var<storage> a: array<f32>;
@compute @workgroup_size(16, 16) fn multiply(@builtin(local_invocation_id) l: vec3u) {
  var sum = 0.0; for (var k = 0u; k < 16; k++) { tile[l.y][l.x] = a[k * 16 + l.x]; workgroupBarrier(); sum += tile[k][l.x]; }
  loop { if sum > 1.0 { break; } else if (sum < -1.0) { continue; } else { sum *= 2; } continuing { sum -= 0.5; break if sum < 0; } }
  while (sum != 0.0 && !(sum < 3.0 || sum >= 9.0)) { sum = select(1.0, select(2.0, 3.0, sum < 4), sum > 0.0); }
}`,
  `fn at(p: ptr<function, array<i32, 4>>, i: u32) -> i32 { return ((*p)[i] << 2u) >> 1u; }
@must_use fn bits(x: u32) -> u32 { return (x & 0xffu) | ((x ^ ~x) >> (x % 7u)); }
fn choose(x: i32) { var y = array<i32, 4>(1, 2, 3, 4); let q = &y[1];
  switch x { case 1, default, : { *q = -1; } case 2 { y[0] >>= 1u; } case 3: { y[1] <<= 2u; y[2]--; } }
  _ = at(&y, bits(7)); { const n = - -3; discard; } /* a /* nested */ comment */ // and a line
}`,
  `@group(1) @binding(2) var images: texture_storage_2d<rgba8unorm, write>; var<private> state: i32;
@fragment @diagnostic(off, derivative_uniformity) fn Δέλτα(@location(0) @interpolate(flat, either) x: f32) -> @location(0) vec4f {
  @diagnostic(off, a.b) for (; state < 3; state = 3) { } textureStore(images, vec2(0, 1), vec4<f32>(x, 1., 0f, 01.5)); return vec4f(); }`,
];

/** The number of mutants can be raised beyond the time of a test run. */
const mutants = Number(process.env.FUZZ_MUTANTS ?? 4_000);

const interesting = [
  "<",
  ">",
  "(",
  ")",
  "{",
  "}",
  "[",
  "]",
  ";",
  ",",
  "@",
  "=",
  "&",
  "-",
  "/*",
  "*/",
  "//",
  "0x",
  "1e",
  "\0",
  "\ud800",
  "\u2028",
  "if",
  "else",
  "case",
  "fn",
  "var",
  "let",
  "loop",
  "continuing",
  "switch",
  "return",
  "struct",
  "const_assert",
  "_",
  "__a",
  "f16",
];

const mutations: readonly Mutation[] = [
  (mutant, random) => mutant.splice(random(mutant.length), 1 + random(4)),
  (mutant, random) => mutant.splice(random(mutant.length), 0, interesting[random(interesting.length)]!),
  (mutant, random) => {
    mutant[random(mutant.length)] = interesting[random(interesting.length)]!;
  },
  (mutant, random) => {
    const from = random(mutant.length);
    mutant.splice(random(mutant.length), 0, ...mutant.slice(from, from + 1 + random(40)));
  },
  (mutant, random) => {
    const [a, b] = [random(mutant.length), random(mutant.length)];
    [mutant[a], mutant[b]] = [mutant[b]!, mutant[a]!];
  },
  (mutant, random) => {
    const other = pieces(seeds[random(seeds.length)]!);
    const from = random(other.length);
    mutant.splice(random(mutant.length), random(30), ...other.slice(from, from + random(60)));
  },
  (mutant, random) => {
    mutant.length = random(mutant.length) + 1;
  },
  (mutant, random) => {
    const at = random(mutant.length);
    const text = mutant[at]!;
    const bent = text.charCodeAt(0) ^ (1 << random(7));
    mutant[at] = String.fromCharCode(bent) + text.slice(1);
  },
];

/** Checks the properties that hold for every source. */
function check(source: string): boolean {
  const { module, diagnostics } = parse(source);
  for (const { span, message } of [...diagnostics, ...resolve(module).diagnostics]) {
    if (!(0 <= span.start && span.start <= span.end && span.end <= source.length))
      throw new Error(`bad span: ${message}`);
  }
  walk(module, ({ kind, span }) => {
    if (!(span.start <= span.end && span.end <= source.length)) throw new Error(`bad span of ${kind}`);
  });
  const printed = print(module);
  if (diagnostics.length > 0) return false;
  const again = parse(printed);
  if (again.diagnostics.length > 0)
    throw new Error(`printed text does not parse: ${again.diagnostics[0]!.message}`);
  if (print(again.module) !== printed) throw new Error("printed text changes when it is printed again");
  return true;
}

test("the seeds are valid", () => {
  for (const seed of seeds) expect(parse(seed).diagnostics).toEqual([]);
});

const callsOf = callCounter();
/** Counting calls slows the front end down, so it is limited to this many mutants. */
const counted = 2000;
/**
 * The number of mutants whose work is counted together. One that takes a thousand times its share
 * is noticed.
 */
const batch = 200;

test("no mutant makes the front end throw or loop", async () => {
  let valid = 0;
  for (let first = 0; first < mutants; first += batch) {
    let characters = 0;
    const checkBatch = () => {
      for (let number = first; number < Math.min(first + batch, mutants); number++) {
        const source = mutant(seeds, mutations, number);
        characters += source.length;
        try {
          if (check(source)) valid++;
        } catch (cause) {
          throw new Error(`mutant ${number}:\n${source}`, { cause });
        }
      }
    };
    if (first >= counted) checkBatch();
    else expect((await callsOf(checkBatch)) / characters, `mutants from ${first} on`).toBeLessThan(50);
  }
  // Mutants that are all invalid, or all valid, would test little.
  expect(valid / mutants).toBeGreaterThan(0.02);
  expect(valid / mutants).toBeLessThan(0.6);
});
