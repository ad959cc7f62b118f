/**
 * Lets whoever comes last of two replicas change what both load: by then, both have loaded. Nobody waits.
 *
 * Before:  let v = a[i];            a[i] = v + 1;
 * After:   let v = loaded_1(a[i]);  arrive(2);  a[i] = v + 1;      with comparison:  if (replica == 0) { a[i] = v + 1; }
 *          fn arrive(words: u32) { let before = atomicXor(&arrivals[words * pair + local / 32], 1 << local % 32);
 *                                  replica = u32(the bit was not set before); }
 *
 * Who comes last is the first replica from there on. A pair of invocations has a bit, which the first to come sets and the last one
 * clears again: no dispatch finds any set, whatever runs between. Neighbours that run together arrive with one operation, in whatever
 * groups they are, as each has a bit of its own that its local index names: that subgroups may be other ones in the other
 * replica, or have lost invocations, does no harm. Where invocations load what others of their workgroup store, behind
 * a barrier, a workgroup arrives as a whole.
 *
 * - A replica stores once its twin has arrived, which is once that has loaded: the operation's operand depends on the values
 *   loaded, in a way that no compiler can see through. (Without that, an NVIDIA driver loads behind the operation.) A value that is
 *   there can't change any more.
 * - WGSL itself promises no order between accesses of two workgroups to several words. Relied on is that no load is repeated
 *   behind an operation that needed it, and that lanes meet again behind a branch that one of them takes. Where it were
 *   not so, signatures would differ.
 * - Coverage: signatures are added with the sign that the replica's number decides last (cells.ts). If both store or neither
 *   does, because the bit was wrong or what became of it, the sum is not zero; a replica that stores too early
 *   gives its twin other values. One that never arrives lacks the arrival in its signature. Bits that a fault leaves set are
 *   cleared with the rest of the exchange, before work runs again.
 * - Where the host dispatches one replica after the other, nobody arrives (`in_turn`).
 *
 * Requires: access normal form, declareReport with `arrivals` and `pair`; kernels in which nothing is changed before the
 *           arrival (analysis/loadStoreFrontier.ts).
 * Ensures:  valid module; sets `replica`.   Order: before injectFaults, whose sites in the source stay as they were.
 */
import type { LoadStoreFrontier } from "../../analysis/loadStoreFrontier.ts";
import type { Declaration, FunctionDeclaration, Module, Statement } from "../../wgsl/ast.ts";
import { printStatement, printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapStatements } from "../../wgsl/traverse.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import type { Type } from "../../wgsl/types.ts";
import { mapAccesses } from "../shared/mapAccesses.ts";
import { mapFunctions } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";
import type { Comparison } from "./comparison/comparison.ts";

export interface LastArriverCommitOptions {
  readonly kernels: readonly {
    readonly functions: ReadonlySet<FunctionDeclaration>;
    /** The buffers that it changes in place: names of variables. */
    readonly inPlace: ReadonlySet<string>;
    readonly arrival: LoadStoreFrontier;
    /** Words of arrivals for each of its workgroups (`wordsOfWorkgroup`). */
    readonly words: number;
  }[];
  readonly comparison: Comparison;
  /** Whether signatures are compared. */
  readonly isCompared: boolean;
  /** Whether invocations arrive by subgroups. */
  readonly subgroups: boolean;
}

/**
 * Arrivals that a report has room for, in 32-bit words: for 32 pairs of invocations each, or a pair
 * of workgroups.
 */
export const arrivalWords = 2 ** 20;

/**
 * Workgroups of so many words that there is room for; without words, which is where nobody arrives,
 * none.
 */
export const mostArriving = (words: number | undefined): number =>
  words ? Math.floor(arrivalWords / words) : 0;

/** Bytes of workgroup memory of a workgroup that arrives as a whole. */
export const arrivalWorkgroupBytes = 4;

/** Words of arrivals for a workgroup of so many invocations. */
export const wordsOfWorkgroup = ({ together }: LoadStoreFrontier, invocations: number): number =>
  together ? 1 : Math.ceil(invocations / 32);

/**
 * The private variable that says whether the host dispatches one replica after the other, so that
 * nobody arrives.
 */
export const inTurnOf = (names: Names): string => names.the("in_turn");

export function lastArriverCommit(program: Program, names: Names, options: LastArriverCommitOptions): Module {
  const { kernels, comparison } = options;
  const loads = new Loads(names, comparison);
  const module = mapFunctions(program.module, (fn) => {
    const kernel = kernels.find(({ functions }) => functions.has(fn));
    if (!kernel) return fn;
    const { arrival, words, inPlace } = kernel;
    const arriving = ({ span }: Statement) =>
      quote(span).statements`${names.the(arrival.together ? "arrive_together" : "arrive")}(${words}u);`;
    const body = mapStatements(fn.body, (s) => (arrival.before.has(s) ? [...arriving(s), s] : s));
    const noted = mapAccesses(program, body, {
      selects: ({ name }) => inPlace.has(name),
      load: (place, original) =>
        quote(place.span).expression`${loads.functionFor(program.valueTypeOf(original))}(${place})`,
    });
    return { ...fn, body: noted };
  });
  const used = new Set(kernels.map(({ arrival }) => arrival.together));
  const added = quote().declarations`
    var<private> ${names.the("loaded")}: u32;
    var<private> ${inTurnOf(names)}: bool;
    ${[...used].map((together) => arrivalFunction(names, options, together)).join("\n")}`;
  return {
    ...module,
    declarations: [...module.declarations, ...added, ...loads.declarations, ...comparison.takeDeclarations()],
  };
}

/** The functions that take note of what is loaded, one for each type. */
class Loads {
  readonly #names: Names;
  readonly #comparison: Comparison;
  readonly #functions = new Map<string, { readonly name: string; readonly declarations: Declaration[] }>();

  constructor(names: Names, comparison: Comparison) {
    this.#names = names;
    this.#comparison = comparison;
  }

  get declarations(): Declaration[] {
    return [...this.#functions.values()].flatMap(({ declarations }) => declarations);
  }

  functionFor(type: Type): string {
    const text = printType(typeExpressionOf(type));
    const known = this.#functions.get(text);
    if (known) return known.name;
    const name = this.#names.fresh("loaded");
    const { expression, count } = this.#comparison.wordsOf("value", type);
    const all = ["words.x", "words.y", "words.z", "words.w"].slice(0, count);
    const declarations = quote().declarations`
      fn ${name}(value: ${text}) -> ${text} {
        let words = ${expression};
        ${this.#names.the("loaded")} ^= ${count === 1 ? "words" : all.join(" ^ ")};
        return value;
      }`;
    this.#functions.set(text, { name, declarations });
    return name;
  }
}

/** The function that has an invocation arrive, or all of a workgroup. */
function arrivalFunction(
  names: Names,
  { comparison, isCompared, subgroups }: LastArriverCommitOptions,
  together: boolean,
): string {
  const [replica, local, pair, loaded] = ["replica", "local", "pair", "loaded"].map((name) =>
    names.the(name),
  );
  const arrivals = `${names.the("report")}.arrivals`;
  const inTurn = inTurnOf(names);
  // No pair is beyond the arrivals, which no compiler knows.
  const isBeyond = `(${loaded} & (${pair} / ${arrivalWords}u)) != 0u`;
  const presented = { site: 0, address: null, words: null };
  const signed = isCompared ? comparison.foldIntoSignature(presented).map(printStatement).join("\n") : "";
  if (together) {
    const arrived = names.the("arrived");
    return `
    var<workgroup> ${arrived}: u32;
    fn ${names.the("arrive_together")}(words: u32) {
      ${signed}
      // Taken by nobody, but not before the loads are done.
      if (${isBeyond}) { ${arrived} = 1u; }
      storageBarrier();
      if (${local} == 0u) {
        if (${inTurn}) { ${arrived} = 1u - ${replica}; } else { ${arrived} = atomicXor(&${arrivals}[words * ${pair}], 1u); }
      }
      ${replica} = u32(workgroupUniformLoad(&${arrived}) == 0u);
    }`;
  }
  const alone = `before = atomicXor(&${arrivals}[word], select(bit, 0u, is_beyond));`;
  const bySubgroup = `
    if (subgroupAll(word == subgroupBroadcastFirst(word))) {
      let bits = select(subgroupOr(bit), 0u, subgroupAny(is_beyond));
      if (subgroupElect()) { before = atomicXor(&${arrivals}[word], bits); }
      before = subgroupBroadcastFirst(before);
    } else {
      ${alone}
    }`;
  return `
    fn ${names.the("arrive")}(words: u32) {
      ${signed}
      if (${inTurn}) { return; }
      let word = words * ${pair} + ${local} / 32u;
      let bit = 1u << (${local} % 32u);
      let is_beyond = ${isBeyond};
      var before: u32;
      ${subgroups ? bySubgroup : alone}
      ${replica} = u32((before & bit) == 0u);
    }`;
}
