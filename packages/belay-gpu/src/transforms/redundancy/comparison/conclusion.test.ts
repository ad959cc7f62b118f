import { describe, expect, it } from "vitest";
import { newLibrary, runReplicas } from "../../../../../../test/support/kernels/replicas.ts";
import { recordCause } from "../reportBuffer.ts";
import {
  concludeByBarrier,
  concludeByExchange,
  type Final,
  finalOf,
  laneVariable,
  type Succession,
  succeedByBarrier,
  succeedByExchange,
} from "./conclusion.ts";
import type { Library } from "./library.ts";

/** The signatures and tallies with which the first and the second replica of an invocation end. */
type Ends = readonly [signature: number, tally: number, signature: number, tally: number];

/** Runs replicas in neighboring lanes. */
function atOnce(conclude: (library: Library, final: Final) => string) {
  return (ends: readonly Ends[]) => {
    const library = newLibrary();
    const signature = library.once("signature", (name) => `var<private> ${name}: u32;`);
    const final = finalOf(library, signature);
    const name = conclude(library, final);
    const replicas = ends.flatMap((each) => [each.slice(0, 2), each.slice(2)]);
    const body = `${signature} = input[lane].x; ${final.tally} = input[lane].y; ${name}(1u);`;
    return runReplicas(library, body, replicas).records;
  };
}

/** Runs second replicas first, in the lanes of neighbors. The last `kept` ones keep their lanes. */
function afterEachOther(succeed: (library: Library, final: Final, lanes: string) => Succession, kept = 0) {
  return (ends: readonly Ends[]) => {
    const library = newLibrary();
    const signature = library.once("signature", (name) => `var<private> ${name}: u32;`);
    const final = finalOf(library, signature);
    const { keep, conclude } = succeed(library, final, `${ends.length}u`);
    const body = `
      ${laneVariable(library)} = lane;
      belay_replica = 1u;
      belay_local = select(lane ^ 1u, lane, lane >= ${ends.length - kept}u);
      ${signature} = input[belay_local].z;
      ${final.tally} = input[belay_local].w;
      ${keep}();
      belay_replica = 0u;
      belay_local = lane;
      ${signature} += input[lane].x;
      ${final.tally} += input[lane].y;
      ${conclude}(1u);`;
    return runReplicas(library, body, ends).records;
  };
}

describe.each([
  ["lanes of a subgroup", atOnce((library, final) => concludeByExchange(library, final, "1u"))],
  ["lanes anywhere", atOnce((library, final) => concludeByBarrier(library, final, "8u"))],
  ["lanes of a subgroup that swap", afterEachOther(succeedByExchange)],
  ["lanes anywhere that swap", afterEachOther(succeedByBarrier)],
])("the comparison of replicas in %s", (_, recordsOf) => {
  const right: Ends = [70, 5, 70, -5];

  it("records nothing where signatures are equal and tallies add up to zero", () => {
    expect(recordsOf([right, [0, 0, 0, 0], [1, -8, 1, 8], right])).toEqual([]);
  });

  it("records both signatures of an invocation where they differ", () => {
    const { mismatch: cause } = recordCause;
    expect(recordsOf([right, right, [70, 5, 71, -5], right])).toEqual([
      { invocation: 2, replica: 0, cause, value: 70 },
      { invocation: 2, replica: 1, cause, value: 71 },
    ]);
  });

  it("records an invocation whose output both replicas stored, or neither", () => {
    const records = recordsOf([right, [70, 5, 70, 5], right, [70, -5, 70, -5]]);
    const places = records.map(({ invocation, replica }) => `${invocation}.${replica}`);
    expect(places).toEqual(["1.0", "1.1", "3.0", "3.1"]);
  });
});

it.each([
  ["subgroup", succeedByExchange],
  ["workgroup", succeedByBarrier],
] as const)("compares an invocation that keeps its lane with itself, over the %s", (_, succeed) => {
  const [right, wrong]: [Ends, Ends] = [
    [9, 3, 9, -3],
    [9, 3, 8, -3],
  ];
  const recordsOf = afterEachOther(succeed, 2);
  expect(recordsOf([right, right, right, right])).toEqual([]);
  expect(recordsOf([right, right, wrong, right]).map(({ value }) => value)).toEqual([9, 8]);
});

it.each([
  ["subgroup", (library: Library, final: Final) => concludeByExchange(library, final, "1u")],
  ["workgroup", (library: Library, final: Final) => concludeByBarrier(library, final, "4u")],
] as const)("compares tallies alone where there are no signatures, over the %s", (_, concluded) => {
  const recordsOf = (tallies: readonly number[]) => {
    const library = newLibrary();
    const final = finalOf(library, undefined);
    const conclude = concluded(library, final);
    const replicas = tallies.map((tally) => [tally]);
    return runReplicas(library, `${final.tally} = input[lane].x; ${conclude}(1u);`, replicas).records;
  };
  expect(recordsOf([5, -5, 7, -7])).toEqual([]);
  expect(recordsOf([5, -5, 7, 7]).map(({ invocation, value }) => [invocation, value])).toEqual([
    [1, 7],
    [1, 7],
  ]);
});
