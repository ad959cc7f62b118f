/** Devices compute what the intervals and integers of the reference executor allow. */
import { expect, test } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { runKernel } from "../support/kernels/kernelRunner.ts";
import { differences, runReference, translated } from "../support/kernels/reference.ts";

const devices = testDevices();

const floats = [
  0,
  0.5,
  -0.5,
  1,
  -1,
  1.5,
  2.5,
  -2.5,
  3,
  0.1,
  -0.3,
  0.75,
  2,
  Math.PI,
  -3.1,
  10,
  -7.25,
  100.125,
  1e-3,
  1e6,
  -1e6,
  1e-20,
  3e20,
  0.999999,
  1.000001,
  -0.01,
  127,
  255.5,
  0.25,
  65504,
  1e-7,
  42,
];
const integers = [
  0, 1, 2, 3, 5, 7, 31, 32, 33, 255, 256, 65535, 65536, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff,
  0xfffffffe, 0xaaaaaaaa, 0x55555555, 12345678, 0xdeadbeef, 0x01020304, 0x80808080, 0x7f7f7f7f, 0xff00ff00,
  100, 1000, 0xfff0, 0x3f800000, 0x40490fdb, 9,
];

/** The kernel that applies an expression of `x`, `y` and `z` to each combination of inputs. */
function kernelOf(type: string, body: string): string {
  return `
    @group(0) @binding(0) var<storage, read> values: array<${type}, 32>;
    @group(0) @binding(1) var<storage, read_write> results: array<vec4<${type}>, 1024>;
    @compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3u) {
      let x = values[id.x % 32u]; let y = values[id.x / 32u]; let z = values[(id.x * 7u) % 32u];
      ${body}
    }`;
}

const store = (...parts: string[]) =>
  `results[id.x] = vec4(${[...parts, "0", "0", "0"].slice(0, 4).join(", ")});`;

const f32Kernels: Readonly<Record<string, string>> = {
  arithmetic: store("x + y", "x - y", "x * y", "x / y"),
  remainder: store("x % 3.0", "-x", "fma(x, y, z)", "f32(i32(clamp(x, -1e9, 1e9))) + f32(u32(min(y, 1e9)))"),
  rounding: store("floor(x)", "ceil(x)", "trunc(x)", "round(x)"),
  choices: store("min(x, y)", "max(x, y)", "clamp(x, -1.0, 1.0)", "saturate(x)"),
  parts: store("fract(x)", "sign(x)", "abs(x)", "step(x, y)"),
  exponents: store("exp(x)", "exp2(x)", "log(abs(x))", "log2(abs(x))"),
  roots: store("sqrt(abs(x))", "inverseSqrt(abs(x))", "pow(abs(x), y)", "length(vec3(x, y, z))"),
  circle: store("sin(x)", "cos(x)", "tan(x)", "atan(x)"),
  arcs: store("asin(x)", "acos(x)", "atan2(y, x)", "tanh(x)"),
  hyperbolas: store("sinh(x)", "cosh(x)", "asinh(x)", "acosh(abs(x) + 1.0)"),
  mixing: store("mix(x, y, 0.3)", "smoothstep(0.0, 10.0, x)", "degrees(x)", "radians(x)"),
  vectors: store(
    "dot(vec3(x, y, z), vec3(y, z, x))",
    "distance(vec2(x, y), vec2(z, x))",
    "normalize(vec2(x, y)).x",
  ),
  crosses:
    "let c = cross(vec3(x, y, z), vec3(z, x, y)); results[id.x] = vec4(c, reflect(vec2(x, y), vec2(0.6, 0.8)).y);",
  facing: store(
    "faceForward(vec2(x, y), vec2(1.0, z), vec2(z, 0.5)).x",
    "refract(vec2(0.6, 0.8), vec2(0.0, 1.0), 0.5).x",
  ),
  matrices: `let m = mat3x2f(x, y, z, y, z, x); let p = m * vec3(z, x, y); let q = vec2(x, y) * m;
    results[id.x] = vec4(p, q.xz) + vec4(determinant(mat2x2f(x, y, z, 1.0)), 0, 0, transpose(m)[1][2]);`,
  pairs: "let m = modf(x); let f = frexp(y); results[id.x] = vec4(m.fract, m.whole, f.fract, f32(f.exp));",
  scaling: store(
    "ldexp(x, i32(3))",
    "quantizeToF16(clamp(x, -6e4, 6e4))",
    "select(x, y, z > 0.1)",
    "f32(x < y)",
  ),
  packing: store(
    "unpack4x8snorm(pack4x8snorm(vec4(0.3, -1.0, 0.25, 2.0))).y",
    "unpack2x16unorm(id.x * 77777u).x",
    "unpack4x8unorm(id.x * 77777777u).z",
    "f32(pack2x16snorm(vec2(1.0, -1.0)))",
  ),
};

const u32Kernels: Readonly<Record<string, string>> = {
  arithmetic: store("x + y", "x - y", "x * y", "x / y"),
  shifts: store("x % y", "x << (y & 31u)", "x >> (y & 31u)", "x & y"),
  bits: store("x | y", "x ^ y", "~x", "u32(x < y) + 2u * u32(x >= y)"),
  counts: store("countOneBits(x)", "countLeadingZeros(x)", "countTrailingZeros(x)", "reverseBits(x)"),
  positions: store(
    "firstLeadingBit(x)",
    "firstTrailingBit(x)",
    "u32(firstLeadingBit(bitcast<i32>(x)))",
    "max(x, y)",
  ),
  fields: store(
    "extractBits(x, y % 40u, z % 40u)",
    "u32(extractBits(i32(x), y % 40u, z % 40u))",
    "insertBits(x, y, z % 40u, x % 40u)",
  ),
  signed: store(
    "u32(i32(x) / i32(y))",
    "u32(i32(x) % i32(y))",
    "u32(i32(x) >> (y & 31u))",
    "u32(abs(i32(x)))",
  ),
  order: store(
    "u32(min(i32(x), i32(y)))",
    "u32(clamp(i32(x), -5, i32(100)))",
    "u32(i32(x) < i32(y))",
    "u32(-i32(x))",
  ),
  dots: store(
    "dot4U8Packed(x, y)",
    "u32(dot4I8Packed(x, y))",
    "dot(vec3u(x, y, z), vec3u(y, z, x))",
    "min(x, y)",
  ),
  bytes: store(
    "pack4xI8(unpack4xI8(x) + unpack4xI8(y))",
    "pack4xU8(unpack4xU8(x) * 3u)",
    "pack4xI8Clamp(vec4i(i32(x), 5, -200, 127))",
    "pack4xU8Clamp(vec4u(x, y, 300u, 7u))",
  ),
  conversions: store("bitcast<u32>(f32((x & 0xffffffu) | 1u))", "u32(f32(x & 0xffffu))", "u32(bool(x))"),
};

for (const [type, kernels, values] of [
  ["f32", f32Kernels, new Float32Array(floats)],
  ["u32", u32Kernels, new Uint32Array(integers)],
] as const)
  for (const [name, body] of Object.entries(kernels))
    test(`${type}: ${name}`, async () => {
      const device = await devices.newDevice();
      const code = kernelOf(type, body);
      const input = {
        buffers: { 0: new Uint32Array(values.buffer.slice(0)), 1: new Uint32Array(4096) },
        workgroups: [32, 1, 1],
      } as const;
      const run = runReference(translated(code, input), input);
      expect(run.undecided?.reason).toBeUndefined();
      const { buffers } = await runKernel(device, code, input);
      expect(differences(run.buffers[1]!, buffers[1]!).slice(0, 5)).toEqual([]);
    });
