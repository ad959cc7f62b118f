/** Kernels on 16-bit floats whose layouts and conversions the papers' programs do not have. */
import { readBuffers, resultBuffer, uploadBuffer } from "../../workloads/buffers.ts";
import { type Prepared, prepareDispatch } from "../../workloads/program.ts";
import { randomWord } from "../../workloads/random.ts";

const ELEMENTS = 203;
/** The bytes of an element at most. */
const STRIDE = 64;

interface MixedProgram {
  readonly name: string;
  prepare(device: GPUDevice): Prepared;
}

/** Returns a program that fills `b` from `a`, with 64 invocations in a workgroup. */
function program(name: string, type: string, body: string, declarations = ""): MixedProgram {
  const code = /* wgsl */ `enable f16;
struct Record { one: f16, pair: vec2h, three: vec3h, wide: f32, all: array<vec3h, 2>, matrix: mat2x3h, last: f16 }
@group(0) @binding(0) var<storage, read> a: array<${type}>;
@group(0) @binding(1) var<storage, read_write> b: array<${type}>;
${declarations}
@compute @workgroup_size(64)
fn compute(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
  let i = id.x;
  ${body}
}`;
  const prepare = (device: GPUDevice): Prepared => {
    const halves = new Uint32Array((ELEMENTS * STRIDE) / 4).map((_, at) => numberPair(at));
    const [input, output] = [uploadBuffer(device, halves), resultBuffer(device, halves.byteLength)];
    return prepareDispatch(device, code, {
      buffers: [input, output],
      grid: [Math.ceil(ELEMENTS / 64)],
      read: async () => ({ result: new Uint32Array(await readBuffers(device, output)) }),
    });
  };
  return { name, prepare };
}

/** Returns two 16-bit floats between 1/8 and 16, of both signs. */
function numberPair(at: number): number {
  const bits = randomWord(5, at);
  const half = (from: number) => (from & 0x8000) | ((12 + (from & 7)) << 10) | ((from >>> 3) & 1023);
  return ((half(bits >>> 16) << 16) | half(bits)) >>> 0;
}

const inBounds = (body: string) => `if (i < ${ELEMENTS}u) { ${body} }`;

export const mixedPrograms: readonly MixedProgram[] = [
  program(
    "vectors of three",
    "vec3h",
    inBounds("b[i] = cross(a[i], a[i].zxy) + a[i] * 0.5h; b[i].y += 1.0h;"),
  ),
  program(
    "records",
    "Record",
    inBounds(`var r = a[i]; r.one *= 2.0h; r.pair = r.pair.yx; r.all[1] = r.three - r.all[0];
    r.wide = f32(r.one) * 3.5; r.matrix = r.matrix * 2.0h; b[i] = r; b[i].matrix[1].z = a[i].last;
    b[i].three = vec3h(vec3f(a[i].three) / 3.0);`),
  ),
  program(
    "mixed sums",
    "vec4h",
    inBounds(`var sum = 0.0; var half = 0.0h;
    for (var k = 0u; k < 7u; k++) { let v = a[(i * 5u + k) % ${ELEMENTS}u]; sum += dot(vec4f(v), vec4f(0.25)); half = fma(v.x, v.y, half); }
    b[i] = vec4h(f16(sum), half, f16(sqrt(abs(sum))), -half);`),
  ),
  program(
    "packed",
    "u32",
    inBounds(`let two = unpack2x16float(a[i]); let halves = bitcast<vec2h>(a[i + ${ELEMENTS}u]);
    let sum = vec2h(two) + halves; b[i] = pack2x16float(vec2f(sum) * 0.5); b[i + ${ELEMENTS}u] = bitcast<u32>(sum * halves.yx);
    b[i + ${2 * ELEMENTS}u] = pack2x16snorm(clamp(vec2f(halves), vec2f(-1.0), vec2f(1.0)));`),
  ),
  program(
    "tiles of halves",
    "f16",
    `tile[local] = a[i]; rows[local / 4u][local % 4u] = a[i + 1u]; workgroupBarrier();
    for (var width = 32u; width > 0u; width /= 2u) {
      if (local < width) { tile[local] = max(tile[local], tile[local + width]) * 0.75h; }
      workgroupBarrier();
    }
    b[i] = tile[0] + rows[(63u - local) / 4u][local % 4u];`,
    "var<workgroup> tile: array<f16, 64>; var<workgroup> rows: array<array<f16, 4>, 16>;",
  ),
  program(
    "conversions",
    "vec2h",
    inBounds(`let v = a[i]; let n = vec2i(v * 3.0h); var c = select(v, -v, n > vec2i(4));
    if (any(v == c)) { c += vec2h(n); } switch (n.x & 3) { case 0: { c = floor(c); } case 1: { c = fract(c) + v; } default: { c = mix(c, v, 0.25h); } }
    b[i] = clamp(c, vec2h(-100.0h), vec2h(f16(u32(n.y & 255)))) + vec2h(0x1.8p-3h);`),
  ),
];
