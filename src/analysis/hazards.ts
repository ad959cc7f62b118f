/** Where the two replicas of an invocation could disturb each other, because one stores what the other still loads. */
import type { Expression, FunctionDeclaration, GlobalVariable, Identifier } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, children, isExpression, walk } from "../wgsl/traverse.ts";
import type { AddressSpace } from "../wgsl/types.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, rootVariable } from "./places.ts";

/** The built-in functions after which all earlier accesses of a workgroup to a space are done. */
const barriers: ReadonlyMap<AddressSpace, readonly string[]> = new Map([
  ["workgroup", ["workgroupBarrier", "workgroupUniformLoad"]],
  ["storage", ["storageBarrier"]],
]);

/**
 * The variables that an invocation loads and stores without a barrier between, in either order. Where both replicas
 * access one copy of such a variable, a store of the first may come before a load of the second.
 */
export function hazardousVariables(
  program: Program,
  entryPoints: Iterable<FunctionDeclaration>,
): Set<GlobalVariable> {
  const hazards = new Set<GlobalVariable>();
  const functions = reachableFrom(program, entryPoints);
  for (const space of barriers.keys()) {
    const analysis = new HazardAnalysis(program, space, hazards);
    for (const fn of functions) analysis.ofFunction(fn);
  }
  return hazards;
}

type Variables = ReadonlySet<GlobalVariable>;

/** What a piece of code accesses, seen from both ends. */
interface Accesses {
  /** Before the first barrier, on some path. */
  readonly firstLoads: Variables;
  readonly firstStores: Variables;
  /** After the last barrier, on some path. */
  readonly lastLoads: Variables;
  readonly lastStores: Variables;
  readonly allLoads: Variables;
  readonly allStores: Variables;
  /** Some path has no barrier. */
  readonly open: boolean;
}

const none: Variables = new Set();
const nothing: Accesses = {
  firstLoads: none,
  firstStores: none,
  lastLoads: none,
  lastStores: none,
  allLoads: none,
  allStores: none,
  open: true,
};

class HazardAnalysis {
  readonly #program: Program;
  readonly #space: AddressSpace;
  readonly #hazards: Set<GlobalVariable>;
  readonly #functions = new Map<FunctionDeclaration, Accesses>();

  constructor(program: Program, space: AddressSpace, hazards: Set<GlobalVariable>) {
    this.#program = program;
    this.#space = space;
    this.#hazards = hazards;
  }

  ofFunction(fn: FunctionDeclaration): Accesses {
    const known = this.#functions.get(fn);
    if (known) return known;
    const accesses = leaving(fn.body, this.#of(fn.body));
    this.#functions.set(fn, accesses);
    return accesses;
  }

  #of(node: AnyNode): Accesses {
    if (isExpression(node)) return this.#ofExpression(node);
    switch (node.kind) {
      case "assign": {
        const value = this.#ofExpression(node.value);
        if (!node.target) return value;
        const operands = this.#then(this.#ofPlace(node.target), value);
        const loaded =
          node.operator === "=" ? operands : this.#then(this.#ofExpression(node.target), operands);
        return this.#then(loaded, this.#store(node.target));
      }
      case "increment":
        return this.#then(this.#ofExpression(node.target), this.#store(node.target));
      case "if": {
        const branches = either(this.#of(node.then), node.otherwise ? this.#of(node.otherwise) : nothing);
        return this.#then(this.#of(node.condition), branches);
      }
      case "switch": {
        const clauses = node.clauses.map((clause) => this.#of(clause.body));
        return this.#then(this.#of(node.selector), leaving(node, clauses.reduce(either)));
      }
      case "for":
      case "while":
      case "loop":
        return this.#ofLoop(node);
      default:
        return this.#inOrder(children(node));
    }
  }

  /** Any number of rounds: what a round leaves meets what the next one does. */
  #ofLoop(loop: Extract<AnyNode, { kind: "for" | "while" | "loop" }>): Accesses {
    const before = loop.kind === "for" && loop.initializer ? this.#of(loop.initializer) : nothing;
    const condition = loop.kind !== "loop" && loop.condition ? this.#of(loop.condition) : nothing;
    const after = [
      loop.kind === "for" && loop.update,
      loop.kind === "loop" && loop.continuing,
      loop.kind === "loop" && loop.breakIf,
    ];
    // A `continue` may go on from anywhere in the body.
    const body = leaving(loop.body, this.#of(loop.body));
    const end = this.#inOrder(after.filter((node) => node !== false && node !== null));
    const rounds = leaving(loop, this.#then(condition, this.#then(body, end)));
    this.#then(rounds, rounds);
    return this.#then(before, this.#then({ ...rounds, open: true }, condition));
  }

  #ofExpression(expression: Expression): Accesses {
    if (expression.kind === "identifier") return this.#load(expression);
    if (expression.kind !== "call") return this.#inOrder(children(expression));
    const operation = builtinFunction(this.#program, expression);
    if (operation && barriers.get(this.#space)?.includes(operation)) {
      return this.#then(this.#inOrder(expression.args), { ...nothing, open: false });
    }
    const [first, ...others] = expression.args;
    if (first && (operation === "arrayLength" || operation?.startsWith("atomic"))) {
      return this.#then(this.#ofPlace(first), this.#inOrder(others));
    }
    const target = this.#program.targetOf(expression.callee);
    const called = target?.kind === "function" ? this.ofFunction(target) : nothing;
    return this.#then(this.#inOrder(expression.args), called);
  }

  /** What the indices of a place load; the place itself is not loaded. */
  #ofPlace(place: Expression): Accesses {
    if (place.kind === "identifier") return nothing;
    if (place.kind !== "index") return this.#inOrder(children(place), (child) => this.#ofPlace(child));
    return this.#then(this.#ofPlace(place.base), this.#ofExpression(place.index));
  }

  #load(identifier: Identifier): Accesses {
    const target = this.#program.targetOf(identifier);
    if (target?.kind !== "globalVariable" || addressSpaceOf(target) !== this.#space) return nothing;
    const loads = new Set([target]);
    return { ...nothing, firstLoads: loads, lastLoads: loads, allLoads: loads };
  }

  #store(place: Expression): Accesses {
    const variable = rootVariable(this.#program, place)?.variable;
    if (!variable || addressSpaceOf(variable) !== this.#space) return nothing;
    const stores = new Set([variable]);
    return { ...nothing, firstStores: stores, lastStores: stores, allStores: stores };
  }

  #inOrder(nodes: readonly AnyNode[], of = (node: Expression) => this.#of(node)): Accesses {
    return nodes.reduce<Accesses>((before, node) => this.#then(before, of(node as Expression)), nothing);
  }

  #then(a: Accesses, b: Accesses): Accesses {
    for (const variable of a.lastLoads) if (b.firstStores.has(variable)) this.#hazards.add(variable);
    for (const variable of a.lastStores) if (b.firstLoads.has(variable)) this.#hazards.add(variable);
    return {
      firstLoads: a.open ? union(a.firstLoads, b.firstLoads) : a.firstLoads,
      firstStores: a.open ? union(a.firstStores, b.firstStores) : a.firstStores,
      lastLoads: b.open ? union(a.lastLoads, b.lastLoads) : b.lastLoads,
      lastStores: b.open ? union(a.lastStores, b.lastStores) : b.lastStores,
      allLoads: union(a.allLoads, b.allLoads),
      allStores: union(a.allStores, b.allStores),
      open: a.open && b.open,
    };
  }
}

function either(a: Accesses, b: Accesses): Accesses {
  return {
    firstLoads: union(a.firstLoads, b.firstLoads),
    firstStores: union(a.firstStores, b.firstStores),
    lastLoads: union(a.lastLoads, b.lastLoads),
    lastStores: union(a.lastStores, b.lastStores),
    allLoads: union(a.allLoads, b.allLoads),
    allStores: union(a.allStores, b.allStores),
    open: a.open || b.open,
  };
}

/** The accesses of a construct that a jump may leave or repeat in the middle: any of them may then be its last. */
function leaving(construct: AnyNode, accesses: Accesses): Accesses {
  let jumps = false;
  walk(construct, (node) => {
    if (node.kind === "break" || node.kind === "continue" || node.kind === "return") jumps = true;
  });
  return jumps
    ? { ...accesses, lastLoads: accesses.allLoads, lastStores: accesses.allStores, open: true }
    : accesses;
}

function union(a: Variables, b: Variables): Variables {
  if (a.size === 0) return b;
  return b.size === 0 ? a : new Set([...a, ...b]);
}
