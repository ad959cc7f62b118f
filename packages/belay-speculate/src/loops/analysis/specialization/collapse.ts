import type { Expression, Loop, Statement } from "../../tree/ir.ts";
import { oncePerLoop } from "../../tree/oncePerLoop.ts";
import { everyStatement, expressionsOf, mayReport, operandsOf, withOperands } from "../../tree/walk.ts";
import type { LoopNumbers } from "../prove.ts";
import { specialize } from "./specialize.ts";

/** Iterations that keep a GPU busy without those of inner loops. */
const fewest = 2 ** 18;

/** An execution of another loop that does the same. */
export interface Collapsed extends LoopNumbers {
  readonly loop: Loop;
}

/**
 * A loop with few iterations that consist of an inner loop as one over all turns of these, where no two turns access an element that is
 * written. Null where that cannot be told before it runs, or the CPU might have to take over.
 *
 * Before:  for (i …) { const x = p[i]; for (j = 0; j < n; j++) a[i * n + j] += x; }
 * After:   for (t …) { const i = t / n, j = t % n, x = p[i]; a[i * n + j] += x; }
 *
 * Source: loop coalescing; Polychronopoulos, "Loop coalescing: a compiler transformation for parallel machines", 1987.
 */
export function collapse(loop: Loop, numbers: LoopNumbers): Collapsed | null {
  const nest = nestOf(loop);
  if (!nest || numbers.count >= fewest) return null;
  const [from, to] = [numberFrom(nest.from, numbers), numberFrom(nest.to, numbers)];
  const turns = Math.ceil((to - from) / nest.step);
  const count = turns * numbers.count;
  if (!(turns > 1) || count >= 2 ** 31 || !iterationsAreDisjoint(loop, nest, numbers, turns)) return null;
  const inputs = { ...numbers.inputs, $first: numbers.first, $step: numbers.step, $turns: turns };
  const result = { inputs, lengths: numbers.lengths, first: 0, step: 1, count };
  const made = collapsedLoop(loop)!;
  const proven = specialize(made, result);
  const isInside = [...everyStatement(proven.body)].every((each) => each.kind !== "store" || each.inside);
  return isInside && !mayReport(proven) ? { ...result, loop: made } : null;
}

/**
 * Makes the loop over all turns, with the numbers of the one before as inputs; null where {@link
 * nestOf} finds none.
 */
const collapsedLoop = oncePerLoop((loop): Loop | null => {
  const nest = nestOf(loop);
  if (!nest) return null;
  const { before, counter, from, step, body } = nest;
  const type = "i32";
  const input = (name: string): Expression => ({ kind: "input", type, name });
  const binary = (operator: "+" | "*" | "/" | "%", left: Expression, right: Expression): Expression => ({
    kind: "binary",
    type,
    operator,
    left,
    right,
  });
  const turn: Expression = { kind: "index", type };
  const outer = "$outer";
  const withOuter = <Part>(part: Part): Part =>
    JSON.parse(JSON.stringify(part), (_, value) =>
      value?.kind === "index" && "type" in value ? { kind: "local", type, name: outer } : value,
    );
  const place: Expression = binary("*", binary("%", turn, input("$turns")), {
    kind: "literal",
    type,
    value: step,
  });
  const row: Expression = { kind: "convert", type, operand: binary("/", turn, input("$turns")) };
  const start = from.type === type ? from : ({ kind: "convert", type, operand: from } as const);
  const value = binary("+", start, place);
  return {
    ...loop,
    inputs: [...loop.inputs, ...["$first", "$step", "$turns"].map((name) => ({ name, type }) as const)],
    body: [
      {
        kind: "declare",
        name: outer,
        type,
        value: binary("+", input("$first"), binary("*", row, input("$step"))),
      },
      {
        kind: "declare",
        name: counter.name,
        type: counter.type,
        value: counter.type === type ? value : { kind: "convert", type: counter.type, operand: value },
      },
      ...withOuter(before),
      ...withOuter(body),
    ],
  };
});

type InnerLoop = Extract<Statement, { kind: "loop" }>;

/**
 * An inner loop that is all that iterations do, `for (counter = from; counter < to; counter +=
 * step)`, and what comes before it.
 */
export interface Nest {
  readonly before: readonly Extract<Statement, { kind: "declare" }>[];
  readonly counter: Extract<Expression, { kind: "local" }>;
  readonly from: Expression;
  readonly to: Expression;
  readonly step: number;
  readonly body: readonly Statement[];
}

/**
 * Finds the loop that is all that iterations of this one do, where its turns are counted before the
 * first one; null where there is none.
 */
const nestOf = oncePerLoop(({ body, arrays, carried, reductions, index }): Nest | null => {
  const isSimple = carried.length + reductions.length === 0 && index.type === "i32";
  if (!isSimple || arrays.some(({ role }) => role === "tracked")) return null;
  const [before, inner] = [body.slice(0, -1), body.at(-1)];
  if (inner?.kind !== "loop") return null;
  const declared = before.flatMap((statement) => (statement.kind === "declare" ? [statement] : []));
  const counted = countedBy(inner);
  const start = declared.find(({ name }) => name === counted?.counter.name);
  if (declared.length < before.length || !counted || !start) return null;

  const inside = [...everyStatement(counted.body)];
  const outer = new Set(declared.map(({ name }) => name));
  const kinds = ["declare", "assign", "store", "if", "loop", "break", "continue"];
  const isPlain = inside.every(
    (statement) =>
      kinds.includes(statement.kind) &&
      !(statement.kind === "assign" && outer.has(statement.name)) &&
      !("label" in statement && statement.kind !== "loop" && statement.label === inner.label),
  );
  const written = new Set(arrays.flatMap(({ name, role }) => (role === "read" ? [] : [name])));
  const isAlike = declared.every(({ value }) =>
    [...withOperands(value)].every(
      (part) =>
        !(part.kind === "load" && written.has(part.array)) &&
        !(part.kind === "local" && part.name === counted.counter.name),
    ),
  );
  if (!isPlain || !isAlike) return null;
  return { ...counted, before: declared.filter((each) => each !== start), from: start.value };
});

function countedBy({ body: [leave, ...body], update }: InnerLoop): Omit<Nest, "before" | "from"> | null {
  const [next] = update;
  if (leave?.kind !== "if" || leave.yes[0]?.kind !== "break" || leave.test.kind !== "unary") return null;
  const { operand } = leave.test;
  if (operand.kind !== "binary" || operand.operator !== "<" || operand.left.kind !== "local") return null;
  const counter = operand.left;
  if (update.length !== 1 || next?.kind !== "assign" || next.name !== counter.name) return null;
  const { value } = next;
  const isSum = value.kind === "binary" && value.operator === "+" && value.right.kind === "literal";
  if (!isSum || value.left.kind !== "local" || value.left.name !== counter.name) return null;
  return { counter, to: operand.right, step: Number(value.right.value), body };
}

/** The value of what is the same in all turns; NaN for anything else. */
function numberFrom(expression: Expression, { inputs, lengths }: LoopNumbers): number {
  if (expression.kind === "literal") return Number(expression.value);
  if (expression.kind === "input" && expression.type !== "f32") return inputs[expression.name]!;
  return expression.kind === "length" ? lengths[expression.array]! : Number.NaN;
}

/** `index * i + counter * j + constant`. */
interface Form {
  readonly index: number;
  readonly counter: number;
  readonly constant: number;
}

/** Whether every turn has elements of its own in each array that is written. */
function iterationsAreDisjoint(loop: Loop, nest: Nest, numbers: LoopNumbers, turns: number): boolean {
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

/**
 * An index as a linear form, where it is one; `inside` of `specialize` says that it does not wrap.
 */
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
