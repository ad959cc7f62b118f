import type { Expression, Statement } from "../../tree/ir.ts";
import { everyStatement, expressionsOf, isLoad, withOperands } from "../../tree/walk.ts";

/** Turns that become one: so many loads are under way at once. */
const factor = 8;

/** An inner loop `for (; name < end; name += step)`, where nothing else changes any of these. */
export interface CountedLoop {
  readonly loop: Extract<Statement, { kind: "loop" }>;
  /** Without the test, which comes first. */
  readonly body: readonly Statement[];
  readonly counter: Extract<Expression, { kind: "local" }>;
  readonly test: Extract<Expression, { kind: "binary" }>;
  readonly step: number;
  /** How often the body runs at most. */
  readonly turns: number;
}

/**
 * The loop as one of several turns at a time, and one for the rest. A GPU waits for each load of a
 * loop that ends when a value says so; in a row of turns they are all under way. Gives the loop
 * alone where there is nothing to gain: few turns, no loads, or something other than arithmetic
 * between them.
 */
export function unroll({ loop, body, counter, test, step, turns }: CountedLoop): Statement[] {
  const expressions = body.flatMap((statement) =>
    expressionsOf(statement).flatMap((expression) => [...withOperands(expression)]),
  );
  const isPlain = [...everyStatement(body)].every(({ kind }) => kind === "declare" || kind === "assign");
  if (!isPlain || turns < 2 * factor || !expressions.some(isLoad)) return [loop];

  const { type } = counter;
  const isUp = test.operator.startsWith("<");
  const last: Expression = {
    kind: "binary",
    type,
    operator: isUp ? "+" : "-",
    left: counter,
    right: { kind: "literal", type, value: (factor - 1) * step },
  };
  const label = `${loop.label}$unrolled`;
  const block: Statement = {
    kind: "if",
    test: { kind: "literal", type: "bool", value: 1 },
    yes: body,
    no: [],
  };
  const rows = Array.from({ length: factor - 1 }, () => [block, ...loop.update]);
  const unrolled: Statement = {
    kind: "loop",
    label,
    most: Math.ceil(turns / factor),
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

/** How far a counter may get beyond its last value. */
export const mostAhead = factor;
