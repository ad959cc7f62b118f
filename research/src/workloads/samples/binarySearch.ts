/**
 * Finds many keys in one sorted array.
 *
 * Follows the sample BinarySearch of the AMD APP OpenCL SDK. Documented there: a pass cuts the
 * range of a search into as many parts as there are work-items. Each work-item looks at the two
 * ends of its part. The one whose part holds the key writes the range of the next pass.
 *
 * Chosen here: sixteen parts, four for each invocation, which looks once at the ends that they
 * share. Many searches run at once, while the sample has one key. The range stays on the GPU
 * between the passes, while the sample's host reads it.
 */
import { bindBuffers, gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomWord } from "../random.ts";

const WORKGROUP = 128;
/** The number of parts into which a pass cuts each range. */
const PARTS = 16;
/** The number of parts that an invocation takes: the components of a vector. */
const SHARE = 4;

/**
 * The kernel of one pass. In exactly one part the first element is not above the key, and the next
 * part begins with one that is above.
 */
const NARROW = /* wgsl */ `
const WORKGROUP = ${WORKGROUP}u;
const PARTS = ${PARTS}u;
const SHARE = ${SHARE}u;

@group(0) @binding(0) var<uniform> partLength: u32;
@group(0) @binding(1) var<storage, read> elements: array<u32>; // ascending
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> starts: array<u32>; // of the range of each search
@group(0) @binding(4) var<storage, read_write> narrowed: array<u32>;

/** True if there is an element at this position, and it is not above the key. */
fn reaches(position: u32, key: u32) -> bool {
  return position < arrayLength(&elements) && elements[position] <= key;
}

@compute @workgroup_size(WORKGROUP)
fn narrow(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let index = (id.y * groups.x + id.x) * WORKGROUP + local;
  let search = index / (PARTS / SHARE);
  let first = index % (PARTS / SHARE) * SHARE;
  if (search >= arrayLength(&keys)) { return; }

  let key = keys[search];
  let start = starts[search] + first * partLength;
  let ends = start + vec4u(1u, 2u, 3u, 4u) * partLength;
  // The ends of the whole range are known from the pass before.
  let begins = first == 0u || reaches(start, key);
  let beyond = vec4<bool>(
    reaches(ends.x, key), reaches(ends.y, key), reaches(ends.z, key), first + SHARE < PARTS && reaches(ends.w, key));
  if (begins && !beyond.w) {
    narrowed[search] = start + dot(vec3u(beyond.xyz), vec3u(1u)) * partLength;
  }
}`;

/**
 * The width of an element's interval: element i lies in [i·GAP, (i+1)·GAP). The elements are
 * ascending without a sort, and the reference knows where to look.
 */
const GAP = 16;

export interface BinarySearchOptions {
  /** The number of elements, at most 2^28. */
  readonly length?: number;
  readonly searches?: number;
  readonly seed?: number;
}

/**
 * Creates a search for the position of the last element that is not above each key, or 0 if all are
 * above.
 */
export function create(options: BinarySearchOptions = {}): VerifiableProgram<{ positions: Uint32Array }> {
  const { length = 10_000, searches = 1000, seed = 1 } = options;
  const elements = new Uint32Array(length);
  for (let i = 0; i < length; i++) elements[i] = i * GAP + (randomWord(seed, i) % GAP);
  const keys = new Uint32Array(searches);
  // The array contains every other key for certain.
  for (let i = 0; i < searches; i++) {
    const place = randomWord(seed + 1, i) % length;
    keys[i] = i % 2 === 0 ? elements[place]! : place * GAP + (randomWord(seed + 2, i) % GAP);
  }
  const partLengths = partLengthsOf(length);

  const prepare = (device: GPUDevice): Prepared<{ positions: Uint32Array }> => {
    const module = device.createShaderModule({ code: NARROW });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const passes = partLengths.map((partLength) =>
      uploadBuffer(device, Uint32Array.of(partLength), GPUBufferUsage.UNIFORM),
    );
    const array = uploadBuffer(device, elements);
    const wanted = uploadBuffer(device, keys);
    // Every search begins at 0; then two buffers take turns.
    const [zeros, ...turns] = Array.from({ length: 3 }, () => resultBuffer(device, 4 * searches));
    const bindings = passes.map((params, i) => {
      const starts = i === 0 ? zeros! : turns[(i - 1) % 2]!;
      return bindBuffers(device, pipeline, params, array, wanted, starts, turns[i % 2]!);
    });
    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        for (const group of bindings) {
          pass.setBindGroup(0, group);
          pass.dispatchWorkgroups(...gridOf(Math.ceil((searches * PARTS) / SHARE / WORKGROUP)));
        }
        pass.end();
      },
      async read() {
        return { positions: new Uint32Array(await readBuffers(device, turns[(passes.length - 1) % 2]!)) };
      },
      destroy() {
        for (const buffer of [...passes, array, wanted, zeros!, ...turns]) buffer.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ positions }) => verifyExact("positions", positions, positionsOf(elements, keys)),
    kernelSources: { narrow: NARROW },
    // Each pass reads every key, the start and the inner ends of its range, and writes the next
    // start.
    work: { bytes: partLengths.length * searches * 4 * (PARTS + 2), flops: 0 },
  };
}

export default (device: GPUDevice) => create().workload(device);

/** Returns the length of the parts in each pass, down to one element. */
function partLengthsOf(length: number): number[] {
  const partLengths = [1];
  while (partLengths[0]! * PARTS < length) partLengths.unshift(partLengths[0]! * PARTS);
  return partLengths;
}

/**
 * Returns the positions without a search. Only the element in the key's own gap, or the one before,
 * can be the last that is not above.
 */
function positionsOf(elements: Uint32Array, keys: Uint32Array): Uint32Array {
  return keys.map((key) => {
    const place = Math.min(Math.floor(key / GAP), elements.length - 1);
    return elements[place]! <= key ? place : Math.max(place - 1, 0);
  });
}
