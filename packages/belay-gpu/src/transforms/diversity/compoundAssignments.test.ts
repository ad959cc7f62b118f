import { expect, it } from "vitest";
import { expectSameResults, inSecondText } from "../../../../../test/support/kernels/twoTexts.ts";

const types = ["u32", "i32", "f32", "vec3u", "vec3f", "mat2x3f", "f16", "vec2h"] as const;
const input = {
  buffers: { 0: Uint32Array.from({ length: 64 }, (_, i) => i * 37 + 5), 1: new Uint32Array(512) },
  workgroups: [1, 1, 1] as const,
};

const numberOf = (type: string) =>
  type === "mat2x3f" ? "mat2x3f(vec3f(f32(x)), vec3f(f32(x), 2, 1))" : `${type}(${scalarOf(type)}(x))`;
const scalarOf = (type: string) =>
  ({ u: "u32", f: "f32", h: "f16" })[/^vec/.test(type) ? type.at(-1)! : ""] ?? type;

/** Returns a kernel whose compound assignments have an index, or a value, that calls a function. */
function kernelOf(type: (typeof types)[number]): string {
  const isInteger = /u|i32/.test(type);
  const operators =
    type === "mat2x3f"
      ? ["+=", "-=", "*="]
      : ["+=", "-=", "*=", "/=", "%=", ...(isInteger ? ["&=", "|=", "^="] : [])];
  const value = (i: number) =>
    type === "mat2x3f" && operators[i] === "*=" ? `f32(next() & 7u)` : `made(next())`;
  const assignments = operators.map((operator, i) => `v[next() % 4u] ${operator} ${value(i)};`);
  const steps = type === "u32" || type === "i32" ? "v[next() % 4u]++; v[next() % 4u]--;" : "";
  const shifts =
    type === "u32" || type === "i32" ? "v[next() % 4u] <<= next(); v[next() % 4u] >>= next();" : "";
  const parts =
    type === "mat2x3f"
      ? "v[1][next() & 1u].y *= 1.1; v[2][next() & 1u][next() % 3u] -= 0.3;"
      : /^vec/.test(type)
        ? "v[1].x += v[2].y; v[3][next() & 1u] *= v[next() & 1u].x;"
        : "";
  return `enable f16;
    @group(0) @binding(0) var<storage, read> words: array<u32, 64>;
    @group(0) @binding(1) var<storage, read_write> out: array<${type === "f16" || type === "vec2h" ? "vec4f" : type}, 16>;
    var<private> calls: u32;
    fn next() -> u32 { calls += 7u; return words[calls % 64u]; }
    fn made(word: u32) -> ${type} { let x = 1 + (word & 15u); return ${numberOf(type)}; }
    @compute @workgroup_size(1) fn main() {
      var v: array<${type}, 4>;
      for (var k = 0u; k < 4u; k++) { v[k] = made(k + 3u); }
      ${assignments.join(" ")} ${steps} ${shifts} ${parts}
      for (var k = 0u; k < 4u; k++) { out[k] = ${stored(type)}; }
    }`;
}

const stored = (type: string) =>
  type === "f16" ? "vec4f(f32(v[k]))" : type === "vec2h" ? "vec4f(vec2f(v[k]), 0, 0)" : "v[k]";

it.each(types)("evaluates the index of a place once, and before the value: %s", (type) => {
  const code = kernelOf(type);
  const second = inSecondText(code);
  expectSameResults([code, second], input);
  expect(second).toContain("belay_index");
});

it("is compared in a way that notices an index that is evaluated twice", () => {
  const code = kernelOf("u32");
  const second = inSecondText(code);
  const twice = second.replace(/let (belay_index_\w+) = (.*);/g, "var $1 = $2; $1 = $2;");
  expect(() => expectSameResults([code, twice], input)).toThrow();
});
