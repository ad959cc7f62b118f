/**
 * Adds the comparison of all outputs that leave the sphere of replication: before each store
 * (`store`), or once at the end (`signature`).
 *
 * Before:   out[i] = v;
 * After:    check "store":
 *             if (agree(site, 4 * i, words(v))) { if (replica == 0) { out[i] = v; } }
 *           check "signature":
 *             signature = fold(signature, site, 4 * i, words(v));
 *             if (replica == 0) { out[i] = v; }
 *           at the end of the entry point:
 *             conclude(site);
 *
 * `conclude` compares the signatures, and the tallies of what each replica stored (tally.ts).
 *
 * If a kernel loads a variable that it stores, without a barrier between them, neither replica may
 * store before the other has loaded. The replicas then agree before the store, on the value or on
 * the signature so far, and both store. A detected fault is recorded and its store is suppressed.
 * Control flow continues, so that no barrier is skipped.
 *
 * Requires: access normal form, replicateInvocations.
 * Ensures:  a valid module.
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
import type { Words } from "./comparison/valueWords.ts";
import type { CheckSites } from "./reportBuffer.ts";

/** The outputs to compare, and the way to compare them. */
export interface CompareStoresOptions {
  readonly check: "store" | "signature";
  readonly comparison: Comparison;
  readonly sites: CheckSites;
  /** The functions that run replicated. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
  /** The names of the entry points among `functions`. */
  readonly entryPoints: ReadonlySet<string>;
  /**
   * Returns true for workgroup variables with a copy per replica. Stores to them stay inside the
   * sphere of replication.
   */
  readonly isReplicated: (variable: GlobalVariable) => boolean;
  /**
   * Returns true for buffers of which the second replica has a copy. Stores to both copies are
   * compared. Default: false for all.
   */
  readonly isShadowed?: (variable: GlobalVariable) => boolean;
  /**
   * True if replicas may wait for each other. They must if one of them changes in place what both
   * load. Default true.
   */
  readonly mayWait?: boolean;
}

/** Returns the module that compares its outputs. */
export function compareStores(program: Program, names: Names, options: CompareStoresOptions): Module {
  const transform = new StoreComparison(program, names, options);
  const module = mapBodies(program.module, (body, fn) =>
    options.functions.has(fn) ? transform.body(body, fn) : body,
  );
  return withDeclarations(module, options.comparison.takeDeclarations());
}

/** A store that leaves the invocation. */
interface Output {
  readonly kind: "store" | "textureStore";
  /** The name of the variable or parameter that is written. */
  readonly name: string;
  /**
   * The replicas that store: one of them; both, each to its own copy; or both to one copy, after
   * each is ready.
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
  /** True if the kernel loads textures that it may also store. */
  readonly #loadsInPlace: boolean;
  /**
   * The names of functions that certainly present an output, except after an early return. Callees
   * come before callers.
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

  /**
   * Returns true if a statement certainly runs one of `presenting`, except after an early return.
   */
  #presents(statement: Statement, presenting: ReadonlySet<Statement>): boolean {
    if (statement.kind === "block")
      return statement.statements.some((inner) => this.#presents(inner, presenting));
    if (statement.kind === "loop") return this.#presents(statement.body, presenting);
    if (statement.kind === "callStatement" && this.#presenting.has(statement.call.callee.name)) return true;
    return presenting.has(statement);
  }

  /** Returns the statements that end an entry point. */
  #last(fn: FunctionDeclaration): Statement[] {
    const { check, comparison, sites } = this.#options;
    // The report stays bound without a comparison, because the host relies on its binding.
    if (comparison.uncompared) return comparison.uncompared.use(comparison, this.#names);
    if (check === "store" && !this.#isTallied()) return [];
    const site = sites.addSignature(fn);
    return comparison.conclude(site, fn.nameSpan, { alwaysPresents: this.#presenting.has(fn.name) });
  }

  /** Returns true if only one replica performs some store or atomic operation. */
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

  /** Returns the words of a stable expression, or null for a constant, which cannot differ. */
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
    if (comparison.uncompared) {
      if (stored !== "once") return [statement];
      const kept = comparison.uncompared.keep(comparison, address, words);
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
