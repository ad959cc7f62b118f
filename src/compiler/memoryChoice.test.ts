import { describe, expect, it } from "vitest";
import { schemes } from "../codes/scheme.ts";
import { codeOperations } from "./codeOperations.ts";
import { correctingSchemes, rankSchemes } from "./memoryChoice.ts";
import { usualRates } from "./memoryCost.ts";

const copy = (type: string) => /* wgsl */ `
@group(0) @binding(0) var<storage, read> input: array<${type}>;
@group(0) @binding(1) var<storage, read_write> output: array<${type}>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { output[id.x] = input[id.x]; }`;

const iterate = /* wgsl */ `
@group(0) @binding(0) var<storage, read> input: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4f>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  var x = input[id.x];
  for (var k = 0; k < 500; k++) { x = fma(x, x, vec4f(0.5)); }
  output[id.x] = x;
}`;

const costOf = (wgsl: string, scheme: string) => {
  const found = rankSchemes([wgsl]).find((each) => each.scheme === scheme)!;
  return found.predicted;
};

describe("the code with the lowest predicted cost", () => {
  it("has granules as large as what is stored", () => {
    expect(["vec4f", "vec2f", "f32"].map((type) => rankSchemes([copy(type)])[0]!.scheme)).toEqual([
      "secded128",
      "secded64",
      "secded32",
    ]);
  });

  it("has larger ones where lanes can make the check words of what they store together", () => {
    const [first] = rankSchemes([copy("f32")], { features: ["subgroups"] });
    expect(first).toMatchObject({ scheme: "secded128", kernels: [{ checked: 2, bracketed: 0 }] });
    expect(first!.predicted).toBeLessThan(costOf(copy("f32"), "secded32"));
  });

  it("is in proportion to the traffic where memory is the limit", () => {
    expect(costOf(copy("vec4f"), "secded128")).toBeCloseTo(1.25, 1);
    expect(costOf(copy("vec4f"), "secded64")).toBeCloseTo(1.5, 1);
  });

  it("hardly costs anything where arithmetic is the limit", () => {
    for (const scheme of correctingSchemes) expect(costOf(iterate, scheme)).toBeLessThan(1.05);
  });

  it("counts the passes over what a kernel does not check itself", () => {
    const [, ...others] = rankSchemes([copy("f32")]);
    expect(others[0]!.kernels).toMatchObject([
      { name: "main", checked: 1, bracketed: 1, reason: expect.stringContaining("passes over 1 of 2") },
    ]);
  });

  it("weighs kernels by the time they take", () => {
    const [both] = rankSchemes([copy("vec4f"), iterate], { candidates: ["secded32"] });
    expect(both!.predicted).toBeLessThan(1.2);
    expect(both!.predicted).toBeGreaterThan(costOf(iterate, "secded32"));
  });

  it("depends on the device", () => {
    const slow = { ...usualRates, operationsPerByte: 0.5 };
    const [on] = rankSchemes([copy("vec4f")], { candidates: ["secded128"], rates: slow });
    expect(on!.predicted).toBeGreaterThan(1.5);
    expect(on!.kernels[0]!.reason).toContain("bound by arithmetic");
  });

  it("is one of equals for what is no program", () => {
    expect(rankSchemes(["fn main( {"]).map(({ predicted }) => predicted)).toEqual([1, 1, 1]);
  });
});

it("counts the operations of every code", () => {
  for (const scheme of Object.values(schemes)) {
    const { encode, syndrome, contribution } = codeOperations(scheme.name);
    expect(encode).toBeGreaterThan(0);
    expect(syndrome).toBeGreaterThan(encode);
    expect(contribution).toBeGreaterThan(0);
  }
});
