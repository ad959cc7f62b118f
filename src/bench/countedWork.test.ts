import { expect, it } from "vitest";
import { testDevices } from "../../test/testDevices.ts";
import * as reduction from "../../workloads/reduction.ts";
import { countWork, workOf } from "./countedWork.ts";

const { newDevice } = testDevices({ full: true });

it("counts the loads, stores and operations of a run", async () => {
  const length = 4096;
  const { loaded, stored, operations } = await countWork(reduction.create({ length }), await newDevice());
  // One workgroup of 128: each invocation loads 8 vectors, adds them up, and one stores the sum.
  expect({ loaded, stored }).toEqual({ loaded: 4 * length, stored: 4 });
  // An addition for each element but the first of a vector's component, and what loops and indices need.
  expect(operations).toBeGreaterThan(length);
  expect(operations).toBeLessThan(4 * length);
});

it("knows how many operations a statement is", () => {
  const source = `
    @group(0) @binding(0) var<storage, read_write> a: array<vec4f>;
    @compute @workgroup_size(1) fn main(@builtin(local_invocation_index) i: u32) {
      a[i + 1u] += fma(a[i], vec4f(2.0 * 3.0), -a[i]) * dot(a[i], a[i]);
    }`;
  const at = (kind: "value" | "address" | "load" | "statement", text: string, components: number) => {
    const start = source.indexOf(text);
    const span = { start, end: start + text.length };
    return {
      id: 1,
      kind,
      uniform: false,
      span,
      functionName: "main",
      components,
      executions: 10,
      samples: [],
    };
  };
  const statement = "a[i + 1u] += fma(a[i], vec4f(2.0 * 3.0), -a[i]) * dot(a[i], a[i])";
  const work = workOf({
    source,
    sites: [
      at("value", statement, 4),
      at("statement", statement, 0),
      at("address", "i + 1u", 1),
      at("load", "a[i]", 4),
    ],
  });
  // Compound addition 4, multiplication 4, fused 8, negation 4, dot product 7; and the index.
  expect(work).toEqual({ operations: 10 * (27 + 1), stored: 160, loaded: 160 });
});
