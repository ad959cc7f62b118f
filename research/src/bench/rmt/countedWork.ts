/** The work of a program, counted while it runs. */
import { functionsOf, reachableFrom } from "belay-gpu/internal/analysis/callGraph";
import { builtinFunction } from "belay-gpu/internal/analysis/effects";
import { spaceOf } from "belay-gpu/internal/analysis/places";
import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";
import { hardenForCampaign } from "belay-gpu/internal/runtime/harden";
import type { KernelProfile } from "belay-gpu/internal/runtime/injection/profiler";
import type { VerifiableProgram as MeasuredProgram } from "belay-gpu/internal/runtime/tuning/workload";
import type { CallExpression, Expression, FunctionDeclaration, Statement } from "belay-gpu/internal/wgsl/ast";
import { sizeOf } from "belay-gpu/internal/wgsl/layout";
import { parse } from "belay-gpu/internal/wgsl/parser";
import type { Program } from "belay-gpu/internal/wgsl/program";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { type AnyNode, children, isExpression } from "belay-gpu/internal/wgsl/traverse";
import type { Type } from "belay-gpu/internal/wgsl/types";
import { TimedProgram } from "../measuring/timing.ts";

/** The work of one run, by all invocations together. */
export interface CountedWork {
  /**
   * The bytes that the program's loads from storage and uniform buffers name; caches may answer
   * many of them.
   */
  readonly loaded: number;
  /** The bytes that its stores to storage buffers name. */
  readonly stored: number;
  /**
   * The operations on 32-bit words: two for a fused multiply-add, one for any other built-in
   * function.
   */
  readonly operations: number;
}

/**
 * Runs a program once with instrumented kernels, which count how often each of their statements is
 * executed.
 */
export async function countWork(program: MeasuredProgram, native: GPUDevice): Promise<CountedWork> {
  const device = hardenForCampaign(native, {
    redundancy: "none",
    injectFaults: "profile",
    onFault: "report",
  });
  using counting = new TimedProgram(program, device);
  await counting.run();
  const kernels = (await device.belay.profile()).map(workOf);
  const sum = (part: keyof CountedWork) => kernels.reduce((total, kernel) => total + kernel[part], 0);
  return { loaded: sum("loaded"), stored: sum("stored"), operations: sum("operations") };
}

/** Returns the work of a kernel's statements, multiplied by their executions. */
export function workOf({ source, entryPoint, sites }: Counts): CountedWork {
  const counting = new Counting(resolve(parse(source).module), sites);
  return counting.entryPoint(entryPoint);
}

type Counts = Pick<KernelProfile, "source" | "entryPoint" | "sites">;

/**
 * A walk over the statements of a kernel. Sites are kept values, conditions, loads and stores. A
 * statement without a site is executed as often as the one before it. The first statement of a
 * block or of a function is executed as often as that is entered.
 */
class Counting {
  readonly #program: Program;
  readonly #sites: Counts["sites"];
  /** The executions of sites, by where they begin and end: a function may have become several. */
  readonly #executions = new Map<string, number>();
  readonly #calls = new Map<FunctionDeclaration, number>();
  #stored = 0;
  #operations = 0;

  constructor(program: Program, sites: Counts["sites"]) {
    this.#program = program;
    this.#sites = sites;
    const byKind = new Map<string, number>();
    for (const { kind, span, executions } of sites) {
      const key = `${placeOf(span)} ${kind}`;
      byKind.set(key, executions + (byKind.get(key) ?? 0));
    }
    for (const [key, executions] of byKind) {
      const place = key.slice(0, key.lastIndexOf(" "));
      this.#executions.set(place, Math.max(executions, this.#executions.get(place) ?? 0));
    }
  }

  entryPoint(name: string): CountedWork {
    const entry = functionsOf(this.#program).find((fn) => fn.name === name);
    // Callers come before the functions that they call.
    for (const fn of [...reachableFrom(this.#program, entry ? [entry] : [])].reverse()) {
      this.#statements(fn.body.statements, this.#calls.get(fn) ?? 0);
    }
    const loads = this.#sites.filter(({ kind }) => kind === "load");
    const loaded = loads.reduce((sum, { components, executions }) => sum + 4 * components * executions, 0);
    return { loaded, stored: this.#stored, operations: this.#operations };
  }

  #statements(statements: readonly Statement[], entered: number): void {
    let times = entered;
    for (const statement of statements) {
      times = this.#timesOf(statement) ?? times;
      this.#count(statement, times);
    }
  }

  /**
   * Returns how often the sites of a statement were executed, without those of nested statements.
   * Returns undefined when it has none.
   */
  #timesOf(part: AnyNode): number | undefined {
    let times = this.#executions.get(placeOf(part.span));
    for (const child of children(part)) {
      const inside = isExpression(child) ? this.#timesOf(child) : undefined;
      if (inside !== undefined) times = Math.max(times ?? 0, inside);
    }
    return times;
  }

  /**
   * Counts the work of a part of a statement that is executed `times` times, and of the nested
   * statements.
   */
  #count(part: AnyNode, times: number): void {
    if (part.kind === "block") {
      this.#statements(part.statements, times);
      return;
    }
    if (isExpression(part)) {
      if (this.#program.stageOf(part) !== "runtime") return;
      this.#operations += times * this.#operationsOf(part, times);
    } else if (part.kind === "increment" || (part.kind === "assign" && part.target)) {
      const target = part.target!;
      const isCompound = part.kind === "increment" || part.operator !== "=";
      if (isCompound) this.#operations += times * wordsOf(this.#program.valueTypeOf(target));
      if (spaceOf(this.#program, target) === "storage") {
        this.#stored += times * sizeOf(this.#program.valueTypeOf(target));
      }
    }
    for (const child of children(part)) {
      this.#count(child, isExpression(child) ? times : (this.#timesOf(child) ?? times));
    }
  }

  /** Returns the operations of an expression itself. */
  #operationsOf(expression: Expression, times: number): number {
    if (expression.kind === "call") return this.#operationsOfCall(expression, times);
    if (expression.kind !== "binary" && expression.kind !== "unary") return 0;
    const isAccess = expression.operator === "&" && expression.kind === "unary";
    if (isAccess || (expression.kind === "unary" && expression.operator === "*")) return 0;
    return wordsOf(this.#program.valueTypeOf(expression));
  }

  #operationsOfCall(call: CallExpression, times: number): number {
    const target = this.#program.targetOf(call.callee);
    if (target?.kind === "function") this.#calls.set(target, (this.#calls.get(target) ?? 0) + times);
    const name = builtinFunction(this.#program, call);
    if (name === undefined || /^bitcast|^arrayLength|Barrier$/.test(name)) return 0;
    if (name === "dot") return 2 * wordsOf(this.#program.valueTypeOf(call.args[0]!)) - 1;
    const words = wordsOf(this.#program.valueTypeOf(call));
    return name === "fma" ? 2 * words : words;
  }
}

const placeOf = ({ start, end }: Span): string => `${start} ${end}`;

function wordsOf(type: Type): number {
  if (type.kind === "vector") return type.size;
  return type.kind === "matrix" ? type.columns * type.rows : 1;
}
