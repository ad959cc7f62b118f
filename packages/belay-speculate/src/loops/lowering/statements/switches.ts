import type { Statement as SourceStatement, SwitchCase, SwitchStatement } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { BodyStatement, LoopExpression } from "../../tree/ir.ts";
import { held } from "../expressions/evaluationOrder.ts";
import { binary } from "../expressions/operators.ts";
import type { Lowering } from "../lowering.ts";
import { toBoolean } from "../numbers/conversions.ts";
import { refuse } from "../refusal.ts";
import { branches } from "./branches.ts";

/** Cases that share their statements, with the statements before their `break`. */
interface Group {
  readonly tests: readonly NonNullable<SwitchCase["test"]>[];
  readonly isDefault: boolean;
  readonly statements: readonly SourceStatement[];
  readonly start: number;
  readonly end: number;
}

/** The largest number of statements of all cases, with those of the cases that they go on into. */
const mostStatements = 500;

/**
 * Translates a switch to a chain of branches. A case that goes on into the next has a copy of the
 * next one's statements. A `break` inside a case leaves a loop that runs once.
 */
export function switchStatement(lowering: Lowering, node: SwitchStatement, label: string | undefined): void {
  const value = held(lowering, lowering.expression(node.discriminant));
  const groups = grouped(node);
  const size = groups.reduce((total, { statements }) => total + statements.length, 0);
  if (size > mostStatements) refuse(loopError.tooDeep(node));
  const leaving = lowering.label("switch");
  let isLeft = false;
  lowering.jumpTargets.push({
    label,
    leave: () => {
      isLeft = true;
      return { kind: "break", label: leaving };
    },
    goOn: undefined,
  });
  const isLast = lowering.returns?.isLast;
  if (lowering.returns) lowering.returns.isLast = false;
  const otherwise = groups.find(({ isDefault }) => isDefault);
  const chain = (rest: readonly Group[]): void => {
    const [group, ...others] = rest;
    if (!group) {
      if (otherwise) lowering.statements(otherwise.statements, otherwise);
      return;
    }
    const tests = group.tests.map((test) =>
      toBoolean(lowering, binary(lowering, "===", value, lowering.expression(test), test), test),
    );
    const test = tests.reduce(
      (left, right): LoopExpression => ({ kind: "binary", type: "bool", operator: "||", left, right }),
    );
    const [yes, no] = branches(lowering, [
      () => lowering.statements(group.statements, group),
      () => chain(others),
    ]);
    lowering.emit({ kind: "if", test, yes: yes!, no: no! });
  };
  const statements: BodyStatement[] = lowering.collect(() =>
    chain(groups.filter(({ isDefault }) => !isDefault)),
  );
  lowering.jumpTargets.pop();
  if (lowering.returns && isLast !== undefined) lowering.returns.isLast = isLast;
  if (!isLeft) {
    lowering.block.push(...statements);
    return;
  }
  statements.push({ kind: "break", label: leaving });
  lowering.emit({ kind: "loop", label: leaving, most: 1, body: statements, update: [] });
}

function grouped(node: SwitchStatement): Group[] {
  const groups: Group[] = [];
  let shared: SwitchCase[] = [];
  for (const [at, one] of node.cases.entries()) {
    shared.push(one);
    if (one.consequent.length === 0 && at < node.cases.length - 1) continue;
    groups.push({
      // A case that shares its statements with `default` needs no test.
      tests: shared.some(({ test }) => !test) ? [] : shared.map(({ test }) => test!),
      isDefault: shared.some(({ test }) => !test),
      ...statementsFrom(node.cases, at),
      start: one.start,
    });
    shared = [];
  }
  return groups;
}

/**
 * Returns the statements that run from a case on, those of the cases into which it falls through
 * included. It also returns the end of the last of these cases.
 */
function statementsFrom(cases: readonly SwitchCase[], at: number): Pick<Group, "statements" | "end"> {
  const { consequent, end } = cases[at]!;
  const last = consequent.at(-1);
  if (last?.type === "BreakStatement" && !last.label) return { statements: consequent.slice(0, -1), end };
  if (endsWithJump(last) || at === cases.length - 1) return { statements: consequent, end };
  const next = statementsFrom(cases, at + 1);
  return { statements: [...consequent, ...next.statements], end: next.end };
}

/** Returns whether a statement always ends with a jump, so that the next case is not reached. */
function endsWithJump(statement: SourceStatement | undefined): boolean {
  switch (statement?.type) {
    case "BreakStatement":
    case "ContinueStatement":
    case "ReturnStatement":
      return true;
    case "BlockStatement":
      return endsWithJump(statement.body.at(-1));
    case "IfStatement":
      return endsWithJump(statement.consequent) && endsWithJump(statement.alternate ?? undefined);
    default:
      return false;
  }
}
