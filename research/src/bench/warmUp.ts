import type { LoopProgram } from "./programRuns.ts";
import type { Executor, SpeculatedFunction } from "./speculatedFunction.ts";

/** Calls after which JavaScript engines have compiled what executes loops. */
const firstCalls = 50;
/** Calls after which a device has what every loop needs. */
const laterCalls = 5;

/**
 * A small program that is executed before others, so that the engine itself is as fast as in a
 * program that has run for some time.
 */
export class WarmUp {
  readonly #run: SpeculatedFunction;
  readonly #program: LoopProgram;
  readonly #warm = new Set<string>();

  constructor(run: SpeculatedFunction, program: LoopProgram) {
    this.#run = run;
    this.#program = program;
  }

  /**
   * Executes it on a new device: often the first time that this engine is used, and then a few
   * times.
   */
  async run(engine: string, execute: Executor, signal: AbortSignal): Promise<void> {
    const calls = this.#warm.has(engine) ? laterCalls : firstCalls;
    for (let call = 0; call < calls; call++) {
      await this.#run(execute, this.#program.inputs());
      signal.throwIfAborted();
    }
    this.#warm.add(engine);
  }
}
