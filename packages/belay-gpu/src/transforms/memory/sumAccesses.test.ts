import { it } from "vitest";
import { goldens, reachedByMain, report, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import type { Program } from "../../wgsl/program.ts";
import { normalizeAccesses } from "../normalize/normalizeAccesses.ts";
import { replicateInvocations } from "../redundancy/replicateInvocations.ts";
import type { Names } from "../shared/names.ts";
import { sumAccesses } from "./sumAccesses.ts";

const golden = goldens("sumAccesses");
const ids: Step = (program, names) =>
  replicateInvocations(program, names, {
    replicas: 1,
    pairing: "adjacent",
    entryPoints: new Set(["main"]),
    subgroups: false,
  });
/** Sums `input` and `output` of `main`. */
const sum = (program: Program, names: Names, isCounted = true) =>
  sumAccesses(program, names, {
    slots: { group: 1, binding: 1 },
    table: { group: 1, binding: 2 },
    rows: 2,
    kernels: [
      {
        entryPoint: "main",
        functions: reachedByMain(program),
        summed: new Map(["input", "output"].map((name, row) => [name, { row, isCounted }])),
      },
    ],
  });

const copy = `
  @group(0) @binding(0) var<storage, read> input: array<vec4u>;
  @group(0) @binding(1) var<storage, read_write> output: array<vec2u>;
  @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
    output[id.x] = input[id.x].xy + input[id.y].zw;
  }`;

it("adds up what is loaded and stored, and leaves the sums in slots", () =>
  golden("a copy", copy, normalizeAccesses, report(), ids, sum));

it("adds up no places where these are known", () =>
  golden("a copy of all words", copy, normalizeAccesses, report(), ids, (program, names) =>
    sum(program, names, false),
  ));

it("gives invocations that access the same other weights", () =>
  golden(
    "what ids access alike",
    `
  @group(0) @binding(0) var<storage, read> input: array<vec4f>;
  @group(0) @binding(1) var<storage, read_write> output: array<vec4f>;
  @compute @workgroup_size(8, 4)
  fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
    let i = group.x * 8 + local.x;
    let value = input[i] + input[local.y];
    if (local.y == 0) { output[i] = value; }
  }`,
    normalizeAccesses,
    report(),
    ids,
    sum,
  ));

it("adds up parts of structures, also before an early return", () =>
  golden(
    "structures",
    `
  struct S { number: u32, pair: vec2i }
  @group(0) @binding(0) var<storage, read> input: array<S>;
  @group(0) @binding(1) var<storage, read_write> output: array<array<f32, 3>>;
  @compute @workgroup_size(2) fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x >= arrayLength(&input)) { return; }
    for (var k = 0u; k < 3; k++) { output[id.x][k] = f32(input[id.x].pair.y) + f32(input[id.x].number); }
  }`,
    normalizeAccesses,
    report(),
    ids,
    sum,
  ));
