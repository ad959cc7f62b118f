/**
 * The functions of doubles on a device, against JavaScript's. `DOUBLES=32` takes 32 times as many
 * pairs of operands.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../../test/support/devices/testDevices.ts";
import { arithmeticFor } from "./arithmetic.ts";
import { doubleFunctions } from "./doubles.ts";

const batches = Number(process.env.DOUBLES ?? 1);
/** The number of pairs in a dispatch. */
const count = 2 ** 16;

const specials = [
  ...[0, 1, 0.5, 1.5, 2.5, 3, 0.1, 254.5, 255.5, 4503599627370495.5, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 84],
  ...[Number.MIN_VALUE, 2 ** -1022, 2 ** -1022 - Number.MIN_VALUE, Number.MAX_VALUE, 1 + Number.EPSILON],
  ...[2 ** -149, 2 ** -150, 3 * 2 ** -151, 3.4028235677973366e38, 2 ** -126, 0.49999999999999994],
  Number.POSITIVE_INFINITY,
].flatMap((value) => [value, -value]);
specials.push(Number.NaN);

/** A source of pseudorandom words, the same in each run. */
class Words {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let word = this.#state;
    word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return (word ^ (word >>> 15)) >>> 0;
  }
}

/**
 * Returns pairs of operands: special ones, any bits, numbers of close exponents, numbers of few
 * bits, integers, and floats of 32 bits. Few bits make ties of rounding frequent.
 */
function pairsOf(seed: number): { readonly xs: Float64Array; readonly ys: Float64Array } {
  const words = new Words(seed);
  const bits = new Uint32Array(2);
  const double = new Float64Array(bits.buffer);
  const from = (low: number, high: number) => {
    bits[0] = low;
    bits[1] = high;
    return double[0]!;
  };
  const any = () => from(words.next(), words.next());
  const near = () => from(words.next(), (words.next() & 0x800fffff) | ((1000 + (words.next() % 60)) << 20));
  const makers = [
    () => specials[words.next() % specials.length]!,
    any,
    near,
    () => from(0, (words.next() & 0x800f0000) | ((1000 + (words.next() % 110)) << 20)),
    () => from(words.next() & -(2 ** (words.next() & 31)), near() < 0 ? 0x40012345 : 0xc3312345),
    () => from(words.next(), words.next() & 0x801fffff),
    () => words.next() | 0,
    () => Math.fround(near() * 2 ** -((words.next() % 160) + 0)),
  ];
  const make = () => makers[words.next() % makers.length]!();
  const xs = Float64Array.from({ length: count }, make);
  const ys = Float64Array.from(xs, (x) => {
    const kind = words.next() % 8;
    // Neighbors and their negations cancel, and a square of a rounded root is close to its number.
    if (kind === 0) return -x * (1 + Number.EPSILON * (words.next() % 3));
    return kind === 1 ? x : make();
  });
  if (seed === 1) {
    for (const [at, x] of specials.entries()) {
      for (const [place, y] of specials.entries()) {
        xs[at * specials.length + place] = x;
        ys[at * specials.length + place] = y;
      }
    }
  }
  return { xs, ys };
}

const boolean = (code: string) => `vec2u(select(0u, 1u, ${code}), 0u)`;
const word = (code: string) => `vec2u(${code}, 0u)`;
const bitsOfFloat = (value: number) => new Uint32Array(Float32Array.of(value).buffer)[0]!;

/** Each operation in WGSL, and in JavaScript: a double, or a word. */
const operations: Readonly<
  Record<string, [wgsl: string, kind: "double" | "word", javaScript: (x: number, y: number) => number]>
> = {
  add: ["add_f64(x, y)", "double", (x, y) => x + y],
  subtract: ["subtract_f64(x, y)", "double", (x, y) => x - y],
  multiply: ["multiply_f64(x, y)", "double", (x, y) => x * y],
  divide: ["divide_f64(x, y)", "double", (x, y) => x / y],
  remainder: ["remainder_f64(x, y)", "double", (x, y) => x % y],
  negate: ["negate_f64(x)", "double", (x) => -x],
  sqrt: ["sqrt_f64(x)", "double", (x) => Math.sqrt(x)],
  abs: ["abs_f64(x)", "double", (x) => Math.abs(x)],
  sign: ["sign_f64(x)", "double", (x) => Math.sign(x)],
  min: ["min_f64(x, y)", "double", (x, y) => Math.min(x, y)],
  max: ["max_f64(x, y)", "double", (x, y) => Math.max(x, y)],
  floor: ["floor_f64(x)", "double", (x) => Math.floor(x)],
  ceil: ["ceil_f64(x)", "double", (x) => Math.ceil(x)],
  trunc: ["trunc_f64(x)", "double", (x) => Math.trunc(x)],
  round: ["round_f64(x)", "double", (x) => Math.round(x)],
  equal: [boolean("equal_f64(x, y)"), "word", (x, y) => Number(x === y)],
  less: [boolean("less_f64(x, y)"), "word", (x, y) => Number(x < y)],
  atMost: [boolean("at_most_f64(x, y)"), "word", (x, y) => Number(x <= y)],
  isTrue: [boolean("is_true_f64(x)"), "word", (x) => Number(Boolean(x))],
  wrap: [word("wrap_f64(x)"), "word", (x) => x >>> 0],
  clamp: [word("clamp_f64(x)"), "word", (x) => Uint8ClampedArray.of(x)[0]!],
  element: [
    word("element_of_f64(x)"),
    "word",
    (x) => (Number.isInteger(x) && x >= 0 && x < 2 ** 32 ? x + 0 : 2 ** 32 - 1),
  ],
  toFloat: [word("f32_bits_of_f64(x)"), "word", (x) => (Number.isNaN(x) ? 0x7fc00000 : bitsOfFloat(x))],
  ofSigned: ["f64_of_i32(bitcast<i32>(x.x))", "double", (x) => lowWord(x) | 0],
  ofUnsigned: ["f64_of_u32(x.x)", "double", (x) => lowWord(x)],
  ofFloat: [
    "f64_of_f32(bitcast<f32>(x.y))",
    "double",
    (x) => new Float32Array(Float64Array.of(x).buffer)[1]!,
  ],
};

const lowWord = (x: number) => new Uint32Array(Float64Array.of(x).buffer)[0]!;

const devices = testDevices();

describe("a double on a device", () => {
  let device: GPUDevice;
  let module: GPUShaderModule;
  beforeAll(async () => {
    device = await devices.newDevice();
    const kernels = Object.entries(operations).map(
      ([
        name,
        [wgsl],
      ]) => `@compute @workgroup_size(64) fn run_${name}(@builtin(global_invocation_id) id: vec3u) {
  let x = xs[id.x];
  let y = ys[id.x];
  results[id.x] = ${wgsl};
}`,
    );
    const body = `@group(0) @binding(0) var<storage, read> xs: array<vec2u>;
@group(0) @binding(1) var<storage, read> ys: array<vec2u>;
@group(0) @binding(2) var<storage, read_write> results: array<vec2u>;
${kernels.join("\n")}`;
    module = device.createShaderModule({ code: `${body}\n${arithmeticFor(body, doubleFunctions)}` });
  });

  it.each(Object.keys(operations))("gives what JavaScript gives: %s", async (name) => {
    const [, kind, javaScript] = operations[name]!;
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const [first, second, results] = [0, 1, 2].map(() =>
      device.createBuffer({ size: 8 * count, usage: STORAGE | COPY_SRC | COPY_DST }),
    ) as [GPUBuffer, GPUBuffer, GPUBuffer];
    const back = device.createBuffer({ size: 8 * count, usage: MAP_READ | COPY_DST });
    const pipeline = await device.createComputePipelineAsync({
      layout: device.createPipelineLayout({
        bindGroupLayouts: [
          device.createBindGroupLayout({
            entries: (["read-only-storage", "read-only-storage", "storage"] as const).map(
              (type, binding) => ({
                binding,
                visibility: GPUShaderStage.COMPUTE,
                buffer: { type },
              }),
            ),
          }),
        ],
      }),
      compute: { module, entryPoint: `run_${name}` },
    });
    const entries = [first, second, results].map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    for (let batch = 1; batch <= batches; batch++) {
      const { xs, ys } = pairsOf(batch);
      device.queue.writeBuffer(first, 0, xs);
      device.queue.writeBuffer(second, 0, ys);
      const encoder = device.createCommandEncoder();
      encodeDispatch(encoder, pipeline, group, count / 64);
      encoder.copyBufferToBuffer(results, back);
      device.queue.submit([encoder.finish()]);
      await back.mapAsync(GPUMapMode.READ);
      const mapped = back.getMappedRange();
      const [words, doubles] = [new Uint32Array(mapped), new Float64Array(mapped)];
      const wrong: unknown[] = [];
      for (let at = 0; at < count && wrong.length < 5; at++) {
        const expected = javaScript(xs[at]!, ys[at]!);
        const actual = kind === "double" ? doubles[at]! : words[2 * at]!;
        if (!Object.is(actual, expected)) wrong.push({ x: xs[at], y: ys[at], actual, expected });
      }
      back.unmap();
      expect(wrong).toEqual([]);
    }
    for (const buffer of [first, second, results, back]) buffer.destroy();
  });
});
