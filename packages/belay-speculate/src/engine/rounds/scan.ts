import { type ScanLoop, valuesBefore } from "../../loops/analysis/scanLoop.ts";
import { packParameters } from "../../loops/kernels/code/parameters.ts";
import { controlWords } from "../../loops/kernels/control.ts";
import { executeKernels } from "../../loops/kernels/execute.ts";
import { engineParameters } from "../../loops/kernels/marks.ts";
import {
  packScanLevel,
  scanKernels,
  scanLevels,
  scanLevelWords,
  scanWords,
} from "../../loops/kernels/scan.ts";
import { oncePerLoop } from "../../loops/tree/oncePerLoop.ts";
import { type Reading, readBuffers } from "../device/readBuffers.ts";
import type { Workspace } from "../device/workspace.ts";
import type { Part } from "./execution.ts";
import { planOf } from "./plans.ts";
import { type Ending, startOf } from "./rounds.ts";
import { bitsOf, numberOf } from "./scalarBits.ts";
import { SegmentMemory } from "./segmentMemory.ts";
import type { SharedState } from "./sharedState.ts";

/**
 * Finds what the iterations of a part add to the scanned variables, and sums it up. Returns the
 * part with the arrays of the variables' values before each iteration.
 */
export async function scanned(
  workspace: Workspace,
  part: Part,
  { changes, main, variables }: ScanLoop,
  shared: SharedState,
): Promise<Part> {
  const { device, pipelines } = workspace;
  const { count } = part;
  const finding = { ...part, loop: changes, carried: {} };
  const memory = new SegmentMemory(workspace, finding, shared);
  const plan = planOf("proven", changes, memory.logSize);
  const [execute, blocks, sums] = await pipelines.compile(changes, kernelsOfScan(changes));
  const buffers = memory.buffers(plan);
  const { UNIFORM, STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
  const parameters = memory.parameters(plan, count);
  workspace.update(buffers.params!, packParameters(engineParameters(changes), parameters));
  const control = { ...startOf(0, count, new Uint32Array()), executing: count };
  device.queue.writeBuffer(
    buffers.control!,
    0,
    Uint32Array.from(controlWords, (word) => control[word]),
  );

  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(execute!.pipeline);
  pass.setBindGroup(0, execute!.bind(buffers));
  pass.dispatchWorkgroups(...pipelines.gridFor(changes, count));
  const arrays: Record<string, GPUBuffer> = {};
  for (const [place, { name, type }] of changes.reductions.entries()) {
    const target = workspace.buffer(`scanned ${place}`, 4 * scanWords(count), STORAGE | COPY_SRC | COPY_DST);
    arrays[valuesBefore(name)] = target;
    const levels = scanLevels(count).map((level, depth) => {
      const words = packScanLevel(
        level,
        depth === 0 ? place * count : null,
        depth === 0 ? bitsOf(type, part.carried[name]!) : 0,
      );
      const size = 4 * scanLevelWords;
      const uniform = workspace.buffer(`scan level ${place} ${depth}`, size, UNIFORM | COPY_DST);
      device.queue.writeBuffer(uniform, 0, words);
      return { workgroups: level.workgroups, buffers: { ...buffers, level: uniform, scanned: target } };
    });
    for (const [kernel, order] of [
      [blocks!, levels],
      [sums!, levels.toReversed()],
    ] as const) {
      pass.setPipeline(kernel.pipeline);
      for (const level of order) {
        pass.setBindGroup(0, kernel.bind(level.buffers));
        pass.dispatchWorkgroups(level.workgroups);
      }
    }
  }
  pass.end();
  await workspace.allocated();
  device.queue.submit([encoder.finish()]);
  const lengths = Object.fromEntries(variables.map((name) => [valuesBefore(name), count]));
  return {
    ...part,
    loop: main,
    inputs: { ...part.inputs, $first: part.first, $step: part.step },
    buffers: { ...part.buffers, ...arrays },
    lengths: { ...part.lengths, ...lengths },
  };
}

/** Returns the kernels of a scan: one that finds the changes, and those that add them up. */
const kernelsOfScan = oncePerLoop((changes) => {
  const { scanBlocks, addSums } = scanKernels(changes);
  return [executeKernels(changes, false).execute(), scanBlocks, addSums] as const;
});

/** The values of scanned variables after iterations of a part. */
export class ScannedValues implements Ending {
  readonly #part: Part;
  readonly #scan: ScanLoop;
  readonly #last: number[] = [];

  constructor(part: Part, scan: ScanLoop) {
    this.#part = part;
    this.#scan = scan;
  }

  encode(): Reading[] {
    return this.#after(this.#part.count);
  }

  keep(place: number, bytes: Uint8Array): void {
    const { type } = this.#scan.changes.reductions[place]!;
    this.#last[place] = numberOf(type, new Uint32Array(bytes.slice().buffer)[0]!);
  }

  /** Sets the variables to their values after the first `done` iterations. */
  async take(workspace: Workspace, done: number): Promise<void> {
    if (done === 0) return;
    if (done < this.#part.count || this.#last.length === 0) {
      const read = await readBuffers(workspace, this.#after(done));
      read((bytes, place) => this.keep(place, bytes));
    }
    for (const [place, { name }] of this.#scan.changes.reductions.entries())
      this.#part.carried[name] = this.#last[place]!;
  }

  #after(done: number): Reading[] {
    return this.#scan.variables.map((name) => ({
      buffer: this.#part.buffers[valuesBefore(name)]!,
      bytes: 4,
      offset: 4 * done,
    }));
  }
}
