/**
 * Where an invocation has loaded whatever it loads of the buffers that its kernel changes in place,
 * and has changed nothing yet.
 */
import type { FunctionDeclaration, GlobalVariable, Statement } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, walk } from "../wgsl/traverse.ts";
import { buffersInPlace, storageAccesses } from "./bindings.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction, isTextureStore } from "./effects.ts";

export interface Arrival {
  /** The statements that it stands before. An invocation comes to one of them at most, and once. */
  readonly before: ReadonlySet<Statement>;
  /**
   * Whether a workgroup has to arrive as a whole, as its invocations may store what others of them
   * have loaded. Then all of them come to that place, or none.
   */
  readonly together: boolean;
}

/**
 * The arrival of a kernel in access normal form that changes buffers in place; undefined where no
 * such place is known.
 */
export function arrivalIn(program: Program, kernel: FunctionDeclaration): Arrival | undefined {
  const search = new Search(program, kernel);
  const places = search.places(kernel.body.statements, true);
  if (!places?.length || (search.communicates && !places.every((place) => search.isUniform(place))))
    return undefined;
  return { before: new Set(places.map(({ list, at }) => list[at]!)), together: search.communicates };
}

/** A place in front of a statement of a list. */
interface Place {
  readonly list: readonly Statement[];
  readonly at: number;
}

/** What is before them in a workgroup happens before what is behind. */
const barriers = /Barrier$|^workgroupUniformLoad$/;
const subgroupOperations = /^(subgroup|quad)/;

class Search {
  readonly #program: Program;
  readonly #functions: ReadonlySet<FunctionDeclaration>;
  readonly #inPlace: ReadonlySet<GlobalVariable>;
  /** Whether its invocations may learn how far others have come. */
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
   * The places in a list, or in what it holds; undefined where there are none. `isOnly`: nothing is
   * changed elsewhere, so that a path around a place leads to no change.
   */
  places(list: readonly Statement[], isOnly: boolean): Place[] | undefined {
    const changing = list.filter((statement) => this.#changes(statement));
    const [first] = changing;
    if (!first) return [];
    const at = list.indexOf(first);
    if (list.slice(at + 1).some((statement) => this.#loads(statement))) return undefined;
    return this.#loads(first) ? this.#placesInside(first, isOnly && changing.length === 1) : [{ list, at }];
  }

  /**
   * The places in a statement that loads and changes; in no loop, whose turns follow each other.
   */
  #placesInside(statement: Statement, isOnly: boolean): Place[] | undefined {
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
   * Whether all invocations of a workgroup come to a place, or none, for a validator too: there is
   * a barrier in the list, and between the two none of them returns.
   */
  isUniform({ list, at }: Place): boolean {
    return list.some((statement, i) => {
      const between = i < at ? list.slice(i, at) : list.slice(at, i);
      return (
        [statement, ...this.#calledFrom(statement)].some((part) => this.#calls(bodyOf(part), barriers)) &&
        !between.some(returns)
      );
    });
  }

  /** Whether it loads from a buffer that is changed in place, other than by atomic operations. */
  #loads(statement: Statement): boolean {
    const accesses = this.#accesses(statement, "plain");
    return [...accesses].some(([variable, access]) => access !== "write" && this.#inPlace.has(variable));
  }

  /** Whether it changes anything that outlives the dispatch. */
  #changes(statement: Statement): boolean {
    if ([...this.#accesses(statement, "all").values()].some((access) => access !== "read")) return true;
    let stores = false;
    for (const part of [statement, ...this.#calledFrom(statement)])
      walk(bodyOf(part), (node) => {
        stores ||= node.kind === "call" && isTextureStore(this.#program, node);
      });
    return stores;
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

  /** How often a function is called in the text. */
  #callsOf(fn: FunctionDeclaration): number {
    let calls = 0;
    for (const { body } of this.#functions)
      walk(body, (node) => {
        if (node.kind === "call" && this.#program.targetOf(node.callee) === fn) calls++;
      });
    return calls;
  }

  #calls(part: AnyNode, names: RegExp): boolean {
    let found = false;
    walk(part, (node) => {
      found ||= node.kind === "call" && names.test(builtinFunction(this.#program, node) ?? "");
    });
    return found;
  }
}

const bodyOf = (part: Statement | FunctionDeclaration): AnyNode =>
  part.kind === "function" ? part.body : part;

function returns(statement: Statement): boolean {
  let found = false;
  walk(statement, (node) => {
    found ||= node.kind === "return";
  });
  return found;
}
