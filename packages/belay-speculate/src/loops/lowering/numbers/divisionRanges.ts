import type { Lowering } from "../lowering.ts";
import { constant, known, quotient, scale, subtract, unknown, zero } from "./linear.ts";
import { between, type Interval, int32, isPoint, numbers, uint32 } from "./values.ts";

/**
 * Whether a divisor is never zero; a divisor that only the host knows is taken to be positive,
 * which it checks.
 */
export function isNeverZero(lowering: Lowering, divisor: Interval): boolean {
  const range = numbers(divisor);
  if (range) return range[0] > 0 || range[1] < 0;
  return isPoint(divisor) && lowering.guards.requireNotPositive(subtract(between(1, 1).low, divisor.low));
}

/** A remainder is smaller than its divisor, and has the sign of its dividend. */
export function rangeOfRemainder(lowering: Lowering, dividend: Interval, divisor: Interval): Interval {
  const sizes = numbers(divisor) ?? [];
  const most =
    isPoint(divisor) && isPositive(lowering, divisor)
      ? divisor.high
      : constant(Math.max(...sizes.map(Math.abs)));
  const below = known(most) === Number.NEGATIVE_INFINITY ? unknown : subtract(most, constant(1));
  const signs = numbers(dividend) ?? [];
  return {
    low: isNegative(lowering, dividend) ? scale(below, -1) : zero,
    high: signs[1] !== undefined && signs[1] <= 0 ? zero : below,
  };
}

/** Whether some value of the interval may be negative. */
const isNegative = ({ guards }: Lowering, { low }: Interval) => guards.state(scale(low, -1)) !== "known";
/** Whether every value of the interval is positive. */
const isPositive = ({ guards }: Lowering, { low }: Interval) =>
  guards.state(subtract(constant(1), low)) === "known";

/** A quotient is no larger than its dividend; of positive numbers more is known. */
export function rangeOfQuotient(
  lowering: Lowering,
  dividend: Interval,
  divisor: Interval,
  type: "i32" | "u32",
): Interval {
  if (!isNegative(lowering, dividend) && isPositive(lowering, divisor)) {
    const least = isPoint(divisor) ? divisor.low : constant(Math.max(1, known(divisor.low) ?? 1));
    return { low: zero, high: quotient(dividend.high, least) };
  }
  const range = numbers(dividend);
  if (!range || type === "u32") return type === "u32" ? uint32 : int32;
  const largest = Math.max(Math.abs(range[0]), Math.abs(range[1]));
  return between(-Math.min(largest, 2 ** 31), Math.min(largest, 2 ** 31 - 1));
}
