import type { Argument } from "./speculatedFunction.ts";

/** A function with loops at one size. */
export interface LoopProgram {
  readonly iterations: number;
  inputs(): readonly Argument[];
  verify(left: readonly Argument[]): { readonly ok: boolean; readonly message: string };
}

/** The arguments of a program, run after run, and whether what the runs leave in them is right. */
export class ProgramRuns {
  readonly #program: LoopProgram;
  readonly #fresh: readonly Argument[];
  readonly #arguments: readonly Argument[];
  /** What a run left that was verified. */
  #verified: readonly Argument[] | null = null;
  #right = true;

  constructor(program: LoopProgram) {
    this.#program = program;
    this.#fresh = program.inputs();
    this.#arguments = this.#fresh.map(copy);
  }

  /** Forgets that runs were wrong, as others are to come. */
  begin(): void {
    this.#right = true;
  }

  /** Whether every run was right so far. */
  get right(): boolean {
    return this.#right;
  }

  get iterations(): number {
    return this.#program.iterations;
  }

  /** Bytes of the arrays. */
  get bytes(): number {
    return this.#fresh.reduce<number>(
      (sum, each) => sum + (typeof each === "number" ? 0 : each.byteLength),
      0,
    );
  }

  /** The arguments as they are before a run; the same arrays each time. */
  next(): readonly Argument[] {
    for (const [n, argument] of this.#arguments.entries())
      if (typeof argument !== "number") argument.set(this.#fresh[n] as Exclude<Argument, number>);
    return this.#arguments;
  }

  /** Verifies what a run left, unless one that was right left the same bits, or one was wrong already. */
  check(): void {
    if (!this.#right) return;
    if (this.#verified?.every((before, n) => sameBits(before, this.#arguments[n]!))) return;
    this.#right = this.#program.verify(this.#arguments).ok;
    if (this.#right) this.#verified = this.#arguments.map(copy);
  }
}

const copy = (argument: Argument): Argument => (typeof argument === "number" ? argument : argument.slice());

function sameBits(a: Argument, b: Argument): boolean {
  if (typeof a === "number" || typeof b === "number") return a === b;
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(
    Buffer.from(b.buffer, b.byteOffset, b.byteLength),
  );
}
