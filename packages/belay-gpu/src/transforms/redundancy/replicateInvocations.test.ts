import { describe, expect, it } from "vitest";
import { goldens, report, type Step, typed } from "../../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "../../analysis/callGraph.ts";
import { invocationsOf, workgroupSizeOf } from "../shared/entryPointWrapper.ts";
import { enableSubgroups } from "./enableSubgroups.ts";
import type { DoubledPairing } from "./pairing.ts";
import { replicateInvocations } from "./replicateInvocations.ts";

const golden = goldens("replicateInvocations");
const declared = report({ group: 0 });
const replicate =
  (options: { replicas?: 1 | 2; pairing?: DoubledPairing; subgroups?: boolean; sees?: boolean } = {}): Step =>
  (program, names) => {
    const { replicas = 2, pairing = "adjacent", subgroups = false, sees = false } = options;
    const kernels = functionsOf(program).filter(({ name }) => name.startsWith("main"));
    const entryPoints = new Set(kernels.map((fn) => fn.name));
    return replicateInvocations(program, names, {
      replicas,
      pairing,
      subgroups,
      entryPoints,
      ...(sees && { seeingSubgroups: entryPoints }),
    });
  };

describe("doubles a workgroup", () => {
  it("of one dimension, with every built-in value", () =>
    golden(
      "one dimension",
      `@compute @workgroup_size(64)
      fn main(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) g: vec3<u32>,
              @builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) n: vec3u) { if (i > 3u) { return; } }`,
      declared,
      replicate(),
    ));

  it("of two dimensions, with built-in values in a struct and of an alias type", () =>
    golden(
      "two dimensions and a struct",
      `alias Id = vec3u;
      struct In { @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_id) local: Id }
      const height = 4;
      @workgroup_size(8i, height) @compute fn main(in: In, @builtin(global_invocation_id) id: Id) {}`,
      declared,
      replicate(),
    ));

  it("of three dimensions", () =>
    golden(
      "three dimensions",
      "@compute @workgroup_size(4, 3, 2) fn main(@builtin(local_invocation_id) l: vec3u) {}",
      declared,
      replicate(),
    ));

  it("with a depth, but no height", () =>
    golden(
      "no height",
      "@compute @workgroup_size(4, 1, 2) fn main(@builtin(global_invocation_id) g: vec3u) {}",
      declared,
      replicate(),
    ));

  it("whose size overrides decide, of mixed types", () =>
    golden(
      "override sizes",
      `override width: i32; override height = 2;
      @compute @workgroup_size(width + 1, height, 1) fn main(@builtin(local_invocation_id) l: vec3u) {}`,
      declared,
      replicate(),
    ));

  it("with linear indices", () =>
    golden(
      "linear indices",
      `requires linear_indexing;
      @compute @workgroup_size(4, 4) fn main(@builtin(global_invocation_index) g: u32, @builtin(workgroup_index) w: u32) {}`,
      declared,
      replicate(),
    ));

  it("without parameters, keeping diagnostic attributes", () =>
    golden(
      "no parameters",
      "@diagnostic(off, derivative_uniformity) @compute @workgroup_size(1) fn main() {}",
      declared,
      replicate(),
    ));

  it.each(["half-subgroup", "subgroups"] as const)("with the pairing %s, in one dimension", (pairing) =>
    golden(
      `${pairing} in one dimension`,
      `@compute @workgroup_size(96)
      fn main(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) g: vec3<u32>) {}`,
      declared,
      enableSubgroups,
      replicate({ pairing }),
    ),
  );

  it.each(["half-subgroup", "subgroups"] as const)("with the pairing %s, in more dimensions", (pairing) =>
    golden(
      `${pairing} in more dimensions`,
      `override width: i32; override depth = 1;
      @compute @workgroup_size(8, 4) fn main(@builtin(local_invocation_id) l: vec3u, @builtin(global_invocation_id) g: vec3u) {}
      @compute @workgroup_size(width, 2, 3) fn main_deep(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32) {}
      @compute @workgroup_size(1, 1, 33) fn main_deeper(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32) {}
      @compute @workgroup_size(1, 2, depth) fn main_unknown(@builtin(global_invocation_id) g: vec3u) {}`,
      declared,
      enableSubgroups,
      replicate({ pairing }),
    ),
  );

  it("whose invocations see one replica in their subgroups", () =>
    golden(
      "subgroups of one replica",
      `enable subgroups; requires subgroup_id;
      @compute @workgroup_size(8, 4) fn main(@builtin(subgroup_id) id: u32, @builtin(num_subgroups) count: u32,
          @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32) {
        if (id == 0u) { _ = subgroupAdd(lane + count + size); }
      }`,
      declared,
      enableSubgroups,
      replicate({ pairing: "subgroups", sees: true }),
    ));

  it("and finds the partner's lane half a subgroup away", () =>
    golden(
      "half-subgroup and the partner",
      "@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {}",
      declared,
      enableSubgroups,
      replicate({ pairing: "half-subgroup", subgroups: true }),
    ));

  it("and finds the partner's lane", () =>
    golden(
      "subgroups",
      "@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {}",
      declared,
      enableSubgroups,
      replicate({ subgroups: true }),
    ));
});

it("keeps the shape with one replica, which only learns who it is", () =>
  golden(
    "one replica",
    "@compute @workgroup_size(4, 4) fn main(@builtin(global_invocation_id) g: vec3u, @builtin(local_invocation_id) l: vec3u) {}",
    declared,
    replicate({ replicas: 1 }),
  ));

it("wraps the entry points that are asked for", () =>
  golden(
    "several entry points",
    `fn helper() {}
    @compute @workgroup_size(4) fn main_first() { helper(); }
    @compute @workgroup_size(2, 2) fn main_second(@builtin(local_invocation_id) l: vec3u) { helper(); }
    @compute @workgroup_size(8) fn left_alone() { helper(); }`,
    declared,
    replicate(),
  ));

it("writes workgroup sizes as u32", () => {
  const program = typed("override w: i32; const h = 2i; @compute @workgroup_size(w * 2, h) fn main() {}");
  const [main] = functionsOf(program);
  expect(workgroupSizeOf(program, main!)).toEqual(["u32(w * 2)", "2u", "1u"]);
  expect(invocationsOf(program, main!)).toBe("u32(w * 2) * 2u");
});
