/** Random loops, translated and executed on a device, beside their source run as written. */
import { inspect } from "node:util";
import type { ExecutionOptions } from "belay-speculate/internal/engine/call/call";
import { callOfWords } from "belay-speculate/internal/engine/call/doubles";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { hasOpenRounding } from "belay-speculate/internal/loops/analysis/openRounding";
import { eraseTypes } from "belay-speculate/internal/plugin/eraseTypes";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import * as translated from "belay-speculate/internal/translated";
import fc from "fast-check";
import { publishedEngine } from "../../published/published.ts";
import { arbitraryLoop, type LoopInput, loopInput, parametersOf, roundsAll } from "./arbitraryLoops.ts";

/** A random module and its translation. */
export interface RandomLoop {
  readonly source: string;
  readonly code: string;
}

/** The random loops that are translated without an error. */
const translatedLoop: fc.Arbitrary<RandomLoop> = arbitraryLoop
  .filter(roundsAll)
  .map((source) => ({ source, ...replaceLoops(source, "loops.ts") }))
  .filter(({ code, diagnostics }) => !!code && diagnostics.every(({ severity }) => severity !== "error"))
  .map(({ source, code }) => ({ source, code: code! }));

/** Returns random loops, each with at least one input and at most so many. */
export const loopsWithInputs = (inputs: number): fc.Arbitrary<[RandomLoop, LoopInput[]]> =>
  fc.tuple(translatedLoop, fc.array(loopInput, { minLength: 1, maxLength: inputs, size: "max" }));

/** Returns longer arrays of the input's values, with a number of iterations to match. */
function longer(input: LoopInput): LoopInput {
  const [n, ...others] = input.numbers;
  return {
    ...input,
    lengths: input.lengths.map(() => 50),
    numbers: [n > 0 ? 40 : n, ...others],
    shared: false,
  };
}

const engines: Readonly<Record<string, ExecutionOptions>> = {
  default: { fallback: "never" },
  published: { fallback: "never", engine: publishedEngine() },
};

type Run = (...parameters: ReturnType<typeof parametersOf>) => Promise<unknown>;

/** Returns the function `run` of a module, whose loops `execute` executes. */
function runOf(code: string, execute?: typeof speculate): Run {
  const script = eraseTypes(code, "loops.ts")
    .replace(
      /^import \{(.*)\} from .*$/gm,
      (_, names: string) => `const {${names.replaceAll(" as ", ": ")}} = modules;`,
    )
    .replace(/^export /m, "");
  return new Function("modules", `${script}\nreturn run;`)({
    ...translated,
    callOfWords,
    speculate: execute,
  }) as Run;
}

/** The work of the trials so far. */
export interface TrialCounts {
  /** The pairs of a loop and its data. Each was executed by all engines. */
  pairs: number;
  /** The executions with a part on a device, each by one engine on one input. */
  onDevice: number;
  /** The iterations that a device executed. */
  iterations: number;
  /** The milliseconds of the source as written, and of each engine with its compilation. */
  readonly milliseconds: Record<string, number>;
}

export class LoopTrials {
  readonly counts: TrialCounts = { pairs: 0, onDevice: 0, iterations: 0, milliseconds: {} };
  readonly #device: GPUDevice;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /**
   * Executes a loop with each engine on all inputs, and on longer ones. Returns the first
   * difference from the source as written in words, or undefined.
   */
  async differenceOf(
    { source, code }: RandomLoop,
    inputs: readonly LoopInput[],
  ): Promise<string | undefined> {
    const data = inputs.flatMap((input) => [input, longer(input)]);
    const written = await this.#timed("written", () => resultsOf(runOf(source), data));
    for (const [engine, options] of Object.entries(engines)) {
      const run = runOf(code, (call) => this.#execute(call, options));
      const left = await this.#timed(engine, () => resultsOf(run, data));
      const at = left.findIndex((result, n) => !isSame(result, written[n]));
      if (at >= 0)
        return `engine ${engine}: ${inspect({ input: data[at], written: written[at], left: left[at] }, { depth: 4 })}`;
    }
    this.counts.pairs += data.length;
    return undefined;
  }

  async #timed<T>(name: string, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const done = await work();
    const { milliseconds } = this.counts;
    milliseconds[name] = (milliseconds[name] ?? 0) + performance.now() - start;
    return done;
  }

  async #execute(call: Parameters<typeof speculate>[0], options: ExecutionOptions) {
    // Results that WGSL leaves open are not compared.
    const open: ExecutionOptions = { engine: "sequential" };
    const done = await speculate(call, {
      device: this.#device,
      ...(hasOpenRounding(call.loop) ? open : options),
    });
    const { reason, rounds, committed, onCpu } = done.statistics;
    if (/refused a kernel|is lost/.test(reason)) throw new Error(reason);
    if (rounds > 0) this.counts.onDevice++;
    this.counts.iterations += committed - onCpu;
    return done;
  }
}

/** Returns what a function returns or throws for each input, with the parameters that it leaves. */
async function resultsOf(run: Run, inputs: readonly LoopInput[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const input of inputs) {
    const parameters = parametersOf(input);
    const returned = await run(...parameters).catch((error) => {
      // The loop itself may throw, where an array has no room or no such row.
      if (error instanceof RangeError || error instanceof TypeError) return String(error);
      throw error;
    });
    results.push({ returned, parameters });
  }
  return results;
}

/** Returns true if two values have the same bits. JavaScript does not tell one NaN from another. */
function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return Object.is(a, b);
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => name in b && isSame(a[name as never], b[name as never]));
}
