import { describe, expect, it } from "vitest";
import { goldens, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { parse } from "../../wgsl/parser.ts";
import { resolve } from "../../wgsl/resolve/index.ts";
import { keepSums, resultStores, variableAt } from "./keepSums.ts";

const output = { group: 0, binding: 0 };
const kernel = (body: string, type = "array<f32>") => `
@group(0) @binding(0) var<storage, read_write> c: ${type};
fn row(i: u32) -> u32 { return i / 8u; }
@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) { ${body} }`;

describe("keepSums", () => {
  const golden = goldens("keepSums");
  const source = `struct Results { rows: array<vec2f> }${kernel(
    `if (id.x >= arrayLength(&c.rows)) { return; }
    let upper = f32(id.x);
    let lower = -upper;
    c.rows[id.x].x = max(upper, 0.0);
    c.rows[id.x].y = max(lower, 0.0);`,
    "Results",
  )}`;
  const spanOf = (text: string) => {
    const start = source.indexOf(text) + text.indexOf("(") + 1;
    return { start, end: start + "upper".length };
  };
  /** Returns a step that keeps the value before some text. */
  const keepingIn =
    (text: string, before: string): Step =>
    (program, names) => {
      const start = text.indexOf(before);
      const values = [{ start, end: start + before.length - 1 }];
      const stores = resultStores(program, variableAt(program, output)!)!;
      return keepSums(program, names, stores, [{ values, at: { group: 1, binding: 4 } }]);
    };
  const keep: Step = (program, names) =>
    keepSums(program, names, resultStores(program, variableAt(program, output)!)!, [
      { values: [spanOf("max(upper"), spanOf("max(lower")], at: { group: 1, binding: 4 } },
    ]);

  it("stores the last one of some values beside each result", () => golden("two stores", source, keep));

  it("stores components of a vector beside results that are components", () => {
    const source = kernel(`let sums = vec4f(f32(id.x));
    let results = max(sums, vec4f());
    c[id.x] = results.x;
    for (var i = 1u; i < 4u; i++) { c[id.x + i] = results[i]; }`);
    return golden("components", source, keepingIn(source, "sums,"));
  });

  it("stores f32 beside results of f16", () => {
    const source = `enable f16;${kernel("let sum = f32(id.x); c[id.x] = f16(max(sum, 0.0));", "array<f16>")}`;
    return golden("halves", source, keepingIn(source, "sum,"));
  });
});

describe("resultStores", () => {
  const storesIn = (body: string, type?: string) => {
    const program = resolve(parse(kernel(body, type)).module);
    expect(program.diagnostics).toEqual([]);
    return resultStores(program, variableAt(program, output)!)?.stores.length;
  };

  it.each([
    ["c[id.x] = 1.0;", 1],
    ["if (id.x < 4u) { c[id.x] = 1.0; } else { c[id.x + 4u] = f32(arrayLength(&c)); }", 2],
  ])("finds the stores of %s", (body, count) => {
    expect(storesIn(body)).toBe(count);
  });

  it.each([
    ["adds to a result", "c[id.x] += 1.0;"],
    ["loads a result", "c[id.x] = c[id.x + 1u];"],
    ["calls a function for the place", "c[row(id.x)] = 1.0;"],
    ["stores in the header of a loop", "for (var i = 0u; i < 4u; c[i] = 1.0) { i++; }"],
    ["stores through a pointer", "let place = &c[id.x]; *place = 1.0;"],
    ["stores nothing", "let x = id.x;"],
  ])("has none of a kernel that %s", (_, body) => {
    expect(storesIn(body)).toBeUndefined();
  });

  it("has none of a kernel that stores values of several types", () => {
    expect(storesIn("c[id.x] = vec2f(); c[id.x + 1u].x = 1.0;", "array<vec2f>")).toBeUndefined();
  });
});
