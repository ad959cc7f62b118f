/**
 * Compares what leaves the sphere of replication: each store, before it happens (`store`) or once at the end (`signature`).
 *
 * Before:  out[i] = v;
 * store:      if (agree(site, 4 * i, words(v))) { if (replica == 0) { out[i] = v; } }
 * signature:  signature = fold(signature, site, 4 * i, words(v));   if (replica == 0) { out[i] = v; }
 * and last in the entry point: conclude(site), which compares signatures, and what each replica has stored (tally.ts)
 *
 * Where a kernel loads what it stores, with no barrier between, one replica must not store before the other has
 * loaded. There the replicas agree before the store (on the value, or on the signature so far), and both store.
 * A detection is recorded and the store suppressed; control flow goes on, so no barrier is skipped.
 *
 * Requires: access normal form, replicateInvocations.   Ensures: valid module.
 * Order:    after executeAtomicsOnce, before replicateWorkgroupMemory.
 * Source:   Wadden et al. 2014, sections 6.2 (output comparison) and 6.3.
 */
import { addressOf, type PlaceAddress } from "../../analysis/addresses.ts";
import { isTextureInPlace, isTextureStore, textureLoadsInPlace } from "../../analysis/effects.ts";
import { hazardousVariables } from "../../analysis/hazards.ts";
import { isShared, placeOf, rootVariable } from "../../analysis/places.ts";
import type {
  Assignment,
  Block,
  CallStatement,
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
import { keepComputed, useComputed } from "./comparison/comparisonDisabled.ts";
import type { Words } from "./comparison/valueWords.ts";
import type { CheckSites } from "./reportBuffer.ts";

export interface CompareStoresOptions {
  readonly check: "store" | "signature" | "none";
  readonly comparison: Comparison;
  readonly sites: CheckSites;
  /** The functions that run replicated, and the names of their entry points. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
  readonly entryPoints: ReadonlySet<string>;
  /** True for workgroup variables that get a copy per replica: stores to them stay inside. */
  readonly isReplicated: (variable: GlobalVariable) => boolean;
  /**
   * True for buffers of which the second replica gets a copy that is compared all the same.
   * Default: for none.
   */
  readonly isShadowed?: (variable: GlobalVariable) => boolean;
  /**
   * Whether replicas may wait for each other, as they must where one changes in place what both
   * load. Default true.
   */
  readonly mayWait?: boolean;
}

export function compareStores(program: Program, names: Names, options: CompareStoresOptions): Module {
  const transform = new StoreComparison(program, names, options);
  const module = mapBodies(program.module, (body, fn) =>
    options.functions.has(fn) ? transform.body(body, fn) : body,
  );
  return withDeclarations(module, options.comparison.takeDeclarations());
}

/** What leaves the invocation. */
interface Output {
  readonly kind: "store" | "textureStore";
  /** The variable or parameter that is written. */
  readonly name: string;
  /**
   * One replica stores it, or both must, and where they have one copy, neither before the other is
   * ready.
   */
  readonly stored: "once" | "twice" | "twice, together";
  readonly address: PlaceAddress | null;
  readonly words: Words | null;
}

class StoreComparison {
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: CompareStoresOptions;
  readonly #hazards: ReadonlySet<GlobalVariable>;
  /** True when textures that can be stored are loaded. */
  readonly #loadsInPlace: boolean;
  /**
   * Names of the functions seen so far that present something whatever way they take, but for early
   * returns.
   */
  readonly #presenting = new Set<string>();

  constructor(program: Program, names: Names, options: CompareStoresOptions) {
    this.#program = program;
    this.#names = names;
    this.#options = options;
    const entryPoints = [...options.functions].filter((fn) => options.entryPoints.has(fn.name));
    this.#hazards = options.mayWait === false ? new Set() : hazardousVariables(program, entryPoints);
    const loads = [...options.functions].flatMap((fn) => textureLoadsInPlace(program, fn.body));
    this.#loadsInPlace = loads.length > 0;
  }

  body(body: Block, fn: FunctionDeclaration): Block {
    const presenting = new Set<Statement>();
    const compared = mapStatements(body, (statement) => {
      const output = this.#output(statement);
      if (!output) return statement;
      presenting.add(statement);
      return this.#compared(statement, output, fn.name);
    });
    if (this.#presents(body, presenting)) this.#presenting.add(fn.name);
    const last = this.#options.entryPoints.has(fn.name) ? this.#last(fn) : [];
    return last.length === 0 ? compared : { ...compared, statements: [...compared.statements, ...last] };
  }

  /** Whether some statement that presents something is sure to run, but for early returns. */
  #presents(statement: Statement, presenting: ReadonlySet<Statement>): boolean {
    if (statement.kind === "block")
      return statement.statements.some((inner) => this.#presents(inner, presenting));
    if (statement.kind === "loop") return this.#presents(statement.body, presenting);
    if (statement.kind === "callStatement" && this.#presenting.has(statement.call.callee.name)) return true;
    return presenting.has(statement);
  }

  /** What ends an entry point. */
  #last(fn: FunctionDeclaration): Statement[] {
    const { check, comparison, sites } = this.#options;
    if (check === "store" && !this.#isTallied()) return [];
    // Without a comparison the report is bound all the same: whoever dispatches the kernel relies
    // on it.
    if (check === "none") return useComputed(comparison, this.#names);
    const site = sites.add({
      kind: "signature",
      span: fn.nameSpan,
      functionName: fn.name,
      name: fn.name,
      scalar: "hash",
      components: 1,
    });
    return comparison.conclude(site, fn.nameSpan, { alwaysPresents: this.#presenting.has(fn.name) });
  }

  /** Whether some store or atomic operation is left to one of the replicas. */
  #isTallied(): boolean {
    const { functions, comparison } = this.#options;
    let isTallied = comparison.isTallied;
    for (const { body } of functions)
      mapStatements(body, (statement) => {
        const output = this.#output(statement);
        isTallied ||= output !== undefined && output.stored !== "twice, together";
        return statement;
      });
    return isTallied;
  }

  #output(statement: Statement): Output | undefined {
    if (statement.kind === "assign") return this.#storeOutput(statement);
    return statement.kind === "callStatement" ? this.#textureOutput(statement) : undefined;
  }

  #storeOutput({ target, value }: Assignment): Output | undefined {
    const root = target && rootVariable(this.#program, target);
    const place = root && placeOf(this.#program, target);
    if (!place || !isShared(place.space)) return undefined;
    const { variable } = place;
    if (this.#names.isGenerated(variable.name) || this.#options.isReplicated(variable)) return undefined;
    return {
      kind: "store",
      name: variable.name,
      stored: this.#options.isShadowed?.(variable)
        ? "twice"
        : this.#hazards.has(variable)
          ? "twice, together"
          : "once",
      address: addressOf(this.#program, place),
      words: this.#wordsOf(value),
    };
  }

  #textureOutput({ call }: CallStatement): Output | undefined {
    if (!isTextureStore(this.#program, call)) return undefined;
    const [texture, ...coordinates] = call.args;
    const value = coordinates.pop();
    if (texture?.kind !== "identifier" || !value) throw new Error("textureStore takes a texture and a value");
    let hash: Expression | undefined;
    for (const coordinate of coordinates) {
      const words = this.#wordsOf(coordinate);
      if (words) hash = this.#options.comparison.fold(hash ?? quote().expression`0u`, words);
    }
    return {
      kind: "textureStore",
      name: texture.name,
      stored: this.#loadsInPlace && isTextureInPlace(this.#program, call) ? "twice, together" : "once",
      address: hash ? { expression: hash, indices: [hash] } : null,
      words: this.#wordsOf(value),
    };
  }

  /** The words of a stable expression, or null for a constant, which can't differ. */
  #wordsOf(stable: Expression): Words | null {
    if (this.#program.stageOf(stable) !== "runtime") return null;
    const target = stable.kind === "identifier" ? this.#program.targetOf(stable) : undefined;
    if (stable.kind !== "identifier" || (target?.kind !== "let" && target?.kind !== "parameter"))
      throw new Error("an output is a constant, a let or a parameter");
    if (target.kind === "let" && this.#program.stageOf(target.initializer) !== "runtime") return null;
    return this.#options.comparison.wordsOf(stable.name, this.#program.valueTypeOf(stable));
  }

  #compared(statement: Statement, output: Output, functionName: string): Statement[] {
    const { kind, name, stored, address, words } = output;
    const { check, comparison, sites } = this.#options;
    if (check === "none") {
      if (stored !== "once") return [statement];
      const kept = keepComputed(comparison, address, words);
      return [...kept, ...comparison.inFirst([statement])];
    }
    const bySignature = check === "signature";
    const site = sites.add({
      kind,
      span: statement.span,
      functionName,
      name,
      scalar: bySignature ? "hash" : (words?.scalar ?? "u32"),
      components: bySignature ? 1 : (words?.count ?? 0),
    });
    const { statements } = quote(statement.span);
    if (bySignature) {
      const folded = comparison.foldIntoSignature({ site, address, words });
      if (stored === "twice") return [...folded, statement];
      if (stored === "once") return [...folded, ...comparison.inFirst([statement])];
      return [...folded, ...statements`if (${comparison.signaturesAgree(site)}) { ${statement} }`];
    }
    const agreed = stored === "once" ? comparison.inFirst([statement]) : [statement];
    return statements`if (${comparison.agree({ site, address, words })}) { ${agreed} }`;
  }
}
