import { describe, expect, it } from "vitest";
import {
  applySteps,
  goldens,
  reachedByMain,
  report,
  type Step,
} from "../../../../../test/support/wgsl/goldens.ts";
import { normalizeAccesses } from "../normalize/normalizeAccesses.ts";
import { Comparison } from "./comparison/comparison.ts";
import { type ExecuteAtomicsOnceOptions, executeAtomicsOnce } from "./executeAtomicsOnce.ts";
import { replicateInvocations } from "./replicateInvocations.ts";
import { CheckSites } from "./reportBuffer.ts";

const golden = goldens("executeAtomicsOnce");
const replicate: Step = (program, names) =>
  replicateInvocations(program, names, {
    replicas: 2,
    pairing: "adjacent",
    subgroups: false,
    entryPoints: new Set(["main"]),
  });
const once =
  (
    check: "store" | "signature",
    { sites = new CheckSites(), keptResults }: Partial<ExecuteAtomicsOnceOptions> = {},
  ): Step =>
  (program, names) =>
    executeAtomicsOnce(program, names, {
      check,
      ...(keptResults && { keptResults }),
      comparison: new Comparison(names, { channel: "workgroup", lanes: "128u" }),
      sites,
      functions: reachedByMain(program),
      isReplicated: () => false,
    });
const memory = `
  struct Counters { sum: atomic<u32>, low: array<atomic<i32>, 4> }
  @group(0) @binding(0) var<storage, read_write> c: array<Counters>;
  var<workgroup> bins: array<atomic<u32>, 8>;
  @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) { f(l); }
`;

describe.each(["store", "signature"] as const)("with the check %s", (check) => {
  const executed = (name: string, wgsl: string) =>
    golden(`${name} with ${check}`, `${memory} ${wgsl}`, normalizeAccesses, report(), replicate, once(check));

  it("executes an atomic once and shares its result", () =>
    executed(
      "a result",
      "fn f(i: u32) { let slot = atomicAdd(&c[i].sum, i); let low = atomicMin(&c[0].low[i], -1); }",
    ));

  it("executes an atomic once whose result nobody wants", () =>
    executed(
      "no result",
      "fn f(i: u32) { atomicMax(&c[i + 1u].low[2], i32(i)); atomicStore(&bins[3], 4u); }",
    ));

  it("lets both replicas store before an atomic that may release what they stored", () =>
    executed(
      "a lock",
      `var<workgroup> total: u32;
      fn f(i: u32) { if (atomicExchange(&bins[0], 1u) == 0u) { total += i; atomicStore(&bins[0], 0u); } }`,
    ));

  it("shares both fields of an exchange", () =>
    executed(
      "an exchange",
      `fn f(i: u32) {
        var taken = atomicCompareExchangeWeak(&c[i].low[1], 0, i32(i));
        if (!taken.exchanged) { taken = atomicCompareExchangeWeak(&c[i].low[1], taken.old_value, 5); }
        let done = atomicCompareExchangeWeak(&bins[i], 1u, 2u).exchanged;
      }`,
    ));
});

it("lets the first pass keep results for the second", () =>
  golden(
    "kept results",
    `${memory} fn f(i: u32) {
      let slot = atomicAdd(&c[i].sum, i);
      let done = atomicCompareExchangeWeak(&c[slot].low[1], 0, 5);
      atomicMax(&c[0].low[0], done.old_value);
    }`,
    normalizeAccesses,
    report(),
    replicate,
    once("signature", { keptResults: 2 }),
  ));

it("leaves alone functions that are not replicated, and Belay's own atomics", () => {
  const wgsl = `${memory} fn f(i: u32) {} fn g() { atomicAdd(&bins[0], 1u); }`;
  const { before, after } = applySteps(wgsl, [normalizeAccesses, report(), replicate, once("store")]);
  expect(after.module).toEqual(before.module);
});

it("treats a variable that was renamed as any other", () => {
  const sites = new CheckSites();
  const wgsl =
    "var<workgroup> min_1: atomic<u32>; fn f() { atomicAdd(&min_1, 1u); } @compute @workgroup_size(1) fn main() { f(); }";
  applySteps(wgsl, [normalizeAccesses, report(), replicate, once("store", { sites })]);
  expect(sites.all.map(({ kind, name, span }) => [kind, name, wgsl.slice(span.start, span.end)])).toEqual([
    ["atomic", "min_1", "atomicAdd(&min_1, 1u)"],
  ]);
});
