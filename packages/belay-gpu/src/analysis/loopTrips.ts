import type { Expression, ForStatement } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";

/** The assumed trips of a loop whose bounds are not constant. */
export const assumedTrips = 16;

/** Returns the trips of a loop: those that its constants give, or {@link assumedTrips}. */
export const tripsOf = (program: Program, loop: ForStatement): number =>
  constantTripsOf(program, loop) ?? assumedTrips;

/**
 * Returns the trips of a loop `for (var i = a; i < b; i += c)` with constant `a`, `b` and `c`, or
 * undefined for any other loop.
 */
export function constantTripsOf(
  program: Program,
  { initializer, condition, update }: ForStatement,
): number | undefined {
  const constant = (expression: Expression | null) => {
    const known = expression && program.constantOf(expression);
    return known && "value" in known ? Number(known.value) : undefined;
  };
  if (initializer?.kind !== "var" || condition?.kind !== "binary" || !update) return undefined;
  const from = constant(initializer.initializer);
  const to = constant(condition.right);
  const step = update.kind === "assign" ? constant(update.value) : 1;
  const isLinear =
    update.kind === "increment" || (update.kind === "assign" && /^[+-]=$/.test(update.operator));
  if (from === undefined || to === undefined || !step || !isLinear) return undefined;
  return Math.max(1, Math.ceil(Math.abs(to - from) / Math.abs(step)));
}
