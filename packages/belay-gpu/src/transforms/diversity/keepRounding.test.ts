import { print } from "belay-gpu/internal/wgsl/printer";
import { expect, it } from "vitest";
import { runReference, translated } from "../../../../../test/support/kernels/reference.ts";
import { inTwoPlaces, kernelWithBody } from "../../../../../test/support/kernels/twoTexts.ts";
import { applySteps, goldens, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { keepRounding } from "./keepRounding.ts";

const golden = goldens("keepRounding", { withLibrary: true });
const keep: Step = (program, names) => keepRounding(program, names, { entryPoints: new Set(["main"]) });
const kept = (name: string, declarations: string) =>
  golden(name, kernelWithBody(declarations), inTwoPlaces, keep);

it("keeps products, quotients and inexact functions, and passes the zero on", () =>
  kept(
    "operations",
    `fn half(x: f32) -> f32 { return x * 0.5; }
     fn body(i: u32, x: u32) {
       var f = half(f32(x));
       f += sin(f * 3.0) - f / f32(i) + fract(f) % 2.0;
       out[i] = u32(max(f, -f)) * (i / 3u);
     }`,
  ));

it("keeps vectors, matrices and halves", () =>
  kept(
    "types",
    `fn body(i: u32, x: u32) {
       let v = vec3f(f32(i), 1, 2);
       let m = mat2x3h() * f16(x);
       out[i] = u32(dot(v * 2.0, normalize(v))) + u32((m * vec2h(f16(i), 1h)).x);
     }`,
  ));

it("writes compound assignments out, and evaluates their places once", () =>
  kept(
    "compound assignments",
    `var<private> count: u32;
     fn next() -> u32 { count++; return count % 4u; }
     fn body(i: u32, x: u32) {
       var v = vec4f(f32(x));
       v *= 2.0;
       v[next()] /= f32(i);
       v[1] += 1.5;
       for (var f = 1.0; f < 9.0; f *= 1.5) { v.x += f; }
       out[i] = u32(v.x);
     }`,
  ));

it.each([
  ["f32", "bitcast<f32>(x)", "bitcast<u32>(y)"],
  ["f16", "bitcast<vec2<f16>>(x).x", "bitcast<u32>(vec2<f16>(y, 0h))"],
])("keeps a %s that is kept twice", (type, before, after) => {
  const body = `fn body(i: u32, x: u32) { let y = ${before}; out[i] = u32(y * y); }`;
  const text = print(applySteps(kernelWithBody(body), [inTwoPlaces, keep]).after.module);
  const keeper = /fn belay_kept_[\s\S]*?\n\}/.exec(text)![0];
  const of = (zero: string) => `belay_kept_${type}(belay_kept_${type}(${before}, ${zero}), ${zero})`;
  const kernel = (zero: string) =>
    kernelWithBody(`${keeper} fn body(i: u32, x: u32) { let y = ${of(zero)}; out[i] = ${after}; }`);
  const words = Uint32Array.from({ length: 64 }, (_, i) => 0x3c00 + 2 * i);
  const run = (zero: string) => {
    const input = { buffers: { 0: words.slice() }, workgroups: [1, 1, 1] as const };
    const { undecided, buffers } = runReference(
      translated(kernel(zero), input, { floats: "nearest" }),
      input,
    );
    expect(undecided).toBeUndefined();
    return [...new Uint32Array(buffers[0]!.bytes.buffer)];
  };
  expect(run("0u")).toEqual([...words]);
  // A compiler that leaves both calls out is wrong for this word.
  expect(run("1u").filter((word, i) => word === words[i])).toEqual([]);
});
