/** The loops in C: the time that a native program takes to run them in order. */
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Argument } from "./loopProgram.ts";

/** The folder of the C sources, which a build does not copy. */
const sources = fileURLToPath(new URL("../../../src/workloads/loops/c/", import.meta.url));

const compiler = process.env.CC ?? "gcc";
const flags = ["-std=gnu11", "-O3"];

/** Returns the compiler and its flags in words, or null when there is no compiler. */
export function describeCompiler(): string | null {
  try {
    const [version] = execFileSync(compiler, ["--version"], { encoding: "utf8" }).split("\n");
    return `${version} ${flags.join(" ")} -march=native`;
  } catch {
    return null;
  }
}

/**
 * Builds the C version of a loop in a directory, unless it is there, and returns the program's
 * path. It is for this machine's processor. Throws when there is no compiler, which `CC` may name.
 */
export function compileLoop(name: string, directory: string): string {
  const program = join(directory, name);
  if (existsSync(program)) return program;
  const files = [join(sources, `${name}.c`), join(sources, "driver.c")];
  execFileSync(compiler, [...flags, "-march=native", ...files, "-lm", "-o", program]);
  return program;
}

export interface CompiledRun {
  /** The seconds of each repetition. */
  readonly seconds: readonly number[];
  /** The arguments after the last repetition. */
  readonly left: Argument[];
}

/**
 * Runs a program of `compileLoop`, each repetition with the same arguments. Runs fewer repetitions,
 * but at least three, if they take longer than `seconds`. Writes the program's files beside it.
 */
export function runCompiled(
  program: string,
  parameters: readonly Argument[],
  repetitions: number,
  seconds = 3600,
): CompiledRun {
  const [input, output] = [`${program}.in`, `${program}.out`] as const;
  const file = openSync(input, "w");
  for (const piece of [words(BigUint64Array.of(BigInt(parameters.length))), ...parameters.flatMap(encode)])
    writeFileSync(file, piece);
  closeSync(file);
  const printed = execFileSync(program, [input, output, String(repetitions), String(seconds)], {
    encoding: "utf8",
  });
  return {
    seconds: printed.trim().split("\n").map(Number),
    left: decode(readFileSync(output), parameters),
  };
}

const words = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

function encode(parameter: Argument): Buffer[] {
  if (typeof parameter === "number") return [words(Float64Array.of(0, parameter))];
  const length = words(BigUint64Array.of(BigInt(parameter.byteLength)));
  return [length, words(parameter), Buffer.alloc(-parameter.byteLength & 7)];
}

/** Returns the arguments in a file; `like` has their types. */
function decode(file: Buffer, like: readonly Argument[]): Argument[] {
  let at = 8;
  return like.map((parameter) => {
    const bytes = Number(file.readBigUInt64LE(at));
    const start = at + 8;
    at = start + (bytes === 0 ? 8 : bytes + (-bytes & 7));
    if (typeof parameter === "number") return file.readDoubleLE(start);
    const Elements = parameter.constructor as new (
      from: ArrayBufferLike,
      start: number,
      length: number,
    ) => Exclude<Argument, number>;
    return new Elements(file.buffer, file.byteOffset + start, parameter.length);
  });
}
