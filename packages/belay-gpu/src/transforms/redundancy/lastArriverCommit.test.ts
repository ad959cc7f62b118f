import { describe, it } from "vitest";
import { goldens, report, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { buffersInPlace } from "../../analysis/bindings.ts";
import { functionsOf, reachableFrom } from "../../analysis/callGraph.ts";
import { loadStoreFrontierIn } from "../../analysis/loadStoreFrontier.ts";
import { Comparison } from "./comparison/comparison.ts";
import { enableSubgroups } from "./enableSubgroups.ts";
import { arrivalWords, lastArriverCommit, wordsOfWorkgroup } from "./lastArriverCommit.ts";
import { reportWords } from "./reportBuffer.ts";

const golden = goldens("lastArriverCommit");
const declared = report({
  bytes: 4 * (reportWords.total + arrivalWords),
  arrivals: arrivalWords,
  pairs: true,
});
const arrive =
  ({ subgroups = false, isCompared = true } = {}): Step =>
  (program, names) => {
    const kernel = functionsOf(program).find(({ name }) => name === "main")!;
    const functions = reachableFrom(program, [kernel]);
    const arrival = loadStoreFrontierIn(program, kernel)!;
    const inPlace = new Set([...buffersInPlace(program, functions)].map(({ name }) => name));
    return lastArriverCommit(program, names, {
      kernels: [{ functions, inPlace, arrival, words: wordsOfWorkgroup(arrival, 64) }],
      comparison: new Comparison(names, { channel: "mailbox", lanes: "64u" }),
      isCompared,
      subgroups,
    });
  };

const update = `
  @group(0) @binding(0) var<storage, read_write> a: array<vec2f>;
  @group(0) @binding(1) var<storage, read> at: array<u32>;
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x >= arrayLength(&a)) { return; }
    let v = a[at[id.x]] + a[0];
    a[id.x] = v;
  }`;

describe("whoever comes last stores", () => {
  it("by invocations", () => golden("invocations", update, declared, arrive()));
  it("by subgroups", () =>
    golden("subgroups", update, declared, enableSubgroups, arrive({ subgroups: true })));
  it("where nothing is compared too", () =>
    golden("uncompared", update, declared, arrive({ isCompared: false })));

  it("by workgroups, where these have barriers", () =>
    golden(
      "workgroups",
      `struct Pair { key: u32, value: vec3<i32> }
      @group(0) @binding(0) var<storage, read_write> pairs: array<Pair>;
      var<workgroup> tile: array<Pair, 64>;
      fn load(i: u32) -> Pair { return pairs[i]; }
      @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) {
        tile[l] = load(l);
        if (pairs[0].key == 3u) { tile[l].key = pairs[pairs[l].key].key; }
        workgroupBarrier();
        let other = tile[63u - l];
        pairs[l] = other;
      }`,
      declared,
      arrive(),
    ));
});
