/**
 * A cut through a kernel that changes buffers in place. An invocation executes all its loads of
 * these buffers before the cut, and all its stores after it.
 */
import type { FunctionDeclaration, GlobalVariable, Statement } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, contains, walk } from "../wgsl/traverse.ts";
import { buffersInPlace, storageAccesses } from "./bindings.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction, isTextureStore } from "./effects.ts";

export interface LoadStoreFrontier {
  /**
   * The statements that follow the cut. An invocation reaches at most one of them, and only once.
   */
  readonly before: ReadonlySet<Statement>;
  /**
   * True if a whole workgroup has to reach the cut before one of its invocations passes it. The
   * reason is that invocations may store what others of the workgroup load. All of them then reach
   * the same cut, or none does.
   */
  readonly together: boolean;
}

/**
 * Returns the load/store frontier of a kernel that changes buffers in place, or undefined if none
 * is known. Requires access normal form.
 */
export function loadStoreFrontierIn(
  program: Program,
  kernel: FunctionDeclaration,
): LoadStoreFrontier | undefined {
  const search = new Search(program, kernel);
  const places = search.places(kernel.body.statements, true);
  if (!places?.length || (search.communicates && !places.every((place) => search.isUniform(place))))
    return undefined;
  return { before: new Set(places.map(({ list, at }) => list[at]!)), together: search.communicates };
}

/** A position in a list of statements: before the statement `list[at]`. */
interface Cut {
  readonly list: readonly Statement[];
  readonly at: number;
}

/** The built-in functions that order the accesses of a workgroup. */
const barriers = /Barrier$|^workgroupUniformLoad$/;
const subgroupOperations = /^(subgroup|quad)/;

class Search {
  readonly #program: Program;
  readonly #functions: ReadonlySet<FunctionDeclaration>;
  readonly #inPlace: ReadonlySet<GlobalVariable>;
  /**
   * True if invocations may learn how far others have come: through barriers or subgroup
   * operations.
   */
  readonly communicates: boolean;

  constructor(program: Program, kernel: FunctionDeclaration) {
    this.#program = program;
    this.#functions = reachableFrom(program, [kernel]);
    this.#inPlace = buffersInPlace(program, this.#functions);
    this.communicates = [...this.#functions].some(
      ({ body }) => this.#calls(body, barriers) || this.#calls(body, subgroupOperations),
    );
  }

  /**
   * Returns the cuts in a list or in its nested statements, or undefined if there are none.
   * `isOnly` is true if nothing else changes memory: a path around a cut then leads to no change.
   */
  places(list: readonly Statement[], isOnly: boolean): Cut[] | undefined {
    const changing = list.filter((statement) => this.#changes(statement));
    const [first] = changing;
    if (!first) return [];
    const at = list.indexOf(first);
    if (list.slice(at + 1).some((statement) => this.#loads(statement))) return undefined;
    return this.#loads(first) ? this.#placesInside(first, isOnly && changing.length === 1) : [{ list, at }];
  }

  /**
   * Returns the cuts in a statement that both loads and changes memory. A loop has none, because
   * its next iteration loads after the stores of this one.
   */
  #placesInside(statement: Statement, isOnly: boolean): Cut[] | undefined {
    if (statement.kind === "block") return this.places(statement.statements, isOnly);
    if (!isOnly) return undefined;
    if (statement.kind === "if") {
      const then = this.places(statement.then.statements, true);
      const otherwise = statement.otherwise ? this.places([statement.otherwise], true) : [];
      return then && otherwise && [...then, ...otherwise];
    }
    const callee = statement.kind === "callStatement" && this.#program.targetOf(statement.call.callee);
    return callee && callee.kind === "function" && this.#callsOf(callee) === 1
      ? this.places(callee.body.statements, true)
      : undefined;
  }

  /**
   * Returns true if all invocations of a workgroup reach a cut or none does, also for a WGSL
   * validator. This holds if the same list has a barrier, and no statement between the two returns.
   */
  isUniform({ list, at }: Cut): boolean {
    return list.some((statement, i) => {
      const between = i < at ? list.slice(i, at) : list.slice(at, i);
      return (
        [statement, ...this.#calledFrom(statement)].some((part) => this.#calls(bodyOf(part), barriers)) &&
        !between.some(returns)
      );
    });
  }

  /** Returns true for a plain load from a buffer that the kernel changes in place. */
  #loads(statement: Statement): boolean {
    const accesses = this.#accesses(statement, "plain");
    return [...accesses].some(([variable, access]) => access !== "write" && this.#inPlace.has(variable));
  }

  /**
   * Returns true for a change to memory that outlives the dispatch: storage buffers and textures.
   */
  #changes(statement: Statement): boolean {
    if ([...this.#accesses(statement, "all").values()].some((access) => access !== "read")) return true;
    return [statement, ...this.#calledFrom(statement)].some((part) =>
      contains(bodyOf(part), (node) => node.kind === "call" && isTextureStore(this.#program, node)),
    );
  }

  #accesses(statement: Statement, which: "all" | "plain") {
    return storageAccesses(this.#program, [{ body: statement }, ...this.#calledFrom(statement)], which);
  }

  #calledFrom(statement: Statement): ReadonlySet<FunctionDeclaration> {
    const called = new Set<FunctionDeclaration>();
    walk(statement, (node) => {
      const target = node.kind === "call" ? this.#program.targetOf(node.callee) : undefined;
      if (target?.kind === "function") called.add(target);
    });
    return reachableFrom(this.#program, called);
  }

  /** Returns the number of calls of a function in the kernel's source. */
  #callsOf(fn: FunctionDeclaration): number {
    let calls = 0;
    for (const { body } of this.#functions)
      walk(body, (node) => {
        if (node.kind === "call" && this.#program.targetOf(node.callee) === fn) calls++;
      });
    return calls;
  }

  #calls(part: AnyNode, names: RegExp): boolean {
    return contains(
      part,
      (node) => node.kind === "call" && names.test(builtinFunction(this.#program, node) ?? ""),
    );
  }
}

const bodyOf = (part: Statement | FunctionDeclaration): AnyNode =>
  part.kind === "function" ? part.body : part;

function returns(statement: Statement): boolean {
  return contains(statement, (node) => node.kind === "return");
}
