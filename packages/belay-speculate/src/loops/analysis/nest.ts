import type { Expression, Statement } from "../ir.ts";
import { everyStatement, withOperands } from "../kernels/walk.ts";
import { oncePerLoop } from "../oncePerLoop.ts";
import type { LoopNumbers } from "./prove.ts";

type InnerLoop = Extract<Statement, { kind: "loop" }>;

/** An inner loop that is all that iterations do, `for (counter = from; counter < to; counter += step)`, and what comes before it. */
export interface Nest {
  readonly before: readonly Extract<Statement, { kind: "declare" }>[];
  readonly counter: Extract<Expression, { kind: "local" }>;
  readonly from: Expression;
  readonly to: Expression;
  readonly step: number;
  readonly body: readonly Statement[];
}

/** Finds the loop that is all that iterations of this one do, where its turns are counted before the first one; null where there is none. */
export const nestOf = oncePerLoop(({ body, arrays, carried, reductions, index }): Nest | null => {
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
export function numberFrom(expression: Expression, { inputs, lengths }: LoopNumbers): number {
  if (expression.kind === "literal") return Number(expression.value);
  if (expression.kind === "input" && expression.type !== "f32") return inputs[expression.name]!;
  return expression.kind === "length" ? lengths[expression.array]! : Number.NaN;
}
