/** Finds the bytes that dispatches fill, from the sources of their kernels. */
import { functionsOf, stageOf } from "../analysis/callGraph.ts";
import { type FilledRange, filledBytes, type KnownDispatch } from "../analysis/filledBytes/filledBytes.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { withConstants } from "./overrides.ts";
import { resolvedSource } from "./resolvedSource.ts";

export type { FilledRange, KnownDispatch } from "../analysis/filledBytes/filledBytes.ts";

/** The entry point of a pipeline. */
export interface KernelSource {
  readonly source: string;
  /** Absent if the module has one compute entry point only. */
  readonly entryPoint: string | undefined;
  /** The values of overrides. */
  readonly constants: Readonly<Record<string, number>>;
  /** The label of the pipeline. */
  readonly label?: string;
}

interface Kernel {
  readonly program: Program;
  readonly declaration: FunctionDeclaration;
}

/** The most kernels whose programs are kept. */
const KEPT_KERNELS = 8;

export class FilledBytesFinder {
  /** The programs of the kernels that were asked for last, the latest one at the end. */
  readonly #kernels = new Map<KernelSource, Kernel | undefined>();

  /** Returns the ranges of bindings that a dispatch fills; none for a module with errors. */
  find(kernel: KernelSource, dispatch: KnownDispatch): readonly FilledRange[] {
    const known = this.#kernels.has(kernel) ? this.#kernels.get(kernel) : read(kernel);
    this.#kernels.delete(kernel);
    this.#kernels.set(kernel, known);
    for (const [oldest] of this.#kernels) if (this.#kernels.size > KEPT_KERNELS) this.#kernels.delete(oldest);
    return known ? filledBytes(known.program, known.declaration, dispatch) : [];
  }
}

function read({ source, entryPoint, constants }: KernelSource): Kernel | undefined {
  const resolved = resolvedSource(source);
  if ("diagnostics" in resolved) return undefined;
  const program = withConstants(resolved.program, constants);
  const declaration = functionsOf(program).find(
    (fn) => stageOf(fn) === "compute" && (entryPoint === undefined || fn.name === entryPoint),
  );
  return declaration && { program, declaration };
}
