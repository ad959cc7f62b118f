import { describe, expect, it } from "vitest";
import { typed } from "../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "./callGraph.ts";
import { elementwiseArrays } from "./elementwiseArrays.ts";

const found = (body: string) => {
  const program = typed(`
    var<workgroup> row: array<f32, 64>;
    var<workgroup> tile: array<array<vec2f, 16>, 16>;
    var<workgroup> one: f32;
    fn start(level: u32) -> u32 { return 64u >> level; }
    fn f(i: u32) { ${body} }`);
  return [...elementwiseArrays(program, functionsOf(program))].map(({ name }) => name);
};

describe("arrays are used element by element", () => {
  it.each([
    [
      "if only their elements are accessed",
      "row[i] = one; tile[i][i + 1u].x = row[i ^ 1u];",
      ["row", "tile"],
    ],
    ["but not if they are accessed as a whole", "let all = row; tile[i] = tile[0]; one = all[i];", []],
    ["but not if a pointer to them is taken", "let p = &row; one = p[i] + row[i];", []],
    ["but not if nothing accesses them", "one = 1.0;", []],
  ])("%s", (_, body, names) => expect(found(body)).toEqual(names));
});

describe("a loop accesses neighbors", () => {
  it.each([
    ["whose counter is the index", "for (var k = 0u; k < 9u; k++) { one += row[k]; }"],
    ["whose counter is part of it", "for (var k = 0u; k < 9u; k += 1u) { one += row[16u * i + k]; }"],
    [
      "whose counter has another name",
      "for (var k = 0u; k < 9u; k++) { let at = min(k, i); one += row[at]; }",
    ],
    ["that counts down", "var k = i; while (k > 0u) { k = k - 1u; one += row[k]; }"],
  ])("%s", (_, body) => expect(found(body)).toEqual([]));

  it.each([
    ["whose counter names rows", "for (var k = 0u; k < 9u; k++) { one += tile[k][i].x; }", "tile"],
    ["with wider steps", "for (var k = i; k < 64u; k += 16u) { one += row[k]; }", "row"],
    ["whose variable is halved", "var k = i; while (k > 0u) { k = k >> 1u; one += row[k]; }", "row"],
    ["with multiples of the counter", "for (var k = 0u; k < 4u; k++) { one += row[16u * k]; }", "row"],
    ["with an index from a function", "for (var k = 0u; k < 4u; k++) { one += row[start(k) + i]; }", "row"],
  ])("but not one %s", (_, body, name) => expect(found(body)).toEqual([name]));
});
