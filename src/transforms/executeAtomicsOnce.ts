/**
 * Executes each atomic operation once for both replicas: operands compared, one execution, the result shared.
 *
 * Before:  let slot = atomicAdd(&count, n);
 * After:   _ = agree(site, words(n));
 *          var result: u32; if (leads) { result = atomicAdd(&count, n); }
 *          let slot = share(site, result);
 *
 * With `check: "signature"` the operands are folded into the signature instead. Unlike a store, an atomic operation
 * is not suppressed by a disagreement: its result may decide whether a loop ends. `atomicCompareExchangeWeak`
 * returns a struct that can't be named, so its fields travel and become a struct of the same shape.
 *
 * Requires: access normal form, replicateInvocations.   Ensures: valid module.   Order: before compareStores.
 * Source:   named as future work by Wadden et al. 2014, section 10.
 */
import { addressOf } from "../analysis/addresses.ts";
import { builtinFunction } from "../analysis/effects.ts";
import { hazardousVariables } from "../analysis/hazards.ts";
import { placeOf } from "../analysis/places.ts";
import type {
  CallExpression,
  Declaration,
  Expression,
  FunctionDeclaration,
  GlobalVariable,
  Module,
  Statement,
} from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { quote } from "../wgsl/quote.ts";
import { mapStatements } from "../wgsl/traverse.ts";
import type { Comparison } from "./comparison/comparison.ts";
import type { Words } from "./comparison/valueWords.ts";
import { mapFunctions } from "./mapFunctions.ts";
import type { Names } from "./names.ts";
import type { CheckSites } from "./reportBuffer.ts";

export interface ExecuteAtomicsOnceOptions {
  readonly check: "store" | "signature" | "none";
  readonly comparison: Comparison;
  readonly sites: CheckSites;
  /** The functions that run replicated. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
  /** True for variables whose atomic operations both replicas execute, each on a copy or on what stays the same. */
  readonly isReplicated: (variable: GlobalVariable) => boolean;
  /** Whether replicas may wait for each other. Default true. */
  readonly mayWait?: boolean;
}

export function executeAtomicsOnce(
  program: Program,
  names: Names,
  options: ExecuteAtomicsOnceOptions,
): Module {
  const transform = new AtomicExecution(program, names, options);
  const module = mapFunctions(program.module, (fn) =>
    options.functions.has(fn)
      ? { ...fn, body: mapStatements(fn.body, (s) => transform.statement(s, fn.name)) }
      : fn,
  );
  return {
    ...module,
    declarations: [...module.declarations, ...transform.structs, ...options.comparison.takeDeclarations()],
  };
}

class AtomicExecution {
  readonly structs: Declaration[] = [];
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: ExecuteAtomicsOnceOptions;
  /** True when there are stores that both replicas do (compareStores), and that an operation may hand on to others. */
  readonly #mustMeet: boolean;

  constructor(program: Program, names: Names, options: ExecuteAtomicsOnceOptions) {
    this.#program = program;
    this.#names = names;
    this.#options = options;
    const hazards = [...hazardousVariables(program, options.functions)];
    const isShared = (v: GlobalVariable) => !names.isGenerated(v.name) && !options.isReplicated(v);
    this.#mustMeet = (options.mayWait ?? true) && hazards.some(isShared);
  }

  statement(statement: Statement, functionName: string): Statement | Statement[] {
    if (statement.kind === "callStatement") {
      const compared = this.#compared(statement.call, functionName);
      if (!compared) return statement;
      const { check, comparison } = this.#options;
      const { statements } = quote(statement.span);
      // The operation may hand on to others what was stored before it, so the stores of both replicas come first.
      const meeting =
        check === "signature" && this.#mustMeet
          ? statements`_ = ${comparison.signaturesAgree(compared.site)};`
          : [];
      // Nobody waits for a result, so the second replica need not step in for a first that is not there.
      const first = this.#names.the("replica");
      return [...compared.statements, ...meeting, ...statements`if (${first} == 0u) { ${statement.call}; }`];
    }
    if (statement.kind !== "let" || statement.initializer.kind !== "call") return statement;
    const call = statement.initializer;
    const compared = this.#compared(call, functionName);
    if (!compared) return statement;
    const { site, statements } = compared;
    const { initializer, before } =
      builtinFunction(this.#program, call) === "atomicCompareExchangeWeak"
        ? this.#sharedExchange(call, site)
        : this.#sharedResult(call, site);
    return [...statements, ...this.#synchronized(site), ...before, { ...statement, initializer }];
  }

  /** The statements that compare the operands of an atomic operation; undefined for any other call. */
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
    const presented = { site, address, words };
    switch (check) {
      case "store":
        return { site, statements: quote(call.span).statements`_ = ${comparison.agree(presented)};` };
      case "signature":
        return { site, statements: comparison.foldIntoSignature(presented) };
      case "none":
        return { site, statements: [] };
    }
  }

  /** The words of the operands that can differ: a constant can't. */
  #operandWords(operands: readonly Expression[]): Words | null {
    const { expression } = quote();
    const dynamic = operands.filter((operand) => this.#program.stageOf(operand) === "runtime");
    const [first, second] = dynamic.map((operand) => expression`bitcast<u32>(${operand})`);
    if (!first) return null;
    const scalar = this.#scalarOf(dynamic[0]!);
    return second
      ? { expression: expression`vec2<u32>(${first}, ${second})`, count: 2, scalar }
      : { expression: first, count: 1, scalar };
  }

  #scalarOf(operand: Expression): "i32" | "u32" {
    const type = this.#program.valueTypeOf(operand);
    return type.kind === "scalar" && type.name === "i32" ? "i32" : "u32";
  }

  #sharedResult(call: CallExpression, site: number) {
    const scalar = this.#scalarOf(call);
    const result = this.#names.fresh("result");
    const { statements, expression } = quote(call.span);
    const before = [
      ...statements`var ${result}: ${scalar};`,
      ...this.#once(statements`${result} = ${call};`),
    ];
    const words: Words = { expression: expression`bitcast<u32>(${result})`, count: 1, scalar };
    return {
      before,
      initializer: expression`bitcast<${scalar}>(${this.#options.comparison.share(site, words)})`,
    };
  }

  #sharedExchange(call: CallExpression, site: number) {
    const scalar = this.#scalarOf(call.args[1]!);
    const [result, exchange, shared] = ["result", "exchange", "shared"].map((name) =>
      this.#names.fresh(name),
    );
    const { statements, expression } = quote(call.span);
    const words: Words = { expression: expression`${result!}`, count: 2, scalar };
    const before = [
      ...statements`var ${result!}: vec2<u32>;`,
      ...this.#once(statements`
        let ${exchange!} = ${call};
        ${result!} = vec2<u32>(bitcast<u32>(${exchange!}.old_value), u32(${exchange!}.exchanged));`),
      ...statements`let ${shared!} = ${this.#options.comparison.share(site, words)};`,
    ];
    const struct = this.#exchangeStruct(scalar);
    return {
      before,
      initializer: expression`${struct}(bitcast<${scalar}>(${shared!}.x), ${shared!}.y != 0u)`,
    };
  }

  #exchangeStruct(scalar: "i32" | "u32"): string {
    const name = this.#names.the(`Exchange_${scalar}`);
    if (!this.structs.some((struct) => struct.kind === "struct" && struct.name === name)) {
      this.structs.push(...quote().declarations`struct ${name} { old_value: ${scalar}, exchanged: bool }`);
    }
    return name;
  }

  #once(statements: readonly Statement[]): Statement[] {
    return quote().statements`if (${this.#options.comparison.leads()}) { ${statements} }`;
  }

  /** With a signature nothing has brought the replicas together yet, which some channels need before sharing. */
  #synchronized(site: number): Statement[] {
    const { check, comparison } = this.#options;
    if (check === "store" || !comparison.shareNeedsAgreement) return [];
    return quote().statements`_ = ${comparison.signaturesAgree(site)};`;
  }
}
