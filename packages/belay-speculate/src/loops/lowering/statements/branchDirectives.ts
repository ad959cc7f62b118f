/** Directives in a branch, which say that iterations misspeculate if the branch is taken. */

import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { Expression as Source } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { parseBranchCall } from "../../directives/calls.ts";
import type { BranchDirective, DirectiveBound } from "../../directives/directive.ts";
import { lookUp } from "../../source/scopes.ts";
import type { IterationBound, LoopExpression, Misspeculated } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { asInteger } from "../numbers/conversions.ts";
import { as } from "../numbers/values.ts";
import { refuse } from "../refusal.ts";

/** Translates the directives between two statements. */
export function directivesIn(lowering: Lowering, { start, end }: Span): void {
  for (const directive of lowering.loop.branchDirectives) {
    if (directive.span.start < start || directive.span.end > end) continue;
    lowering.usedDirectives.add(directive);
    lowering.attempt(() => misspeculate(lowering, directive));
  }
}

/** Translates a directive that is written as a call. Returns false for any other expression. */
export function branchCall(lowering: Lowering, node: Source): boolean {
  if (node.type !== "CallExpression" || node.callee.type !== "Identifier") return false;
  const { name } = node.callee;
  const isDirective = lowering.directiveNames.get(name) === "misspeculate";
  if (!isDirective || lookUp(lowering.scope, name)?.kind !== "import") return false;
  const parsed = parseBranchCall(node, lowering.file.source);
  if ("code" in parsed) refuse(parsed);
  misspeculate(lowering, parsed);
  return true;
}

function misspeculate(lowering: Lowering, { span, which }: BranchDirective): void {
  if (lowering.branches === 0) refuse(loopError.misplacedBranchDirective(span));
  for (const one of which) {
    lowering.emit({ kind: "misspeculate", which: misspeculated(lowering, one), span });
  }
}

function misspeculated(lowering: Lowering, which: BranchDirective["which"][number]): Misspeculated {
  switch (which.kind) {
    case "absolute":
      return { kind: "absolute", index: indexOf(lowering, which.index) };
    case "between": {
      const bound = (one: DirectiveBound): IterationBound =>
        one.kind === "relative" ? one : { kind: "absolute", index: indexOf(lowering, one.index) };
      return { kind: "between", from: bound(which.from), to: which.to && bound(which.to) };
    }
    default:
      return which;
  }
}

/**
 * Returns an index as an i32. An index that wraps names no iteration or a needless one, which is
 * harmless.
 */
function indexOf(lowering: Lowering, node: Source): LoopExpression {
  const value = lowering.expression(node);
  const index = asInteger(lowering, value, node);
  if (!index) return refuse(loopError.unsupported("an index that is no integer", node));
  return as("i32", index.ir);
}
