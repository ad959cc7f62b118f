import { bindBuffers, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, runOnce, type VerifiableProgram } from "../program.ts";
import { randomFloats, sampleIndices } from "../random.ts";

const TILE = 64;
const SOFTENING = 0.01;
const TIME_STEP = 0.001;

/** The kernel over all pairs: a tile of bodies at a time goes through workgroup memory. */
const STEP = /* wgsl */ `
const TILE = ${TILE}u;
const SOFTENING = ${SOFTENING};
const TIME_STEP = ${TIME_STEP};

@group(0) @binding(0) var<storage, read> positions: array<vec4f>; // xyz and, in w, the mass
@group(0) @binding(1) var<storage, read> velocities: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> nextPositions: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> nextVelocities: array<vec4f>;

var<workgroup> tile: array<vec4f, TILE>;

@compute @workgroup_size(TILE)
fn step(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
  let count = arrayLength(&positions);
  let body = positions[min(id.x, count - 1u)];
  var acceleration = vec3f();

  for (var start = 0u; start < count; start += TILE) {
    // A body without mass fills up the last tile.
    tile[local] = vec4f();
    if (start + local < count) { tile[local] = positions[start + local]; }
    workgroupBarrier();

    for (var other = 0u; other < TILE; other++) {
      let offset = tile[other].xyz - body.xyz;
      let inverse = inverseSqrt(dot(offset, offset) + SOFTENING);
      acceleration += offset * (tile[other].w * inverse * inverse * inverse);
    }
    workgroupBarrier();
  }

  if (id.x < count) {
    let velocity = velocities[id.x].xyz + acceleration * TIME_STEP;
    nextPositions[id.x] = vec4f(body.xyz + velocity * TIME_STEP, body.w);
    nextVelocities[id.x] = vec4f(velocity, 0.0);
  }
}`;

/**
 * Returns the same kernel for few bodies on a large GPU. Each body has `PARTS` invocations, which
 * take a part of the tile each, and adds their sums at the end.
 */
const splitStep = (parts: number) => /* wgsl */ `
const BODIES = ${TILE}u;
const PARTS = ${parts}u;
const TILE = BODIES * PARTS;
const SOFTENING = ${SOFTENING};
const TIME_STEP = ${TIME_STEP};

@group(0) @binding(0) var<storage, read> positions: array<vec4f>; // xyz and, in w, the mass
@group(0) @binding(1) var<storage, read> velocities: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> nextPositions: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> nextVelocities: array<vec4f>;

var<workgroup> tile: array<vec4f, TILE>;

@compute @workgroup_size(BODIES, PARTS)
fn step(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) local: vec3u,
  @builtin(local_invocation_index) place: u32,
) {
  let count = arrayLength(&positions);
  let index = group.x * BODIES + local.x;
  let body = positions[min(index, count - 1u)];
  let part = local.y * BODIES;
  var acceleration = vec3f();

  for (var start = 0u; start < count; start += TILE) {
    // A body without mass fills up the last tile.
    tile[place] = vec4f();
    if (start + place < count) { tile[place] = positions[start + place]; }
    workgroupBarrier();

    for (var other = 0u; other < BODIES; other++) {
      let offset = tile[part + other].xyz - body.xyz;
      let inverse = inverseSqrt(dot(offset, offset) + SOFTENING);
      acceleration += offset * (tile[part + other].w * inverse * inverse * inverse);
    }
    workgroupBarrier();
  }

  tile[place] = vec4f(acceleration, 0.0);
  workgroupBarrier();
  if (local.y == 0u && index < count) {
    for (var other = 1u; other < PARTS; other++) { acceleration += tile[other * BODIES + local.x].xyz; }
    let velocity = velocities[index].xyz + acceleration * TIME_STEP;
    nextPositions[index] = vec4f(body.xyz + velocity * TIME_STEP, body.w);
    nextVelocities[index] = vec4f(velocity, 0.0);
  }
}`;

/** The number of pairs beyond which a seeded sample of bodies is compared with the reference. */
const VERIFIED_PAIRS = 2 ** 26;

export interface NBodyOptions {
  readonly bodies?: number;
  readonly steps?: number;
  /**
   * The number of invocations that share a body: 1 is right for many bodies, 4 for some thousands.
   * Default 1.
   */
  readonly parts?: 1 | 2 | 4;
  readonly seed?: number;
}

interface Trajectory extends Record<string, Float32Array> {
  /** Four numbers per body and frame: position and mass. */
  positions: Float32Array;
  velocities: Float32Array;
}

interface Frame {
  readonly positions: GPUBuffer;
  readonly velocities: GPUBuffer;
}

/**
 * Creates a simulation of bodies under mutual gravity, in f32. It keeps every frame, so that each
 * step can be checked from its own input.
 */
export function create({
  bodies = 256,
  steps = 4,
  parts = 1,
  seed = 1,
}: NBodyOptions = {}): VerifiableProgram<Trajectory> {
  const code = parts === 1 ? STEP : splitStep(parts);
  const positions = randomFloats(bodies * 4, seed);
  for (let i = 3; i < positions.length; i += 4) positions[i] = (1 + positions[i]!) / bodies;
  const velocities = randomFloats(bodies * 4, seed + 1);
  for (let i = 3; i < velocities.length; i += 4) velocities[i] = 0;

  const prepare = (device: GPUDevice): Prepared<Trajectory> => {
    const module = device.createShaderModule({ code });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const first: Frame = {
      positions: uploadBuffer(device, positions),
      velocities: uploadBuffer(device, velocities),
    };
    const computed = Array.from({ length: steps }, (): Frame => {
      return {
        positions: resultBuffer(device, bodies * 16),
        velocities: resultBuffer(device, bodies * 16),
      };
    });
    const frames = [first, ...computed];
    const bindings = computed.map((next, step) => {
      const { positions, velocities } = frames[step]!;
      return bindBuffers(device, pipeline, positions, velocities, next.positions, next.velocities);
    });
    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        for (const group of bindings) {
          pass.setBindGroup(0, group);
          pass.dispatchWorkgroups(Math.ceil(bodies / TILE));
        }
        pass.end();
      },
      async read() {
        const all = [
          ...computed.map((frame) => frame.positions),
          ...computed.map((frame) => frame.velocities),
        ];
        const numbers = new Float32Array(await readBuffers(device, ...all));
        const half = numbers.length / 2;
        return { positions: numbers.subarray(0, half), velocities: numbers.subarray(half) };
      },
      destroy() {
        for (const frame of frames) {
          frame.positions.destroy();
          frame.velocities.destroy();
        }
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify(result) {
      const size = bodies * 4;
      for (let step = 0; step < steps; step++) {
        const frame = ({ positions, velocities }: Trajectory, index: number): Trajectory => ({
          positions: positions.subarray(index * size, (index + 1) * size),
          velocities: velocities.subarray(index * size, (index + 1) * size),
        });
        const before = step === 0 ? { positions, velocities } : frame(result, step - 1);
        const problem = findWrongBody(before, frame(result, step), seed + step);
        if (problem) return { ok: false, message: `step ${step}: ${problem}` };
      }
      return { ok: true, message: `${steps} steps of ${bodies} bodies are within the rounding of f32` };
    },
    kernelSources: { step: code },
    // By convention a pair counts 20 operations.
    work: { bytes: steps * bodies * 64, flops: steps * bodies * bodies * 20 },
  };
}

export default (device: GPUDevice) => create().workload(device);

/**
 * Compares one step with the same step in f64. A sum of n terms in f32 is off by less than
 * 8·√n·u·Σ|term|, except once in e^32 runs. Each term is off by at most 32 roundings of u, of which
 * WGSL allows `inverseSqrt` four.
 *
 * Source: Higham and Mary, "A new approach to probabilistic rounding error analysis", 2019.
 */
function findWrongBody(before: Trajectory, after: Trajectory, seed: number): string | undefined {
  const bodies = before.positions.length / 4;
  const unit = 2 ** -24;
  const perTerm = (8 * Math.sqrt(bodies) + 32) * unit;
  const timeStep = Math.fround(TIME_STEP);
  for (const body of sampleIndices(bodies, Math.ceil(VERIFIED_PAIRS / bodies), seed)) {
    const { sum, magnitude } = accelerationOf(before.positions, body);
    for (let axis = 0; axis < 4; axis++) {
      const i = body * 4 + axis;
      const speed = before.velocities[i]! + sum[axis]! * timeStep;
      const place = before.positions[i]! + speed * timeStep;
      const speedError = magnitude[axis]! * timeStep * perTerm + 4 * unit * Math.abs(speed);
      const placeError = speedError * timeStep + 4 * unit * Math.abs(place);
      if (!(Math.abs(after.velocities[i]! - speed) <= speedError)) {
        return `velocity ${axis} of body ${body} is ${after.velocities[i]} instead of ${speed}`;
      }
      if (!(Math.abs(after.positions[i]! - place) <= placeError)) {
        return `position ${axis} of body ${body} is ${after.positions[i]} instead of ${place}`;
      }
    }
  }
  return undefined;
}

/**
 * Returns the acceleration of one body in f64, and the sum of the absolute values of its terms.
 * Both are zero for w, the mass.
 */
function accelerationOf(positions: Float32Array, body: number) {
  const softening = Math.fround(SOFTENING);
  const [px, py, pz] = [positions[body * 4]!, positions[body * 4 + 1]!, positions[body * 4 + 2]!];
  let [x, y, z, absX, absY, absZ] = [0, 0, 0, 0, 0, 0];
  for (let i = 0; i < positions.length; i += 4) {
    const dx = positions[i]! - px;
    const dy = positions[i + 1]! - py;
    const dz = positions[i + 2]! - pz;
    const square = dx * dx + dy * dy + dz * dz + softening;
    const scale = positions[i + 3]! / (square * Math.sqrt(square));
    x += dx * scale;
    y += dy * scale;
    z += dz * scale;
    absX += Math.abs(dx * scale);
    absY += Math.abs(dy * scale);
    absZ += Math.abs(dz * scale);
  }
  return { sum: [x, y, z, 0], magnitude: [absX, absY, absZ, 0] };
}
