/**
 * The facts about one version of a program on which several decisions rest. Each is computed once,
 * at its first use.
 */
import {
  type BindingAccess,
  bindingAccesses,
  buffersInPlace,
  storageAccesses,
} from "../analysis/bindings.ts";
import { functionsOf, reachableFrom, stageOf, variablesOf } from "../analysis/callGraph.ts";
import type { ConflictingAccesses } from "../analysis/conflictingAccesses.ts";
import { loadsAfterStores } from "../analysis/hazards.ts";
import type { MatrixAccess } from "../analysis/matrixAccesses.ts";
import {
  matricesAmongVectors,
  matrixOperations,
  type OpaqueAccess,
  stagedMatrices,
} from "../analysis/opaqueAccesses.ts";
import { orderDependentVariables } from "../analysis/orderDependentVariables.ts";
import { partlyReachedCalls } from "../analysis/partlyReached.ts";
import { type PlacedViews, placedViews } from "../analysis/placedViews.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import { type SubgroupUse, subgroupUses } from "../analysis/subgroupUses.ts";
import { knownWorkgroupSize } from "../analysis/workgroupSize.ts";
import type { CallExpression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import type { AccessMode } from "../wgsl/types.ts";

export class ProgramFacts {
  readonly program: Program;
  readonly #kernels: ReadonlyMap<string, KernelFacts>;
  #unplacedViews: PlacedViews["unplaced"] | undefined;
  #partlyReached: ReadonlySet<CallExpression> | undefined;

  constructor(program: Program) {
    this.program = program;
    const kernels = functionsOf(program).filter((fn) => stageOf(fn) === "compute");
    this.#kernels = new Map(kernels.map((fn) => [fn.name, new KernelFacts(program, fn)]));
  }

  /** The views of buffers that cannot become members of a variable. */
  get unplacedViews(): PlacedViews["unplaced"] {
    this.#unplacedViews ??= placedViews(this.program).unplaced;
    return this.#unplacedViews;
  }

  /** The calls that only some invocations of a workgroup may reach. */
  get partlyReached(): ReadonlySet<CallExpression> {
    this.#partlyReached ??= partlyReachedCalls(this.program);
    return this.#partlyReached;
  }

  /** Returns the compute entry points with these names, or all of them, in source order. */
  kernels(named?: ReadonlySet<string>): KernelFacts[] {
    return [...this.#kernels.values()].filter(({ name }) => named?.has(name) ?? true);
  }

  kernel(name: string): KernelFacts {
    return this.#kernels.get(name)!;
  }
}

/** The facts about one compute entry point. */
export class KernelFacts {
  readonly program: Program;
  readonly declaration: FunctionDeclaration;
  readonly #known = new Map<string, unknown>();

  constructor(program: Program, declaration: FunctionDeclaration) {
    this.program = program;
    this.declaration = declaration;
  }

  get name(): string {
    return this.declaration.name;
  }

  /**
   * The functions that the entry point reaches, including itself, each after those that it calls.
   */
  get functions(): ReadonlySet<FunctionDeclaration> {
    return this.#once("functions", () => reachableFrom(this.program, [this.declaration]));
  }

  /** The module-scope variables that these functions name. */
  get variables(): ReadonlySet<GlobalVariable> {
    return this.#once("variables", () => variablesOf(this.program, this.functions));
  }

  /** The number of storage buffers that the entry point uses. */
  get storageBuffers(): number {
    return [...this.variables].filter((variable) => addressSpaceOf(variable) === "storage").length;
  }

  /** The accesses to each bound resource. */
  get bindings(): readonly BindingAccess[] {
    return this.#once("bindings", () => bindingAccesses(this.program, this.declaration));
  }

  /** The accesses to storage buffers, including atomic operations. */
  get storageAccesses(): ReadonlyMap<GlobalVariable, AccessMode> {
    return this.#once("storageAccesses", () => storageAccesses(this.program, this.functions));
  }

  /** The storage buffers with both plain loads and plain stores. */
  get buffersInPlace(): ReadonlySet<GlobalVariable> {
    return this.#once("buffersInPlace", () => buffersInPlace(this.program, this.functions));
  }

  /** The first load after a store of each storage buffer. */
  get loadsAfterStores(): readonly ConflictingAccesses[] {
    return this.#once("loadsAfterStores", () => loadsAfterStores(this.program, this.declaration));
  }

  /** The workgroup variables for which the order of atomic operations matters. */
  get orderDependentVariables(): ReadonlySet<GlobalVariable> {
    return this.#once("orderDependentVariables", () =>
      orderDependentVariables(this.program, [this.declaration]),
    );
  }

  /** The operations on subgroup matrices. */
  get matrixOperations(): readonly OpaqueAccess[] {
    return this.#once("matrixOperations", () => matrixOperations(this.program, this.functions));
  }

  /** The accesses of subgroup matrices to buffers that go through workgroup memory. */
  get stagedMatrices(): readonly MatrixAccess[] {
    return this.#once("stagedMatrices", () => stagedMatrices(this.program, this.functions));
  }

  /** The accesses of subgroup matrices to arrays of vectors that other code names. */
  get matricesAmongVectors(): readonly MatrixAccess[] {
    return this.#once("matricesAmongVectors", () => matricesAmongVectors(this.program, this.functions));
  }

  /** The subgroup operations, and the uses of built-in values of subgroups. */
  get subgroupUses(): readonly SubgroupUse[] {
    return this.#once("subgroupUses", () => subgroupUses(this.program, this.functions));
  }

  /**
   * True if results depend on which invocations share a subgroup, so that an invocation must stay
   * on its lane.
   */
  get dependsOnLanes(): boolean {
    return this.subgroupUses.some(({ isShared }) => !isShared);
  }

  /** The invocations per workgroup, or undefined if an override decides. */
  get invocations(): number | undefined {
    return this.#once("invocations", () =>
      knownWorkgroupSize(this.program, this.declaration)?.reduce((product, size) => product * size),
    );
  }

  #once<Fact>(name: string, find: () => Fact): Fact {
    if (!this.#known.has(name)) this.#known.set(name, find());
    return this.#known.get(name) as Fact;
  }
}
