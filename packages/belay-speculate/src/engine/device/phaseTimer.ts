import type { Workspace } from "./workspace.ts";

/**
 * The phases of a round for which times are reported. The default engine has no recovery phase:
 * iterations that do not commit run again.
 */
export type PhaseName = "scheduling" | "computation" | "check" | "commit" | "recovery";

/** The largest number of passes timed between two readings. Later ones are not timed. */
const mostPasses = 2048;

/** The milliseconds on the GPU's clock, by phase. */
export type PhaseTimes = Record<PhaseName, number>;

/**
 * A sum of phases' times, each phase being a compute pass of its own. The device must have the
 * feature `timestamp-query`.
 */
export class PhaseTimer {
  readonly times: PhaseTimes = { scheduling: 0, computation: 0, check: 0, commit: 0, recovery: 0 };
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  #phases: PhaseName[] = [];

  constructor(workspace: Workspace) {
    this.#queries = workspace.device.createQuerySet({ type: "timestamp", count: 2 * mostPasses });
    const usage = GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC;
    this.#resolved = workspace.buffer("timestamps", 16 * mostPasses, usage);
  }

  /** Returns the descriptor that times a compute pass as part of the phase. */
  pass(phase: PhaseName): GPUComputePassDescriptor {
    const place = 2 * this.#phases.length;
    if (place >= 2 * mostPasses) return {};
    this.#phases.push(phase);
    return {
      timestampWrites: {
        querySet: this.#queries,
        beginningOfPassWriteIndex: place,
        endOfPassWriteIndex: place + 1,
      },
    };
  }

  /** Encodes the commands that {@link reading} needs, after the passes. */
  resolve(encoder: GPUCommandEncoder): void {
    encoder.resolveQuerySet(this.#queries, 0, 2 * this.#phases.length, this.#resolved, 0);
  }

  get reading(): { readonly buffer: GPUBuffer; readonly bytes: number } {
    return { buffer: this.#resolved, bytes: 16 * this.#phases.length };
  }

  /** Adds the times of the passes so far, from the bytes of the reading. */
  add(bytes: Uint8Array<ArrayBuffer>): void {
    const stamps = new BigUint64Array(bytes.slice().buffer);
    for (const [place, phase] of this.#phases.entries()) {
      this.times[phase] += Number(stamps[2 * place + 1]! - stamps[2 * place]!) / 1e6;
    }
    this.#phases = [];
  }

  destroy(): void {
    this.#queries.destroy();
  }
}
