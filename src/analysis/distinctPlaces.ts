import type { Expression } from "../wgsl/ast.ts";
import { printExpression } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import type { Place } from "./places.ts";

/**
 * Whether an invocation that gets to each of these places once names a different element each time, as far as the text shows it:
 * they are the same but for constants in sums. Their indices are stable (access normal form).
 */
export function areDistinct(program: Program, places: readonly Place[]): boolean {
  const sums = places.map((place) => sumsOf(program, place));
  const rests = new Set(sums.map((each) => JSON.stringify(each.map(({ rest }) => rest))));
  const whole = new Set(sums.map((each) => each.map(({ known }) => known).join()));
  return rests.size <= 1 && whole.size === places.length;
}

/** An index as a known number and the text of what is added to it. */
export interface Sum {
  readonly rest: string;
  readonly known: bigint;
}

/** The indices of a place, and for members their names. */
export function sumsOf(program: Program, { steps }: Place): Sum[] {
  return steps.map((step) =>
    step.kind === "member" ? { rest: step.name, known: 0n } : sumOf(program, step.index),
  );
}

function sumOf(program: Program, index: Expression): Sum {
  const terms: string[] = [];
  let known = 0n;
  const add = (term: Expression): void => {
    const constant = program.constantOf(term);
    const target = term.kind === "identifier" ? program.targetOf(term) : undefined;
    if (constant && "value" in constant) known += BigInt(Number(constant.value));
    else if (target?.kind === "let" && isStable(program, target.initializer)) add(target.initializer);
    else if (term.kind === "binary" && term.operator === "+") {
      add(term.left);
      add(term.right);
    } else terms.push(printExpression(term));
  };
  add(index);
  return { rest: terms.sort().join(" + "), known };
}

/** Whether an expression has the same value wherever its names are in scope. */
function isStable(program: Program, expression: Expression): boolean {
  let stable = true;
  walk(expression, (node) => {
    const target = node.kind === "identifier" ? program.targetOf(node) : undefined;
    if (node.kind === "call" || target?.kind === "var" || target?.kind === "globalVariable") stable = false;
  });
  return stable;
}
