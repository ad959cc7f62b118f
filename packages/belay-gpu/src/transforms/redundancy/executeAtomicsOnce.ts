/**
 * Rewrites each atomic operation so that one replica executes it for both. The operands are
 * compared and the result is shared.
 *
 * Before:   let slot = atomicAdd(&count, n);
 * After:    _ = agree(site, words(n));
 *           var result: u32; if (leads) { result = atomicAdd(&count, n); }
 *           let slot = share(site, result);
 *
 * If one lane runs both replicas in two passes, the first pass executes all operations and keeps
 * their results in private variables.
 *
 * With `check: "signature"` the operands are folded into the signature instead. A disagreement
 * suppresses a store but not an atomic operation, whose result may decide whether a loop ends.
 *
 * Requires: access normal form, replicateInvocations.
 * Ensures:  a valid module.
 * Order:    before compareStores.
 * Source:   Wadden et al. 2014, section 10, names it as future work.
 */
import { addressOf } from "../../analysis/addresses.ts";
import { builtinFunction } from "../../analysis/effects.ts";
import { hazardousVariables } from "../../analysis/hazards.ts";
import { placeOf } from "../../analysis/places.ts";
import type {
  CallExpression,
  Declaration,
  Expression,
  FunctionDeclaration,
  GlobalVariable,
  Module,
  Statement,
} from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapStatements } from "../../wgsl/traverse.ts";
import { mapBodies, withDeclarations } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";
import type { Comparison } from "./comparison/comparison.ts";
import type { Words } from "./comparison/valueWords.ts";
import type { CheckSites } from "./reportBuffer.ts";
import { integerOf, SharedResults } from "./sharedResults.ts";

/** The atomic operations to execute once, and the way to compare their operands. */
export interface ExecuteAtomicsOnceOptions {
  readonly check: "store" | "signature";
  readonly comparison: Comparison;
  readonly sites: CheckSites;
  /** The functions that run replicated. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
  /**
   * Returns true for variables whose atomic operations both replicas execute: each replica has a
   * copy, or the operations change nothing.
   */
  readonly isReplicated: (variable: GlobalVariable) => boolean;
  /** True if replicas may wait for each other. Default true. */
  readonly mayWait?: boolean;
  /**
   * The most times that an invocation executes an operation whose result is used. Set if the first
   * of two passes on a lane executes all operations, and keeps their results for the second.
   * Default 0.
   */
  readonly keptResults?: number;
}

/** Returns the module whose atomic operations are executed once per pair. */
export function executeAtomicsOnce(
  program: Program,
  names: Names,
  options: ExecuteAtomicsOnceOptions,
): Module {
  const transform = new AtomicExecution(program, names, options);
  const module = mapBodies(program.module, (body, fn) =>
    options.functions.has(fn) ? mapStatements(body, (s) => transform.statement(s, fn.name)) : body,
  );
  return withDeclarations(module, transform.declarations);
}

class AtomicExecution {
  readonly #results: SharedResults;
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: ExecuteAtomicsOnceOptions;
  /** The cached answer of `#needsSyncPoint`, computed on first use. */
  #hasHazards: boolean | undefined;

  constructor(program: Program, names: Names, options: ExecuteAtomicsOnceOptions) {
    this.#program = program;
    this.#names = names;
    this.#options = options;
    this.#results = new SharedResults(program, names, options);
  }

  /**
   * True if both replicas perform some stores (compareStores). An atomic operation may publish such
   * stores.
   */
  get #needsSyncPoint(): boolean {
    const { functions, isReplicated, mayWait = true } = this.#options;
    const isShared = (v: GlobalVariable) => !this.#names.isGenerated(v.name) && !isReplicated(v);
    this.#hasHazards ??= mayWait && [...hazardousVariables(this.#program, functions)].some(isShared);
    return this.#hasHazards;
  }

  /** The declarations that the rewritten statements use. */
  get declarations(): Declaration[] {
    return [...this.#results.declarations, ...this.#options.comparison.takeDeclarations()];
  }

  statement(statement: Statement, functionName: string): Statement | Statement[] {
    if (statement.kind === "callStatement") {
      const compared = this.#compared(statement.call, functionName);
      if (!compared) return statement;
      const { check, comparison } = this.#options;
      const { statements } = quote(statement.span);
      // The operation may publish earlier stores, so both replicas store before it.
      const syncPoint =
        check === "signature" && !comparison.uncompared && this.#needsSyncPoint
          ? statements`_ = ${comparison.signaturesAgree(compared.site)};`
          : [];
      // No invocation waits for a result, so the second replica need not replace a missing first
      // one.
      return [...compared.statements, ...syncPoint, ...this.#results.once([statement])];
    }
    if (statement.kind !== "let" || statement.initializer.kind !== "call") return statement;
    const call = statement.initializer;
    const compared = this.#compared(call, functionName);
    if (!compared) return statement;
    const { site, statements } = compared;
    const { initializer, before } = this.#results.share(call, site);
    return [...statements, ...this.#synchronized(site), ...before, { ...statement, initializer }];
  }

  /**
   * Returns the statements that compare the operands of an atomic operation; undefined for any
   * other call.
   */
  #compared(
    call: CallExpression,
    functionName: string,
  ): { site: number; statements: Statement[] } | undefined {
    const operation = builtinFunction(this.#program, call);
    const [pointer, ...operands] = call.args;
    if (!operation?.startsWith("atomic") || pointer?.kind !== "unary") return undefined;
    const place = placeOf(this.#program, pointer.operand);
    const { check, comparison, sites, isReplicated } = this.#options;
    if (!place || this.#names.isGenerated(place.variable.name) || isReplicated(place.variable))
      return undefined;
    const address = addressOf(this.#program, place);
    const words = this.#operandWords(operands);
    const site = sites.add({
      kind: "atomic",
      span: call.span,
      functionName,
      name: place.variable.name,
      scalar: words?.scalar ?? "u32",
      components: words?.count ?? 0,
    });
    if (comparison.uncompared) return { site, statements: [] };
    const presented = { site, address, words };
    return check === "store"
      ? { site, statements: quote(call.span).statements`_ = ${comparison.agree(presented)};` }
      : { site, statements: comparison.foldIntoSignature(presented) };
  }

  /** Returns the words of the operands that can differ. Constants cannot. */
  #operandWords(operands: readonly Expression[]): Words | null {
    const { expression } = quote();
    const dynamic = operands.filter((operand) => this.#program.stageOf(operand) === "runtime");
    // The minimum and the maximum of two words have one operand.
    const [pair] = dynamic;
    if (pair && this.#program.valueTypeOf(pair).kind === "vector")
      return { expression: pair, count: 2, scalar: "u32" };
    const [first, second] = dynamic.map((operand) => expression`bitcast<u32>(${operand})`);
    if (!first) return null;
    const scalar = integerOf(this.#program, dynamic[0]!);
    return second
      ? { expression: expression`vec2<u32>(${first}, ${second})`, count: 2, scalar }
      : { expression: first, count: 1, scalar };
  }

  /**
   * Returns the agreement that some channels need before they share. A signature does not
   * synchronize the replicas.
   */
  #synchronized(site: number): Statement[] {
    const { check, comparison, keptResults = 0 } = this.#options;
    if (check === "store" || keptResults > 0 || !comparison.shareNeedsAgreement) return [];
    return quote().statements`_ = ${comparison.signaturesAgree(site)};`;
  }
}
