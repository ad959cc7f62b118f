/** What a program does, counted while it runs. */
import { builtinFunction } from "../analysis/effects.ts";
import { spaceOf } from "../analysis/places.ts";
import { harden } from "../runtime/harden.ts";
import type { KernelProfile } from "../runtime/profiler.ts";
import type { Program as MeasuredProgram } from "../runtime/workload.ts";
import type { CallExpression } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import { parse } from "../wgsl/parser.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { type AnyNode, children, isExpression, walk } from "../wgsl/traverse.ts";
import type { Type } from "../wgsl/types.ts";
import { TimedProgram } from "./timing.ts";

/** Of one run, by all invocations together. */
export interface CountedWork {
  /** Bytes that the program's loads from storage and uniform buffers name; caches may answer many of them. */
  readonly loaded: number;
  /** Bytes that its stores to storage buffers name. */
  readonly stored: number;
  /** Operations on 32-bit words: two for a fused multiply-add, one for any other built-in function. */
  readonly operations: number;
}

/** Runs a program once with instrumented kernels, which count how often each of their statements is executed. */
export async function countWork(program: MeasuredProgram, native: GPUDevice): Promise<CountedWork> {
  const device = await harden(native, { redundancy: "none", injectFaults: "profile", onFault: "report" });
  using counting = new TimedProgram(program, device);
  await counting.run();
  const kernels = (await device.belay.profile()).map(workOf);
  const sum = (part: keyof CountedWork) => kernels.reduce((total, kernel) => total + kernel[part], 0);
  return { loaded: sum("loaded"), stored: sum("stored"), operations: sum("operations") };
}

/** What the statements of a kernel do, as often as they were executed. */
export function workOf({ source, sites }: Pick<KernelProfile, "source" | "sites">): CountedWork {
  const program = resolve(parse(source).module);
  const places = new Map<string, AnyNode>();
  walk(program.module, (node) => {
    // Of what begins and ends alike, the outermost.
    const place = `${node.span.start} ${node.span.end}`;
    if (!places.has(place)) places.set(place, node);
  });
  let [loaded, stored, operations] = [0, 0, 0];
  for (const { kind, span, components, executions } of sites) {
    const node = places.get(`${span.start} ${span.end}`);
    if (kind === "load") loaded += 4 * components * executions;
    if (kind === "statement" && node) stored += storedBy(program, node) * executions;
    if (node && (kind === "value" || kind === "branch" || kind === "address")) {
      operations += operationsIn(program, node) * executions;
    }
  }
  return { loaded, stored, operations };
}

function storedBy(program: Program, node: AnyNode): number {
  if ((node.kind !== "assign" && node.kind !== "increment") || !node.target) return 0;
  const type = program.typeOf(node.target);
  return type.kind === "reference" && spaceOf(program, node.target) === "storage" ? sizeOf(type.store) : 0;
}

/** Operations of an expression, or of the value that a statement stores; indices are sites of their own. */
function operationsIn(program: Program, node: AnyNode): number {
  if (isExpression(node) && program.stageOf(node) !== "runtime") return 0;
  switch (node.kind) {
    case "index":
      return operationsIn(program, node.base);
    case "increment":
      return 1;
    case "assign": {
      const own = node.operator !== "=" && node.target ? wordsOf(program.valueTypeOf(node.target)) : 0;
      return own + operationsIn(program, node.value);
    }
    case "binary":
    case "unary": {
      const isAccess = node.kind === "unary" && (node.operator === "*" || node.operator === "&");
      return (isAccess ? 0 : wordsOf(program.valueTypeOf(node))) + operationsBelow(program, node);
    }
    case "call":
      return operationsOfCall(program, node) + operationsBelow(program, node);
    default:
      return operationsBelow(program, node);
  }
}

const operationsBelow = (program: Program, node: AnyNode): number =>
  children(node).reduce((sum, child) => sum + operationsIn(program, child), 0);

/** The operations of a call itself; functions of the program have sites of their own. */
function operationsOfCall(program: Program, call: CallExpression): number {
  const name = builtinFunction(program, call);
  if (name === undefined || name.startsWith("bitcast") || name === "arrayLength") return 0;
  const words = wordsOf(program.valueTypeOf(call));
  if (name === "dot") return 2 * wordsOf(program.valueTypeOf(call.args[0]!)) - 1;
  return name === "fma" ? 2 * words : words;
}

function wordsOf(type: Type): number {
  if (type.kind === "vector") return type.size;
  return type.kind === "matrix" ? type.columns * type.rows : 1;
}
