import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { Node, Expression as Source, Statement as SourceStatement } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { condition } from "../expressions/choices.ts";
import type { Lowering } from "../lowering.ts";
import { toBoolean } from "../numbers/conversions.ts";
import type { LoweredValue } from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { effects } from "./assignments.ts";
import { branchCall, directivesIn } from "./branchDirectives.ts";
import { body, branches } from "./branches.ts";
import { declaration } from "./declarations.ts";
import { loopOverElements, refuseElements } from "./elementLoops.ts";
import { exitLoop } from "./exits.ts";
import { doWhileLoop, forLoop, whileLoop } from "./innerLoops.ts";
import { changeElements } from "./manyElements.ts";
import { alwaysReturns, returnFrom } from "./returns.ts";
import { switchStatement } from "./switches.ts";

/** Translates the statements between two places, and the directives among them. */
export function statements(
  lowering: Lowering,
  nodes: readonly SourceStatement[],
  { start, end }: Span,
): void {
  let from = start;
  const outer = lowering.returns?.isLast;
  for (const [at, node] of nodes.entries()) {
    directivesIn(lowering, { start: from, end: node.start });
    from = node.end;
    const rest = nodes.slice(at + 1);
    if (lowering.returns) lowering.returns.isLast = outer === true && rest.length === 0;
    const returnsEarly = node.type === "IfStatement" && !node.alternate && alwaysReturns(node.consequent);
    if (lowering.returns && outer && rest.length > 0 && returnsEarly) {
      // The statements after an early return become its other branch, so that no jump is needed.
      lowering.returns.isLast = true;
      lowering.attempt(() =>
        branch(lowering, condition(lowering, node.test), node.test, node.consequent, () =>
          lowering.statements(rest, { start: from, end }),
        ),
      );
      from = end;
      break;
    }
    lowering.attempt(() => statement(lowering, node));
    if (lowering.returns && outer && alwaysReturns(node)) break;
  }
  if (lowering.returns && outer !== undefined) lowering.returns.isLast = outer;
  directivesIn(lowering, { start: from, end });
}

function statement(lowering: Lowering, node: SourceStatement, label?: string): void {
  lowering.nested(node, () => translate(lowering, node, label));
}

function translate(lowering: Lowering, node: SourceStatement, label: string | undefined): void {
  switch (node.type) {
    case "EmptyStatement":
    case "FunctionDeclaration":
    case "TSTypeAliasDeclaration":
    case "TSInterfaceDeclaration":
      break;
    case "BlockStatement":
      lowering.within(node, () => lowering.statements(node.body, node));
      break;
    case "VariableDeclaration":
      declaration(lowering, node);
      break;
    case "ExpressionStatement":
      if (branchCall(lowering, node.expression) || loopOverElements(lowering, node, undefined)) break;
      if (!changeElements(lowering, node.expression)) effects(lowering, node.expression);
      break;
    case "IfStatement":
      branch(
        lowering,
        condition(lowering, node.test),
        node.test,
        node.consequent,
        node.alternate ? () => body(lowering, node.alternate!, node.consequent.end) : undefined,
      );
      break;
    case "ForStatement":
      lowering.within(node, () => forLoop(lowering, node, label));
      break;
    case "ForOfStatement":
      if (node.await) refuse(unsupported(node));
      if (!loopOverElements(lowering, node, label)) refuseElements(node);
      break;
    case "WhileStatement":
      whileLoop(lowering, node, label);
      break;
    case "DoWhileStatement":
      doWhileLoop(lowering, node, label);
      break;
    case "SwitchStatement":
      lowering.within(node, () => switchStatement(lowering, node, label));
      break;
    case "LabeledStatement":
      statement(lowering, node.body, node.label.name);
      break;
    case "BreakStatement":
    case "ContinueStatement":
      jump(lowering, node);
      break;
    case "ReturnStatement":
      if (lowering.returns) returnFrom(lowering, lowering.returns, node);
      else exitLoop(lowering, node);
      break;
    case "ThrowStatement":
      exitLoop(lowering, node);
      break;
    default:
      refuse(unsupported(node));
  }
}

function unsupported(node: SourceStatement) {
  switch (node.type) {
    case "ForOfStatement":
    case "ForInStatement":
      return loopError.unsupported("a loop over a collection", node, "count: `for (let j = 0; j < n; j++)`");
    case "TryStatement":
      return loopError.unsupported("an exception", node);
    default:
      return loopError.unsupported("this statement", node);
  }
}

function branch(
  lowering: Lowering,
  test: LoweredValue,
  testNode: Source,
  consequent: SourceStatement,
  alternate: (() => void) | undefined,
): void {
  const condition = toBoolean(lowering, test, testNode);
  const [yes, no] = branches(lowering, [
    () => body(lowering, consequent, testNode.end),
    alternate ?? (() => {}),
  ]);
  lowering.emit({ kind: "if", test: condition, yes: yes!, no: no! });
}

function jump(
  lowering: Lowering,
  node: Extract<SourceStatement, { label: unknown }> & { type: string },
): void {
  const isContinue = node.type === "ContinueStatement";
  const label = (node.label as { name: string } | null)?.name;
  const target = lowering.jumpTargets.findLast((one) =>
    label === undefined ? !isContinue || one.goOn : one.label === label,
  );
  const make = isContinue ? target?.goOn : target?.leave;
  if (!make) refuse(loopError.unsupported("a jump out of a loop around this one", node as Node));
  lowering.emit(make());
}
