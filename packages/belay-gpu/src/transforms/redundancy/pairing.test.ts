import { describe, expect, it } from "vitest";
import { runReference, translated } from "../../../../../test/support/kernels/reference.ts";
import { newLibrary, runReplicas } from "../../../../../test/support/kernels/replicas.ts";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { Names } from "../shared/names.ts";
import {
  type DoubledPairing,
  distanceOf,
  doubledWorkgroup,
  keptWorkgroup,
  type SwappedWorkgroup,
  subgroupCheck,
  swappedWorkgroup,
} from "./pairing.ts";
import { recordCause } from "./reportBuffer.ts";

type Size = readonly [x: number, y: number, z: number];

/** The work of a lane: the replica, and the index and the ids of the invocation. */
interface LaneWork {
  readonly replica: number;
  readonly local: number;
  readonly id: readonly number[];
  readonly globalId: readonly number[];
}

/** The work of all lanes, as WGSL: the statements before the body, and the values in it. */
interface Placing extends SwappedWorkgroup {
  readonly size: readonly string[];
  readonly prologue: string;
  readonly replica: string;
}

const names = new Names(typed(""));
const sizeText = (size: Size) => size.map((each) => `${each}u`) as [string, string, string];
const invocationsOf = ([x, y, z]: Size) => x * y * z;
const sizes: readonly Size[] = [
  [16, 1, 1],
  [5, 1, 1],
  [4, 2, 1],
  [2, 3, 4],
  [1, 1, 33],
];

/**
 * Runs four workgroups on the reference executor, in subgroups of four lanes. Returns the work of
 * the lanes of the workgroup (1, 0, 1). Global ids may follow from the others.
 */
function workOf(own: Size, lanes: number, { size, prologue, replica, local, derived }: Placing): LaneWork[] {
  const globalId = derived.global_invocation_id ?? `belay_in_workgroup_id * vec3u(${own.join(", ")}) + id`;
  const source = `
    enable subgroups;
    @group(0) @binding(0) var<storage, read_write> seen: array<array<u32, 8>>;
    var<private> belay_replica: u32;
    var<private> belay_local: u32;
    var<private> belay_distance: u32;
    @compute @workgroup_size(${size.join(", ")}) fn main(
      @builtin(local_invocation_index) belay_in_local_invocation_index: u32,
      @builtin(local_invocation_id) belay_in_local_invocation_id: vec3u,
      @builtin(global_invocation_id) belay_in_global_invocation_id: vec3u,
      @builtin(workgroup_id) belay_in_workgroup_id: vec3u,
      @builtin(subgroup_size) belay_in_subgroup_size: u32,
    ) {
      ${prologue}
      belay_replica = ${replica};
      belay_local = ${local};
      let index = ${derived.local_invocation_index};
      let id: vec3u = ${derived.local_invocation_id};
      let at: vec3u = ${globalId};
      if (any(belay_in_workgroup_id != vec3u(1, 0, 1))) { return; }
      seen[belay_in_local_invocation_index] = array(belay_replica, index, id.x, id.y, id.z, at.x, at.y, at.z);
    }`;
  const input = { buffers: { 0: new Uint32Array(8 * lanes) }, workgroups: [2, 1, 2] } as const;
  const { buffers, undecided } = runReference(translated(source, input), input);
  expect(undecided).toBeUndefined();
  const words = [...new Uint32Array(buffers[0]!.bytes.buffer)];
  return Array.from({ length: lanes }, (_, lane): LaneWork => {
    const [replica, local, ...ids] = words.slice(8 * lane, 8 * lane + 8) as [number, number, ...number[]];
    return { replica, local, id: ids.slice(0, 3), globalId: ids.slice(3) };
  });
}

/** Returns the work of the lanes of a doubled workgroup. */
const doubled = (pairing: DoubledPairing, size: Size) =>
  workOf(size, 2 * invocationsOf(size), doubledWorkgroup(pairing, names, sizeText(size)));

/** Expects that each invocation of a workgroup runs once, and has its own ids. */
function expectAll(work: readonly LaneWork[], size: Size) {
  const [x, y, z] = size;
  const sorted = [...work].sort((a, b) => a.local - b.local);
  const expected = Array.from({ length: invocationsOf(size) }, (_, local) => {
    const id = [local % x, Math.floor(local / x) % y, Math.floor(local / (x * y))] as const;
    return { local, id, globalId: [x + id[0], id[1], z + id[2]] };
  });
  expect(sorted.map(({ replica, ...rest }) => rest)).toEqual(expected);
}

describe.each(["adjacent", "half-subgroup", "subgroups"] as const)("the pairing %s", (pairing) => {
  it.each(sizes)("runs each invocation of %d x %d x %d twice, with its own ids", (...size) => {
    const work = doubled(pairing, size);
    for (const replica of [0, 1])
      expectAll(
        work.filter((each) => each.replica === replica),
        size,
      );
  });
});

it.each([
  ["on neighboring lanes", "adjacent", 1],
  ["half a subgroup apart", "half-subgroup", 2],
  ["in different subgroups", "subgroups", 16],
] as const)("places replicas %s with the pairing %s", (_, pairing, distance) => {
  const work = doubled(pairing, [16, 1, 1]);
  const laneOf = (replica: number, of: number) =>
    work.findIndex((each) => each.replica === replica && each.local === of);
  for (let i = 0; i < 16; i++) expect(laneOf(1, i) - laneOf(0, i)).toBe(distance);
});

it("makes no workgroup deeper than the 64 that WebGPU allows", () => {
  const sizeOf = (depth: number) => doubledWorkgroup("subgroups", names, sizeText([1, 1, depth])).size;
  expect(sizeOf(32)).toEqual(["1u", "1u", "2u * 32u"]);
  expect(sizeOf(33)).toHaveLength(1);
});

it("tells the distance of replicas in a subgroup", () => {
  expect(distanceOf("adjacent", names)).toBe("1u");
  expect(distanceOf("half-subgroup", names)).toBe("belay_distance");
});

describe("passes", () => {
  const inPlace = (size: Size, replica: number, values: SwappedWorkgroup) =>
    workOf(size, invocationsOf(size), {
      size: sizeText(size),
      prologue: "",
      replica: `${replica}u`,
      ...values,
    });
  const swapped = (size: Size, replica: number) =>
    inPlace(size, replica, swappedWorkgroup(names, sizeText(size)));

  it.each(sizes)("run each invocation of %d x %d x %d once, with its own ids", (...size) => {
    for (const replica of [0, 1]) expectAll(swapped(size, replica), size);
  });

  it("swap neighboring lanes in the first, but for the last of an odd number", () => {
    expect(swapped([5, 1, 1], 1).map(({ local }) => local)).toEqual([1, 0, 3, 2, 4]);
    expect(swapped([5, 1, 1], 0).map(({ local }) => local)).toEqual([0, 1, 2, 3, 4]);
  });

  it("may keep all invocations on their lanes", () => {
    const work = inPlace([4, 2, 1], 1, keptWorkgroup(names, "0u"));
    expect(work.map(({ local }) => local)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expectAll(work, [4, 2, 1]);
  });
});

describe("the check of subgroups", () => {
  /** Returns the causes of records, for the index of the invocation on each lane of subgroups. */
  const causes = (indices: readonly number[], invocations: number) => {
    const library = newLibrary();
    library.emit(subgroupCheck(library.names));
    const body = `belay_check_subgroup(input[lane].x, lane % 4u, 4u, ${invocations}u);`;
    return runReplicas(
      library,
      body,
      indices.map((each) => [each]),
    ).records.map(({ cause }) => cause);
  };
  const mixed = recordCause.subgroupsMixed;

  it("records nothing if each holds neighbors of one replica, in order", () => {
    expect(causes([4, 5, 6, 7, 0, 1, 2, 3], 8)).toEqual([]);
  });

  it.each([
    ["are in another order", [0, 2, 1, 3, 4, 5, 6, 7], 8, [mixed]],
    ["are no neighbors", [0, 1, 4, 5, 2, 3, 6, 7], 8, [mixed, mixed]],
    ["begin in the middle of a subgroup", [2, 3, 4, 5], 8, [mixed]],
    ["are of two replicas", [0, 1, 2, 3, 4, 5, 6, 7], 6, [mixed, mixed]],
  ])("records subgroups whose lanes %s", (_, indices, invocations, expected) => {
    expect(causes(indices, invocations)).toEqual(expected);
  });
});
