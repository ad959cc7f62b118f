import { recordCause, reportWords } from "../../compiler/contract.ts";
import { type ReportSlot, rangeOf } from "../context/reportArena.ts";
import { flags, makeSilently } from "../webgpu/nativeObjects.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";
import type { PassCommands } from "../webgpu/passCommands.ts";

export const BYTES_OF_ARGUMENTS = 12;
/** An offset alignment that every device accepts for storage buffers. */
const ALIGNMENT = 256;

/**
 * A kernel that doubles a grid. Its own workgroup count passes an argument without a buffer:
 * `groups.x` is the index of the grid's first word, plus one. A dispatch beyond the limit runs no
 * workgroup (WebGPU specification, "dispatchWorkgroupsIndirect").
 */
const DOUBLE = /* wgsl */ `
override limit: u32;
@group(0) @binding(0) var<storage, read> asked: array<u32>;
@group(0) @binding(1) var<storage, read_write> doubled: array<u32, 3>;
@group(0) @binding(2) var<storage, read_write> report: array<u32>;
@compute @workgroup_size(1)
fn doubleGrid(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  if (id.x != 0) { return; }
  let first = groups.x - 1;
  var grid = vec3u(asked[first], asked[first + 1], asked[first + 2]);
  if (any(grid > vec3u(limit))) { grid = vec3u(); }
  var doubling = 0u;
  while (doubling < 2 && 2 * grid[doubling] > limit) { doubling++; }
  if (2 * grid[doubling] > limit) {
    let detection = report[${reportWords.detections}];
    report[${reportWords.detections}] = detection + 1;
    if (detection < ${reportWords.recordCapacity}) {
      report[${reportWords.records} + detection * ${reportWords.recordStride} + 6] = ${recordCause.gridTooLarge};
    }
    grid = vec3u();
  }
  grid[doubling] *= 2;
  for (var i = 0; i < 3; i++) { doubled[i] = grid[i]; }
  report[${reportWords.grid}] = doubling;
}`;

/**
 * Doubles the grids of indirect dispatches on the GPU, right before each of them. Only the GPU
 * knows these grids.
 */
export class IndirectDispatch {
  readonly #device: GPUDevice;
  readonly #double: OwnKernel;
  #doubled: GPUBuffer | undefined;

  constructor(device: GPUDevice) {
    this.#device = device;
    this.#double = new OwnKernel(device, {
      label: "belay: indirect dispatch",
      code: DOUBLE,
      buffers: ["read-only-storage", "storage", "storage"],
      constants: { limit: device.limits.maxComputeWorkgroupsPerDimension },
    });
  }

  /**
   * Returns whether the arguments are valid. WebGPU validation has to see invalid arguments as the
   * program passed them.
   */
  accepts(buffer: GPUBuffer, offset: number): boolean {
    const isIndirect = (buffer.usage & flags.bufferIndirect) !== 0;
    return isIndirect && offset >= 0 && offset % 4 === 0 && offset + BYTES_OF_ARGUMENTS <= buffer.size;
  }

  /**
   * Encodes the doubling of a grid and returns the buffer of the doubled grid. The report tells
   * which dimension is doubled. Dispatches run one after another, so all of them use the same
   * buffer.
   */
  double(commands: PassCommands, buffer: GPUBuffer, offset: number, slot: ReportSlot): GPUBuffer {
    this.#doubled ??= makeSilently(this.#device, () =>
      this.#device.createBuffer({
        label: "belay: indirect dispatch",
        size: BYTES_OF_ARGUMENTS,
        usage: flags.bufferStorage | flags.bufferIndirect,
      }),
    ).made;
    const start = offset - (offset % ALIGNMENT);
    const size = offset - start + BYTES_OF_ARGUMENTS;
    const doubled = { buffer: this.#doubled, offset: 0, size: BYTES_OF_ARGUMENTS };
    const word = (offset - start) / 4;
    this.#double.encode(commands, [{ buffer, offset: start, size }, doubled, rangeOf(slot)], word + 1);
    return this.#doubled;
  }
}
