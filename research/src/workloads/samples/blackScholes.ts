/**
 * Prices European call and put options by the formula of Black and Scholes.
 *
 * Follows the sample BlackScholes of the AMD APP OpenCL SDK. Documented there: one random number
 * sets every parameter of an option by interpolation, and an invocation prices four options. The
 * normal distribution is the polynomial 26.2.17 of Abramowitz and Stegun, "Handbook of Mathematical
 * Functions", 1964.
 *
 * Chosen here: the ends of the parameters, so that options are out of the money and in it. In the
 * sample, spot and strike are always the same. Random numbers have sixteen bits, so that every
 * price is compared with one of 65,536 references.
 */
import { gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { randomWord } from "../random.ts";

const WORKGROUP = 128;

/** The value of each parameter at the random numbers 0 and 1. */
const ENDS = {
  spot: [10, 100],
  strike: [20, 80],
  years: [10, 1],
  rate: [0.01, 0.05],
  volatility: [0.5, 0.1],
} as const;
type Parameter = keyof typeof ENDS;

/** Returns an interpolation that compiles to one operation, unlike `mix`. */
const mix = (parameter: Parameter) => {
  const [low, high] = ENDS[parameter];
  return `(${low} + ${high - low} * x)`;
};

const PRICE = /* wgsl */ `
const WORKGROUP = ${WORKGROUP}u;

@group(0) @binding(0) var<storage, read> numbers: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> calls: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> puts: array<vec4f>;

/** One over the argument of the polynomial. */
fn reach(d: vec4f) -> vec4f {
  return 1.0 + 0.2316419 * abs(d);
}

/**
 * The ratio of the normal distribution's tail beyond d to its density at d. One over the reach of d
 * is t.
 */
fn tail(t: vec4f) -> vec4f {
  return t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
}

@compute @workgroup_size(WORKGROUP)
fn price(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let index = (id.y * groups.x + id.x) * WORKGROUP + local;
  if (index >= arrayLength(&numbers)) { return; }

  let x = numbers[index];
  let spot = ${mix("spot")};
  let strike = ${mix("strike")};
  let years = ${mix("years")};
  let rate = ${mix("rate")};
  let volatility = ${mix("volatility")};

  // Roots, quotients and exponentials take longest. So one root serves for the deviation and its
  // inverse, and one quotient for both arguments. One exponential serves for both densities: the
  // spot price times the first is the discounted strike price times the second.
  let variance = volatility * volatility * years;
  let inverse = inverseSqrt(variance);
  let d1 = (log(spot / strike) + rate * years + 0.5 * variance) * inverse;
  let d2 = d1 - variance * inverse;
  let both = 1.0 / (reach(d1) * reach(d2));
  let discounted = strike * exp(-rate * years);
  let density = 0.3989422804 * spot * exp(-0.5 * d1 * d1);
  let spotTail = density * tail(reach(d2) * both);
  let strikeTail = density * tail(reach(d1) * both);
  // Each price times the distribution up to its argument.
  let received = select(spotTail, spot - spotTail, d1 >= vec4f());
  let paid = select(strikeTail, discounted - strikeTail, d2 >= vec4f());
  calls[index] = received - paid;
  puts[index] = (discounted - paid) - (spot - received);
}`;

/**
 * The operations per option: interpolations, d1 and d2, reaches, discount, density, two tails,
 * distributions, prices.
 */
const FLOPS = 5 * 3 + 12 + 2 + 8 + 3 + 5 + 2 * 11 + 2 + 4;
const LEVELS = 2 ** 16;

export interface BlackScholesOptions {
  /** The number of options, rounded up to a multiple of four. */
  readonly options?: number;
  readonly seed?: number;
}

/** The prices, one per option. */
interface Prices extends Record<string, Float32Array> {
  calls: Float32Array;
  puts: Float32Array;
}

export function create({ options = 4000, seed = 1 }: BlackScholesOptions = {}): VerifiableProgram<Prices> {
  const quads = Math.ceil(options / 4);
  const numbers = new Float32Array(4 * quads);
  for (let i = 0; i < numbers.length; i++) numbers[i] = (randomWord(seed, i) >>> 16) / LEVELS;

  const prepare = (device: GPUDevice): Prepared<Prices> => {
    const input = uploadBuffer(device, numbers);
    const calls = resultBuffer(device, numbers.byteLength);
    const puts = resultBuffer(device, numbers.byteLength);
    return prepareDispatch(device, PRICE, {
      buffers: [input, calls, puts],
      grid: gridOf(Math.ceil(quads / WORKGROUP)),
      async read() {
        const prices = new Float32Array(await readBuffers(device, calls, puts));
        return { calls: prices.subarray(0, numbers.length), puts: prices.subarray(numbers.length) };
      },
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: (prices) => verifyPrices(numbers, prices),
    kernelSources: { price: PRICE },
    work: { bytes: 12 * numbers.length, flops: FLOPS * numbers.length },
  };
}

export default (device: GPUDevice) => create().workload(device);

/** Compares every price with the one in f64 for the same random number. */
function verifyPrices(numbers: Float32Array, { calls, puts }: Prices): Verdict {
  const references = { call: new Float64Array(LEVELS), put: new Float64Array(LEVELS) };
  const tolerances = new Float64Array(LEVELS);
  for (let level = 0; level < LEVELS; level++) {
    const { call, put, tolerance } = referencePrices(level / LEVELS);
    references.call[level] = call;
    references.put[level] = put;
    tolerances[level] = tolerance;
  }
  for (const [kind, prices] of [["call", calls] as const, ["put", puts] as const]) {
    for (let i = 0; i < numbers.length; i++) {
      const level = numbers[i]! * LEVELS;
      const expected = references[kind][level]!;
      if (!(Math.abs(prices[i]! - expected) <= tolerances[level]!)) {
        return { ok: false, message: `${kind} ${i} is ${prices[i]} instead of ${expected}` };
      }
    }
  }
  return { ok: true, message: `the prices of ${numbers.length} options are within the rounding of f32` };
}

/**
 * Returns both prices in f64, and a tolerance from the accuracies that WGSL promises (section
 * 15.7.4), with u = 2^-24.
 *
 * The numerator of d1 is off by 64u: 21u from the logarithm, and at most 35u from the other term.
 * The deviation divides it. d1 and d2 themselves are off by another 32u of their size. The normal
 * distribution is off by 7.5e-8 for its formula and 128u for its rounding, most of which comes from
 * the alternating polynomial. Products and discount are off by 16u.
 *
 * The second density comes from d1, which is a deviation away. A tail is at most 1.26 times its
 * density, which multiplies an error by as much.
 */
function referencePrices(x: number) {
  const at = (parameter: Parameter) => ENDS[parameter][0] + (ENDS[parameter][1] - ENDS[parameter][0]) * x;
  const [spot, strike, years, rate, volatility] = [
    at("spot"),
    at("strike"),
    at("years"),
    at("rate"),
    at("volatility"),
  ];
  const deviation = volatility * Math.sqrt(years);
  const d1 = (Math.log(spot / strike) + (rate + volatility ** 2 / 2) * years) / deviation;
  const d2 = d1 - deviation;
  const discounted = strike * Math.exp(-rate * years);
  const unit = 2 ** -24;
  const slack = (d: number) =>
    density(d) * unit * (64 / deviation + 32 * Math.abs(d)) * (1 + 1.26 * deviation) +
    7.5e-8 +
    (128 + 16) * unit;
  return {
    call: spot * normal(d1) - discounted * normal(d2),
    put: discounted * normal(-d2) - spot * normal(-d1),
    tolerance: spot * slack(d1) + discounted * slack(d2),
  };
}

const density = (d: number) => Math.exp(-d * d * 0.5) / Math.sqrt(2 * Math.PI);

/**
 * Returns the normal distribution by its Taylor series, to the precision of f64. Source: Marsaglia,
 * "Evaluating the normal distribution", 2004.
 */
function normal(d: number): number {
  let [sum, term, previous] = [d, d, 0];
  for (let i = 3; sum !== previous; i += 2) {
    term *= (d * d) / i;
    previous = sum;
    sum += term;
  }
  return 0.5 + sum * density(d);
}
