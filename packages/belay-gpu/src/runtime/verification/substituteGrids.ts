import { reportWords } from "../../compiler/contract.ts";
import { type ReportSlot, rangeOf } from "../context/reportArena.ts";
import { BYTES_OF_ARGUMENTS } from "../recording/indirectDispatch.ts";
import { flags, makeSilently } from "../webgpu/nativeObjects.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";
import type { PassCommands } from "../webgpu/passCommands.ts";
import { whole } from "../webgpu/resources.ts";

/** A kernel that copies the doubled dimension from one report to another. */
const TELL = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> known: array<u32>;
@group(0) @binding(1) var<storage, read_write> told: array<u32>;
@compute @workgroup_size(1)
fn tellDimension() { told[${reportWords.grid}] = known[${reportWords.grid}]; }`;

/** A kernel that takes back what `doubleGrid` did (indirectDispatch.ts). */
const UNDOUBLE = /* wgsl */ `
@group(0) @binding(0) var<storage, read> doubled: array<u32, 3>;
@group(0) @binding(1) var<storage, read_write> asked: array<u32, 3>;
@group(0) @binding(2) var<storage, read_write> report: array<u32>;
@compute @workgroup_size(1)
fn undoubleGrid() {
  for (var i = 0u; i < 3; i++) { asked[i] = doubled[i] >> u32(i == report[${reportWords.grid}]); }
}`;

/**
 * Brings the grids of indirect dispatches, which only the GPU knows, to kernels that run in place
 * of others.
 */
export class SubstituteGrids {
  readonly #device: GPUDevice;
  readonly #tell: OwnKernel;
  readonly #undouble: OwnKernel;
  #asked: GPUBuffer | undefined;

  constructor(device: GPUDevice) {
    this.#device = device;
    this.#tell = new OwnKernel(device, {
      label: "belay: the dimension of a substitute",
      code: TELL,
      buffers: ["storage", "storage"],
    });
    this.#undouble = new OwnKernel(device, {
      label: "belay: the grid of a substitute",
      code: UNDOUBLE,
      buffers: ["read-only-storage", "storage", "storage"],
    });
  }

  /**
   * Encodes a copy of the doubled dimension, from the report of a kernel to that of its substitute.
   */
  tell(commands: PassCommands, known: ReportSlot, told: ReportSlot): void {
    this.#tell.encode(commands, [rangeOf(known), rangeOf(told)], 1);
  }

  /**
   * Encodes the computation of a grid before it was doubled, and returns the buffer of that grid.
   * Dispatches run one after another, so all of them use the same buffer.
   */
  undouble(commands: PassCommands, doubled: GPUBuffer, report: ReportSlot): GPUBuffer {
    this.#asked ??= makeSilently(this.#device, () =>
      this.#device.createBuffer({
        label: "belay: the grid of a substitute",
        size: BYTES_OF_ARGUMENTS,
        usage: flags.bufferStorage | flags.bufferIndirect,
      }),
    ).made;
    this.#undouble.encode(commands, [whole(doubled), whole(this.#asked), rangeOf(report)], 1);
    return this.#asked;
  }
}
