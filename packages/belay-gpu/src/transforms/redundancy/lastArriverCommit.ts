/**
 * Rewrites kernels that change buffers in place so that the replica that arrives second stores.
 * Both replicas have loaded by then, and neither waits.
 *
 * Before:   let v = a[i];            a[i] = v + 1;
 * After:    let v = loaded_1(a[i]);  arrive(2);  a[i] = v + 1;
 *           with comparison:         arrive(2);  if (replica == 0) { a[i] = v + 1; }
 *           fn arrive(words: u32) {
 *             let before = atomicXor(&arrivals[words * pair + local / 32], 1 << local % 32);
 *             replica = u32(the bit was not set before);
 *           }
 *
 * From its arrival on, the last arriver counts as the first replica. Each pair of invocations has a
 * bit. The first arriver sets the bit and the last one clears it, so every dispatch finds all bits
 * clear.
 *
 * Neighboring lanes arrive with one operation, in whatever subgroups they are. The local index
 * selects an invocation's bit. Subgroups may therefore be composed differently in the two replicas,
 * or have lost invocations. In a kernel with barriers or subgroup operations, an invocation may
 * store what another one of its workgroup has still to load. There a workgroup arrives as a whole.
 *
 * - A replica stores after its twin has arrived, and a twin arrives after its loads. The operand of
 *   the atomic operation depends on the loaded values in a way that no compiler can simplify.
 *   Without this dependence an NVIDIA driver moves loads after the operation.
 * - WGSL promises no order between accesses of two workgroups to several words. This transform
 *   relies on two properties: no load is repeated after an operation that needed its value, and
 *   lanes reconverge after a branch that one of them takes. If either failed, signatures would
 *   differ.
 * - Coverage: the sign of a signature follows the replica's number at the end (cells.ts). If a
 *   fault makes both replicas store, or neither, the sum is not zero. A replica that stores too
 *   early changes the values that its twin loads. A replica that never arrives lacks the arrival in
 *   its signature. Bits that a fault leaves set are cleared with the rest of the exchange before
 *   re-execution.
 * - If the host dispatches the replicas one after the other, no invocation arrives (`sequential`).
 *
 * Requires: access normal form; declareReport with `arrivals` and `pairs`; kernels that change
 *           nothing before the arrival (analysis/loadStoreFrontier.ts).
 * Ensures:  a valid module that sets `replica`.
 * Order:    before injectFaults. The fault sites of the source stay as they were.
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

/** The kernels to rewrite, and the comparison that they use. */
export interface LastArriverCommitOptions {
  readonly kernels: readonly {
    readonly functions: ReadonlySet<FunctionDeclaration>;
    /** The names of the buffers that the kernel changes in place. */
    readonly inPlace: ReadonlySet<string>;
    readonly arrival: LoadStoreFrontier;
    /** The words of arrivals of one workgroup (`wordsOfWorkgroup`). */
    readonly words: number;
  }[];
  readonly comparison: Comparison;
  /** True if signatures are compared. */
  readonly isCompared: boolean;
  /** True if invocations arrive by subgroups. */
  readonly subgroups: boolean;
}

/**
 * The 32-bit words of arrivals in a report. A word holds 32 pairs of invocations, or one pair of
 * workgroups.
 */
export const arrivalWords = 2 ** 20;

/**
 * Returns the number of workgroups whose arrivals fit into a report: 0 for kernels without
 * arrivals.
 */
export const mostArriving = (words: number | undefined): number =>
  words ? Math.floor(arrivalWords / words) : 0;

/** The bytes of workgroup memory that a workgroup needs to arrive as a whole. */
export const arrivalWorkgroupBytes = 4;

/** Returns the words of arrivals of a workgroup of `invocations` invocations. */
export const wordsOfWorkgroup = ({ together }: LoadStoreFrontier, invocations: number): number =>
  together ? 1 : Math.ceil(invocations / 32);

/**
 * Returns the name of the private variable that is true if the host dispatches one replica after
 * the other.
 */
export const sequentialReplicasOf = (names: Names): string => names.the("sequential");

/** Returns the module whose kernels commit by the last arriver. */
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
    var<private> ${sequentialReplicasOf(names)}: bool;
    ${[...used].map((together) => arrivalFunction(names, options, together)).join("\n")}`;
  return {
    ...module,
    declarations: [...module.declarations, ...added, ...loads.declarations, ...comparison.takeDeclarations()],
  };
}

/**
 * The functions that collect loaded values, one per type. They make the arrival depend on the
 * loads.
 */
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

/** Returns the function by which one invocation arrives or, with `together`, a whole workgroup. */
function arrivalFunction(
  names: Names,
  { comparison, isCompared, subgroups }: LastArriverCommitOptions,
  together: boolean,
): string {
  const [replica, local, pair, loaded] = ["replica", "local", "pair", "loaded"].map((name) =>
    names.the(name),
  );
  const arrivals = `${names.the("report")}.arrivals`;
  const sequentialReplicas = sequentialReplicasOf(names);
  // No pair is beyond the arrivals, but no compiler knows it.
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
        if (${sequentialReplicas}) { ${arrived} = 1u - ${replica}; } else { ${arrived} = atomicXor(&${arrivals}[words * ${pair}], 1u); }
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
      if (${sequentialReplicas}) { return; }
      let word = words * ${pair} + ${local} / 32u;
      let bit = 1u << (${local} % 32u);
      let is_beyond = ${isBeyond};
      var before: u32;
      ${subgroups ? bySubgroup : alone}
      ${replica} = u32((before & bit) == 0u);
    }`;
}
