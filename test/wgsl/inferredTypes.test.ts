import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { parse, print } from "belay-gpu/wgsl";
import { catalog } from "belay-research/internal/workloads/samples/index";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DawnValidator, startDawn } from "../support/wgsl/dawnValidator.ts";
import { withInferredTypes } from "../support/wgsl/inferredTypes.ts";

let dawn: DawnValidator;
beforeAll(async () => {
  dawn = await startDawn();
});
afterAll(() => dawn.close());

/** Returns a program with each inferred type written out. */
function annotated(code: string): string {
  const { module, diagnostics } = parse(code);
  expect(diagnostics).toEqual([]);
  const program = resolve(module);
  expect(program.diagnostics).toEqual([]);
  return print(withInferredTypes(program));
}

const kernels = catalog.flatMap(({ name, small }) =>
  Object.entries(small().kernelSources).map(([kernel, code]) => ({ name: `${name} ${kernel}`, code })),
);

test.each(kernels)("Dawn infers the same types in $name", async ({ code }) => {
  expect(await dawn.validate(annotated(code))).toEqual({ ok: true });
});

test("Dawn infers the same types in a program with every kind of expression", async () => {
  expect(await dawn.validate(annotated(everyExpression))).toEqual({ ok: true });
});

test("a wrong type is found", async () => {
  const { module } = parse("fn f(x: f32) -> f32 { let y = x * 2; return y; }");
  const program = resolve(module);
  const wrong = { ...program, valueTypeOf: () => ({ kind: "scalar", name: "i32" }) as const };
  expect(await dawn.validate(print(withInferredTypes(wrong)))).toMatchObject({ ok: false });
});

const everyExpression = /* wgsl */ `
const table = array(1, 2.5, 3);
const basis = mat2x2(1, 0, 0, 1);
override scale = 1.5;
override block: u32 = 64;
struct Inner { weight: f32, cells: array<vec3<f32>, 2> }
struct Params { count: u32, row: vec4<f32>, turn: mat3x3f, inner: Inner }
@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<vec2<u32>>;
@group(0) @binding(2) var<uniform> params: Params;
@group(0) @binding(3) var picture: texture_2d<f32>;
@group(0) @binding(4) var depth: texture_depth_2d_array;
@group(0) @binding(5) var smooth_: sampler;
@group(0) @binding(6) var image: texture_storage_2d<rgba8uint, write>;
@group(0) @binding(7) var<storage, read_write> counters: array<atomic<i32>>;
var<workgroup> tile: array<i32, 64>;
var<private> seed = 1u;

fn scaled(place: ptr<function, f32>, by: f32) -> f32 { *place *= by; return *place; }

@compute @workgroup_size(block)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let row = params.row.zyx;
  var sum = row.x + 1;
  var cells = params.inner.cells;
  cells[local & 1].y = 2;
  let turned = params.turn * cells[1] - cells[0] * params.turn;
  let mixed = mix(turned, vec3(1, 2, 3), 0.5).xy;
  let picked = select(vec2(1, 2), vec2(3, 4), mixed < vec2(0.5));
  let shifted = 1 << (local % 32);
  let element = table[local % 3] + basis[local % 2].y * scale;
  let parts = frexp(sum);
  let whole = modf(turned).whole;
  let outcome = atomicCompareExchangeWeak(&counters[id.x], 0, 1);
  if (outcome.exchanged && !any(picked == vec2(1, 3))) { seed ^= u32(outcome.old_value); }
  let bits = bitcast<vec2<u32>>(mixed) | vec2(seed, 1);
  let packed = pack4x8unorm(params.row) + dot4U8Packed(seed, 3);
  let size = textureDimensions(picture, 0);
  let texel = textureLoad(picture, vec2(id.xy), 0) + textureSampleLevel(picture, smooth_, vec2(0.5, 1), 0);
  let shade = textureLoad(depth, id.xy, 0, 0);
  textureStore(image, id.xy, vec4(bits, 1, packed));
  let cell = &tile[local];
  *cell = atomicAdd(&counters[0], 5) + tile[0];
  workgroupBarrier();
  let shared_ = workgroupUniformLoad(&tile[1]);
  let total = scaled(&sum, f32(arrayLength(&input)));
  output[id.x] = bits + vec2(u32(total), u32(shared_) + size.x) * u32(shade + texel.w + element);
  output[id.x].y += u32(whole.x + parts.fract) + u32(parts.exp + picked.x + shifted);
}`;
