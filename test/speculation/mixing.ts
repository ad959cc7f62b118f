/**
 * Mixes two words into one, so that a wrong value stays visible in every value computed from it.
 */
export function mixed(a: number, b: number): number {
  let word = Math.imul(a ^ Math.imul(b + 1, 0x9e3779b1), 0x85ebca6b);
  word ^= word >>> 15;
  word = Math.imul(word, 0x735a2d97);
  return word ^ (word >>> 13);
}
