import { it } from "vitest";
import { inTwoPlaces, kernelWithBody } from "../../../../../test/support/kernels/twoTexts.ts";
import { goldens, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapBodies } from "../shared/mapFunctions.ts";
import { diversifyReplicas } from "./diversifyReplicas.ts";
import { keepRounding } from "./keepRounding.ts";

const golden = goldens("diversifyReplicas");
const entryPoints = new Set(["main"]);
const keepRoundings: Step = (program, names) => keepRounding(program, names, { entryPoints });
const diversify: Step = (program, names) =>
  diversifyReplicas(program, names, { entryPoints, roomy: entryPoints });
const diversified = (name: string, declarations: string, ...added: Step[]) =>
  golden(name, kernelWithBody(declarations), inTwoPlaces, ...added, keepRoundings, diversify);

it("rewrites operations on integers", () =>
  diversified(
    "integers",
    `fn body(i: u32, x: u32) {
       let s = i32(x);
       let sum = (i + x) - (i * x) / 3u % (x | 1u);
       let bits = ~(i & x) ^ (i << (x >> 3u));
       let powers = i * 8u + 4u * x / 16u + x % 32u;
       out[i] = sum + bits + powers + u32(-s / 5 % s + s * 4 + (s >> i));
     }`,
  ));

it("rewrites functions", () =>
  diversified(
    "functions",
    `fn body(i: u32, x: u32) {
       let s = i32(x);
       let v = clamp(vec2u(i, x), vec2u(1), vec2u(9)) << vec2u(3, i);
       let f = select(1.5, f32(i), i > x) + select(vec2f(0), vec2f(v), i > 2u).y;
       out[i] = min(i, x) + u32(max(s, -3)) + extractBits(x, i, 5) + insertBits(x, i, 3, 4) + u32(f);
     }`,
  ));

it("rewrites operations on floats, each of which rounds as before", () =>
  diversified(
    "floats",
    `fn body(i: u32, x: u32) {
       var v = vec3f(f32(i), 1, 2) * f32(x);
       v -= v.zyx / 3.0;
       out[i] = u32(v.x + v.y * sqrt(v.z) - 1.0);
     }`,
  ));

it("swaps comparisons, but no operands that call functions", () =>
  diversified(
    "conditions",
    `var<private> count: u32;
     fn next() -> u32 { count++; return count; }
     fn body(i: u32, x: u32) {
       if (i < x && (f32(i) <= 2.5 || i != 3u)) { out[i] = 1u; }
       if (next() < next() || next() == 4u) { out[i] += 1u; }
       if (f32(x) == 2.0) { out[i]--; }
     }`,
  ));

it("makes the code after an early return the other branch, also of a value", () =>
  diversified(
    "early returns",
    `fn least(i: u32) -> u32 { if (i == 0u) { return 1u; } if (i == 1u) { return 3u; } return i; }
     fn body(i: u32, x: u32) {
       if (i > 8u) { out[i] = 7u; return; }
       for (var k = 0u; k < x; k++) { if (k == 5u) { return; } out[i] += least(k); }
     }`,
  ));

it("meets in another way", () =>
  diversified(
    "barriers",
    `var<workgroup> tile: array<u32, 64>;
     fn body(i: u32, x: u32) {
       tile[i] = x;
       for (var k = 0u; k < 2u; k++) { workgroupBarrier(); }
       out[i] = tile[63u - i];
     }`,
  ));

it("leaves code alone that transforms added", () =>
  diversified(
    "added code",
    "fn body(i: u32, x: u32) { let v = x + 1u; out[i] = v * 2u; }",
    ({ module }, names) =>
      mapBodies(module, (body, { name, span }) => {
        const signature = names.the("signature");
        const { statements } = quote(span);
        const [first, ...rest] = body.statements;
        const code = statements`
          ${signature} = ${signature} * 3u + v;
          if (${signature} == 2u) { ${rest} }`;
        return name === "body" ? { ...body, statements: [first!, ...code] } : body;
      }),
  ));
