/** The result of {@link selfTest}. */
export interface SelfTestResult {
  readonly ok: boolean;
  /** The size of the memory that each pattern fills. */
  readonly bytes: number;
  readonly patterns: number;
  /** The number of wrong words, over all patterns. */
  readonly mismatches: number;
  readonly first?: {
    readonly pattern: string;
    readonly index: number;
    readonly expected: number;
    readonly actual: number;
  };
}

/**
 * The contents of each memory cell. Together, the patterns set each bit to 0 and 1, next to equal
 * and to different bits.
 */
const PATTERNS: Readonly<Record<string, (index: number) => number>> = {
  zeros: () => 0,
  ones: () => 0xffffffff,
  "alternating bits": () => 0x55555555,
  "alternating bits, inverted": () => 0xaaaaaaaa,
  "own address": (index) => index,
  "own address, mixed": (index) => Math.imul(index, 0x9e3779b1) >>> 0,
};

const MIX_KERNEL = /* wgsl */ `
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;

@compute @workgroup_size(64)
fn mix(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&source)) { return; }
  result[id.x] = (source[id.x] ^ (id.x * 0x85ebca6bu)) + 0xc2b2ae35u;
}`;

/** Does the same arithmetic as {@link MIX_KERNEL}. */
function mix(word: number, index: number): number {
  return ((word ^ Math.imul(index, 0x85ebca6b)) + 0xc2b2ae35) >>> 0;
}

/** Writes patterns to device memory, computes on them, reads both back, and compares each word. */
export async function selfTest(device: GPUDevice, bytes = 1 << 20): Promise<SelfTestResult> {
  const words = bytes / 4;
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
  const source = device.createBuffer({ size: bytes, usage });
  const result = device.createBuffer({ size: bytes, usage });
  const pipeline = device.createComputePipeline({
    layout: "auto",
    compute: { module: device.createShaderModule({ code: MIX_KERNEL }) },
  });

  let mismatches = 0;
  let first: SelfTestResult["first"];
  for (const [pattern, fill] of Object.entries(PATTERNS)) {
    const input = Uint32Array.from({ length: words }, (_, index) => fill(index));
    device.queue.writeBuffer(source, 0, input);
    dispatch(device, pipeline, [source, result], Math.ceil(words / 64));
    const compare = (actual: Uint32Array, expected: (index: number) => number) => {
      actual.forEach((word, index) => {
        if (word === expected(index)) return;
        mismatches++;
        first ??= { pattern, index, expected: expected(index), actual: word };
      });
    };
    compare(await readWords(device, source), (index) => input[index]!);
    compare(await readWords(device, result), (index) => mix(input[index]!, index));
  }
  source.destroy();
  result.destroy();
  const patterns = Object.keys(PATTERNS).length;
  return { ok: mismatches === 0, bytes, patterns, mismatches, ...(first && { first }) };
}

const PAIRING_KERNEL = /* wgsl */ `
enable subgroups;
override size: u32;
@group(0) @binding(0) var<storage, read_write> partners: array<u32>;

@compute @workgroup_size(size)
fn pair(
  @builtin(local_invocation_index) index: u32,
  @builtin(workgroup_id) group: vec3u,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  let partner = subgroupShuffleXor(index, 1u);
  partners[group.x * size + index] = select(0xffffffffu, partner, (lane & 1u) == (index & 1u));
}`;

const PAIRING_WORKGROUPS = 16;

/**
 * Returns whether invocations 2k and 2k+1 of a one-dimensional workgroup are neighboring lanes of
 * one subgroup. WGSL does not specify the mapping, so this is tested with full, partial and many
 * subgroups.
 */
export async function probeSubgroupPairing(device: GPUDevice): Promise<boolean> {
  if (!device.features.has("subgroups")) return false;
  const module = device.createShaderModule({ code: PAIRING_KERNEL });
  for (const size of [2, 6, 64, device.limits.maxComputeInvocationsPerWorkgroup]) {
    const pipeline = await device.createComputePipelineAsync({
      layout: "auto",
      compute: { module, constants: { size } },
    });
    const partners = device.createBuffer({
      size: PAIRING_WORKGROUPS * size * 4,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC,
    });
    dispatch(device, pipeline, [partners], PAIRING_WORKGROUPS);
    const seen = await readWords(device, partners);
    partners.destroy();
    if (!seen.every((partner, index) => partner === ((index % size) ^ 1))) return false;
  }
  return true;
}

function dispatch(
  device: GPUDevice,
  pipeline: GPUComputePipeline,
  buffers: readonly GPUBuffer[],
  workgroups: number,
): void {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(
    0,
    device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
    }),
  );
  pass.dispatchWorkgroups(workgroups);
  pass.end();
  device.queue.submit([encoder.finish()]);
}

async function readWords(device: GPUDevice, buffer: GPUBuffer): Promise<Uint32Array> {
  const staging = device.createBuffer({
    size: buffer.size,
    usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
  });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const words = new Uint32Array(staging.getMappedRange().slice(0));
  staging.destroy();
  return words;
}
