import { expect, it } from "vitest";
import { protect } from "../../compiler/protect.ts";

const wgsl = `
  @group(0) @binding(0) var<storage, read> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> out: array<u32>;
  @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) { out[id.x] = a[id.x]; }`;
const struck = (options = {}) => protect(wgsl, { ...options, injectFaults: true, strikeMachinery: true });

it("leaves the sites of the program as they are, and makes others behind them", () => {
  const program = protect(wgsl, { injectFaults: true }).faultSites;
  const all = struck().faultSites;
  expect(all.slice(0, program.length)).toEqual(program);
  expect(all.slice(program.length).every(({ machinery }) => machinery !== undefined)).toBe(true);
});

it("tells the window between comparison and store from all else", () => {
  const { code, faultSites } = struck();
  const partOf = (text: RegExp) => {
    const ids = [...code.matchAll(text)].map(([, id]) => Number(id));
    expect(ids.length).toBeGreaterThan(0);
    return new Set(faultSites.filter(({ id }) => ids.includes(id)).map(({ machinery }) => machinery));
  };
  expect(partOf(/out\[belay_strike_u32\((\d+)u/g)).toEqual(new Set(["window"]));
  expect(partOf(/belay_replica = belay_strike_u32\((\d+)u/g)).toEqual(new Set(["inside"]));
  expect(partOf(/belay_signature = belay_strike_u32\((\d+)u/g)).toEqual(new Set(["inside"]));
  expect(partOf(/belay_branch\((\d+)u, belay_replica == 0u/g)).toEqual(new Set(["inside"]));
});

it("counts what codes compute for a store to the window, in functions of its own", () => {
  const { code, faultSites } = struck({ memory: "secded32" });
  expect(code).toContain("_in_window");
  expect(new Set(faultSites.map(({ machinery }) => machinery))).toEqual(
    new Set([undefined, "inside", "window"]),
  );
});

it.each(["adjacent", "half-subgroup", "subgroups", "passes"] as const)(
  "makes the same sites in kernels that count as in kernels that strike, replicas %s",
  (pairing) => {
    const options = { pairing, strikeMachinery: true, features: ["subgroups"] };
    const [strikes, counts] = [true, "profile" as const].map(
      (injectFaults) => protect(wgsl, { ...options, injectFaults }).faultSites,
    );
    expect(strikes!.length).toBeGreaterThan(0);
    expect(counts).toEqual(strikes);
  },
);
