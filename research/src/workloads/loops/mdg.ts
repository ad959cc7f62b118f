/**
 * MDG of the Perfect Club: the forces between all pairs of 343 water molecules in one step of their
 * motion.
 *
 * Documented (Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014): a loop over pairs of
 * 343 molecules. Its branch is taken about once in a step and makes another iteration wrong. The
 * loop's sums are reductions.
 *
 * Inferred: the branch passes a value to the next pair only, as the program's scratch arrays do.
 * Here the value is the part of a contact's energy that is above a limit. Inferred too: the forces,
 * here those of three charges and one soft core in each molecule, in a periodic box.
 */
import { randomFloats } from "../random.ts";
import { kept, type LoopProgram, wrong } from "./loopProgram.ts";

const SITES = 3;

/**
 * Computes the forces of all pairs. The array `positions` has nine numbers for each molecule, and
 * `energies` gets one number for each pair. The array `left` holds the values that a pair passes to
 * the next one, and `sums` the total energy and virial. Pairs interact below `cutoff` and are in
 * contact below `contact`, both squared.
 */
export async function mdg(
  positions: Float32Array,
  charges: Float32Array,
  firsts: Uint16Array,
  seconds: Uint16Array,
  energies: Float32Array,
  left: Float32Array,
  sums: Float32Array,
  box: number,
  cutoff: number,
  contact: number,
) {
  "use speculate";
  let energy = 0;
  let virial = 0;
  //#pragma omp for target(webgpu) speculate(left) reduction(+:energy, virial) precision(f32)
  for (let pair = 0; pair < firsts.length; pair++) {
    const one = firsts[pair]! * 9;
    const other = seconds[pair]! * 9;
    let x = positions[one]! - positions[other]!;
    let y = positions[one + 1]! - positions[other + 1]!;
    let z = positions[one + 2]! - positions[other + 2]!;
    // The differences become those to the nearest periodic image.
    const shiftX = box * Math.round(x / box);
    const shiftY = box * Math.round(y / box);
    const shiftZ = box * Math.round(z / box);
    x -= shiftX;
    y -= shiftY;
    z -= shiftZ;
    const distance = x * x + y * y + z * z;
    let own = left[pair]!;
    if (distance < cutoff) {
      let electric = 0;
      for (let a = 0; a < SITES; a++) {
        for (let b = 0; b < SITES; b++) {
          const dx = positions[one + 3 * a]! - positions[other + 3 * b]! - shiftX;
          const dy = positions[one + 3 * a + 1]! - positions[other + 3 * b + 1]! - shiftY;
          const dz = positions[one + 3 * a + 2]! - positions[other + 3 * b + 2]! - shiftZ;
          electric += (charges[a]! * charges[b]!) / Math.sqrt(dx * dx + dy * dy + dz * dz);
        }
      }
      const sixth = 1 / (distance * distance * distance);
      let core = sixth * sixth - sixth;
      virial += electric + 12 * sixth * sixth - 6 * sixth;
      if (distance < contact) {
        //#pragma omp branch misspeculate(+1)
        left[pair + 1] = core / 2;
        core = core / 2;
      }
      own += electric + core;
    }
    energies[pair] = own;
    energy += own;
  }
  sums[0] = energy;
  sums[1] = virial;
}

export interface MdgOptions {
  /** The number of molecules along each side of the box. */
  readonly side?: number;
}

/** Creates a program in which the closest two molecules are in contact, and no others. */
export function create({ side = 7 }: MdgOptions = {}): LoopProgram<Parameters<typeof mdg>> {
  const molecules = side ** 3;
  const count = (molecules * (molecules - 1)) / 2;
  const box = 1.25 * side;
  const positions = randomMolecules(side, 1);
  const charges = Float32Array.of(-0.8, 0.4, 0.4);
  const firsts = new Uint16Array(count);
  const seconds = new Uint16Array(count);
  const distances = new Float64Array(count);
  for (let one = 0, pair = 0; one < molecules; one++) {
    for (let other = one + 1; other < molecules; other++, pair++) {
      firsts[pair] = one;
      seconds[pair] = other;
      distances[pair] = squaredDistance(positions, 9 * one, 9 * other, box).distance;
    }
  }
  distances.sort();
  const contact = widestGap(distances, 0, 1);
  const interacting = distances.findIndex((distance) => distance > (0.45 * box) ** 2);
  const cutoff = widestGap(distances, interacting - 100, interacting);

  const reference = kept(() => {
    const expected = { energies: new Float64Array(count + 1), left: new Float64Array(count + 1) };
    const scales = new Float64Array(count + 1);
    const totals = [0, 0] as [number, number];
    let magnitude = 0;
    // From the last pair back: a pair receives a value from one pair only, whose own energy
    // decides.
    for (let pair = count - 1; pair >= 0; pair--) {
      const forces = forcesOf(positions, charges, firsts[pair]!, seconds[pair]!, box);
      if (forces.distance >= cutoff) continue;
      const passedOn = forces.distance < contact ? forces.core / 2 : 0;
      expected.left[pair + 1] = passedOn;
      expected.energies[pair + 1]! += passedOn;
      expected.energies[pair]! += forces.electric + forces.core - passedOn;
      for (const each of [pair, pair + 1]) scales[each]! += forces.scale;
      totals[0] += forces.electric + forces.core;
      totals[1] += forces.electric + forces.virial;
      magnitude += forces.scale;
    }
    // Each of the sums rounds once for each pair.
    return { expected, scales, totals, tolerance: (RELATIVE_ERROR + count * 2 ** -23) * magnitude };
  });

  return {
    iterations: count,
    inputs: () => [
      positions.slice(),
      charges.slice(),
      firsts.slice(),
      seconds.slice(),
      new Float32Array(count),
      new Float32Array(count + 1),
      new Float32Array(2),
      box,
      cutoff,
      contact,
    ],
    verify([, , , , energies, left, sums]) {
      const { expected, scales, totals, tolerance } = reference();
      for (const [name, actual] of Object.entries({ energies, left })) {
        for (const [pair, value] of actual.entries()) {
          const right = expected[name as keyof typeof expected][pair]!;
          if (Math.abs(value - right) <= RELATIVE_ERROR * scales[pair]!) continue;
          return wrong(`${name}[${pair}]`, value, right);
        }
      }
      for (const [i, total] of totals.entries()) {
        if (!(Math.abs(sums[i]! - total) <= tolerance)) return wrong(`sums[${i}]`, sums[i], total);
      }
      return { ok: true, message: `the energies of ${count} pairs are within rounding` };
    },
  };
}

/**
 * Returns a bound in the middle of the widest gap between neighbors in the range, so that rounding
 * decides nothing.
 */
function widestGap(sorted: Float64Array, from: number, to: number): number {
  let widest = from;
  for (let i = from; i < to; i++) {
    if (sorted[i + 1]! - sorted[i]! > sorted[widest + 1]! - sorted[widest]!) widest = i;
  }
  return (sorted[widest]! + sorted[widest + 1]!) / 2;
}

/**
 * The error of a pair's energy and virial, relative to `scale`, the sum of their parts' magnitudes.
 * A difference of positions is off by three roundings of at most the box. The box is at most 24
 * times as large as any distance of cores. The twelfth power of a distance multiplies that by 12,
 * and fewer than 64 further roundings follow. A rounding is 2^-23, as its direction is open.
 */
const RELATIVE_ERROR = (12 * 3 * 24 + 64) * 2 ** -23;

function squaredDistance(positions: Float32Array, one: number, other: number, box: number) {
  const shift = [0, 1, 2].map(
    (axis) => box * Math.round((positions[one + axis]! - positions[other + axis]!) / box),
  );
  const between = (a: number, b: number) =>
    shift.reduce((sum, way, axis) => sum + (positions[a + axis]! - positions[b + axis]! - way) ** 2, 0);
  return { distance: between(one, other), between };
}

function forcesOf(
  positions: Float32Array,
  charges: Float32Array,
  first: number,
  second: number,
  box: number,
) {
  const { distance, between } = squaredDistance(positions, 9 * first, 9 * second, box);
  let electric = 0;
  let scale = 0;
  for (let site = 0; site < SITES ** 2; site++) {
    const [a, b] = [Math.floor(site / SITES), site % SITES];
    const energy = (charges[a]! * charges[b]!) / Math.sqrt(between(9 * first + 3 * a, 9 * second + 3 * b));
    electric += energy;
    scale += Math.abs(energy);
  }
  const core = distance ** -6 - distance ** -3;
  const virial = 12 * distance ** -6 - 6 * distance ** -3;
  scale += 12 * (distance ** -6 + distance ** -3);
  return { distance, electric, core, virial, scale };
}

/**
 * Returns molecules near the points of a grid, so that no two are too close. The two light sites of
 * each molecule are at a distance of 0.3.
 */
function randomMolecules(side: number, seed: number): Float32Array<ArrayBuffer> {
  const noise = randomFloats(9 * side ** 3, seed);
  return noise.map((offset, i) => {
    const molecule = Math.floor(i / 9);
    const axis = i % 3;
    const place =
      1.25 * (0.5 + (Math.floor(molecule / side ** axis) % side)) + 0.15 * noise[9 * molecule + axis]!;
    if (i % 9 < 3) return place;
    const from = 9 * molecule + 3 * Math.floor((i % 9) / 3);
    return place + (0.3 * offset) / Math.hypot(noise[from]!, noise[from + 1]!, noise[from + 2]!);
  });
}
