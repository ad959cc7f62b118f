/** Directives in a branch: what it means for the speculation that the branch is taken. */
import type { Expression as Source } from "oxc-parser";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { loopError } from "../../diagnostics/loops.ts";
import { parseBranchCall } from "../directives/calls.ts";
import type { BranchDirective } from "../directives/directive.ts";
import type { Misspeculated } from "../ir.ts";
import { lookUp } from "../source/scopes.ts";
import { asInteger } from "./conversions.ts";
import { expression } from "./expressions.ts";
import type { Lowering } from "./lowering.ts";
import { refuse } from "./refusal.ts";
import { as } from "./values.ts";

/** The directives in a part of the source, which is between two statements. */
export function directivesIn(lowering: Lowering, { start, end }: Span): void {
  for (const directive of lowering.loop.branchDirectives) {
    if (directive.span.start < start || directive.span.end > end) continue;
    lowering.usedDirectives.add(directive);
    lowering.attempt(() => misspeculate(lowering, directive));
  }
}

/** Translates a directive that is written as a call; false for any other expression. */
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
  lowering.emit({ kind: "misspeculate", which: misspeculated(lowering, which), span });
}

function misspeculated(lowering: Lowering, which: BranchDirective["which"]): Misspeculated {
  if (which.kind !== "absolute") return which;
  const value = expression(lowering, which.index);
  const index = asInteger(lowering, value, which.index);
  if (!index) return refuse(loopError.unsupported("an index that is no integer", which.index));
  // An index that wraps names an iteration that there is not, or one too many: both do no harm.
  return { kind: "absolute", index: as("i32", index.ir) };
}
