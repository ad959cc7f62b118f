/** The normal quantile of 95 %. */
const quantile = 1.6449;

/**
 * Returns the largest fraction that a sample supports at 95 %. It is exact if none of the sample is
 * wrong, and otherwise the score bound of Wilson (1927).
 */
export function upperBound(wrong: number, all: number): number {
  if (all === 0) return 1;
  if (wrong === 0) return 1 - 0.05 ** (1 / all);
  const [p, z] = [wrong / all, quantile ** 2 / all];
  return Math.min(1, (p + z / 2 + Math.sqrt(z * p * (1 - p) + z ** 2 / 4)) / (1 + z));
}
