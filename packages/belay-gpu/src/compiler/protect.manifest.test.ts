/**
 * Hashes of what `protect` makes of many modules in many ways: a restructured compiler must emit
 * the same bytes. After an intended change run this file with `-u`. Invariants are verified after
 * each pass on the way.
 */
import { createHash } from "node:crypto";
import { comparedCodes, comparedSchemes } from "belay-research/internal/ecc/index";
import { catalog } from "belay-research/internal/workloads/samples/index";
import fc from "fast-check";
import { expect, it } from "vitest";
import { kernel } from "../../../../test/support/kernels/arbitraryKernels.ts";
import { barrierKernel } from "../../../../test/support/kernels/barrierKernels.ts";
import { featureKernels } from "../../../../test/support/kernels/featureKernels.ts";
import { sample } from "../../../../test/support/sample.ts";
import { parse } from "../wgsl/parser.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { configurationsFor } from "./configurations.ts";
import type { CompilerOptions, MemoryCode } from "./contract.ts";
import { verifyInvariants } from "./invariants.ts";
import { protectInPasses } from "./protect.ts";

/** Modules with several entry points, resources of every kind, or nothing that can be protected. */
const modules: Record<string, string> = {
  "shared functions": `
    struct Pair { a: vec3f, b: u32 }
    @group(0) @binding(0) var<storage, read_write> pairs: array<Pair>;
    @group(0) @binding(1) var<storage, read_write> sums: array<atomic<u32>, 4>;
    @group(1) @binding(0) var<uniform> scale: vec4f;
    override width = 8u;
    var<workgroup> tile: array<u32, 64>;
    var<workgroup> seen: atomic<u32>;
    fn put(p: ptr<storage, Pair, read_write>, v: u32) { (*p).b = v; (*p).a.zx = scale.xy; }
    fn bump(p: ptr<storage, atomic<u32>, read_write>) -> u32 { return atomicAdd(p, 1u); }
    @compute @workgroup_size(64) fn first(@builtin(local_invocation_index) l: u32) {
      tile[l] = bump(&sums[l % 4u]);
      workgroupBarrier();
      put(&pairs[l], tile[63u - l]);
    }
    @compute @workgroup_size(width, 2) fn second(@builtin(global_invocation_id) id: vec3u) {
      for (var i = 0u; i < atomicLoad(&sums[1]); i++) { put(&pairs[id.x + i], i); }
      if (id.x > 3u && pairs[id.y].b > 2u) { pairs[id.x].b += 1u; }
      atomicMax(&seen, id.x);
    }
    @compute @workgroup_size(1) fn third() { pairs[0].b = 1u; }
    @fragment fn shade() -> @location(0) vec4f { return scale; }`,
  "names of the language": `
    var<private> min: u32;
    @group(0) @binding(0) var<storage, read_write> out: array<f32>;
    @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) out_1: u32) {
      let select = f32(out_1); var out_2 = select; { let out_2 = 3.0; out[out_1] = out_2; }
      min = out_1; out[out_1 + 32u] = out_2 + f32(min);
    }`,
  textures: `
    @group(0) @binding(0) var image: texture_2d<f32>;
    @group(0) @binding(1) var target: texture_storage_2d<rgba8unorm, write>;
    @group(0) @binding(2) var both: texture_storage_2d<r32uint, read_write>;
    @compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
      textureStore(target, id.xy, textureLoad(image, id.xy, 0));
    }
    @compute @workgroup_size(8, 8) fn again(@builtin(global_invocation_id) id: vec3u) {
      textureStore(both, id.xy, textureLoad(both, id.xy + 1u));
    }`,
  subgroups: `
    enable subgroups;
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) { out[l] = subgroupAdd(l); }`,
  "too large": `
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    var<workgroup> all: array<u32, 4000>;
    @compute @workgroup_size(256) fn main(@builtin(local_invocation_index) l: u32) {
      all[l] = l; workgroupBarrier(); out[l] = all[255u - l];
    }`,
  waits: `
    @group(0) @binding(0) var<storage, read_write> flag: atomic<u32>;
    @compute @workgroup_size(64) fn main() { while (atomicLoad(&flag) == 0u) {} atomicAdd(&flag, 1u); }`,
  "long chain": `
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) {
      ${Array.from({ length: 40 }, (_, i) => `if (l == ${i}u) { out[l] = ${i}u; }`).join(" else ")}
    }`,
  "nests deeply": `
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(64) fn plain(@builtin(local_invocation_index) l: u32) { out[l] = 1u; }
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) {
      ${"if (l > 0u) { ".repeat(118)} out[l] = l; ${"}".repeat(118)}
    }`,
  "has no compute entry point": "fn f() {}",
  "is not valid": "fn f( {}",
};

const isValid = (code: string) => {
  const parsed = parse(code);
  return [...parsed.diagnostics, ...resolve(parsed.module).diagnostics].length === 0;
};

const sources: readonly (readonly [string, string])[] = [
  ...Object.entries(modules),
  ...featureKernels.map(({ name, code }) => [name, code] as const),
  ...catalog.flatMap(({ name, small }) =>
    Object.entries(small().kernelSources).map(([part, code]) => [`${name}, ${part}`, code] as const),
  ),
  ...fc.sample(kernel, { numRuns: 6, seed: 7 }).map((code, i) => [`random ${i}`, code] as const),
  ...Array.from({ length: 24 }, (_, seed) => [`barriers ${seed}`, barrierKernel(seed)] as const)
    .filter(([, code]) => isValid(code))
    .slice(0, 8),
];

const features = ["subgroups"];
const replications: readonly CompilerOptions[] = [
  ...configurationsFor(features).map((each) => ({ ...each, features })),
  { redundancy: "auto", features },
  { redundancy: "none", features },
];
const points = [0, 1, 2, 3].map((binding) => ({ group: 0, binding }));
const additions: readonly CompilerOptions[] = [
  ...[...(comparedCodes as readonly MemoryCode[]), "none" as const].flatMap((memory) => [
    { memory },
    { memory, injectFaults: true },
    { memory, injectFaults: true, strikeMachinery: true },
    { memory, injectFaults: "profile" as const },
  ]),
  {
    memory: {
      default: "none",
      bindings: points.map((of, site) => ({
        of,
        scheme: "checksum",
        ...(site < 2 ? { site } : { isKnown: true }),
      })),
    },
  },
  { strict: true },
  { constants: { width: 16 }, limits: { maxStorageBuffersPerShaderStage: 4, maxBindGroups: 1 } },
  {
    limits: { maxComputeInvocationsPerWorkgroup: 1024, maxComputeWorkgroupSizeX: 1024 },
    subgroupSize: 4,
    subgroupMaxSize: 4,
  },
];
const combined = replications.flatMap((replication) =>
  additions.map((added): CompilerOptions => ({ ...replication, ...added })),
);
/** Replication alone, also without subgroups, and what only `"auto"` has. */
const plainly: readonly CompilerOptions[] = [
  ...replications,
  {},
  { redundancy: "auto", entryPoint: "main", room: 4 },
  { redundancy: "auto", cover: ["SU"], memory: "secded128" },
  { redundancy: "none", memory: "checksum" },
  { redundancy: "none", memory: "secded128" },
];

/** Far apart, so that neighbors in the list do not meet the same few modules. */
const scattered = combined.map((_, i) => combined[(i * 389) % combined.length]!);

it("emits the same modules and results as before", async () => {
  const hashes: Record<string, string> = {};
  for (const [row, [name, code]] of sources.entries()) {
    for (const options of [...sample(plainly, row, 3), ...sample(scattered, row, 2)]) {
      const { redundancy, check, channel, pairing, features: enabled, ...more } = options;
      const words = [redundancy, check, channel, pairing, enabled && "subgroups"].filter(Boolean).join(" ");
      const experiment = { codes: comparedSchemes, verify: verifyInvariants };
      const result = JSON.stringify(protectInPasses(code, options, experiment).result);
      const hash = createHash("sha256").update(result).digest("base64url").slice(0, 10);
      hashes[`${name} | ${words}${Object.keys(more).length > 0 ? ` ${JSON.stringify(more)}` : ""}`] = hash;
    }
  }
  await expect(`${JSON.stringify(hashes, null, 2)}\n`).toMatchFileSnapshot("protect.manifest.json");
});
