import { injectionWords } from "../../compiler/contract.ts";
import { type ReportSlot, rangeOf } from "../context/reportArena.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";
import type { PassCommands } from "../webgpu/passCommands.ts";

const COUNT = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> report: array<u32>;
@compute @workgroup_size(1) fn countDispatch() { report[${injectionWords.dispatch}]++; }`;

/**
 * Counts the dispatches of each kernel in its report, before they run. A fault can then strike in
 * one of them.
 */
export class DispatchCounter {
  readonly #count: OwnKernel;

  constructor(device: GPUDevice) {
    this.#count = new OwnKernel(device, {
      label: "belay: count dispatches",
      code: COUNT,
      buffers: ["storage"],
    });
  }

  count(commands: PassCommands, slot: ReportSlot): void {
    this.#count.encode(commands, [rangeOf(slot)], 1);
  }
}
