/**
 * The lanes and the times at which the two replicas of an invocation run, and the built-in values
 * that the invocation sees there.
 */
import { product } from "../shared/entryPointWrapper.ts";
import type { Names } from "../shared/names.ts";
import { recordCause } from "./reportBuffer.ts";

/**
 * The lanes of the two replicas of an invocation.
 *
 * - `"adjacent"`: neighboring lanes of a doubled workgroup.
 * - `"half-subgroup"`: lanes half a subgroup apart. Each replica keeps runs of neighbors.
 * - `"subgroups"`: different subgroups, half a workgroup apart. Each replica keeps whole subgroups,
 *   so operations that a subgroup shares are replicated too. Subgroup operations see one replica if
 *   each subgroup holds neighbors of one replica, in order (`subgroupCheck`).
 * - `"passes"`: one replica after the other, on swapped lanes. If results depend on which
 *   invocations share a subgroup, both run on one lane.
 *
 * With passes the workgroup keeps its size and its memory serves both passes, so only transient
 * faults show in workgroup memory. The second pass finds in the caches what the first one loaded.
 * Memory-bound kernels therefore run about as fast as unprotected ones.
 */
export type Pairing = "adjacent" | "half-subgroup" | "subgroups" | "passes";

/** The pairing of a doubled workgroup. */
export type DoubledPairing = Exclude<Pairing, "passes">;

/**
 * Returns the distance of two replicas in their subgroup, as WGSL. Their lane numbers differ in
 * this one bit.
 */
export function distanceOf(pairing: Pairing, names: Names): string {
  return pairing === "half-subgroup" ? names.the("distance") : "1u";
}

/** A doubled workgroup, as WGSL. `in_…` are the built-in values of the doubled workgroup. */
export interface DoubledWorkgroup {
  /** The size in up to three dimensions. */
  readonly size: readonly string[];
  /** The statements that run before everything else. */
  readonly prologue: string;
  /** The number of the replica, 0 or 1. */
  readonly replica: string;
  /** The index of the invocation in the original workgroup. */
  readonly local: string;
  /** The original built-in values that differ from those of the doubled workgroup. */
  readonly derived: Readonly<Record<string, string>>;
}

/** The limit of a workgroup's size along z (WebGPU specification, "Limits"). */
const maxDepth = 64;

/**
 * Returns the doubled workgroup of a workgroup of `size`. Sizes are WGSL expressions of type u32,
 * and literals if they are constant.
 */
export function doubledWorkgroup(
  pairing: DoubledPairing,
  names: Names,
  size: readonly [string, string, string],
): DoubledWorkgroup {
  switch (pairing) {
    case "adjacent":
      return adjacent(names, size);
    case "half-subgroup":
      return halfSubgroup(names, size);
    case "subgroups": {
      // A size that an override decides may exceed the limit.
      const isFlat = !(2 * Number.parseInt(size[2], 10) <= maxDepth);
      const doubled = isFlat ? halves(names, size) : wholeSubgroups(names, size);
      return { ...doubled, derived: { ...doubled.derived, ...subgroupIds(names, size) } };
    }
  }
}

/**
 * Returns the function `check_subgroup`, as WGSL. It records a subgroup unless its lanes are all
 * the neighbors from a multiple of its size on, in order. Such a subgroup holds one replica, as the
 * size also has to divide the number of `invocations` of a replica. Its twin holds the same ones.
 */
export function subgroupCheck(names: Names): string {
  return `
    fn ${names.the("check_subgroup")}(index: u32, lane: u32, size: u32, invocations: u32) {
      let first = subgroupBroadcastFirst(index);
      let placed = subgroupAdd(select(0u, 1u, index == first + lane));
      if ((placed != size || first % size != 0u || invocations % size != 0u) && index == first) {
        ${names.the("record")}(0u, ${recordCause.subgroupsMixed}u, 0u, vec4<u32>());
      }
    }`;
}

/** Returns the built-in values of subgroups that number those of one replica. */
function subgroupIds(names: Names, size: readonly string[]): Record<string, string> {
  const lanes = names.the("in_subgroup_size");
  return {
    subgroup_id: `${names.the("local")} / ${lanes}`,
    num_subgroups: `${product(size)} / ${lanes}`,
  };
}

/**
 * The index and the built-in values of an invocation whose lane runs its neighbor's second
 * replica, as WGSL.
 */
export type SwappedWorkgroup = Pick<DoubledWorkgroup, "local" | "derived">;

/**
 * Returns the values of a workgroup of `size` whose lanes swap while `replica` is 1. The last lane
 * of an odd number does not swap.
 */
export function swappedWorkgroup(names: Names, size: readonly [string, string, string]): SwappedWorkgroup {
  const [replica, index] = [names.the("replica"), names.the("in_local_invocation_index")];
  const local = `${index} ^ ${replica}`;
  if (isEven(size[0])) {
    const swapped = (id: string) => `vec3<u32>(${id}.x ^ ${replica}, ${id}.yz)`;
    return {
      local,
      derived: {
        local_invocation_index: names.the("local"),
        local_invocation_id: swapped(names.the("in_local_invocation_id")),
        global_invocation_id: swapped(names.the("in_global_invocation_id")),
      },
    };
  }
  const last = `${product(size)} - 1u`;
  return {
    local: size.some(isEven) ? local : `min(${local}, ${last})`,
    derived: flatIds(names, size),
  };
}

/**
 * Returns the values of a workgroup whose invocations keep their lanes in both passes. `zero` is a
 * zero that is another value to the compiler in each pass: it would otherwise compute once what is
 * the same in both.
 */
export function keptWorkgroup(names: Names, zero: string): SwappedWorkgroup {
  const shifted = (builtin: string) => `${names.the(`in_${builtin}`)} ^ ${zero}`;
  const vector = (builtin: string) => {
    const id = names.the(`in_${builtin}`);
    return `vec3<u32>(${id}.x ^ ${zero}, ${id}.yz)`;
  };
  return {
    local: shifted("local_invocation_index"),
    derived: {
      local_invocation_index: names.the("local"),
      local_invocation_id: vector("local_invocation_id"),
      global_invocation_id: vector("global_invocation_id"),
      subgroup_invocation_id: shifted("subgroup_invocation_id"),
      subgroup_id: shifted("subgroup_id"),
    },
  };
}

/** Returns true for a constant even size. */
const isEven = (size: string) => /^\d*[02468]u$/.test(size);

/** Returns a workgroup twice as wide. All ids are halved along x. */
function adjacent(names: Names, [x, y, z]: readonly [string, string, string]): DoubledWorkgroup {
  const halved = (id: string) => `vec3<u32>(${id}.x >> 1u, ${id}.yz)`;
  const index = names.the("in_local_invocation_index");
  return {
    size: [twice(x), y, z],
    prologue: "",
    replica: `${index} & 1u`,
    local: `${index} >> 1u`,
    derived: {
      local_invocation_index: names.the("local"),
      local_invocation_id: halved(names.the("in_local_invocation_id")),
      global_invocation_id: halved(names.the("in_global_invocation_id")),
    },
  };
}

/**
 * Returns a flat workgroup with one replica in the lower half of each subgroup. If such halves do
 * not fit the workgroup's size, the distance is a smaller power of two.
 */
function halfSubgroup(names: Names, size: readonly [string, string, string]): DoubledWorkgroup {
  const index = names.the("in_local_invocation_index");
  const distance = names.the("distance");
  const invocations = product(size);
  return {
    size: [twice(invocations)],
    prologue: `${distance} = min(${names.the("in_subgroup_size")} >> 1u, (${invocations}) & (~(${invocations}) + 1u));`,
    replica: `u32((${index} & ${distance}) != 0u)`,
    local: `(${index} & (${distance} - 1u)) | ((${index} >> 1u) & ~(${distance} - 1u))`,
    derived: flatIds(names, size),
  };
}

/** Returns a workgroup twice as deep. Only the z of the ids changes. */
function wholeSubgroups(names: Names, size: readonly [string, string, string]): DoubledWorkgroup {
  const [x, y, z] = size;
  const [local, global, group] = ["local_invocation_id", "global_invocation_id", "workgroup_id"].map((id) =>
    names.the(`in_${id}`),
  );
  const isFlat = z === "1u";
  return {
    size: [x, y, twice(z)],
    prologue: "",
    replica: isFlat ? `${local}.z` : `${local}.z / ${z}`,
    local:
      isFlat && y === "1u" ? `${local}.x` : `${names.the("in_local_invocation_index")} % (${product(size)})`,
    derived: {
      local_invocation_index: names.the("local"),
      local_invocation_id: `vec3<u32>(${local}.xy, ${isFlat ? "0u" : `${local}.z % ${z}`})`,
      global_invocation_id: `vec3<u32>(${global}.xy, ${isFlat ? `${group}.z` : `${group}.z * ${z} + ${local}.z % ${z}`})`,
    },
  };
}

/** Returns a flat workgroup with one replica after the other. */
function halves(names: Names, size: readonly [string, string, string]): DoubledWorkgroup {
  const index = names.the("in_local_invocation_index");
  const invocations = product(size);
  return {
    size: [twice(invocations)],
    prologue: "",
    replica: `${index} / (${invocations})`,
    local: `${index} % (${invocations})`,
    derived: flatIds(names, size),
  };
}

/** Returns the ids of an invocation of a flat workgroup, computed from its index. */
function flatIds(names: Names, [x, y, z]: readonly [string, string, string]): Record<string, string> {
  const local = names.the("local");
  const id =
    y === "1u" && z === "1u"
      ? `vec3<u32>(${local}, 0u, 0u)`
      : z === "1u"
        ? `vec3<u32>(${local} % ${x}, ${local} / ${x}, 0u)`
        : `vec3<u32>(${local} % ${x}, ${local} / ${x} % ${y}, ${local} / (${x} * ${y}))`;
  return { local_invocation_index: local, local_invocation_id: id };
}

const twice = (size: string) => (size === "1u" ? "2u" : `2u * ${size}`);
