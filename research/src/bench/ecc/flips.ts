/** Random bit flips in the buffers that a program reads, while no kernel uses them. */
import { corrects, hostCodeOf } from "belay-gpu/internal/ecc/scheme";
import type { HardenedDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import type { Outputs, VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import { type ComparedCode, comparedSchemes, hardenWithCodes } from "../../ecc/index.ts";
import { sameBits } from "../measuring/timing.ts";
import { randomNumbers, randomStrikes } from "./randomStrikes.ts";

/** A tool that flips bits unnoticed by a hardened device: its commands go to the native device. */
export class BulkFlips {
  readonly #device: GPUDevice;
  readonly #pipeline: GPUComputePipeline;

  constructor(device: GPUDevice) {
    this.#device = device;
    const module = device.createShaderModule({ code: FLIP });
    this.#pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  }

  /** Flips the bits of a mask in a word, for each pair of word and mask in `strikes`. */
  flip(buffer: GPUBuffer, strikes: Uint32Array<ArrayBuffer>): void {
    const device = this.#device;
    const { STORAGE, COPY_DST } = GPUBufferUsage;
    const list = device.createBuffer({ size: strikes.byteLength, usage: STORAGE | COPY_DST });
    device.queue.writeBuffer(list, 0, strikes);
    const entries = [buffer, list].map((each, binding) => ({ binding, resource: { buffer: each } }));
    const layout = this.#pipeline.getBindGroupLayout(0);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.#pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
    pass.dispatchWorkgroups(Math.ceil(strikes.length / 2 / WORKGROUP));
    pass.end();
    device.queue.submit([encoder.finish()]);
    list.destroy();
  }
}

const WORKGROUP = 64;

/** The kernel that flips bits. It is atomic, as two flips may strike the same word. */
const FLIP = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> words: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read> strikes: array<vec2u>;
@compute @workgroup_size(${WORKGROUP}) fn flip(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&strikes)) { atomicXor(&words[strikes[id.x].x], strikes[id.x].y); }
}`;

export interface FlipOutcome {
  readonly scheme: ComparedCode;
  readonly single: FlipCounts;
  /** The counts for flips of two bits in one code word. */
  readonly double: FlipCounts;
}

export interface FlipCounts {
  /** The number of struck code words. */
  readonly struck: number;
  /**
   * The errors that were found and corrected, or found uncorrectable. A kernel may find an error
   * more than once.
   */
  readonly corrected: number;
  readonly uncorrectable: number;
  /**
   * The runs of the program on struck memory; below, those with different outputs. Half of the
   * correctable errors strike before a run. Uncorrectable errors do not: they might be in an index,
   * and the program might never end.
   */
  readonly runs: number;
  readonly different: number;
  /** The errors that were found after all words had been restored. */
  readonly left: number;
}

/**
 * Returns true if all single errors were corrected without a trace, and all double errors were
 * flagged. A code that only detects must flag single errors too.
 */
export function isContained({ scheme, single, double }: FlipOutcome): boolean {
  const isFlagged = ({ struck, corrected, uncorrectable, left }: FlipCounts) =>
    uncorrectable >= struck && corrected === 0 && left === 0;
  const isHealed = ({ struck, corrected, uncorrectable, different, left }: FlipCounts) =>
    corrected >= struck && uncorrectable === 0 && different === 0 && left === 0;
  return isFlagged(double) && (corrects(scheme, comparedSchemes) ? isHealed : isFlagged)(single);
}

/**
 * The most code words that are struck at once. Below, the least number of granules for each struck
 * one, so that runs do not only correct.
 */
const mostAtOnce = 2 ** 16;
const sparsity = 4;
/**
 * The most flips if each takes a pass over the whole buffer, as the checksum covers the whole
 * buffer.
 */
const mostOfBuffers = 1000;

/** Strikes `count` code words with one bit each, and as many with two. */
export async function flipAtRest(
  program: VerifiableProgram,
  native: GPUDevice,
  expected: Outputs,
  scheme: ComparedCode,
  count: number,
): Promise<FlipOutcome> {
  const device = hardenWithCodes(native, { redundancy: "none", memory: scheme, onFault: "report" });
  try {
    const { recording, inputs } = recordInputs(device);
    const prepared = program.prepare(recording);
    if (inputs.length === 0) throw new Error("the program keeps no input whose bits could be struck");
    const run = async () => {
      prepared.reset?.();
      const encoder = device.createCommandEncoder();
      prepared.encode(encoder);
      device.queue.submit([encoder.finish()]);
      return sameBits(await prepared.read(), expected);
    };
    if (!(await run())) throw new Error("the protected program gives other results");
    const strike = (bits: 1 | 2) => strikeAll({ device, native, inputs, scheme, run, bits, count });
    return { scheme, single: await strike(1), double: await strike(2) };
  } finally {
    device.destroy();
  }
}

interface Strikes {
  readonly device: HardenedDevice;
  readonly native: GPUDevice;
  readonly inputs: readonly GPUBuffer[];
  readonly scheme: ComparedCode;
  /** Runs the program; resolves to true if its outputs are right. */
  readonly run: () => Promise<boolean>;
  readonly bits: 1 | 2;
  readonly count: number;
}

async function strikeAll({
  device,
  native,
  inputs,
  scheme,
  run,
  bits,
  ...asked
}: Strikes): Promise<FlipCounts> {
  const isCorrected = corrects(scheme, comparedSchemes);
  const isOfBuffers = !Number.isFinite(hostCodeOf(scheme, comparedSchemes).granuleBytes);
  const count = isOfBuffers ? Math.min(asked.count, mostOfBuffers) : asked.count;
  /** Returns the errors that are found during an action, in code words. */
  const finds = async (act: () => Promise<unknown>) => {
    const before = (await device.belay.report()).memory!;
    await act();
    const after = (await device.belay.report()).memory!;
    return {
      corrected: after.corrected - before.corrected,
      uncorrectable: after.uncorrectable - before.uncorrectable,
    };
  };
  const flips = new BulkFlips(native);
  const random = randomNumbers(count + bits);
  const total = { struck: 0, corrected: 0, uncorrectable: 0, runs: 0, different: 0, left: 0 };
  for (let turn = 0; total.struck < count; turn++) {
    const buffer = inputs[(turn >> 1) % inputs.length]!;
    const granuleBytes = Math.min(hostCodeOf(scheme, comparedSchemes).granuleBytes, buffer.size);
    const wordsOfGranule = Math.floor(granuleBytes / 4);
    const wordsOfCode = packedWords[scheme] ?? wordsOfGranule;
    const granules = Math.floor(buffer.size / granuleBytes);
    const most = Math.min(
      mostAtOnce,
      Math.ceil(count / 2),
      count - total.struck,
      Math.max(1, Math.floor(granules / sparsity)),
    );
    const strikes = randomStrikes({ granules, wordsOfGranule, wordsOfCode, count: most, bits }, random);
    flips.flip(buffer, strikes);
    const found = await finds(async () => {
      if (turn % 2 === 1 && bits === 1 && isCorrected) {
        total.runs++;
        if (!(await run())) total.different++;
      }
      await device.belay.scrub();
    });
    // Two flips of the same bit cancel.
    if (bits === 2 || !isCorrected) flips.flip(buffer, strikes);
    const rest = await finds(() => device.belay.scrub());
    total.struck += most;
    total.corrected += found.corrected;
    total.uncorrectable += found.uncorrectable;
    total.left += rest.corrected + rest.uncorrectable;
  }
  return total;
}

/** The words of data in a code word, for codes with several code words in a granule. */
const packedWords: Partial<Record<ComparedCode, number>> = { packed32: 1, packed64: 2, packed64x4: 2 };

/** Returns a device that records the storage buffers that the program creates with contents. */
function recordInputs(device: GPUDevice): { recording: GPUDevice; inputs: GPUBuffer[] } {
  const inputs: GPUBuffer[] = [];
  const recording = new Proxy(device, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "createBuffer") return value.bind(target);
      return (descriptor: GPUBufferDescriptor) => {
        const buffer = target.createBuffer(descriptor);
        if (descriptor.mappedAtCreation && descriptor.usage & GPUBufferUsage.STORAGE) inputs.push(buffer);
        return buffer;
      };
    },
  });
  return { recording, inputs };
}
