import { expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import * as reduction from "../../workloads/samples/reduction.ts";
import { countWork, workOf } from "./countedWork.ts";

const { newDevice } = testDevices({ full: true });

it("counts the loads, stores and operations of a run", async () => {
  const length = 4096;
  const { loaded, stored, operations } = await countWork(reduction.create({ length }), await newDevice());
  // One workgroup of 128: each invocation loads 8 vectors and adds them up, and one invocation
  // stores the sum.
  expect({ loaded, stored }).toEqual({ loaded: 4 * length, stored: 4 });
  // One addition for each element but the first of a vector's component, and the operations of
  // loops and indices.
  expect(operations).toBeGreaterThan(length);
  expect(operations).toBeLessThan(4 * length);
});

it("knows how many operations a statement is, and how often a function without a site is called", () => {
  const source = `
    @group(0) @binding(0) var<storage, read_write> a: array<vec4f>;
    fn twice(x: vec4f) -> vec4f { return 2.0 * x; }
    @compute @workgroup_size(1) fn main(@builtin(local_invocation_index) i: u32) {
      for (var k = 0u; k < i; k++) {
        a[i + 1u] += fma(a[i], vec4f(2.0 * 3.0), -a[i]) * dot(a[i], a[i]);
        let y = twice(a[k]);
      }
    }`;
  const at = (
    kind: "value" | "branch" | "load" | "statement",
    text: string,
    components: number,
    executions: number,
  ) => {
    const start = source.indexOf(text);
    const span = { start, end: start + text.length };
    return {
      id: 1,
      kind,
      uniform: false,
      span,
      functionName: "main",
      components,
      executions,
      drawn: 0,
      samples: [],
    };
  };
  const statement = "a[i + 1u] += fma(a[i], vec4f(2.0 * 3.0), -a[i]) * dot(a[i], a[i]);".slice(0, -1);
  const work = workOf({
    source,
    entryPoint: "main",
    sites: [
      at("branch", "k < i", 1, 11),
      at("value", "k++", 1, 10),
      at("value", statement, 4, 10),
      at("load", "a[i]", 4, 10),
    ],
  });
  // Compound addition 4, multiplication 4, fused 8, negation 4, dot product 7, index 1, and 4 in
  // the function; then those of the loop.
  expect(work).toEqual({ operations: 10 * (28 + 4) + 11 + 10, stored: 160, loaded: 160 });
});
