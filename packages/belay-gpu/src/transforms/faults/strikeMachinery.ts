/**
 * Adds fault sites to the code that redundancy and error-correcting codes added: registers, guards,
 * hashes, exchanges, indices of copies, check words.
 *
 * Before:   replica = in_index & 1;
 *           {
 *             let id = in_id.x >> 1;
 *             aim(); …
 *             if (replica == 0) { out[i] = v; tally += 2 * weight; }
 *             settle();
 *           }
 * After:    replica = in_index & 1;
 *           aim();
 *           replica = strike_u32(7, replica);
 *           {
 *             let id = strike_u32(8, in_id.x >> 1); …
 *             replica = strike_u32(9, replica);
 *             if (branch(10, replica == 0)) {
 *               if (!is_hit(13)) { out[strike_u32(11, i)] = strike_u32(12, v); }
 *               …
 *             }
 *           }
 *           settle();
 *
 * Each value, condition and statement that a transform added has a site. A register that outlives a
 * statement is struck again before each statement that reads it, as by a flip between definition
 * and use.
 *
 * - *The window* lies between comparison and store. It contains the operands of a store or atomic
 *   operation, which are struck again there, the operation itself, and all computations of codes in
 *   between. Functions that stores and other code call exist twice, so that each site is either in
 *   the window or not.
 * - Expressions that barriers depend on have no sites (injectFaults.ts). Neither has the code that
 *   records a disagreement, because it runs after a fault.
 *
 * Requires: injectFaults; `source`, the nodes of the program right after injectFaults.
 * Ensures:  a valid module.
 * Order:    last of all transforms.
 */
import { builtinFunction, isTextureStore } from "../../analysis/effects.ts";
import { isShared, placeOf } from "../../analysis/places.ts";
import { type Uniformity, uniformity } from "../../analysis/uniformity.ts";
import type {
  Block,
  CallExpression,
  Declaration,
  Expression,
  FunctionDeclaration,
  IfStatement,
  Module,
  Statement,
} from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, mapChildren, walk } from "../../wgsl/traverse.ts";
import type { Type } from "../../wgsl/types.ts";
import { withDeclarations } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";
import type { CampaignSite, FaultSites } from "./faultSites.ts";
import { componentsOf, isStrikeable, type Strikes } from "./strikes.ts";

/** The functions to strike, and the nodes that are the program's own. */
export interface StrikeMachineryOptions {
  readonly sites: FaultSites;
  readonly strikes: Strikes;
  /** The functions that run protected. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
  /** The names of the entry points among `functions`. */
  readonly entryPoints: ReadonlySet<string>;
  /** The nodes of the program before protection, with the sites of injectFaults. */
  readonly source: ReadonlySet<AnyNode>;
  /**
   * Returns true for the names of variables with a copy per replica. Stores to them stay inside the
   * sphere of replication.
   */
  readonly isReplicated: (variable: string) => boolean;
}

/** Returns all nodes of a module. */
export function nodesOf(module: Module): Set<AnyNode> {
  const nodes = new Set<AnyNode>();
  walk(module, (node) => nodes.add(node));
  return nodes;
}

/** Returns the module with fault sites in added code. */
export function strikeMachinery(program: Program, names: Names, options: StrikeMachineryOptions): Module {
  const { sites, strikes } = options;
  const machinery = new Machinery(program, names, options);
  const declarations = program.module.declarations.map((declaration) =>
    declaration.kind === "function" && options.functions.has(declaration)
      ? machinery.function(declaration)
      : declaration,
  );
  const module = withDeclarations({ ...program.module, declarations }, machinery.inWindow());
  return strikes.declareIn(module, sites.all.length);
}

type Where = NonNullable<CampaignSite["machinery"]>;

class Machinery {
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: StrikeMachineryOptions;
  readonly #uniform: Uniformity;
  readonly #functions: ReadonlyMap<string, FunctionDeclaration>;
  /** The names of functions that strike, or that run only after a fault. */
  readonly #left: RegExp;
  /** The versions of functions that stores call, by the names of the functions. */
  readonly #versions = new Map<string, { readonly name: string; made?: FunctionDeclaration }>();

  constructor(program: Program, names: Names, options: StrikeMachineryOptions) {
    this.#program = program;
    this.#names = names;
    this.#options = options;
    this.#uniform = uniformity(program);
    this.#functions = new Map([...options.functions].map((fn) => [fn.name, fn]));
    this.#left = new RegExp(
      `^${names.the("")}(aim|settle|is_hit|is_hit_in|is_spent|branch|strike_.*|record|wait_ran_out)$`,
    );
  }

  function(fn: FunctionDeclaration): FunctionDeclaration {
    if (this.#left.test(fn.name)) return fn;
    const body = this.#block(fn.body, "inside", fn);
    return { ...fn, body: this.#options.entryPoints.has(fn.name) ? this.#aimed(body) : body };
  }

  /**
   * Returns the versions of functions that stores have called, and of the functions that these
   * call.
   */
  inWindow(): Declaration[] {
    for (const [name, version] of this.#versions) {
      const fn = this.#functions.get(name)!;
      version.made ??= structuredClone({
        ...fn,
        name: version.name,
        body: this.#block(fn.body, "window", fn),
      });
    }
    return [...this.#versions.values()].map(({ made }) => made!);
  }

  /** Returns an entry point that aims after it has set its ids, and settles last. */
  #aimed(body: Block): Block {
    const n = (thing: string) => this.#names.the(thing);
    const calls = (s: Statement, thing: string) =>
      s.kind === "callStatement" && s.call.callee.name === n(thing);
    const { statements } = quote(body.span);
    const [aim, settle] = [statements`${n("aim")}();`, statements`${n("settle")}();`];
    const within = (block: Block): Block => {
      const at = block.statements.findIndex(
        (s) => s.kind === "block" && s.statements.some((inner) => calls(inner, "aim")),
      );
      const inner = block.statements[at];
      if (inner?.kind === "block") {
        const kept = inner.statements.filter((s) => !calls(s, "aim") && !calls(s, "settle"));
        return {
          ...block,
          statements: [
            ...block.statements.slice(0, at),
            ...aim,
            ...this.#struckFirst(body),
            { ...inner, statements: kept },
            ...block.statements.slice(at + 1),
            ...settle,
          ],
        };
      }
      return mapChildren(block, (child) =>
        child.kind === "block"
          ? within(child)
          : child.kind === "for"
            ? { ...child, body: within(child.body) }
            : child,
      );
    };
    const aimed = within(body);
    const isLast = aimed.statements.some((s) => calls(s, "aim"));
    return isLast ? aimed : { ...aimed, statements: [...aimed.statements, ...statements`${n("settle")}();`] };
  }

  /** Returns the statements that strike an invocation's ids before the kernel's body. */
  #struckFirst({ span }: Block): Statement[] {
    const known = ["replica", "local", "pair"].filter((thing) => this.#hasVariable(this.#names.the(thing)));
    return known.flatMap((thing) =>
      this.#struckRegister(this.#names.the(thing), word, "inside", { span, name: thing }),
    );
  }

  #hasVariable(name: string): boolean {
    return this.#program.module.declarations.some((d) => d.kind === "globalVariable" && d.name === name);
  }

  #struckRegister(
    name: string,
    type: Type,
    where: Where,
    at: Pick<FunctionDeclaration, "span" | "name">,
  ): Statement[] {
    if (!isStrikeable(type)) return [];
    const site = this.#site("value", componentsOf(type), where, at);
    const { statements, expression } = quote(at.span);
    return statements`${name} = ${this.#options.strikes.value(site, type, expression`${name}`)};`;
  }

  #site(
    kind: CampaignSite["kind"],
    components: number,
    machinery: Where,
    { span, name }: Pick<FunctionDeclaration, "span" | "name">,
  ): number {
    return this.#options.sites.add({ kind, uniform: false, span, functionName: name, components, machinery });
  }

  #block(block: Block, where: Where, fn: FunctionDeclaration): Block {
    return { ...block, statements: block.statements.flatMap((s) => this.#statement(s, where, fn)) };
  }

  #statement(s: Statement, where: Where, fn: FunctionDeclaration): Statement[] {
    const isAdded = where === "window" || !this.#options.source.has(s);
    const isAnchored = this.#uniform.uniformlyReached.has(s);
    const inBlock = (block: Block) => this.#block(block, where, fn);
    const condition = (e: Expression) => this.#condition(e, where, fn);
    const first = isAdded ? this.#registersOf(s, where, fn) : [];
    switch (s.kind) {
      case "block":
        return [inBlock(s)];
      case "if": {
        const [otherwise = null] = s.otherwise ? this.#statement(s.otherwise, where, fn) : [];
        const then = this.#isGuard(s) ? this.#guarded(s.then, fn) : inBlock(s.then);
        // No statement can stand before an `else if`.
        const struck = {
          ...s,
          condition: condition(s.condition),
          then,
          otherwise: otherwise as typeof s.otherwise,
        };
        return [...first, struck];
      }
      case "switch":
        return [...first, { ...s, clauses: s.clauses.map((c) => ({ ...c, body: inBlock(c.body) })) }];
      case "loop": {
        const continuing = s.continuing && inBlock(s.continuing);
        return [{ ...s, body: inBlock(s.body), continuing, breakIf: s.breakIf && condition(s.breakIf) }];
      }
      case "while":
        return [{ ...s, condition: condition(s.condition), body: inBlock(s.body) }];
      case "for":
        return [{ ...s, condition: s.condition && condition(s.condition), body: inBlock(s.body) }];
      case "let":
      case "var":
        if (!s.initializer || this.#uniform.variables.has(s)) return [s];
        return [...first, { ...s, initializer: this.#value(s.initializer, where, fn) }];
      case "return":
        return [...first, { ...s, value: s.value && this.#value(s.value, where, fn) }];
      case "assign": {
        if (isAnchored) return [s];
        const leaves = this.#isOutput(s.target);
        const at = leaves ? "window" : where;
        const target = s.target && this.#parts(s.target, at, fn);
        const struck = { ...s, target, value: this.#value(s.value, at, fn) };
        return [...first, ...this.#skippable(struck, at, isAdded || leaves, fn)];
      }
      case "callStatement": {
        if (isAnchored || this.#left.test(s.call.callee.name)) return [s];
        const leaves = this.#isOutputCall(s.call);
        const at = leaves ? "window" : where;
        const call = this.#parts(s.call, at, fn) as CallExpression;
        return [...first, ...this.#skippable({ ...s, call }, at, isAdded || leaves, fn)];
      }
      default:
        return [s];
    }
  }

  /** Returns true if an `if` is the guard of a store that transforms have added. */
  #isGuard({ then, condition }: IfStatement): boolean {
    const [tally, agree] = [this.#names.the("tally"), this.#names.the("agree")];
    const isAgreement = condition.kind === "call" && condition.callee.name.startsWith(agree);
    return (
      isAgreement ||
      then.statements.some(
        (s) =>
          s.kind === "assign" &&
          s.operator === "+=" &&
          s.target?.kind === "identifier" &&
          s.target.name === tally,
      )
    );
  }

  /**
   * Returns the statements under a guard, struck in the window. Those of the tally are struck
   * outside of it.
   */
  #guarded(block: Block, fn: FunctionDeclaration): Block {
    const accounts = new Set([this.#names.the("tally"), this.#names.the("weight")]);
    const statements = block.statements.flatMap((s) => {
      const isAccount = s.kind === "assign" && s.target?.kind === "identifier" && accounts.has(s.target.name);
      return this.#statement(s, isAccount || (s.kind === "if" && this.#isGuard(s)) ? "inside" : "window", fn);
    });
    return { ...block, statements };
  }

  /** Returns true if a store to the target leaves the sphere of replication. */
  #isOutput(target: Expression | null): boolean {
    const place = target && placeOf(this.#program, target);
    if (!place || !isShared(place.space)) return false;
    const { name } = place.variable;
    return !this.#names.isGenerated(name) && !this.#options.isReplicated(name);
  }

  #isOutputCall(call: CallExpression): boolean {
    if (isTextureStore(this.#program, call)) return true;
    const [pointer] = call.args;
    const isAtomic = builtinFunction(this.#program, call)?.startsWith("atomic") ?? false;
    return isAtomic && pointer?.kind === "unary" && this.#isOutput(pointer.operand);
  }

  /** Returns the statement, skipped if it is struck. */
  #skippable(s: Statement, where: Where, isStruck: boolean, fn: FunctionDeclaration): Statement[] {
    if (!isStruck) return [s];
    const site = this.#site("statement", 0, where, { span: s.span, name: fn.name });
    return [this.#options.strikes.statement(site, [s])];
  }

  /** Returns statements that strike the generated registers that a statement reads. */
  #registersOf(s: Statement, where: Where, fn: FunctionDeclaration): Statement[] {
    const read = new Map<string, Type>();
    const visit = (node: AnyNode): boolean => {
      if (node.kind === "block") return false;
      if (node.kind !== "identifier") return true;
      const target = this.#program.targetOf(node);
      const isVariable = target?.kind === "globalVariable" || target?.kind === "var";
      if (!isVariable || !this.#names.isGenerated(node.name) || this.#uniform.variables.has(target))
        return true;
      const isRegister =
        target.kind === "var" ||
        target.qualifiers.some((q) => q.kind === "identifier" && q.name === "private");
      if (isRegister) read.set(node.name, this.#program.declaredTypeOf(target));
      return true;
    };
    walk(s, visit);
    return [...read].flatMap(([name, type]) =>
      this.#struckRegister(name, type, where, { span: s.span, name: fn.name }),
    );
  }

  #condition(condition: Expression, where: Where, fn: FunctionDeclaration): Expression {
    const inner = this.#parts(condition, where, fn);
    if (!this.#isStruck(condition, where)) return inner;
    const site = this.#site("branch", 1, where, { span: condition.span, name: fn.name });
    return this.#options.strikes.condition(site, inner);
  }

  /** Returns an added value, struck as a whole and in its indices and arguments. */
  #value(value: Expression, where: Where, fn: FunctionDeclaration): Expression {
    const inner = this.#parts(value, where, fn);
    if (!this.#isStruck(value, where)) return inner;
    const type = this.#program.valueTypeOf(value);
    if (type.kind === "scalar" && type.name === "bool") return this.#condition(value, where, fn);
    if (!isStrikeable(type)) return inner;
    const site = this.#site("value", componentsOf(type), where, { span: value.span, name: fn.name });
    return this.#options.strikes.value(site, type, inner);
  }

  #isStruck(e: Expression, where: Where): boolean {
    if (where === "inside" && this.#options.source.has(e)) return false;
    return this.#program.stageOf(e) === "runtime" && !this.#uniform.expressions.has(e);
  }

  /** Returns an expression with its indices and the arguments of generated functions struck. */
  #parts(e: Expression, where: Where, fn: FunctionDeclaration): Expression {
    if (where === "inside" && this.#options.source.has(e)) return e;
    if (e.kind === "index")
      return { ...e, base: this.#parts(e.base, where, fn), index: this.#value(e.index, where, fn) };
    if (e.kind === "call") {
      const { name } = e.callee;
      if (this.#left.test(name)) return e;
      const isOwn = this.#functions.has(name);
      const callee = where === "window" && isOwn ? { ...e.callee, name: this.#versionOf(name) } : e.callee;
      const args = e.args.map((arg) => (isOwn ? this.#value(arg, where, fn) : this.#parts(arg, where, fn)));
      return { ...e, callee, args };
    }
    if (e.kind === "identifier" || e.kind === "literal") return e;
    return mapChildren(e, (child) => this.#parts(child as Expression, where, fn));
  }

  /** Returns the name of the version of a function that stores call. */
  #versionOf(name: string): string {
    const version = this.#versions.get(name) ?? { name: this.#names.fresh(`${name}_in_window`) };
    this.#versions.set(name, version);
    return version.name;
  }
}

const word: Type = { kind: "scalar", name: "u32" };
