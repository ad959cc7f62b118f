import type { Lowering } from "../lowering.ts";
import { constant, known, quotient, scale, subtract, unknown, zero } from "./linear.ts";
import { between, type Interval, int32, isPoint, numbers, uint32 } from "./values.ts";

/**
 * Returns true if a divisor is never zero. A divisor that only the host knows is required to be
 * positive, which the host checks.
 */
export function isNeverZero(lowering: Lowering, divisor: Interval): boolean {
  const range = numbers(divisor);
  if (range) return range[0] > 0 || range[1] < 0;
  return isPoint(divisor) && lowering.guards.requireNotPositive(subtract(between(1, 1).low, divisor.low));
}

/**
 * Returns the range of a remainder. It is smaller than its divisor, and has the sign of its
 * dividend.
 */
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

/** Returns true if some value of the interval may be negative. */
const isNegative = ({ guards }: Lowering, { low }: Interval) => guards.state(scale(low, -1)) !== "known";
/** Returns true if every value of the interval is positive. */
const isPositive = ({ guards }: Lowering, { low }: Interval) =>
  guards.state(subtract(constant(1), low)) === "known";

/**
 * Returns the range of a quotient. It is no larger than its dividend, and smaller for positive
 * numbers.
 */
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
