import { functionsOf, reachableFrom } from "../analysis/callGraph.ts";
import type { FunctionDeclaration, Module } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { checkedVersionsOf, type Prepared } from "./prepare.ts";

/** A program on its way through the pipeline: each step takes it typed and leaves a valid module, which is typed again. */
export class ProgramSteps {
  #program: Program;
  readonly #entryPoints: ReadonlySet<string>;
  readonly #checked: (module: Module) => Program;

  constructor({ program, entryPoints }: Pick<Prepared, "program" | "entryPoints">) {
    this.#program = program;
    this.#entryPoints = entryPoints;
    this.#checked = checkedVersionsOf(program);
  }

  /** As the last step has left it. */
  get program(): Program {
    return this.#program;
  }

  take(module: Module): void {
    this.#program = this.#checked(module);
  }

  /** The protected entry points, or those of these names. */
  kernels(named: ReadonlySet<string> = this.#entryPoints): FunctionDeclaration[] {
    return functionsOf(this.#program).filter((fn) => named.has(fn.name));
  }

  /** The functions that run protected, or those that an entry point of this name reaches. */
  functions(entryPoint?: string): ReadonlySet<FunctionDeclaration> {
    return reachableFrom(
      this.#program,
      this.kernels(entryPoint === undefined ? undefined : new Set([entryPoint])),
    );
  }
}
