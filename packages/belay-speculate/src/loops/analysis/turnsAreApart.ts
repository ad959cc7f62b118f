import type { Expression, Loop } from "../ir.ts";
import { everyStatement, expressionsOf, operandsOf, withOperands } from "../kernels/walk.ts";
import { type Nest, numberFrom } from "./nest.ts";
import type { LoopNumbers } from "./prove.ts";

/** `index * i + counter * j + constant`. */
interface Form {
  readonly index: number;
  readonly counter: number;
  readonly constant: number;
}

/** Whether every turn has elements of its own in each array that is written. */
export function turnsAreApart(loop: Loop, nest: Nest, numbers: LoopNumbers, turns: number): boolean {
  const inside = [...everyStatement(nest.body)];
  const loads = inside.flatMap((statement) => expressionsOf(statement).flatMap(loadsOf));
  const accesses = [
    ...loads,
    ...inside.flatMap((statement) => (statement.kind === "store" ? [statement] : [])),
  ];
  return loop.arrays.every(({ name, role }) => {
    if (role === "read") return true;
    const forms = accesses.flatMap((access) =>
      access.array === name ? [formOf(access.index, nest, numbers)] : [],
    );
    const [first] = forms;
    if (!first) return false;
    const isSame = forms.every(
      (form) =>
        form?.index === first.index && form.counter === first.counter && form.constant === first.constant,
    );
    const [row, column] = [Math.abs(first.index * numbers.step), Math.abs(first.counter * nest.step)];
    return (
      isSame &&
      ((column > 0 && row > column * (turns - 1)) || (row > 0 && column > row * (numbers.count - 1)))
    );
  });
}

/** An index as a linear form, where it is one; `inside` of `specialize` says that it does not wrap. */
function formOf(expression: Expression, nest: Nest, numbers: LoopNumbers): Form | null {
  const constant = numberFrom(expression, numbers);
  if (!Number.isNaN(constant)) return { index: 0, counter: 0, constant };
  switch (expression.kind) {
    case "index":
      return { index: 1, counter: 0, constant: 0 };
    case "local":
      return expression.name === nest.counter.name ? { index: 0, counter: 1, constant: 0 } : null;
    case "convert":
      return expression.operand.type === "f32" ? null : formOf(expression.operand, nest, numbers);
    case "binary": {
      const [left, right] = operandsOf(expression).map((operand) => formOf(operand, nest, numbers));
      if (!left || !right) return null;
      if (expression.operator === "+") return sum(left, right, 1);
      if (expression.operator === "-") return sum(left, right, -1);
      if (expression.operator !== "*") return null;
      if (isConstant(left)) return sum({ index: 0, counter: 0, constant: 0 }, right, left.constant);
      return isConstant(right) ? sum({ index: 0, counter: 0, constant: 0 }, left, right.constant) : null;
    }
    default:
      return null;
  }
}

const isConstant = ({ index, counter }: Form) => index === 0 && counter === 0;
const sum = (one: Form, other: Form, factor: number): Form => ({
  index: one.index + factor * other.index,
  counter: one.counter + factor * other.counter,
  constant: one.constant + factor * other.constant,
});

const loadsOf = (expression: Expression) =>
  [...withOperands(expression)].flatMap((part) => (part.kind === "load" ? [part] : []));
