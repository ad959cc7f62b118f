import { describe, expect, it } from "vitest";
import type { CompilerOptions } from "./contract.ts";
import { protect } from "./protect.ts";

const code = `
  struct Bins { total: u32, all: array<atomic<u32>, 4> }
  @group(0) @binding(0) var<storage, read_write> count: atomic<u32>;
  @group(0) @binding(1) var<storage, read_write> out: array<u32>;
  var<workgroup> bins: Bins;
  var<workgroup> tile: array<u32, 64>;
  fn add(to: ptr<workgroup, atomic<u32>>, n: u32) { atomicAdd(to, n); }
  fn unused() { atomicSub(&count, 1u); }
  var<workgroup> next: atomic<u32>;
  @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
    tile[i] = atomicLoad(&count);
    add(&bins.all[i % 4u], tile[63u - i]);
    out[i] = tile[0] + bins.total + atomicAdd(&next, 1u);
  }`;
const gaps = (options: CompilerOptions) =>
  protect(code, options).diagnostics.map(({ code: number, severity, message, span }) => [
    number,
    severity,
    message,
    code.slice(span.start, span.end),
  ]);
const once = "its operands are compared, but it is executed once";
const outside = (what: string, why: string) => `${what} stays outside the sphere of replication: ${why}`;

describe("the coverage", () => {
  it("names each atomic, and the workgroup memory that keeps one copy (BELAY210)", () => {
    expect(gaps({ redundancy: "intra+lds" })).toEqual([
      ["BELAY210", "warning", outside("this atomicAdd", once), "atomicAdd(to, n)"],
      ["BELAY210", "warning", outside('the memory of "next"', "atomics keep one copy"), "next"],
      ["BELAY210", "warning", outside('this atomicLoad of "count"', once), "atomicLoad(&count)"],
      ["BELAY210", "warning", outside('this atomicAdd of "next"', once), "atomicAdd(&next, 1u)"],
    ]);
  });

  it("names the variable of an atomic through pointers in lets", () => {
    const kernel = `
      @group(0) @binding(0) var<storage, read_write> counts: array<atomic<u32>, 4>;
      var<workgroup> next: atomic<u32>;
      @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
        let all = &counts;
        let one = &all[i % 4u];
        atomicAdd(one, 1u);
        atomicMax(&(*all)[0], i);
      }`;
    expect(protect(kernel, { redundancy: "intra-lds" }).diagnostics.map(({ message }) => message)).toEqual([
      outside('this atomicAdd of "counts"', once),
      outside('this atomicMax of "counts"', once),
    ]);
  });

  it("takes shared workgroup memory as it was asked for", () => {
    expect(gaps({ redundancy: "intra-lds" }).map(([, , , source]) => source)).toEqual([
      "atomicAdd(to, n)",
      "atomicLoad(&count)",
      "atomicAdd(&next, 1u)",
    ]);
  });

  it("names the last of an odd number of invocations that swap lanes", () => {
    const kernel = (size: string) =>
      `@group(0) @binding(0) var<storage, read_write> out: array<u32>;
      var<workgroup> bins: array<atomic<u32>, 4>;
      override width = 5;
      @compute @workgroup_size(${size}) fn main(@builtin(local_invocation_index) i: u32) {
        atomicAdd(&bins[i % 4u], 1u); workgroupBarrier(); out[i] = atomicLoad(&bins[0]);
      }`;
    const messages = (size: string, constants = {}) =>
      protect(kernel(size), { pairing: "passes", constants }).diagnostics.map(({ message }) => message);
    const lone = (n: number) =>
      outside(
        `the lane of the last of ${n} invocations`,
        "it has no neighbor to swap with, and runs both replicas",
      );
    expect(messages("3, 5")).toEqual([lone(15)]);
    expect(messages("width")).toEqual([lone(5)]);
    expect(messages("width", { width: 6 })).toEqual([]);
  });

  it("tells which entry points a gap is of", () => {
    const kernels = `
      @group(0) @binding(0) var<storage, read_write> count: atomic<u32>;
      var<workgroup> next: atomic<u32>;
      fn take() -> u32 { return atomicAdd(&count, 1u); }
      @compute @workgroup_size(4) fn a() { _ = take() + atomicAdd(&next, 1u); }
      @compute @workgroup_size(4) fn b() { _ = take(); }
      @compute @workgroup_size(300) fn c() {}`;
    expect(protect(kernels).diagnostics.map(({ code, entryPoints }) => [code, entryPoints])).toEqual([
      ["BELAY204", ["c"]],
      ["BELAY210", ["a"]],
      ["BELAY210", ["a", "b"]],
      ["BELAY210", ["a"]],
    ]);
  });

  it("is complete without redundancy, of which it speaks", () => {
    expect(gaps({ redundancy: "none", injectFaults: true })).toEqual([]);
  });

  it("has errors when it must be complete", () => {
    expect(new Set(gaps({ strict: true }).map(([, severity]) => severity))).toEqual(new Set(["error"]));
  });
});
