import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { Node, Expression as Source, Statement as SourceStatement } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { BodyStatement } from "../../tree/ir.ts";
import { condition } from "../expressions/choices.ts";
import { expression } from "../expressions/expressions.ts";
import type { Lowering } from "../lowering.ts";
import { toBoolean } from "../numbers/conversions.ts";
import { refuse } from "../refusal.ts";
import { assign, update } from "./assignments.ts";
import { branchCall, directivesIn } from "./branchDirectives.ts";
import { declaration } from "./declarations.ts";
import { doWhileLoop, forLoop, forOfLoop, whileLoop } from "./innerLoops.ts";
import { alwaysReturns, returnFrom } from "./returns.ts";
import { switchStatement } from "./switches.ts";

/** Translates the statements between two places, and the directives among them. */
export function list(lowering: Lowering, nodes: readonly SourceStatement[], { start, end }: Span): void {
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
          list(lowering, rest, { start: from, end }),
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
      lowering.within(node, () => list(lowering, node.body, node));
      break;
    case "VariableDeclaration":
      declaration(lowering, node);
      break;
    case "ExpressionStatement":
      if (!branchCall(lowering, node.expression)) effects(lowering, node.expression);
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
      lowering.within(node, () => forOfLoop(lowering, node, label));
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
      returnFrom(lowering, node.argument, node);
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
    case "ThrowStatement":
    case "TryStatement":
      return loopError.unsupported("an exception", node);
    default:
      return loopError.unsupported("this statement", node);
  }
}

/** Translates a single statement or a block, in a list of its own. */
export function body(lowering: Lowering, node: SourceStatement, from: number): void {
  if (node.type === "BlockStatement") statement(lowering, node);
  else list(lowering, [node], { start: from, end: node.end });
}

type Value = ReturnType<typeof expression>;

function branch(
  lowering: Lowering,
  test: Value,
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

/**
 * Returns lists of statements of which one is executed. A variable has a value afterwards if it has
 * one after each list that does not jump.
 */
export function branches(lowering: Lowering, makers: readonly (() => void)[]): BodyStatement[][] {
  const before = lowering.assigned;
  const after: ReadonlySet<unknown>[] = [];
  lowering.branches++;
  const lists = makers.map((make) => {
    lowering.assigned = new Set(before);
    const statements = lowering.collect(make);
    if (!jumps(statements)) after.push(lowering.assigned);
    return statements;
  });
  lowering.branches--;
  const everywhere = (variable: unknown) => after.every((set) => set.has(variable));
  const all = after.length === 0 ? before : (after[0] as Lowering["assigned"]);
  lowering.assigned = new Set([...all].filter(everywhere));
  return lists;
}

const jumps = (statements: readonly BodyStatement[]) =>
  ["break", "continue", "endIteration", "endLoop"].includes(statements.at(-1)?.kind ?? "");

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

/** Translates an expression whose value is not used. */
export function effects(lowering: Lowering, node: Source): void {
  if (node.type === "AssignmentExpression") assign(lowering, node, false);
  else if (node.type === "UpdateExpression") update(lowering, node, false);
  else if (node.type === "SequenceExpression") for (const one of node.expressions) effects(lowering, one);
  else expression(lowering, node);
}
