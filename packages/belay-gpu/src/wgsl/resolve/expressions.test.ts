import { describe, expect, test } from "vitest";
import { factsOf, findings, typeOf } from "../../../../../test/support/wgsl/resolved.ts";

const declarations = `
struct S { a: f32, v: vec3<i32>, m: mat3x2<f32>, cells: array<vec2<u32>, 4> }
@group(0) @binding(0) var<storage, read_write> buffer_: array<S>;
@group(0) @binding(1) var<uniform> params: S;
@group(0) @binding(2) var<storage, read_write> count: atomic<u32>;
@group(0) @binding(3) var picture: texture_2d<f32>;
@group(0) @binding(4) var near: sampler;
var<workgroup> tile: array<f32, 64>;
var<private> i: i32; var<private> u: u32; var<private> f: f32; var<private> b: bool;
var<private> v: vec3<f32>; var<private> w: vec4<u32>; var<private> m: mat3x2<f32>;
override scale = 1.5;
const table = array(1, 2.5, 3);
fn half(x: f32) -> f32 { return x / 2; }
fn nothing() {}`;

const type = (expression: string) => typeOf(expression, declarations);

describe("operators", () => {
  test.each([
    ["1 + 2", "abstract-int"],
    ["1 + 2.0", "abstract-float"],
    ["1 + i", "i32"],
    ["u - 1", "u32"],
    ["f * 2", "f32"],
    ["-1", "abstract-int"],
    ["-v", "vec3<f32>"],
    ["~w", "vec4<u32>"],
    ["!b", "bool"],
    ["v * 2", "vec3<f32>"],
    ["2 / v", "vec3<f32>"],
    ["v % v", "vec3<f32>"],
    ["m * v", "vec2<f32>"],
    ["vec2(1, 2) * m", "vec3<f32>"],
    ["m * mat4x3<f32>()", "mat4x2<f32>"],
    ["m + m", "mat3x2<f32>"],
    ["m * 2", "mat3x2<f32>"],
    ["u << 3", "u32"],
    ["1 << u", "i32"],
    ["1 << 3", "abstract-int"],
    ["w >> vec4(1)", "vec4<u32>"],
    ["w & vec4(1, 2, 3, 4)", "vec4<u32>"],
    ["b | true", "bool"],
    ["vec2(b) & vec2(true)", "vec2<bool>"],
    ["i < 3", "bool"],
    ["v >= vec3(1, 2, 3)", "vec3<bool>"],
    ["b && i == 1", "bool"],
    ["vec2(b) == vec2(true)", "vec2<bool>"],
  ])("%s is %s", (expression, expected) => {
    expect(type(expression)).toBe(expected);
  });

  test.each([
    ["i + u", "no overload of `+` takes `(i32, u32)`"],
    ["b + b", "no overload of `+` takes `(bool, bool)`"],
    ["v * vec2(1.0)", "no overload of `*` takes `(vec3<f32>, vec2<abstract-float>)`"],
    ["v * m", "no overload of `*` takes `(vec3<f32>, mat3x2<f32>)`"],
    ["i << i", "no overload of `<<` takes `(i32, i32)`"],
    ["-u", "no overload of `-` takes `(u32)`"],
    ["~f", "no overload of `~` takes `(f32)`"],
    ["i && b", "no overload of `&&` takes `(i32, bool)`"],
    ["1.5 % i", "no overload of `%` takes `(abstract-float, i32)`"],
    ["v[0] + picture", "no overload of `+` takes `(f32, texture_2d<f32>)`"],
  ])("%s is refused", (expression, message) => {
    expect(findings(`${declarations} fn test() { _ = ${expression}; }`)).toEqual([
      `BELAY106 ${expression}: ${message}`,
    ]);
  });
});

describe("places and pointers", () => {
  test.each([
    ["f", "ref<private, f32, read_write>"],
    ["params.v", "ref<uniform, vec3<i32>, read>"],
    ["buffer_[1].a", "ref<storage, f32, read_write>"],
    ["buffer_[u].m[i]", "ref<storage, vec2<f32>, read_write>"],
    ["buffer_[u].m[i].y", "ref<storage, f32, read_write>"],
    ["buffer_[0].cells[i].g", "ref<storage, u32, read_write>"],
    ["tile[i]", "ref<workgroup, f32, read_write>"],
    ["v.x", "ref<private, f32, read_write>"],
    ["v.xy", "vec2<f32>"],
    ["params.v.bgr", "vec3<i32>"],
    ["&tile[2]", "ptr<workgroup, f32, read_write>"],
    ["&params", "ptr<uniform, S, read>"],
    ["*&tile[2]", "ref<workgroup, f32, read_write>"],
    ["(&buffer_[0]).cells", "ref<storage, array<vec2<u32>, 4>, read_write>"],
    ["(&v)[1]", "ref<private, f32, read_write>"],
    ["(&v).zyx", "vec3<f32>"],
    ["picture", "ref<handle, texture_2d<f32>, read>"],
    ["half(1)", "f32"],
  ])("%s is %s", (expression, expected) => {
    expect(type(expression)).toBe(expected);
  });

  test("a place is loaded where a value is needed", () => {
    expect(factsOf("f", `${declarations} --- let x = f + 1;`)).toMatchObject({
      type: "ref<private, f32, read_write>",
      valueType: "f32",
    });
  });

  test.each([
    ["v.xg", "BELAY110 v.xg: `vec3<f32>` has no member `xg`"],
    ["v.w", "BELAY110 v.w: `vec3<f32>` has no member `w`"],
    ["params.cell", "BELAY110 params.cell: `S` has no member `cell`"],
    ["f[0]", "BELAY111 f: `f32` cannot be indexed"],
    ["v[3]", "BELAY111 3: index 3 is out of bounds for 3 elements"],
    ["buffer_[-1]", "BELAY111 -1: index -1 is out of bounds"],
    ["v[1.0]", "BELAY105 1.0: expected an index of type `i32` or `u32`, found `f32`"],
    ["&v.x", "BELAY109 v.x: this expression cannot be pointed to"],
    ["&1", "BELAY109 1: this expression cannot be pointed to"],
    ["&picture", "BELAY109 picture: this expression cannot be pointed to"],
    ["*f", "BELAY105 f: expected a pointer, found `f32`"],
  ])("%s is refused", (expression, finding) => {
    expect(findings(`${declarations} fn test() { _ = ${expression}; }`)).toEqual([finding]);
  });
});

describe("predeclared functions", () => {
  test.each([
    ["abs(-1)", "abstract-int"],
    ["max(1, u)", "u32"],
    ["min(1.5, f)", "f32"],
    ["clamp(v, vec3(0), vec3(1))", "vec3<f32>"],
    ["mix(v, vec3(0), 0.5)", "vec3<f32>"],
    ["select(1, 2, b)", "i32"],
    ["select(v, v, vec3(b))", "vec3<f32>"],
    ["dot(vec2(1, 2), vec2(3, 4))", "abstract-int"],
    ["length(v)", "f32"],
    ["transpose(m)", "mat2x3<f32>"],
    ["frexp(1.5)", "__frexp_result_abstract"],
    ["frexp(v).exp", "vec3<i32>"],
    ["modf(f).whole", "f32"],
    ["countOneBits(7)", "i32"],
    ["extractBits(w, 1, 2)", "vec4<u32>"],
    ["unpack4xU8(u)", "vec4<u32>"],
    ["any(v < vec3(1))", "bool"],
    ["arrayLength(&buffer_)", "u32"],
    ["atomicAdd(&count, 1)", "u32"],
    ["atomicCompareExchangeWeak(&count, 0, 1).exchanged", "bool"],
    ["workgroupUniformLoad(&tile)", "array<f32, 64>"],
    ["subgroupBallot(b)", "vec4<u32>"],
    ["subgroupShuffleXor(v, 1)", "vec3<f32>"],
    ["subgroupAdd(1)", "i32"],
    ["textureDimensions(picture)", "vec2<u32>"],
    ["textureLoad(picture, vec2(0, 1), 0)", "vec4<f32>"],
    ["textureSampleLevel(picture, near, vec2(0, 1), 0, vec2(1))", "vec4<f32>"],
    ["bitcast<f32>(1)", "f32"],
    ["bitcast<vec2<f16>>(u)", "vec2<f16>"],
    ["nothing()", "no value"],
  ])("%s is %s", (expression, expected) => {
    const statement = expression === "nothing()" ? `${expression};` : `_ = ${expression};`;
    expect(factsOf(expression, `${declarations} --- ${statement}`).type).toBe(expected);
  });

  test.each([
    ["abs()", "BELAY106 abs(): no overload of `abs` takes `()`"],
    ["abs(b)", "BELAY106 abs(b): no overload of `abs` takes `(bool)`"],
    ["max(i, f)", "BELAY106 max(i, f): no overload of `max` takes `(i32, f32)`"],
    ["abs<f32>(f)", "BELAY104 abs<f32>: `abs` takes no template list"],
    [
      "atomicLoad(&f)",
      "BELAY106 atomicLoad(&f): no overload of `atomicLoad` takes `(ptr<private, f32, read_write>)`",
    ],
    ["bitcast<u32>(v)", "BELAY105 bitcast<u32>(v): cannot convert `vec3<f32>` to `u32`"],
    ["bitcast(f)", "BELAY104 bitcast: `bitcast` takes 1 template argument, found 0"],
    ["half(i)", "BELAY105 i: cannot convert `i32` to `f32`"],
    ["half()", "BELAY107 half(): `half` takes 1 argument, found 0"],
  ])("%s is refused", (expression, finding) => {
    expect(findings(`${declarations} fn test() { _ = ${expression}; }`)).toEqual([finding]);
  });
});

describe("evaluation", () => {
  test.each([
    ["table[1]", "const", 2.5],
    ["max(3, 2.5)", "const", 3],
    ["vec3(1, 2, 3).zx", "const", [3n, 1n]],
    ["frexp(8.0).exp", "const", 4n],
    ["false && 1 / 0 == 1", "const", false],
    ["true || u > 1", "runtime", undefined],
    ["scale * 2", "override", undefined],
    ["max(scale, 1)", "override", undefined],
    ["i + 1", "runtime", undefined],
    ["half(2)", "runtime", undefined],
    [
      "array(vec2(1, 2), vec2(3, 4))",
      "const",
      [
        [1n, 2n],
        [3n, 4n],
      ],
    ],
    [
      "mat2x2<f32>()",
      "const",
      [
        [0, 0],
        [0, 0],
      ],
    ],
    ["bitcast<u32>(1.0f)", "const", 0x3f800000],
    ["bitcast<u32>(4294967295)", "const", 0xffffffff],
    ["bitcast<u32>(-1)", "const", 0xffffffff],
  ])("%s is %s", (expression, stage, value) => {
    expect(factsOf(expression, `${declarations} --- _ = ${expression};`)).toMatchObject({ stage, value });
  });

  test.each([
    ["1", "let x: f32 = 1;", "f32"],
    ["1", "let x = 1;", "i32"],
    ["1.0", "let x = 1.0;", "f32"],
    ["1", "f += 1;", "f32"],
    ["1", "let x = u + 1;", "u32"],
    ["1", "let x = tile[1];", "i32"],
    ["1", "let x = vec2(f, 1);", "f32"],
    ["1", "let x = half(1);", "f32"],
    ["table", "let x = table[u];", "array<f32, 3>"],
    ["vec2(1, 2)", "let x = vec2(f) * vec2(1, 2);", "vec2<f32>"],
    ["1 + 2", "u = 1 + 2;", "u32"],
    ["2", "switch u { case 2 {} default {} }", "u32"],
    ["2u", "switch 2u { default {} }", "u32"],
  ])("in its context, %s in %s is %s", (expression, statement, expected) => {
    expect(factsOf(expression, `${declarations} --- ${statement}`).valueType).toBe(expected);
  });

  test("the value of a constant is in the type that the context gives it", () => {
    expect(factsOf("16777217", "let x: f32 = 16777217;")).toMatchObject({
      valueType: "f32",
      value: 16777216,
    });
  });

  test.each([
    ["1 / 0", "division by zero"],
    ["2147483647i + 1u", "no overload"],
    ["1u << 32", "shift amount"],
    ["u32(-1)", "overflow"],
    ["array(1, 2)[2]", "out of bounds"],
    ["sqrt(-1.0)", "sqrt"],
    ["1e999", "overflow"],
  ])("%s is refused", (expression, reason) => {
    expect(findings(`fn test() { let x = ${expression}; }`)).toEqual([expect.stringContaining(reason)]);
  });
});
