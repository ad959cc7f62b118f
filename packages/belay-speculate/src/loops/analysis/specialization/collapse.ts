import type { BodyStatement, Loop, LoopExpression } from "../../tree/ir.ts";
import { oncePerLoop } from "../../tree/oncePerLoop.ts";
import { everyStatement, expressionsOf, mayReport, operandsOf, withOperands } from "../../tree/walk.ts";
import type { LoopNumbers } from "../prove.ts";
import { specialize } from "./specialize.ts";

/** The number of iterations that keeps a GPU busy without those of inner loops. */
const fewest = 2 ** 18;

/** An execution of another loop that gives the same result. */
export interface Collapsed extends LoopNumbers {
  readonly loop: Loop;
}

/**
 * Collapses a loop of few iterations, each an inner loop, into one loop over all inner iterations.
 * Before: for (i …) { const x = p[i]; for (j = 0; j < n; j++) a[i * n + j] += x; }
 * After: for (t …) { const i = t / n, j = t % n, x = p[i]; a[i * n + j] += x; }
 * Requires that no two inner iterations access an element that the loop writes. Returns null if
 * that cannot be shown before the loop runs, or if an iteration might bail out to the CPU.
 * Source: loop coalescing; Polychronopoulos, "Loop coalescing: a compiler transformation for
 * parallel machines", 1987.
 */
export function collapse(loop: Loop, numbers: LoopNumbers): Collapsed | null {
  const nest = nestOf(loop);
  if (!nest || numbers.count >= fewest) return null;
  const [from, to] = [numberFrom(nest.from, numbers), numberFrom(nest.to, numbers)];
  const tripCount = Math.ceil((to - from) / nest.step);
  const count = tripCount * numbers.count;
  if (!(tripCount > 1) || count >= 2 ** 31 || !iterationsAreDisjoint(loop, nest, numbers, tripCount))
    return null;
  const inputs = { ...numbers.inputs, $first: numbers.first, $step: numbers.step, $turns: tripCount };
  const result = { inputs, lengths: numbers.lengths, first: 0, step: 1, count };
  const made = collapsedLoop(loop)!;
  const proven = specialize(made, result);
  const isInside = [...everyStatement(proven.body)].every((each) => each.kind !== "store" || each.inside);
  return isInside && !mayReport(proven) ? { ...result, loop: made } : null;
}

/**
 * The loop over all inner iterations, with the numbers of the original loop as inputs. Null if
 * {@link nestOf} finds no nest.
 */
const collapsedLoop = oncePerLoop((loop): Loop | null => {
  const nest = nestOf(loop);
  if (!nest) return null;
  const { before, counter, from, step, body } = nest;
  const type = "i32";
  const input = (name: string): LoopExpression => ({ kind: "input", type, name });
  const binary = (
    operator: "+" | "*" | "/" | "%",
    left: LoopExpression,
    right: LoopExpression,
  ): LoopExpression => ({
    kind: "binary",
    type,
    operator,
    left,
    right,
  });
  const turn: LoopExpression = { kind: "index", type };
  const outer = "$outer";
  const withOuter = <Part>(part: Part): Part =>
    JSON.parse(JSON.stringify(part), (_, value) =>
      value?.kind === "index" && "type" in value ? { kind: "local", type, name: outer } : value,
    );
  const place: LoopExpression = binary("*", binary("%", turn, input("$turns")), {
    kind: "literal",
    type,
    value: step,
  });
  const row: LoopExpression = { kind: "convert", type, operand: binary("/", turn, input("$turns")) };
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

type InnerLoop = Extract<BodyStatement, { kind: "loop" }>;

/**
 * An inner loop `for (counter = from; counter < to; counter += step)` that is all of an iteration's
 * work, and the declarations before it.
 */
export interface Nest {
  readonly before: readonly Extract<BodyStatement, { kind: "declare" }>[];
  readonly counter: Extract<LoopExpression, { kind: "local" }>;
  readonly from: LoopExpression;
  readonly to: LoopExpression;
  readonly step: number;
  readonly body: readonly BodyStatement[];
}

/**
 * Finds the inner loop that is all of an iteration's work and whose iterations are counted before
 * the first one. Null if there is none.
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

/** Returns the value of an expression that is the same in all iterations; NaN for any other. */
function numberFrom(expression: LoopExpression, { inputs, lengths }: LoopNumbers): number {
  if (expression.kind === "literal") return Number(expression.value);
  if (expression.kind === "input" && expression.type !== "f32") return inputs[expression.name]!;
  return expression.kind === "length" ? lengths[expression.array]! : Number.NaN;
}

/** The linear form `index * i + counter * j + constant`. */
interface Form {
  readonly index: number;
  readonly counter: number;
  readonly constant: number;
}

/**
 * Returns true if every inner iteration has elements of its own in each array that the loop writes.
 */
function iterationsAreDisjoint(loop: Loop, nest: Nest, numbers: LoopNumbers, tripCount: number): boolean {
  const inside = [...everyStatement(nest.body)];
  const loads = inside.flatMap((statement) => expressionsOf(statement).flatMap(loadsOf));
  const accesses = [
    ...loads,
    ...inside.flatMap((statement) => (statement.kind === "store" ? [statement] : [])),
  ];
  return loop.arrays.every(({ name, role }) => {
    if (role === "read" || role === "combined") return true;
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
      ((column > 0 && row > column * (tripCount - 1)) || (row > 0 && column > row * (numbers.count - 1)))
    );
  });
}

/**
 * Returns an index as a linear form; null if it is none. `specialize` proved with `inside` that the
 * index does not wrap.
 */
function formOf(expression: LoopExpression, nest: Nest, numbers: LoopNumbers): Form | null {
  const constant = numberFrom(expression, numbers);
  if (!Number.isNaN(constant)) return { index: 0, counter: 0, constant };
  switch (expression.kind) {
    case "index":
      return { index: 1, counter: 0, constant: 0 };
    case "local":
      return expression.name === nest.counter.name ? { index: 0, counter: 1, constant: 0 } : null;
    case "convert":
      return ["f32", "f64"].includes(expression.operand.type)
        ? null
        : formOf(expression.operand, nest, numbers);
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

const loadsOf = (expression: LoopExpression) =>
  [...withOperands(expression)].flatMap((part) => (part.kind === "load" ? [part] : []));
