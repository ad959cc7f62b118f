import type { Node, ReturnStatement, Statement as SourceStatement, SwitchStatement } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { childrenOf } from "../../source/scopes.ts";
import type { BodyStatement } from "../../tree/ir.ts";
import type { Lowering, Returning } from "../lowering.ts";
import { refuse } from "../refusal.ts";
import { effects } from "./assignments.ts";
import { recordAssignment, setLocal } from "./setVariables.ts";

/** Translates the body of a function without a value, whose returns jump by a statement. */
export function callbackBody(lowering: Lowering, leave: BodyStatement, translate: () => void): void {
  const outer = lowering.returns;
  lowering.returns = { variable: undefined, leave, jumped: false, isLast: true };
  try {
    translate();
  } finally {
    lowering.returns = outer;
  }
}

/** Translates `return value` of an inlined function. */
export function returnFrom(lowering: Lowering, returning: Returning, node: ReturnStatement): void {
  const { argument } = node;
  if (returning.variable) {
    if (!argument) refuse(loopError.unsupported("a return without a value", node));
    const value = lowering.expression(argument);
    recordAssignment(lowering, returning.variable, value, node);
    setLocal(lowering, "assign", returning.variable, value, node);
  } else if (argument) {
    effects(lowering, argument);
  }
  if (returning.isLast) return;
  returning.jumped = true;
  lowering.emit(returning.leave);
}

/** Returns true if a statement contains a return, or one with a value. */
export function returns(node: SourceStatement, withValue = false): boolean {
  switch (node.type) {
    case "ReturnStatement":
      return !withValue || node.argument !== null;
    case "BlockStatement":
      return node.body.some((one) => returns(one, withValue));
    case "IfStatement":
      return (
        returns(node.consequent, withValue) || (node.alternate !== null && returns(node.alternate, withValue))
      );
    case "ForStatement":
    case "ForOfStatement":
    case "WhileStatement":
    case "DoWhileStatement":
    case "LabeledStatement":
      return returns(node.body, withValue);
    case "SwitchStatement":
      return node.cases.some(({ consequent }) => consequent.some((one) => returns(one, withValue)));
    default:
      return false;
  }
}

/** Returns true if a statement returns on each path. */
export function alwaysReturns(node: SourceStatement): boolean {
  switch (node.type) {
    case "ReturnStatement":
      return true;
    case "BlockStatement":
      return node.body.some(alwaysReturns);
    case "IfStatement":
      return node.alternate !== null && alwaysReturns(node.consequent) && alwaysReturns(node.alternate);
    case "SwitchStatement":
      return switchReturns(node);
    case "LabeledStatement":
      return alwaysReturns(node.body);
    case "WhileStatement":
      return node.test.type === "Literal" && node.test.value === true && !breaks(node.body);
    default:
      return false;
  }
}

/** Returns true if each case of a switch returns, or goes on into one that does. */
function switchReturns({ cases }: SwitchStatement): boolean {
  if (!cases.some(({ test }) => test === null) || cases.some(breaks)) return false;
  return cases.at(-1)!.consequent.some(alwaysReturns);
}

/** Returns true if a node has a `break`, which may leave the switch around it. */
const breaks = (node: Node): boolean => node.type === "BreakStatement" || childrenOf(node).some(breaks);
