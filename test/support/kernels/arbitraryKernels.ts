/**
 * Random kernels of one invocation in which order matters. Calls, atomics and pointers change the
 * next operand. Other random kernels compute with 16-bit floats.
 */
import fc from "fast-check";
import type { KernelInput } from "./kernelRunner.ts";

const prelude = `
  requires unrestricted_pointer_parameters;
  struct Part { at: vec4u, list: array<u32, 8> }
  @group(0) @binding(0) var<storage, read_write> trace: array<u32, 64>;
  @group(0) @binding(1) var<storage, read_write> out: array<u32, 16>;
  @group(0) @binding(2) var<storage, read_write> n: array<atomic<u32>, 4>;
  @group(0) @binding(3) var<storage, read_write> parts: array<Part, 4>;
  var<workgroup> tile: array<u32, 8>;
  var<workgroup> flags: vec3<bool>;
  var<private> calls: u32;
  var<private> fuel: u32 = 40u;
  fn t(x: u32) -> u32 { calls++; trace[calls % 64u] += x * (calls + 1u); return x; }
  fn live() -> bool { if (fuel == 0u) { return false; } fuel--; return true; }
  fn yes(x: u32) -> bool { return t(x) % 2u == 0u; }
  fn bump(p: ptr<function, u32>) -> u32 { *p += 1u; return t(*p); }
  fn add(p: ptr<storage, u32, read_write>, x: u32) -> u32 { *p += x; return t(*p); }
  fn addAt(p: ptr<storage, array<u32, 8>, read_write>, i: u32, x: u32) -> u32 { let q = &(*p)[i % 8u]; return add(q, x); }
`;

/** The input of all kernels. */
export const kernelInput: KernelInput = {
  buffers: {
    0: new Uint32Array(64),
    1: Uint32Array.from({ length: 16 }, (_, i) => (i * 7) % 5),
    2: new Uint32Array(4),
    3: Uint32Array.from({ length: 48 }, (_, i) => (i * 3) % 7),
  },
  workgroups: [1, 1, 1],
};

/** Returns random WGSL: a template with random texts in its holes. */
function text(strings: TemplateStringsArray, ...holes: fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc.tuple(...holes).map((parts) => String.raw({ raw: strings }, ...parts));
}

const oneOf = (...texts: string[]) => fc.constantFrom(...texts);
const assignment = oneOf("=", "+=", "-=", "*=", "^=", "|=");

const { body } = fc.letrec<Record<"u" | "b" | "place" | "simple" | "statement" | "body", string>>((tie) => {
  const [u, b, place, simple, body] = [tie("u"), tie("b"), tie("place"), tie("simple"), tie("body")];
  const bounded = { maxDepth: 2, depthSize: "xsmall" } as const;
  return {
    u: fc.oneof(
      { ...bounded, depthIdentifier: "expression" },
      oneOf("3u", "i", "k", "*p", "t(5u)", "bump(&i)", "bump(&k)"),
      text`t(${u})`,
      text`(${u} ${oneOf("+", "-", "*", "^", "&")} ${u})`,
      text`atomicAdd(&n[${u} % 4u], ${u})`,
      text`atomicCompareExchangeWeak(&n[${u} % 4u], ${u}, ${u}).old_value`,
      text`add(&out[${u} % 16u], ${u})`,
      text`addAt(&parts[${u} % 4u].list, ${u}, ${u})`,
      text`select(${u}, ${u}, ${b})`,
      text`vec3u(${u}, ${u}, ${u})[${u} % 3u]`,
      text`parts[${u} % 4u].at.${oneOf("x", "wz.y")}`,
      place,
    ),
    b: fc.oneof(
      { ...bounded, depthIdentifier: "expression" },
      text`${u} > 2u`,
      text`yes(${u})`,
      text`(${b} ${oneOf("&&", "||")} ${b})`,
      text`!(${b})`,
      oneOf("flags.x", "flags.y"),
    ),
    place: text`${oneOf("out[", "tile[", "local[", "parts[1].list[", "parts[2].at[")}${u} % 4u]`,
    simple: fc.oneof(
      text`${fc.oneof(place, oneOf("*p", "i", "k"))} ${assignment} ${u}`,
      text`${place}${oneOf("++", "--")}`,
      text`atomic${oneOf("Add", "Store", "Max")}(&n[${u} % 4u], ${u})`,
    ),
    statement: fc.oneof(
      { ...bounded, depthIdentifier: "statement" },
      text`${simple};`,
      text`parts[${u} % 4u].at.${oneOf("zx", "wzy.yx")} ${assignment} vec2u(${u}, ${u});`,
      text`flags.${oneOf("x", "y")} = ${b};`,
      text`parts[${u} % 4u] = parts[${u} % 4u];`,
      text`{ let p = &out[${u} % 16u]; ${body} }`,
      text`{ let out = ${u}; k += out; var tile = out; tile += k; *p = tile; }`,
      text`if (${b}) { ${body} } else if (${b}) { ${body} } else { ${body} }`,
      text`for (${simple}; live() && ${b}; ${simple}) { ${body} if (${b}) { ${oneOf("break", "continue")}; } ${body} }`,
      text`while (live() && ${b}) { ${body} if (${b}) { continue; } ${body} }`,
      text`loop { ${body} if (${b}) { continue; } ${body} continuing { ${simple}; break if !live() || ${b}; } }`,
      text`switch (${u} % 4u) { case 0: { ${body} } case 1, 2: { if (${b}) { break; } ${body} } default: { ${body} } }`,
    ),
    body: fc
      .array(tie("statement"), { minLength: 1, maxLength: 2 })
      .map((statements) => statements.join("\n")),
  };
});

/** A kernel that runs on `kernelInput`. */
export const kernel: fc.Arbitrary<string> = fc.array(body, { minLength: 2, maxLength: 3 }).map(
  (bodies) => `${prelude}
  @compute @workgroup_size(1) fn main() {
    var i = 1u; var k = 2u; var local: array<u32, 4>;
    let p = &out[bump(&k)];
    trace[0] = atomicLoad(&n[0]) + parts[0].at.x;
    ${bodies.join("\n")}
    trace[63] = i * 3u + k + local[1] + tile[3] + u32(flags.x);
  }`,
);

const halfPrelude = `
  enable f16;
  struct Part { at: vec3h, scale: f16, sum: f32, words: u32 }
  @group(0) @binding(0) var<storage, read_write> trace: array<u32, 64>;
  @group(0) @binding(1) var<storage, read_write> triples: array<vec3h, 8>;
  @group(0) @binding(2) var<storage, read_write> halves: array<f16, 8>;
  @group(0) @binding(3) var<storage, read_write> parts: array<Part, 12>;
  var<workgroup> tile: array<vec3h, 4>;
  fn near(x: f16) -> f16 { return clamp(x, -64h, 64h); }
  fn next(p: ptr<function, f16>) -> f16 { *p = near(*p + 0.75h); return *p; }
`;

const halfBody = fc.letrec<Record<"h" | "f" | "w" | "place" | "statement", string>>((tie) => {
  const [h, f, w, place] = [tie("h"), tie("f"), tie("w"), tie("place")];
  const bounded = { maxDepth: 2, depthSize: "xsmall", depthIdentifier: "expression" } as const;
  return {
    h: fc.oneof(
      bounded,
      oneOf("0.1h", "k", "next(&k)"),
      text`near(${h} ${oneOf("+", "-", "*")} ${h})`,
      text`f16(clamp(${f}, -64f, 64f))`,
      text`dot(vec3h(${h}, 0.5h, ${h}), vec3h(0.25h))`,
      text`bitcast<vec2h>(${w} & 0x3bff3bffu).${oneOf("x", "y")}`,
      place,
    ),
    f: fc.oneof(
      bounded,
      oneOf("0.1f", "parts[1].sum"),
      text`f32(${h})`,
      text`unpack2x16float(${w} & 0x3bff3bffu).${oneOf("x", "y")}`,
      text`clamp(${f} ${oneOf("+", "*")} f32(${h}), -64f, 64f)`,
    ),
    w: fc.oneof(
      bounded,
      oneOf("3u", "parts[2].words"),
      text`pack2x16float(vec2f(${f}, ${f}))`,
      text`bitcast<u32>(vec2h(${h}, ${h}))`,
      text`u32(abs(${h}))`,
    ),
    place: text`${oneOf("halves[", "triples[1][", "tile[2][", "parts[3].at[")}${w} % 3u]`,
    statement: fc.oneof(
      text`${place} = ${h};`,
      text`triples[${w} % 8u] = vec3h(${h}, ${h}, ${h});`,
      text`tile[${w} % 4u].${oneOf("x", "y", "z")} = ${h};`,
      text`parts[${w} % 12u].sum = ${f};`,
      text`parts[${w} % 12u] = Part(triples[${w} % 8u], ${h}, ${f}, ${w});`,
      text`trace[${w} % 64u] = ${w};`,
      text`if (${h} < ${h}) { ${place} = ${h}; }`,
    ),
  };
}).statement;

/** A kernel with 16-bit floats, vectors of three, 32-bit sums and packed words on `kernelInput`. */
export const halfKernel: fc.Arbitrary<string> = fc.array(halfBody, { minLength: 3, maxLength: 6 }).map(
  (statements) => `${halfPrelude}
  @compute @workgroup_size(1) fn main() {
    var k = 1.5h;
    ${statements.join("\n")}
    halves[7] = k + tile[1].y;
  }`,
);
