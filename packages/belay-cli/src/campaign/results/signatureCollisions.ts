/**
 * The rate at which the signature misses a difference: two different streams of stores with the
 * same hash. The GPU makes and hashes the streams with the functions that protected kernels call.
 */
import { Comparison } from "belay-gpu/internal/transforms/redundancy/comparison/comparison";
import { Names } from "belay-gpu/internal/transforms/shared/names";
import { quote } from "belay-gpu/internal/wgsl/quote";
import { parse, printDeclaration, printStatement, resolve } from "belay-gpu/wgsl";
import { Draws } from "../model/random.ts";
import { type Rate, wilson } from "./statistics.ts";

/**
 * The kinds of differences, each as WGSL that changes the second stream. `at` and `other` are two
 * of its stores, and `near` is a store with a successor.
 */
const differences = {
  "another stream": "for (var i = 0u; i < STORES; i++) { second[i] = store(i, structured); }",
  "one bit of a value": "second[at].z ^= 1u << (random() % 32u);",
  "one bit of an address": "second[at].y ^= 1u << (random() % 32u);",
  "two adjacent bits of a value": "second[at].z ^= 3u << (random() % 31u);",
  "another value": "second[at].z = random();",
  "a value of zero": "second[at].z = 0u;",
  "another address and value": "second[at].y = random(); second[at].z = random();",
  "the same bit in neighboring stores":
    "let bit = 1u << (random() % 32u); second[near].z ^= bit; second[near + 1u].z ^= bit;",
  "any bit in each of neighboring stores":
    "second[near].z ^= 1u << (random() % 32u); second[near + 1u].z ^= 1u << (random() % 32u);",
  "the top bit in each of two stores": "second[at].z ^= 0x80000000u; second[other].z ^= 0x80000000u;",
  "one more and one less": "second[at].z += 1u; second[other].z -= 1u;",
  "an address and its value, by one": "second[at].y += 1u; second[at].z -= 1u;",
  "the same bit in both words of a value":
    "let bit = 1u << (random() % 32u); second[at].z ^= bit; second[at].w ^= bit;",
  "any bit in each word of a value":
    "second[at].z ^= 1u << (random() % 32u); second[at].w ^= 1u << (random() % 32u);",
  "both words of a value, negated": "second[at].z = 0u - first[at].z; second[at].w = 0u - first[at].w;",
  "both words of a value, inverted": "second[at].z = ~first[at].z; second[at].w = ~first[at].w;",
  "the words of a value swapped": "second[at].z = first[at].w; second[at].w = first[at].z;",
  "an address and all of its value":
    "second[at].y = random(); second[at].z = random(); second[at].w = random();",
  "two values swapped":
    "second[at].z = first[other].z; second[at].w = first[other].w; second[other].z = first[at].z; second[other].w = first[at].w;",
  "neighboring stores swapped": "second[near] = first[near + 1u]; second[near + 1u] = first[near];",
  "all stores in reverse": "for (var i = 0u; i < STORES; i++) { second[i] = first[STORES - 1u - i]; }",
  "another place in the source": "second[at].x ^= 1u;",
  "a store dropped":
    "for (var i = at; i < STORES - 1u; i++) { second[i] = first[i + 1u]; } length = STORES - 1u;",
  "a store done twice":
    "for (var i = at + 1u; i <= STORES; i++) { second[i] = first[i - 1u]; } length = STORES + 1u;",
} as const;
/** The kind of difference between two streams of stores. */
export type StreamDifference = keyof typeof differences;
const kinds = Object.keys(differences) as StreamDifference[];

const STORES = 8;
const INVOCATIONS = 64;

/** The collisions among pairs of streams with one kind of difference. */
export interface Collisions extends Rate {
  readonly difference: StreamDifference;
  /** True if the streams can differ in one word only. The hash never misses such a difference. */
  readonly oneWord: boolean;
}

const inOneWord: ReadonlySet<StreamDifference> = new Set([
  "one bit of a value",
  "one bit of an address",
  "two adjacent bits of a value",
  "another value",
  "a value of zero",
]);

/**
 * Compares the signatures of at least `pairs` pairs of different streams, about equally many of
 * each kind. `confidence` is that of the intervals, such as 0.95.
 */
export async function countCollisions(
  device: GPUDevice,
  {
    pairs,
    seed,
    confidence,
    code = collisionKernel(),
  }: { readonly pairs: number; readonly seed: number; readonly confidence: number; readonly code?: string },
  progress: (done: number) => void = () => {},
): Promise<Collisions[]> {
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const counters = device.createBuffer({ size: 8 * kinds.length, usage });
  const uniform = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
  const params = device.createBuffer({ size: 16, usage: uniform });
  const staging = device.createBuffer({
    size: counters.size,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [counters, params].map((buffer, binding) => ({ binding, resource: { buffer } })),
  });
  const [differing, colliding] = [kinds.map(() => 0), kinds.map(() => 0)];
  const draws = new Draws(`signature/${seed}`);
  // A counter holds 2^32 pairs of a kind, and a dispatch must not take long.
  const perDispatch =
    kinds.length * Math.min(2 ** 26, Math.ceil(pairs / kinds.length / INVOCATIONS) * INVOCATIONS);
  for (let done = 0; done < pairs; done = differing.reduce((sum, count) => sum + count, 0)) {
    const streams = perDispatch / kinds.length;
    const workgroups = Math.min(4096, streams / INVOCATIONS);
    const rounds = Math.ceil(streams / INVOCATIONS / workgroups);
    device.queue.writeBuffer(params, 0, Uint32Array.of(draws.word(), draws.word(), rounds, 0));
    const encoder = device.createCommandEncoder();
    encoder.clearBuffer(counters);
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(workgroups);
    pass.end();
    encoder.copyBufferToBuffer(counters, 0, staging, 0, counters.size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const counts = new Uint32Array(staging.getMappedRange());
    for (const i of kinds.keys()) {
      differing[i]! += counts[2 * i]!;
      colliding[i]! += counts[2 * i + 1]!;
    }
    staging.unmap();
    progress(differing.reduce((sum, count) => sum + count, 0));
  }
  for (const buffer of [counters, params, staging]) buffer.destroy();
  return kinds.map((difference, i) => ({
    difference,
    oneWord: inOneWord.has(difference),
    ...wilson(colliding[i]!, differing[i]!, confidence),
  }));
}

/**
 * Returns WGSL that counts, for each kind of difference, the pairs of different streams and the
 * collisions among them.
 */
export function collisionKernel(): string {
  const names = new Names(resolve(parse("").module));
  const comparison = new Comparison(names, { channel: "workgroup", lanes: "1u" });
  const { expression } = quote();
  const fold = (site: number) =>
    comparison
      .foldIntoSignature({
        site,
        address: { expression: expression`4u * address`, indices: [expression`address`] },
        words: { expression: expression`value`, count: 2, scalar: "u32" },
      })
      .map(printStatement)
      .join(" ");
  const folds = [fold(1), fold(2)];
  const signature = comparison.signature().expression;
  if (signature.kind !== "identifier") throw new Error("a signature is a variable");
  const cases = kinds.map((kind, i) => `case ${i}u: { ${differences[kind]} }`).join("\n        ");
  return `
const STORES = ${STORES}u;
struct Params { seed: u32, other_seed: u32, rounds: u32 }
@group(0) @binding(0) var<storage, read_write> counters: array<atomic<u32>, ${2 * kinds.length}>;
@group(0) @binding(1) var<uniform> params: Params;
${comparison.takeDeclarations().map(printDeclaration).join("\n")}

/** A store: its place in the source, the index of its address, and a value of two words. */
alias Store = vec4u;
var<private> state: vec2u;
var<private> first: array<Store, STORES + 1u>;
var<private> second: array<Store, STORES + 1u>;

fn rotated(word: u32, by: u32) -> u32 { return (word << by) | (word >> (32u - by)); }

/**
 * xoroshiro64**, Blackman and Vigna 2018: 64 bits of state, so that billions of streams do not
 * repeat.
 */
fn random() -> u32 {
  let word = rotated(state.x * 0x9e3779bbu, 5u) * 5u;
  let mixed = state.x ^ state.y;
  state = vec2u(rotated(state.x, 26u) ^ mixed ^ (mixed << 9u), rotated(mixed, 13u));
  return word;
}

/** A bijection, so that invocations begin apart. */
fn scrambled(word: u32) -> u32 {
  var hash = (word ^ (word >> 16u)) * 0x21f0aaadu;
  hash = (hash ^ (hash >> 15u)) * 0x735a2d97u;
  return hash ^ (hash >> 15u);
}

/** Kernels store small numbers at neighboring places as often as anything anywhere. */
fn store(i: u32, structured: bool) -> Store {
  let value = vec2u(random(), random());
  let site = random() & 1u;
  return select(Store(site, random(), value), Store(site, i, value & vec2u(15u)), structured);
}

fn present(site: u32, address: u32, value: vec2u) {
  if (site == 0u) { ${folds[0]} } else { ${folds[1]} }
}

@compute @workgroup_size(${INVOCATIONS})
fn main(@builtin(global_invocation_id) id: vec3u) {
  state = vec2u(scrambled(id.x) ^ params.seed, scrambled(id.x ^ params.other_seed) | 1u);
  for (var kind = 0u; kind < ${kinds.length}u; kind++) {
    var differing = 0u;
    var colliding = 0u;
    for (var round = 0u; round < params.rounds; round++) {
      let structured = (random() & 1u) == 1u;
      for (var i = 0u; i < STORES; i++) { first[i] = store(i, structured); }
      first[STORES] = Store();
      second = first;
      var length = STORES;
      let at = random() % STORES;
      let other = (at + 1u + random() % (STORES - 1u)) % STORES;
      let near = random() % (STORES - 1u);
      switch kind {
        ${cases}
        default: {}
      }
      var differ = length != STORES;
      for (var i = 0u; i < STORES; i++) { differ = differ || any(first[i] != second[i]); }
      if (!differ) { continue; }
      differing++;
      ${signature.name} = 0u;
      for (var i = 0u; i < STORES; i++) { present(first[i].x, first[i].y, first[i].zw); }
      let expected = ${signature.name};
      ${signature.name} = 0u;
      for (var i = 0u; i < length; i++) { present(second[i].x, second[i].y, second[i].zw); }
      if (${signature.name} == expected) { colliding++; }
    }
    atomicAdd(&counters[2u * kind], differing);
    atomicAdd(&counters[2u * kind + 1u], colliding);
  }
}
`;
}
