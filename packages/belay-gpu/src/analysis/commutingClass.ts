import type { CallExpression } from "../wgsl/ast.ts";
import { printExpression } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";

/**
 * Returns the class of an atomic operation whose result is unused. Operations of one class commute.
 * Undefined for an operation that does not even commute with itself.
 */
export function commutingClass(
  program: Program,
  call: CallExpression,
  operation: string,
): string | undefined {
  switch (operation) {
    case "atomicSub":
      return "atomicAdd";
    case "atomicCompareExchangeWeak":
      return undefined;
    case "atomicStore":
    case "atomicExchange": {
      const value = call.args[1]!;
      return program.stageOf(value) === "runtime" ? undefined : `store of ${printExpression(value)}`;
    }
    default:
      return operation;
  }
}
