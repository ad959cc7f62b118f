/** Directives in the form of calls, which survive tools that drop comments. */

import type { Diagnostic, Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { CallExpression, Expression } from "oxc-parser";
import type { Reduction } from "../tree/ir.ts";
import {
  type BranchDirective,
  type LoopDirective,
  largest,
  type Named,
  oneOf,
  operators,
} from "./directive.ts";
import { parseIterations } from "./offsets.ts";
import { malformed, orDiagnostic, repeated } from "./refusal.ts";

/** The module from which programs import the call form. */
export const directiveModule = "belay-speculate";

/** The functions of the call form. */
export const callNames = ["speculate", "reduction", "accesses", "schedule", "configure", "precision"];

/**
 * Parses the calls before a loop as a directive. Each call comes with the original name of the
 * called function.
 */
export function parseCalls(
  calls: readonly { readonly name: string; readonly call: CallExpression }[],
): LoopDirective | Diagnostic {
  return orDiagnostic(() => {
    const speculated: Named[] = [];
    const reductions: (Named & { operator: Reduction["operator"] })[] = [];
    const once = new Map<string, number>();
    let options: Named | null = null;
    for (const { name, call } of calls) {
      if (name !== "reduction" && once.has(name)) throw repeated(name, spanOf(call));
      const args = call.arguments as Expression[];
      switch (name) {
        case "speculate":
          once.set(name, 1);
          for (const arg of args) speculated.push(named(arg, "the name of an array"));
          break;
        case "reduction": {
          const [operator, ...variables] = args;
          const value = operator?.type === "Literal" ? operator.value : undefined;
          const known = operators.find((one) => one === value);
          if (!known)
            throw malformed(`one of ${oneOf(operators)}`, "something else", spanOf(operator ?? call));
          for (const arg of variables)
            reductions.push({ ...named(arg, "the name of a variable"), operator: known });
          break;
        }
        case "configure":
          once.set(name, 1);
          if (args.length !== 1) throw malformed("one argument", `${args.length}`, spanOf(call));
          options = named(args[0]!, "the name of a variable");
          break;
        case "precision": {
          once.set(name, 1);
          const value = args.length === 1 && args[0]!.type === "Literal" ? args[0]!.value : undefined;
          if (value !== "f32") throw malformed('`"f32"`', "something else", spanOf(args[0] ?? call));
          break;
        }
        default: {
          const value = args.length === 1 && args[0]!.type === "Literal" ? args[0]!.value : undefined;
          if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > largest) {
            throw malformed("a positive integer", "something else", spanOf(args[0] ?? call));
          }
          once.set(name, value);
        }
      }
    }
    const [first, last] = [calls[0]!.call, calls.at(-1)!.call];
    return {
      span: { start: first.start, end: last.end },
      speculated,
      reductions,
      accesses: once.get("accesses") ?? null,
      schedule: once.get("schedule") ?? null,
      options,
      precision: once.has("precision") ? "f32" : "exact",
    };
  });
}

function named(node: Expression, expected: string): Named {
  if (node.type === "Identifier") return { name: node.name, span: spanOf(node) };
  throw malformed(expected, "something else", spanOf(node));
}

/**
 * Parses `misspeculate("+1")`, `misspeculate(i + 3)`, or several arguments. A string holds a list
 * as in a comment; any other argument is an index.
 */
export function parseBranchCall(call: CallExpression, source: string): BranchDirective | Diagnostic {
  return orDiagnostic(() => {
    const args = call.arguments as Expression[];
    const span = spanOf(call);
    if (args.length === 0) throw malformed("an argument", "none", span);
    const which = args.flatMap((argument): BranchDirective["which"] =>
      argument.type === "Literal" && typeof argument.value === "string"
        ? parseIterations(source, { start: argument.start + 1, end: argument.end - 1 })
        : [{ kind: "absolute", index: argument }],
    );
    return { span, which };
  });
}

const spanOf = ({ start, end }: Span): Span => ({ start, end });
