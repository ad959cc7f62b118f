import { describe, expect, it } from "vitest";
import { f32Format } from "./floatFormat.ts";
import {
  createReference,
  createReferenceBuffer,
  type ReferenceDispatch,
  type ReferenceKernel,
  type ReferenceOptions,
} from "./index.ts";
import { intervalArithmetic } from "./intervals.ts";
import { Undecided } from "./undecided.ts";

const result = new Float64Array(2);

const header = "@group(0) @binding(0) var<storage, read_write> x: array<f32, 8>;\n";
const out = "@group(0) @binding(1) var<storage, read_write> out: array<u32, 8>;\n";

function kernel(source: string, options?: ReferenceOptions): ReferenceKernel {
  const made = createReference({ source }, options);
  if ("construct" in made) throw new Error(made.construct);
  return made;
}

/** Runs a body of one invocation for each element of `x`. */
function run(body: string, values: readonly number[], options: Partial<ReferenceDispatch> = {}) {
  const made = kernel(
    `${header}${out}@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
      _ = x[0] + f32(out[0]); ${body} }`,
  );
  const x = createReferenceBuffer(Float32Array.from({ length: 8 }, (_, i) => values[i] ?? 0));
  const results = createReferenceBuffer(new Uint32Array(8));
  const outcome = made.run({
    workgroups: [1, 1, 1],
    buffers: [
      { group: 0, binding: 0, buffer: x },
      { group: 0, binding: 1, buffer: results },
    ],
    ...options,
  });
  return { ...outcome, x, out: new Uint32Array(results.bytes.buffer) };
}

describe("intervals", () => {
  it("holds both roundings of a sum, and the exact one only where it is a number of f32", () => {
    const { x } = run("x[i] = x[i] + 1.0;", [2 ** -30, 0.5]);
    expect(x.rangeAt(0)).toEqual({ low: 1, high: 1 + 2 ** -23 });
    expect(x.rangeAt(4)).toBeUndefined();
    expect(new Float32Array(x.bytes.buffer)[1]).toBe(1.5);
  });

  it("holds zero beside a subnormal number", () => {
    const { x } = run("x[i] = x[i] * 2.0;", [2 ** -140]);
    expect(x.rangeAt(0)).toEqual({ low: 0, high: 2 ** -139 });
  });

  it("grants a division 2.5 units in the last place", () => {
    const { low, high } = run("x[i] = x[i] / 3.0;", [1]).x.rangeAt(0)!;
    expect(low).toBeLessThan(1 / 3 - 2 * 2 ** -25);
    expect(high).toBeGreaterThan(1 / 3 + 2 * 2 ** -25);
    expect(high - low).toBeLessThan(8 * 2 ** -25);
  });

  it("knows nothing about overflows and divisions by zero", () => {
    const { x } = run("x[i] = x[i] / x[i + 4];", [1, 3e38, 1, 1, 0, 1e-3, 1, 1]);
    expect(x.rangeAt(0)!.low).toBeNaN();
    expect(x.rangeAt(4)!.low).toBeNaN();
    expect(x.rangeAt(8)!.high).toBeGreaterThan(1);
  });

  it("knows nothing about a load out of bounds, which may remain without use", () => {
    const source = (index: string, use: string) => `
      @group(0) @binding(0) var<storage> given: array<vec2f>;
      @group(0) @binding(1) var<storage, read_write> out: array<f32>;
      @compute @workgroup_size(1) fn main() { let n = arrayLength(&given); let x = given[${index}].y; out[0] = ${use}; }`;
    const rangeOf = (index: string, use: string) => {
      const buffer = createReferenceBuffer(new Float32Array(4));
      const given = createReferenceBuffer(Float32Array.of(1, 2, 3, 4));
      const buffers = [given, buffer].map((each, binding) => ({ group: 0, binding, buffer: each }));
      expect(kernel(source(index, use)).run({ workgroups: [1, 1, 1], buffers })).toEqual({});
      return buffer.rangeAt(0) ?? new Float32Array(buffer.bytes.buffer)[0];
    };
    expect(rangeOf("n - 1u", "x")).toBe(4);
    expect(rangeOf("n", "x")).toEqual({ low: Number.NaN, high: Number.NaN });
    expect(rangeOf("n", "select(7.0, x, n > 9u)")).toBe(7);
    expect(rangeOf("-1 + i32(n) * 0", "select(7.0, x, n > 9u)")).toBe(7);
  });

  it("knows nothing about a function of an unknown number, and of atan2 at a zero", () => {
    const { x } = run("x[i] = select(abs(log(x[i])), atan2(x[i], 5.0), i < 2u);", [-0, 1e-40, 0, -1]);
    for (const i of [0, 1, 2, 3]) expect(x.rangeAt(4 * i)).toEqual({ low: Number.NaN, high: Number.NaN });
  });

  it.each(
    Object.entries(intervalArithmetic(f32Format, result)).filter(([name]) => !/^from|loaded/.test(name)),
  )("gives for an unknown operand of %s an unknown result, or none", (_, operation) => {
    for (const at of operation.length > 2 ? [0, 2] : [0]) {
      const operands = [1, 1, 1, 1].with(at, Number.NaN).with(at + 1, Number.NaN);
      result.fill(1);
      try {
        (operation as (...operands: number[]) => void)(...operands);
      } catch (error) {
        expect(error).toBeInstanceOf(Undecided);
        continue;
      }
      expect([...result]).toEqual([Number.NaN, Number.NaN]);
    }
  });

  it.each([
    ["f32", "tanh(f32(0.3))", "tanh(x[i])", 0.3],
    ["an abstract number", "tanh(0.3)", "tanh(x[i])", 0.3],
    ["a declaration", "angle", "atan2(x[i], 0.9)", 0.3],
    ["a vector", "degrees(vec2(0.7, 0.3)).x", "degrees(x[i])", 0.7],
    ["an operand", "(2.0 * exp(0.5)) / 3.0", "(2.0 * exp(x[i])) / 3.0", 0.5],
    ["a number below all normal ones", "f32(1e-39)", "x[i]", 1e-39],
  ])("is as wide for a constant as for the same number at run time: %s", (_, constant, same, value) => {
    const [one, other] = [constant, same].map(
      (expression) =>
        run(`const angle = atan2(0.3, 0.9); x[i] = ${expression} + 0.0;`, [value]).x.rangeAt(0)!,
    );
    expect(one!.low).toBeLessThan(one!.high);
    expect(Math.abs(one!.low - other!.low)).toBeLessThanOrEqual(2 * f32Format.ulp(other!.low));
    expect(Math.abs(one!.high - other!.high)).toBeLessThanOrEqual(2 * f32Format.ulp(other!.high));
  });

  it.each([
    ["a tiny quotient", "x[i] / 10.0", 1e-38, -(2 ** -126), 2 ** -125],
    ["an arc cosine that is derived from atan2", "f32(acos(f16(x[i])))", -0.7978515625, 2.483, 2.507],
    ["the length of a number, as a root", "length(x[i])", 3, 3 - 2 ** -21, 3 + 2 ** -21],
  ])("holds what the conformance suite allows for %s", (_, expression, value, least, most) => {
    const { low, high } = run(`x[i] = ${expression};`, [value]).x.rangeAt(0)!;
    expect(low).toBeLessThanOrEqual(least);
    expect(high).toBeGreaterThanOrEqual(most);
  });

  it("holds zero beside a subnormal number of a constant array", () => {
    const { x } = run("const table = array(1e-39, 1.0); x[i] = table[i % 2] * 1.5;", []);
    expect(x.rangeAt(0)!.low).toBe(0);
    expect(x.rangeAt(4)).toBeUndefined();
  });

  it.each([
    ["a branch", "if (x[i] + 1.0 > 1.0) { out[i] = 1u; }", "a comparison depends on rounding"],
    ["an integer", "out[i] = u32(1.0 - x[i]);", "an integer depends on rounding"],
    ["bits", "out[i] = bitcast<u32>(x[i] + 1.0);", "the bits of a number depends on rounding"],
    ["a packed number", "out[i] = pack2x16unorm(vec2f(f32(0.3)));", "an integer depends on rounding"],
  ])("is undecided where rounding decides %s", (_, body, reason) => {
    const { undecided } = run(body, [2 ** -30]);
    expect(undecided).toMatchObject({ reason, workgroup: [0, 0, 0] });
    expect(undecided!.at).toBeGreaterThan(header.length);
  });

  it.each(["3u > 5u && x[1] > 3.0", "!(3u < 5u || out[1] == 2u)"])(
    "does not evaluate an operand after a constant that decides: %s",
    (condition) => {
      const { undecided, out } = run(`out[i] = 7u; if (${condition}) { out[i] = 9u; }`, []);
      expect(undecided).toBeUndefined();
      expect(out[0]).toBe(7);
    },
  );

  it("decides where the interval does not reach the limit", () => {
    const { undecided, out } = run("out[i] = u32(x[i] * 3.0 + 0.5) + u32(x[i] < 1.0);", [0.4]);
    expect(undecided).toBeUndefined();
    expect(out[0]).toBe(2);
  });
});

describe("the words of a device", () => {
  const bitsOf = (x: number) => new Uint32Array(Float32Array.of(x).buffer)[0]!;

  it("are allowed within the interval, and not as NaN", () => {
    const { x, out } = run("x[i] = x[i] / 3.0; out[i] = 5u;", [1, 0]);
    expect(x.allows(0, bitsOf(1 / 3))).toBe(true);
    expect(x.allows(0, bitsOf(0.334))).toBe(false);
    expect(x.allows(0, bitsOf(Number.NaN))).toBe(false);
    expect(x.allows(4, bitsOf(-0))).toBe(true);
    expect(out[0]).toBe(5);
  });

  it("are allowed half by half for numbers of 16 bits", () => {
    const made = kernel(`enable f16; @group(0) @binding(0) var<storage, read_write> h: array<f16, 2>;
      @compute @workgroup_size(1) fn main() { h[0] = h[0] / 3.0h; h[1] = h[1] * 2.0h; }`);
    const buffer = createReferenceBuffer(Uint16Array.of(0x3c00, 0x3c00));
    made.run({ workgroups: [1, 1, 1], buffers: [{ group: 0, binding: 0, buffer }] });
    expect(buffer.allows(0, 0x4000_3555)).toBe(true);
    expect(buffer.allows(0, 0x4001_3555)).toBe(false);
    expect(buffer.allows(0, 0x4000_3655)).toBe(false);
  });
});

describe("what WGSL leaves open", () => {
  it.each([
    ["an integer of a buffer", "select(7u, out[i + 99u], i > 9u)"],
    ["a vector of workgroup memory", "select(vec2u(7), tile[i + 9u], i > 9u).y"],
    ["a float of workgroup memory", "u32(select(parts[i + 9u], 7.0, i < 9u))"],
  ])("does not matter where select takes the other operand: %s out of bounds", (_, value) => {
    const body = (index: string) => `out[i] = ${value.replace("i > 9u", index).replace("i < 9u", index)};`;
    const own = "var<workgroup> tile: array<vec2u, 4>; var<workgroup> parts: array<f32, 4>;";
    const outcomeOf = (index: string) => {
      const buffer = createReferenceBuffer(new Uint32Array(8));
      const source = `${own}${out}@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { ${body(index)} }`;
      const { undecided } = kernel(source).run({
        workgroups: [1, 1, 1],
        buffers: [{ group: 0, binding: 1, buffer }],
      });
      return undecided?.reason ?? new Uint32Array(buffer.bytes.buffer)[0];
    };
    const [takesOther, takesLoad] = value.includes("i < 9u") ? ["i < 9u", "i > 9u"] : ["i > 9u", "i < 9u"];
    expect(outcomeOf(takesOther)).toBe(7);
    expect(outcomeOf(takesLoad)).toBe("an index is out of bounds");
  });

  it.each([
    ["an index out of bounds", "out[i + 5u] = 1u;", "an index is out of bounds"],
    ["a negative index", "out[i32(i) - 1] = 1u;", "an index is out of bounds"],
    [
      "a loop without an end",
      "loop { if (out[0] > 1u) { break; } }",
      "too many iterations, calls and invocations",
    ],
  ])("is undecided: %s", (_, body, reason) => {
    expect(run(body, [], { iterations: 1000 }).undecided?.reason).toBe(reason);
  });

  it("runs in steps, from barrier to barrier, each with its own limit of iterations", () => {
    const source = `${out}var<workgroup> w: array<u32, 4>;
      @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
        for (var k = 0u; k < 3u; k++) { for (var j = 0u; j < 9u; j++) { w[i] += j; } workgroupBarrier(); }
        out[i] = w[i];
      }`;
    const steps = (limits: object) => {
      const buffer = createReferenceBuffer(new Uint32Array(8));
      const bound = [{ group: 0, binding: 1, buffer }];
      const yielded = kernel(source).steps({ workgroups: [1, 1, 1], buffers: bound, ...limits });
      let count = 0;
      for (let step = yielded.next(); ; step = yielded.next()) {
        if (step.done)
          return [count, step.value.undecided?.reason ?? new Uint32Array(buffer.bytes.buffer)[0]];
        count++;
      }
    };
    const reason = "too many iterations, calls and invocations";
    expect(steps({})).toEqual([16, 108]);
    expect(steps({ iterationsOfStep: 16 })).toEqual([16, 108]);
    expect(steps({ iterationsOfStep: 8 })).toEqual([0, reason]);
    expect(steps({ iterationsOfStep: 16, iterations: 70 })).toEqual([5, reason]);
  });

  it("counts invocations, so that grids without loops end", () => {
    const buffers = [{ group: 0, binding: 1, buffer: createReferenceBuffer(new Uint32Array(8)) }];
    const made = kernel(`${out}@compute @workgroup_size(8) fn main() { out[0] = 1u; }`);
    const outcome = (iterations: number) => made.run({ workgroups: [2, 1, 1], buffers, iterations });
    expect(outcome(16)).toEqual({});
    expect(outcome(7).undecided).toMatchObject({ byBudget: true, byRounding: false, workgroup: [0, 0, 0] });
  });

  it("translates a long chain of functions", () => {
    const chain = Array.from({ length: 3000 }, (_, i) => `fn f${i + 1}() -> u32 { return f${i}(); }`);
    const source = `${out}fn f0() -> u32 { return 1u; } ${chain.join("\n")}
      @compute @workgroup_size(1) fn main() { out[0] = f3000(); }`;
    expect(createReference({ source })).not.toHaveProperty("construct");
  });

  it("is undecided: functions that call each other too often", () => {
    const doubling = Array.from(
      { length: 40 },
      (_, i) => `fn f${i + 1}() -> u32 { return f${i}() + f${i}(); }`,
    );
    const source = `${out}fn f0() -> u32 { return 1u; } ${doubling.join("\n")}
      @compute @workgroup_size(1) fn main() { out[0] = f40(); }`;
    const bound = [{ group: 0, binding: 1, buffer: createReferenceBuffer(new Uint32Array(8)) }];
    const { undecided } = kernel(source).run({ workgroups: [1, 1, 1], buffers: bound, iterations: 1000 });
    expect(undecided?.reason).toBe("too many iterations, calls and invocations");
  });

  it.each([
    [
      "samplers",
      `@group(0) @binding(0) var t: texture_2d<f32>; @group(0) @binding(1) var s: sampler;
       @compute @workgroup_size(1) fn main() { _ = textureSampleLevel(t, s, vec2f(), 0); }`,
    ],
    [
      "textures",
      "@group(0) @binding(0) var t: texture_external; @compute @workgroup_size(1) fn main() { _ = textureLoad(t, vec2u()); }",
    ],
    [
      "workgroups of more than 65536 invocations",
      "@compute @workgroup_size(65536, 65536, 65536) fn main() {}",
    ],
    [
      'variables in the address space "immediate"',
      "var<immediate> n: u32; @compute @workgroup_size(1) fn main() { _ = n; }",
    ],
    [
      "1024 invocations that wait with 100001 numbers each",
      `var<private> t: array<u32, 100000>;
       fn wait() { workgroupBarrier(); }
       @compute @workgroup_size(1024) fn main() { t[0] = 1u; wait(); }`,
    ],
    [
      "variables of more than 16777216 numbers",
      "var<private> t: array<array<u32, 60000>, 60000>; @compute @workgroup_size(1) fn main() { t[0][0] = 1u; }",
    ],
  ])("tells the construct that it does not have: %s", (construct, source) => {
    expect(createReference({ source })).toMatchObject({ construct });
  });

  it("rejects dispatches that no device accepts", () => {
    const made = kernel(`${out}@compute @workgroup_size(1) fn main() { out[0] = 1u; }`);
    const buffer = createReferenceBuffer(new Uint32Array(16));
    const bound = { group: 0, binding: 1, buffer };
    for (const count of [1.5, -1, Number.NaN, 2 ** 32])
      expect(() => made.run({ workgroups: [count, 1, 1], buffers: [bound] })).toThrow(
        "a grid has whole numbers",
      );
    for (const range of [
      { offset: 2 },
      { offset: -4 },
      { offset: 32, size: 64 },
      { size: 6 },
      { offset: 96 },
    ])
      expect(() => made.run({ workgroups: [1, 1, 1], buffers: [{ ...bound, ...range }] })).toThrow(
        '"out" needs whole words of its buffer',
      );
    expect([...buffer.bytes].every((byte) => byte === 0)).toBe(true);
  });

  it("takes the values of overrides as a pipeline does", () => {
    const source = `override N: u32 = 3; override M: i32 = 0; override Z: f32 = 1; @id(7) override S: u32 = 1;
      ${out}@compute @workgroup_size(S) fn main() { out[0] = N; out[1] = bitcast<u32>(M); out[2] = bitcast<u32>(Z); }`;
    const valuesWith = (constants: Record<string, number>) => {
      const made = createReference({ source, constants }) as ReferenceKernel;
      const buffer = createReferenceBuffer(new Uint32Array(8));
      made.run({ workgroups: [1, 1, 1], buffers: [{ group: 0, binding: 1, buffer }] });
      return [...new Int32Array(buffer.bytes.buffer).subarray(0, 3)];
    };
    expect(valuesWith({ N: 1.5, M: -2.9, Z: -0, 7: 2 })).toEqual([1, -2, -(2 ** 31)]);
    expect(() => valuesWith({ S: 2 })).toThrow('there is no override "S"');
    expect(() => valuesWith({ 7: 0 })).toThrow("an override in the workgroup's size has no value that fits");
  });

  it("rejects modules with errors, unknown kernels and missing buffers", () => {
    expect(() => createReference({ source: "fn f() { x; }" })).toThrow("the module has an error");
    const source = `${out}@compute @workgroup_size(1) fn main() { out[0] = 1u; }`;
    expect(() => createReference({ source, entryPoint: "other" })).toThrow('there is no kernel "other"');
    expect(() => kernel(source).run({ workgroups: [1, 1, 1], buffers: [] })).toThrow(
      'no buffer is bound to "out"',
    );
  });
});

describe("invocations together", () => {
  it("meet at barriers, also in loops and in functions", () => {
    const source = `${out}var<workgroup> tile: array<u32, 8>;
      fn neighbor(i: u32) -> u32 { workgroupBarrier(); let n = tile[(i + 1u) % 8u]; workgroupBarrier(); return n; }
      @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
        tile[i] = i;
        for (var k = 0u; k < 3u; k++) { tile[i] = neighbor(i) * 2u; }
        out[i] = tile[i];
      }`;
    const buffer = createReferenceBuffer(new Uint32Array(8));
    kernel(source).run({ workgroups: [1, 1, 1], buffers: [{ group: 0, binding: 1, buffer }] });
    const expected = Array.from({ length: 8 }, (_, i) => ((i + 3) % 8) * 8);
    expect([...new Uint32Array(buffer.bytes.buffer)]).toEqual(expected);
  });

  it("exchange values in subgroups", () => {
    const source = `enable subgroups; ${out}
      @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32, @builtin(subgroup_size) size: u32) {
        out[i] = subgroupAdd(i) * 1000u + subgroupExclusiveAdd(1u) * 100u + subgroupShuffleXor(i, 1u) * 10u + size;
      }`;
    const buffer = createReferenceBuffer(new Uint32Array(8));
    const buffers = [{ group: 0, binding: 1, buffer }];
    expect(kernel(source).run({ workgroups: [1, 1, 1], buffers, subgroupSize: 4 })).toEqual({});
    const sums = [6, 22];
    const expected = Array.from(
      { length: 8 },
      (_, i) => sums[i >> 2]! * 1000 + (i % 4) * 100 + (i ^ 1) * 10 + 4,
    );
    expect([...new Uint32Array(buffer.bytes.buffer)]).toEqual(expected);
  });

  const neighbor = "let n = out[(i + 1u) % 4u]; ";
  it.each([
    ["a load and a store of others", `${neighbor}out[i] = n + i;`, true],
    ["a sum that all add to, whatever the order", "out[0] += 1u;", true],
    ["stores to components of one vector", "pairs[i / 2u][i % 2u] = i;", true],
    ["a store and a load of another component", "pairs[i / 2u].x += pairs[i / 2u].y;", true],
    ["loads before a store", "let n = tile[0]; storageBarrier(); if (i == 3u) { tile[0] = n; }", true],
    ["workgroup memory without a barrier", "tile[i] = i; out[i] = tile[3u - i];", true],
    ["a barrier for other memory", `${neighbor}workgroupBarrier(); out[i] = n + i;`, true],
    ["a barrier between", `${neighbor}storageBarrier(); out[i] = n + i;`, false],
    ["a barrier for workgroup memory", "tile[i] = i; workgroupBarrier(); out[i] = tile[3u - i];", false],
    ["a uniform load", "if (i == 0u) { tile[0] = 5u; } out[i] = workgroupUniformLoad(&tile[0]);", false],
    ["elements of their own", "out[i] += 1u; out[i] *= 2u; pairs[i].x = pairs[i].y;", false],
    ["loads of one element", "out[i + 4u] = pairs[0].x + out[i];", false],
    ["atomics", "atomicAdd(&count, i); storageBarrier(); out[i] = atomicLoad(&count);", false],
  ])("finds races: %s", (_, body, races) => {
    const source = `${out}
      @group(0) @binding(2) var<storage, read_write> pairs: array<vec2u>;
      @group(0) @binding(3) var<storage, read_write> count: atomic<u32>;
      var<workgroup> tile: array<u32, 4>;
      @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { ${body} }`;
    const buffers = [1, 2, 3].map((binding) => ({
      group: 0,
      binding,
      buffer: createReferenceBuffer(new Uint32Array(8)),
    }));
    const { undecided } = kernel(source, { detectRaces: true }).run({ workgroups: [1, 1, 1], buffers });
    expect(undecided?.reason).toBe(races ? "invocations race for memory" : undefined);
    expect(kernel(source).run({ workgroups: [1, 1, 1], buffers })).toEqual({});
  });

  it.each([
    ["a load beside sums", "atomicAdd(&count, 1u); if (i == 0u) { out[0] = atomicLoad(&count); }", true],
    ["a load before sums", "if (i == 0u) { out[0] = atomicLoad(&bins[1]); } atomicAdd(&bins[1], i);", true],
    ["sums and a maximum", "atomicAdd(&count, i); atomicMax(&count, 3u);", true],
    ["stores of two values", "atomicStore(&bins[0], i / 2u);", true],
    ["stores of one value", "atomicStore(&bins[0], 2u);", false],
    ["sums and differences", "atomicAdd(&count, i); atomicSub(&count, 1u);", false],
    [
      "a barrier between two kinds",
      "atomicMax(&bins[0], i); workgroupBarrier(); out[i] = atomicLoad(&bins[0]); workgroupBarrier(); atomicAdd(&bins[0], i);",
      false,
    ],
    ["locations of their own", "atomicStore(&bins[i], i); atomicAdd(&bins[i], 1u);", false],
  ])("finds atomic operations whose order decides the results: %s", (_, body, isOpen) => {
    const source = `${out}
      @group(0) @binding(2) var<storage, read_write> count: atomic<u32>;
      var<workgroup> bins: array<atomic<u32>, 4>;
      @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
        ${body} }`;
    const buffers = [1, 2].map((binding) => ({
      group: 0,
      binding,
      buffer: createReferenceBuffer(new Uint32Array(8)),
    }));
    const { undecided } = kernel(source, { detectRaces: true }).run({ workgroups: [1, 1, 1], buffers });
    const reason = "the order of atomic operations may decide its results";
    expect(undecided?.reason).toBe(isOpen ? reason : undefined);
  });

  it("finds races of workgroups, which no barrier orders", () => {
    const source = `${out}@compute @workgroup_size(1) fn main() { storageBarrier(); out[0] += 1u; }`;
    const buffers = [{ group: 0, binding: 1, buffer: createReferenceBuffer(new Uint32Array(8)) }];
    const racing = kernel(source, { detectRaces: true });
    expect(racing.run({ workgroups: [1, 1, 1], buffers })).toEqual({});
    expect(racing.run({ workgroups: [2, 1, 1], buffers }).undecided).toMatchObject({ workgroup: [1, 0, 0] });
  });

  it("runs the chosen workgroups only", () => {
    const source = `${out}@compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3u) { out[id.x] = 7u; }`;
    const buffer = createReferenceBuffer(new Uint32Array(8));
    kernel(source).run({
      workgroups: [8, 1, 1],
      buffers: [{ group: 0, binding: 1, buffer }],
      only: [[5, 0, 0]],
    });
    expect([...new Uint32Array(buffer.bytes.buffer)]).toEqual([0, 0, 0, 0, 0, 7, 0, 0]);
    expect(buffer.storedAt(20)).toBe("integer");
    expect(buffer.storedAt(16)).toBeUndefined();
  });
});
