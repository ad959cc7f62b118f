/**
 * Prices European call options with the binomial tree of Cox, Ross and Rubinstein ("Option pricing:
 * A simplified approach", 1979).
 *
 * Follows the sample BinomialOption of the AMD APP OpenCL SDK. Documented there: a workgroup folds
 * the trees of four options, the lanes of a vec4. Two arrays in workgroup memory take turns as
 * levels of the tree. One random number sets spot, strike and years by interpolation. The rate is
 * 0.02, the volatility 0.30.
 *
 * Chosen here: 127 steps instead of 254, and four leaves for each invocation instead of one. An
 * invocation shares only the first of its leaves. Random numbers have ten bits, so that every price
 * is compared with one of 1024 references.
 */
import { gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { randomWord } from "../random.ts";

const WORKGROUP = 32;
/** The number of leaves of an invocation. */
const OWN = 4;
const STEPS = WORKGROUP * OWN - 1;
const RATE = 0.02;
const VOLATILITY = 0.3;

/** The value of each parameter at the random numbers 0 and 1. */
const ENDS = { spot: [5, 30], strike: [1, 100], years: [0.25, 10] } as const;
type Parameter = keyof typeof ENDS;

const mix = (parameter: Parameter) => {
  const [low, high] = ENDS[parameter];
  return `mix(vec4f(${low}), vec4f(${high}), x)`;
};

const FOLD = /* wgsl */ `
const WORKGROUP = ${WORKGROUP}u;
const OWN = ${OWN}u;
const STEPS = ${STEPS}u;
const RATE = ${RATE};
const VOLATILITY = ${VOLATILITY};

@group(0) @binding(0) var<storage, read> numbers: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> prices: array<vec4f>;

/**
 * The first node of each invocation, in a level and in the next. The last one has no successor, and
 * needs none.
 */
var<workgroup> firsts: array<array<vec4f, WORKGROUP + 1u>, 2>;

@compute @workgroup_size(WORKGROUP)
fn fold(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let group = id.y * groups.x + id.x;
  if (group >= arrayLength(&numbers)) { return; }

  let x = numbers[group];
  let spot = ${mix("spot")};
  let strike = ${mix("strike")};
  let interval = ${mix("years")} * (1.0 / f32(STEPS));

  let deviation = VOLATILITY * sqrt(interval);
  let growth = exp(RATE * interval);
  let up = exp(deviation);
  let down = 1.0 / up;
  let chance = (growth - down) / (up - down);
  let discountedUp = chance / growth;
  let discountedDown = (1.0 - chance) / growth;

  var nodes: array<vec4f, OWN + 1u>;
  for (var i = 0u; i < OWN; i++) {
    let ups = f32(local * OWN + i);
    nodes[i] = max(spot * exp(deviation * (2.0 * ups - f32(STEPS))) - strike, vec4f());
  }
  for (var step = 0u; step < STEPS; step++) {
    firsts[step % 2u][local] = nodes[0];
    workgroupBarrier();
    nodes[OWN] = firsts[step % 2u][local + 1u];
    for (var i = 0u; i < OWN; i++) { nodes[i] = discountedUp * nodes[i + 1u] + discountedDown * nodes[i]; }
  }
  if (local == 0u) { prices[group] = nodes[0]; }
}`;

const LEVELS = 2 ** 10;

export interface BinomialOptionOptions {
  /** The number of options, rounded up to a multiple of four. */
  readonly options?: number;
  readonly seed?: number;
}

export function create({ options = 11, seed = 1 }: BinomialOptionOptions = {}): VerifiableProgram<{
  prices: Float32Array;
}> {
  const workgroups = Math.ceil(options / 4);
  const numbers = new Float32Array(4 * workgroups);
  for (let i = 0; i < numbers.length; i++) numbers[i] = (randomWord(seed, i) >>> 22) / LEVELS;

  const prepare = (device: GPUDevice): Prepared<{ prices: Float32Array }> => {
    const input = uploadBuffer(device, numbers);
    const prices = resultBuffer(device, numbers.byteLength);
    return prepareDispatch(device, FOLD, {
      buffers: [input, prices],
      grid: gridOf(workgroups),
      read: async () => ({ prices: new Float32Array(await readBuffers(device, prices)) }),
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ prices }) => verifyPrices(numbers, prices),
    kernelSources: { fold: FOLD },
    // Each option: six operations for each leaf, three for each inner node.
    work: {
      bytes: 8 * numbers.length,
      flops: numbers.length * (6 * (STEPS + 1) + (3 * STEPS * (STEPS + 1)) / 2),
    },
  };
}

export default (device: GPUDevice) => create().workload(device);

/** Compares every price with the one in f64 for the same random number. */
function verifyPrices(numbers: Float32Array, prices: Float32Array): Verdict {
  const references = Array.from({ length: LEVELS }, (_, level) => referencePrice(level / LEVELS));
  for (let i = 0; i < numbers.length; i++) {
    const { price, tolerance } = references[numbers[i]! * LEVELS]!;
    if (!(Math.abs(prices[i]! - price) <= tolerance)) {
      return { ok: false, message: `price ${i} is ${prices[i]} instead of ${price}` };
    }
  }
  return { ok: true, message: `the prices of ${numbers.length} options are within the rounding of f32` };
}

/**
 * Returns the price of the same tree in f64, as a sum over its leaves, and a tolerance. The
 * tolerance follows from the accuracies that WGSL promises (section 15.7.4), with u = 2^-24. Each
 * exponential near 1 is off by 6u, so growth, up and down are off by at most 11u. The growth of the
 * expected value in a step is off by 28u. The weights of a step and its products and sum are off by
 * another 14u, and the leaves once by about 200u. Together this is less than 48u in each step, of a
 * value of at most the spot price.
 */
function referencePrice(x: number) {
  const at = (parameter: Parameter) => ENDS[parameter][0] + (ENDS[parameter][1] - ENDS[parameter][0]) * x;
  const [spot, strike, interval] = [at("spot"), at("strike"), at("years") / STEPS];
  const deviation = VOLATILITY * Math.sqrt(interval);
  const [growth, up, down] = [Math.exp(RATE * interval), Math.exp(deviation), Math.exp(-deviation)];
  const chance = (growth - down) / (up - down);
  let price = 0;
  let logWays = 0;
  for (let ups = 0; ups <= STEPS; ups++) {
    const leaf = spot * Math.exp(deviation * (2 * ups - STEPS));
    const probability = Math.exp(logWays + ups * Math.log(chance) + (STEPS - ups) * Math.log(1 - chance));
    price += probability * Math.max(leaf - strike, 0);
    logWays += Math.log((STEPS - ups) / (ups + 1));
  }
  return { price: price * Math.exp(-RATE * interval * STEPS), tolerance: 48 * STEPS * 2 ** -24 * spot };
}
