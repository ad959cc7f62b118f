import { gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomIntegers } from "../random.ts";

const WORKGROUP = 32;

/** The number of words of a record; below, the words that no member takes. */
const WORDS = 36;
const PADDING = [19, 23, 27, 31, 35];

/**
 * The kernel that loads and stores the types of buffers as a whole, in parts and by computed
 * indices.
 */
const UPDATE = /* wgsl */ `
struct Record {            // from word
  number: f32,             //  0
  integer: i32,            //  1
  pair: vec2f,             //  2
  corner: vec4f,           //  4
  point: vec3f,            //  8
  weight: f32,             // 11
  shear: mat3x2f,          // 12
  tail: u32,               // 18
  frame: mat2x3f,          // 20, columns of four words
  points: array<vec3f, 2>, // 28, likewise
}

@group(0) @binding(0) var<storage, read> before: array<Record>;
@group(0) @binding(1) var<storage, read_write> after: array<Record>;

@compute @workgroup_size(${WORKGROUP})
fn update(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = id.y * groups.x * ${WORKGROUP}u + id.x;
  if (i >= arrayLength(&before)) { return; }
  after[i] = before[i];
  after[i].integer = before[i].integer + 1;
  after[i].pair = before[i].pair.yx;
  after[i].corner[i % 4u] = before[i].corner[(i + 1u) % 4u];
  after[i].point.y = before[i].weight;
  after[i].shear[i % 3u] = before[i].shear[(i + 1u) % 3u];
  after[i].frame[1].z = before[i].frame[0][i % 3u];
  after[i].points[i % 2u] = before[i].points[(i + 1u) % 2u];
}`;

export interface RecordsOptions {
  readonly records?: number;
}

/** Creates a program that changes records of many types. */
export function create({ records = 100 }: RecordsOptions = {}): VerifiableProgram<{ after: Uint32Array }> {
  const before = new Uint32Array(randomIntegers(records * WORDS, 1000, 1).buffer);

  const prepare = (device: GPUDevice): Prepared<{ after: Uint32Array }> => {
    const input = uploadBuffer(device, before);
    const output = resultBuffer(device, before.byteLength);
    return prepareDispatch(device, UPDATE, {
      buffers: [input, output],
      grid: gridOf(Math.ceil(records / WORKGROUP)),
      read: async () => ({ after: withoutPadding(new Uint32Array(await readBuffers(device, output))) }),
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ after }) => verifyExact("after", after, updated(before)),
    kernelSources: { update: UPDATE },
    work: { bytes: 2 * before.byteLength, flops: 0 },
  };
}

export default (device: GPUDevice) => create().workload(device);

/** Clears the padding, whose contents are undefined. */
function withoutPadding(words: Uint32Array): Uint32Array {
  for (let record = 0; record < words.length; record += WORDS) {
    for (const word of PADDING) words[record + word] = 0;
  }
  return words;
}

function updated(before: Uint32Array): Uint32Array {
  const after = before.slice();
  for (let i = 0; i < before.length / WORDS; i++) {
    const at = i * WORDS;
    const move = (to: number, from: number, count = 1) =>
      after.set(before.subarray(at + from, at + from + count), at + to);
    after[at + 1] = before[at + 1]! + 1;
    move(2, 3);
    move(3, 2);
    move(4 + (i % 4), 4 + ((i + 1) % 4));
    move(9, 11);
    move(12 + 2 * (i % 3), 12 + 2 * ((i + 1) % 3), 2);
    move(26, 20 + (i % 3));
    move(28 + 4 * (i % 2), 28 + 4 * ((i + 1) % 2), 3);
  }
  return withoutPadding(after);
}
