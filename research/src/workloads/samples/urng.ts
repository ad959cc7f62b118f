/**
 * Adds uniform noise to an RGBA image.
 *
 * Follows the sample URNG of the AMD APP OpenCL SDK. Documented there: each pixel seeds a generator
 * of its own from the average of its channels. It is the "minimal standard" of Park and Miller
 * ("Random number generators: good ones are hard to find", 1988). A table of four entries per
 * work-item, in local memory, shuffles its numbers (Bays and Durham, "Improving a poor random
 * number generator", 1976). The scaled number is added and clamped.
 *
 * Chosen here: the sum of the channels as the seed, so that there are 1021. Each number comes
 * straight from the seed, times a power of the multiplier. Red, green and blue take a number each,
 * so that the table is used more than once. Alpha stays as it is. An invocation takes four pixels,
 * one after the other. All numbers are whole, so that every pixel is checked exactly.
 */
import { gridOf, readBuffers, resultBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomWords } from "../random.ts";

const WORKGROUP = 128;
const ENTRIES = 4;
/** The number of draws that are discarded before the table is filled. */
const WARM_UP = 8;
const MULTIPLIER = 16807;
const MODULUS = 2 ** 31 - 1;
/** The seeds: one more than each sum of four channels, as zero would stay zero. */
const SEEDS = Array.from({ length: 4 * 255 + 1 }, (_, sum) => sum + 1);
/** The number of levels that the noise covers, around 0. */
const STRENGTH = 25;

/**
 * Returns the multiplier to the power of `exponent`, modulo the modulus; f64 holds the products
 * exactly.
 */
function powerOf(exponent: number): number {
  let power = 1;
  for (let i = 0; i < exponent; i++) power = (power * MULTIPLIER) % MODULUS;
  return power;
}

const QUOTIENT_BITS = 22;

/**
 * Returns a fixed-point factor that gives `seed * power / MODULUS`, rounded down, for every seed.
 */
function quotientOf(power: number): number {
  const below = Math.floor((power * 2 ** QUOTIENT_BITS) / MODULUS);
  const isExact = (factor: number) =>
    SEEDS.every((seed) => (seed * factor) >>> QUOTIENT_BITS === Math.floor((seed * power) / MODULUS));
  const exact = [below, below + 1].find(isExact);
  if (exact === undefined) throw new Error(`no factor of ${QUOTIENT_BITS} bits divides by the modulus`);
  return exact;
}

/** Returns the WGSL for the number that comes `n` after the discarded ones. */
function number(n: number): string {
  const power = powerOf(WARM_UP + n);
  return `times(seed, ${power}u, ${quotientOf(power)}u)`;
}

/**
 * Returns the code that draws a number for each channel of a pixel. A new number takes the place of
 * one that leaves the table.
 */
const drawing = (channel: number) => `
  let entry${channel} = number${channel} / (1u + (MODULUS - 1u) / ENTRIES);
  let number${channel + 1} = table[entry${channel}][local];
  table[entry${channel}][local] = ${number(ENTRIES + 1 + channel)};`;

const ADD_NOISE = /* wgsl */ `
const WORKGROUP = ${WORKGROUP}u;
const ENTRIES = ${ENTRIES}u;
const MODULUS = ${MODULUS}u;
const STRENGTH = ${STRENGTH}u;

@group(0) @binding(0) var<storage, read> image: array<vec4u>; // rgba8
@group(0) @binding(1) var<storage, read_write> noisy: array<vec4u>;

/** Each invocation has a column, so that a subgroup touches every bank once. */
var<workgroup> table: array<array<u32, WORKGROUP>, ENTRIES>;

/** A product modulo 2^31 - 1: the product itself and its quotient, but for multiples of 2^31. */
fn times(seed: u32, power: u32, quotient: u32) -> u32 {
  return (seed * power + ((seed * quotient) >> ${QUOTIENT_BITS}u)) & MODULUS;
}

fn withNoise(pixel: u32, local: u32) -> u32 {
  let channels = vec4i((vec4u(pixel) >> vec4u(0u, 8u, 16u, 24u)) & vec4u(255u));
  let seed = u32(channels.r + channels.g + channels.b + channels.a + 1);
${Array.from({ length: ENTRIES }, (_, i) => `  table[${ENTRIES - 1 - i}][local] = ${number(i + 1)};`).join("\n")}
  let number0 = ${number(ENTRIES)};
${[0, 1, 2].map(drawing).join("")}

  let random = vec3u(number1, number2, number3) >> vec3u(7u);
  let noise = vec3i((random * STRENGTH) >> vec3u(24u)) - vec3i(i32(STRENGTH / 2u));
  let levels = vec4u(vec4i(clamp(channels.rgb + noise, vec3i(), vec3i(255)), channels.a));
  return dot(levels, vec4u(1u, 0x100u, 0x10000u, 0x1000000u));
}

@compute @workgroup_size(WORKGROUP)
fn addNoise(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let index = (id.y * groups.x + id.x) * WORKGROUP + local;
  if (index >= arrayLength(&image)) { return; }
  let pixels = image[index];
  noisy[index] = vec4u(
    withNoise(pixels.x, local), withNoise(pixels.y, local), withNoise(pixels.z, local), withNoise(pixels.w, local));
}`;

export interface UrngOptions {
  readonly pixels?: number;
  readonly seed?: number;
}

export function create({
  pixels = 5000,
  seed = 1,
}: UrngOptions = {}): VerifiableProgram<{ noisy: Uint32Array }> {
  const image = randomWords(pixels, seed);
  const quads = Math.ceil(pixels / 4);

  const prepare = (device: GPUDevice): Prepared<{ noisy: Uint32Array }> => {
    const [input, noisy] = [0, 1].map(() => resultBuffer(device, 16 * quads)) as [GPUBuffer, GPUBuffer];
    device.queue.writeBuffer(input, 0, image);
    return prepareDispatch(device, ADD_NOISE, {
      buffers: [input, noisy],
      grid: gridOf(Math.ceil(quads / WORKGROUP)),
      read: async () => ({ noisy: new Uint32Array(await readBuffers(device, noisy), 0, pixels) }),
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ noisy }) => verifyExact("noisy", noisy, withNoise(image)),
    kernelSources: { addNoise: ADD_NOISE },
    work: { bytes: 8 * image.length, flops: 0 },
  };
}

export default (device: GPUDevice) => create().workload(device);

function withNoise(image: Uint32Array): Uint32Array {
  const noise = Int32Array.from(SEEDS.flatMap(noiseFrom));
  const noisy = new Uint32Array(image.length);
  for (let i = 0; i < image.length; i++) {
    const pixel = image[i]!;
    const [red, green, blue, alpha] = [pixel & 255, (pixel >>> 8) & 255, (pixel >>> 16) & 255, pixel >>> 24];
    const at = 3 * (red + green + blue + alpha);
    const levels = [red + noise[at]!, green + noise[at + 1]!, blue + noise[at + 2]!] as const;
    noisy[i] = clamp(levels[0]) | (clamp(levels[1]) << 8) | (clamp(levels[2]) << 16) | (alpha << 24);
  }
  return noisy;
}

const clamp = (level: number) => Math.min(255, Math.max(0, level));

/**
 * Returns three numbers of the shuffled generator; f64 holds the products of the plain recurrence
 * exactly.
 */
function noiseFrom(seed: number): number[] {
  let state = seed;
  const advance = () => {
    state = (state * MULTIPLIER) % MODULUS;
    return state;
  };
  for (let i = 0; i < WARM_UP; i++) advance();
  const table = Array.from({ length: ENTRIES }, advance).reverse();
  let shuffled = table[0]!;
  return Array.from({ length: 3 }, () => {
    const entry = Math.floor(shuffled / Math.ceil(MODULUS / ENTRIES));
    shuffled = table[entry]!;
    table[entry] = advance();
    return Math.floor((Math.floor(shuffled / 2 ** 7) * STRENGTH) / 2 ** 24) - Math.floor(STRENGTH / 2);
  });
}
