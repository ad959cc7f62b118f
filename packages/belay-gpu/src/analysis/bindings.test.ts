import { expect, it } from "vitest";
import { resolved } from "../../../../test/support/wgsl/resolved.ts";
import { bindingAccesses, bindingPointsOf, buffersInPlace } from "./bindings.ts";
import { functionsOf, reachableFrom } from "./callGraph.ts";

const program = resolved(`
const GROUP = 1;
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> stored: array<u32>;
@group(0) @binding(2) var<storage, read_write> both: array<u32>;
@group(0) @binding(3) var<storage, read_write> loaded: array<u32>;
@group(0) @binding(4) var<storage, read_write> counted: array<u32>;
@group(0) @binding(5) var<storage, read_write> added: atomic<u32>;
@group(0) @binding(6) var<storage, read_write> watched: atomic<u32>;
@group(0) @binding(7) var<storage, read_write> put: atomic<u32>;
@group(0) @binding(8) var<storage, read_write> pointed: array<u32>;
@group(GROUP) @binding(0) var<uniform> size: vec4u;
@group(GROUP) @binding(1) var image: texture_2d<f32>;
@group(GROUP) @binding(2) var picture: texture_storage_2d<r32uint, write>;
@group(GROUP) @binding(3) var taps: sampler;
@group(GROUP) @binding(4) var<storage, read_write> elsewhere: array<u32>;
var<private> mine: u32;
var<workgroup> ours: u32;

fn fill(p: ptr<storage, array<u32>, read_write>) { (*p)[0] = 1; }
fn inner() { stored[input[0]] = loaded[size.x]; both[1] += arrayLength(&counted); }
@compute @workgroup_size(1) fn main() {
  inner();
  mine = atomicAdd(&added, 1) + atomicLoad(&watched);
  ours = mine;
  atomicStore(&put, 1);
  fill(&pointed);
  let color = textureSampleLevel(image, taps, vec2f(0), 0);
  textureStore(picture, vec2u(0), vec4u(u32(color.x)));
}
@compute @workgroup_size(1) fn other() { elsewhere[0] = 1; }
`);

it("returns the access of an entry point to each resource that it reaches", () => {
  const [main, other] = functionsOf(program)
    .filter((fn) => fn.attributes.length > 0)
    .map((fn) =>
      Object.fromEntries(
        bindingAccesses(program, fn).map(({ group, binding, access }) => [`${group}.${binding}`, access]),
      ),
    );
  expect(main).toEqual({
    "0.0": "read",
    "0.1": "write",
    "0.2": "read_write",
    "0.3": "read",
    "0.4": "read",
    "0.5": "read_write",
    "0.6": "read",
    "0.7": "write",
    "0.8": "read_write",
    "1.0": "read",
    "1.1": "read",
    "1.2": "write",
    "1.3": "read",
  });
  expect(other).toEqual({ "1.4": "write" });
});

it("lists every binding point of a module", () => {
  expect(bindingPointsOf(program)).toHaveLength(14);
  expect(bindingPointsOf(program)[9]).toEqual({ group: 1, binding: 0 });
});

it("tells loads of subgroup matrices from stores", () => {
  const program = resolved(`enable subgroups; enable chromium_experimental_subgroup_matrix;
    @group(0) @binding(0) var<storage, read_write> loaded: array<f32>;
    @group(0) @binding(1) var<storage, read_write> stored: array<f32>;
    @group(0) @binding(2) var<storage, read_write> both: array<f32>;
    alias Sums = subgroup_matrix_result<f32, 8, 8>;
    @compute @workgroup_size(32) fn main() {
      let sums = subgroupMatrixLoad<Sums, row_major>(&loaded, 0u, 8u);
      subgroupMatrixStore<row_major>(&stored, 0u, sums, 8u);
      subgroupMatrixStore<row_major>(&both, 0u, subgroupMatrixLoad<Sums, row_major>(&both, 0u, 8u), 8u);
    }`);
  const kernels = functionsOf(program);
  const accesses = bindingAccesses(program, kernels[0]!).map(({ name, access }) => [name, access]);
  expect(Object.fromEntries(accesses)).toEqual({ loaded: "read", stored: "write", both: "read_write" });
  expect([...buffersInPlace(program, kernels)].map(({ name }) => name)).toEqual(["both"]);
});

it("finds the buffers changed in place, without counting atomics and lengths", () => {
  const program = resolved(`
    struct Bins { total: u32, all: array<atomic<u32>> }
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> counted: array<u32>;
    @group(0) @binding(2) var<storage, read_write> bins: Bins;
    @group(0) @binding(3) var<storage, read_write> mixed: Bins;
    @group(0) @binding(4) var<storage, read_write> pointed: array<u32>;
    @group(0) @binding(5) var<storage, read> input: array<u32>;
    @group(0) @binding(6) var<storage, read_write> output: array<u32>;
    fn add(p: ptr<storage, atomic<u32>, read_write>) { atomicAdd(p, 1); }
    fn fill(p: ptr<storage, u32, read_write>) { *p = 1; }
    fn take(p: ptr<storage, u32, read>) -> u32 { return *p; }
    @compute @workgroup_size(1) fn main() {
      a[0]++;
      counted[0] = arrayLength(&counted);
      add(&bins.all[0]);
      bins.total = atomicLoad(&bins.all[1]);
      mixed.total += atomicLoad(&mixed.all[1]);
      fill(&pointed[0]);
      output[a[1]] = take(&input[0]);
    }`);
  const names = [...buffersInPlace(program, reachableFrom(program, functionsOf(program)))].map(
    ({ name }) => name,
  );
  expect(names.sort()).toEqual(["a", "mixed", "pointed"]);
});
