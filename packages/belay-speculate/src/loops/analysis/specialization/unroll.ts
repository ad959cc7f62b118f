import type { BodyStatement, LoopExpression } from "../../tree/ir.ts";
import { everyStatement, expressionsOf, isLoad, withOperands } from "../../tree/walk.ts";

/** The number of iterations unrolled into one, whose loads are all in flight at once. */
const factor = 8;

/** An inner loop `for (; name < end; name += step)` that changes none of these elsewhere. */
export interface CountedInnerLoop {
  readonly loop: Extract<BodyStatement, { kind: "loop" }>;
  /** The statements after the test, which comes first. */
  readonly body: readonly BodyStatement[];
  readonly counter: Extract<LoopExpression, { kind: "local" }>;
  readonly test: Extract<LoopExpression, { kind: "binary" }>;
  readonly step: number;
  /** The largest number of executions of the body. */
  readonly tripCount: number;
}

/**
 * Unrolls an inner loop: returns a loop over groups of eight iterations and a loop over the rest. A
 * GPU waits for each load of a loop whose end depends on a value; in an unrolled loop eight
 * iterations' loads are in flight. Returns the loop alone if unrolling gains nothing: fewer than 16
 * iterations, no loads, or statements other than declarations and assignments.
 */
export function unroll({ loop, body, counter, test, step, tripCount }: CountedInnerLoop): BodyStatement[] {
  const expressions = body.flatMap((statement) =>
    expressionsOf(statement).flatMap((expression) => [...withOperands(expression)]),
  );
  const isPlain = [...everyStatement(body)].every(({ kind }) => kind === "declare" || kind === "assign");
  if (!isPlain || tripCount < 2 * factor || !expressions.some(isLoad)) return [loop];

  const { type } = counter;
  const isUp = test.operator.startsWith("<");
  const last: LoopExpression = {
    kind: "binary",
    type,
    operator: isUp ? "+" : "-",
    left: counter,
    right: { kind: "literal", type, value: (factor - 1) * step },
  };
  const label = `${loop.label}$unrolled`;
  const block: BodyStatement = {
    kind: "if",
    test: { kind: "literal", type: "bool", value: 1 },
    yes: body,
    no: [],
  };
  const rows = Array.from({ length: factor - 1 }, () => [block, ...loop.update]);
  const unrolled: BodyStatement = {
    kind: "loop",
    label,
    most: Math.ceil(tripCount / factor),
    update: loop.update,
    body: [
      {
        kind: "if",
        test: { kind: "unary", type: "bool", operator: "!", operand: { ...test, left: last } },
        yes: [{ kind: "break", label }],
        no: [],
      },
      ...rows.flat(),
      block,
    ],
  };
  return [unrolled, { ...loop, most: factor - 1 }];
}

/** The distance that an unrolled loop's test looks past the counter's value, in steps. */
export const mostAhead = factor;
