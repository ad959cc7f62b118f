import { readFile } from "node:fs/promises";
import type { SpeculateCall, Speculated } from "belay-speculate/internal/engine/call/call";
import { callOfWords } from "belay-speculate/internal/engine/call/doubles";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import * as translated from "belay-speculate/internal/translated";
import { createJiti } from "jiti";
import type { Argument, LoopProgram } from "../../workloads/loops/loopProgram.ts";

/** A function that executes one loop. */
export type Executor = (call: SpeculateCall) => Promise<Speculated>;

/** A function whose loops are executed by the given executor. */
export type SpeculatedFunction = (execute: Executor, parameters: readonly Argument[]) => Promise<unknown>;

/**
 * Loads a function from a TypeScript or JavaScript file and replaces its loops as the plugin does.
 * Rejects when it has no loops to speculate.
 */
export const loadSpeculated = async (path: string, name: string): Promise<SpeculatedFunction> =>
  speculatedIn(await readFile(path, "utf8"), path, name);

/** Returns a function of a source text, with its loops replaced as {@link loadSpeculated} does. */
export async function speculatedIn(source: string, path: string, name: string): Promise<SpeculatedFunction> {
  const { code, diagnostics } = replaceLoops(source, path);
  const refused = diagnostics.find(({ severity }) => severity === "error");
  if (code === undefined || refused) {
    throw new Error(refused?.message ?? `${path} has no loops to speculate`);
  }
  let executor: Executor | undefined;
  const speculate: Executor = (call) => executor!(call);
  const virtualModules = {
    "belay-speculate/internal/translated": { ...translated, speculate },
    "belay-speculate/internal/doubles": { callOfWords },
  };
  const jiti = createJiti(import.meta.url, { fsCache: false, virtualModules });
  const module = await jiti.evalModule(code, { filename: path, async: true });
  const run = (module as Record<string, (...parameters: readonly Argument[]) => Promise<unknown>>)[name]!;
  return (execute, parameters) => {
    executor = execute;
    return run(...parameters);
  };
}

/** The least bytes whose copy takes long enough to be timed. */
const leastCopied = 2 ** 20;

type Elements = Exclude<Argument, number>;

/** The arrays that a verified run changed, by their places. */
type Outcome = ReadonlyMap<number, Elements>;

/**
 * The number of outcomes that are kept. Floats round differently on the CPU and on a GPU, and runs
 * may change between them.
 */
const mostOutcomes = 3;

/**
 * The arguments of a program, run after run, and the verdict on the results. Once the changed
 * arrays are known, only these are restored before a run and compared after it. The others are
 * compared in the {@link end}.
 */
export class ProgramRuns {
  readonly #program: LoopProgram;
  readonly #fresh: readonly Argument[];
  readonly #arguments: readonly Argument[];
  #outcomes: readonly Outcome[] = [];
  #right = true;
  #fastestCopy = 0;

  constructor(program: LoopProgram) {
    this.#program = program;
    this.#fresh = program.inputs();
    this.#arguments = this.#fresh.map((each) => (typeof each === "number" ? each : each.slice()));
  }

  /** Forgets that runs were wrong, before other runs begin. */
  begin(): void {
    if (!this.#right) this.#outcomes = [];
    this.#right = true;
  }

  /** Compares the arrays that no run should have changed. */
  end(): void {
    const changed = this.#changed;
    this.#right &&= this.#fresh.every((before, n) => changed.has(n) || sameBits(before, this.#arguments[n]!));
  }

  /** True if every run was right so far. */
  get right(): boolean {
    return this.#right;
  }

  get iterations(): number {
    return this.#program.iterations;
  }

  /** The bytes of the arrays. */
  get bytes(): number {
    return this.#fresh.reduce<number>(
      (sum, each) => sum + (typeof each === "number" ? 0 : each.byteLength),
      0,
    );
  }

  /**
   * The bytes that one core of the host has copied in a millisecond, from array to array, at its
   * fastest. Zero if the arrays are too small to tell.
   */
  get fastestCopy(): number {
    return this.#fastestCopy;
  }

  /** Returns the arguments in their state before a run; the same arrays each time. */
  next(): readonly Argument[] {
    const start = performance.now();
    let bytes = 0;
    for (const place of this.restored) {
      const fresh = this.#fresh[place] as Elements;
      (this.#arguments[place] as Elements).set(fresh);
      bytes += fresh.byteLength;
    }
    if (bytes >= leastCopied)
      this.#fastestCopy = Math.max(this.#fastestCopy, bytes / (performance.now() - start));
    return this.#arguments;
  }

  /** The places of the arrays that {@link next} restores. */
  get restored(): readonly number[] {
    if (this.#outcomes.length > 0) return [...this.#changed];
    return this.#fresh.flatMap((argument, place) => (typeof argument === "number" ? [] : [place]));
  }

  /** Returns true if a run elsewhere left the right results. */
  isRight(left: readonly Argument[]): boolean {
    return this.#program.verify(left).ok;
  }

  /**
   * Verifies the results of a run. It skips the check if a right run left the same bits, or if one
   * was wrong already.
   */
  check(): void {
    if (!this.#right) return;
    if (this.#outcomes.some((outcome) => this.#isAgain(outcome))) return;
    this.#right = this.#program.verify(this.#arguments).ok;
    if (this.#right) this.#outcomes = [this.#outcomeNow(), ...this.#outcomes.slice(0, mostOutcomes - 1)];
  }

  /** The places of the arrays that some run has changed. */
  get #changed(): ReadonlySet<number> {
    return new Set(this.#outcomes.flatMap((outcome) => [...outcome.keys()]));
  }

  #isAgain(outcome: Outcome): boolean {
    return [...this.#changed].every((place) =>
      sameBits(outcome.get(place) ?? this.#fresh[place]!, this.#arguments[place]!),
    );
  }

  #outcomeNow(): Outcome {
    const known = this.#changed;
    const changed = this.#arguments.flatMap((argument, place): [number, Elements][] => {
      if (typeof argument === "number") return [];
      const isChanged = known.has(place) || !sameBits(argument, this.#fresh[place]!);
      return isChanged ? [[place, argument.slice()]] : [];
    });
    return new Map(changed);
  }
}

function sameBits(a: Argument, b: Argument): boolean {
  if (typeof a === "number" || typeof b === "number") return a === b;
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(
    Buffer.from(b.buffer, b.byteOffset, b.byteLength),
  );
}

/**
 * The number of calls after which JavaScript engines have compiled the code that executes loops.
 */
const firstCalls = 50;
/** The number of calls after which a device has the resources that every loop needs. */
const laterCalls = 5;

/**
 * A small program that is executed before others. It makes the engine itself as fast as in a
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
   * Executes the program on a new device: many times at the first use of this engine, and then a
   * few times.
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
