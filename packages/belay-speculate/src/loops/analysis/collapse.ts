import type { Expression, Loop } from "../ir.ts";
import { everyStatement, mayReport } from "../kernels/walk.ts";
import { oncePerLoop } from "../oncePerLoop.ts";
import { nestOf, numberFrom } from "./nest.ts";
import type { LoopNumbers } from "./prove.ts";
import { specialize } from "./specialize.ts";
import { turnsAreApart } from "./turnsAreApart.ts";

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
  if (!(turns > 1) || count >= 2 ** 31 || !turnsAreApart(loop, nest, numbers, turns)) return null;
  const inputs = { ...numbers.inputs, $first: numbers.first, $step: numbers.step, $turns: turns };
  const result = { inputs, lengths: numbers.lengths, first: 0, step: 1, count };
  const made = collapsedLoop(loop)!;
  const proven = specialize(made, result);
  const isInside = [...everyStatement(proven.body)].every((each) => each.kind !== "store" || each.inside);
  return isInside && !mayReport(proven) ? { ...result, loop: made } : null;
}

/** Makes the loop over all turns, with the numbers of the one before as inputs; null where {@link nestOf} finds none. */
const collapsedLoop = oncePerLoop((loop): Loop | null => {
  const nest = nestOf(loop);
  if (!nest) return null;
  const { before, counter, from, step, body } = nest;
  const type = "i32";
  const input = (name: string): Expression => ({ kind: "input", type, name });
  const binary = (operator: "+" | "*" | "/" | "%", left: Expression, right: Expression): Expression => ({
    ...{ kind: "binary", type, operator, left, right },
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
        ...{ kind: "declare", name: outer, type },
        value: binary("+", input("$first"), binary("*", row, input("$step"))),
      },
      {
        ...{ kind: "declare", name: counter.name, type: counter.type },
        value: counter.type === type ? value : { kind: "convert", type: counter.type, operand: value },
      },
      ...withOuter(before),
      ...withOuter(body),
    ],
  };
});
