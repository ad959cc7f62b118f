/**
 * Maps from indices to addresses that are sums over the digits of the index. The elements of a
 * tensor have such addresses: the digits of an element's number are its row and its column.
 */

/** A digit of an index: the number of its values, and how far each step moves each address. */
export interface Digit {
  readonly size: number;
  readonly steps: readonly number[];
}

/** A map from an index to addresses: the addresses of index 0, and the digits, lowest first. */
export interface DigitMap {
  readonly start: readonly number[];
  readonly digits: readonly Digit[];
}

/** The known addresses of one index. */
export interface KnownAddresses {
  readonly index: number;
  readonly at: readonly number[];
}

/** Returns the addresses of an index. */
export function addressesAt({ start, digits }: DigitMap, index: number): number[] {
  const at = [...start];
  let rest = index;
  for (const { size, steps } of digits) {
    const digit = rest % size;
    rest = (rest - digit) / size;
    for (let i = 0; i < at.length; i++) at[i]! += digit * steps[i]!;
  }
  return at;
}

/** Returns the values of all digits of an index. */
export function digitsOf(digits: readonly Digit[], index: number): number[] {
  let rest = index;
  return digits.map(({ size }) => {
    const digit = rest % size;
    rest = (rest - digit) / size;
    return digit;
  });
}

/** The most digits of an index. Tensors have no more dimensions. */
const mostDigits = 8;

/** The most maps that are tried. */
const mostTries = 500;

/**
 * Returns a map of `count` indices that gives all facts; undefined if none is found. One fact is
 * about index 0. The sizes of the digits have `count` as their product.
 */
export function fitDigits(facts: readonly KnownAddresses[], count: number): DigitMap | undefined {
  const sorted = [...facts].sort((a, b) => a.index - b.index);
  const [first] = sorted;
  if (first?.index !== 0) return undefined;
  let tries = 0;
  const extended = (map: DigitMap, stride: number): DigitMap | undefined => {
    const failing = sorted[firstUnexplained(map, sorted, stride)];
    if (!failing) return stride === count ? map : undefined;
    // A digit below the new one would have explained the fact.
    const digit = Math.floor(failing.index / stride);
    if (map.digits.length === mostDigits || digit === 0) return undefined;
    const rest = addressesAt(map, failing.index % stride);
    const steps = failing.at.map((each, i) => (each - rest[i]!) / digit);
    if (!steps.every(Number.isInteger)) return undefined;
    const next = divisorsOf(count / stride)
      .filter((size) => size > digit)
      .map((size) => {
        const longer = { ...map, digits: [...map.digits, { size, steps }] };
        return { longer, size, explained: firstUnexplained(longer, sorted, stride * size) };
      });
    // Sizes that are too small or too large explain fewer facts.
    next.sort((a, b) => b.explained - a.explained || a.size - b.size);
    for (const { longer, size } of next) {
      if (++tries > mostTries) return undefined;
      const found = extended(longer, stride * size);
      if (found) return found;
    }
    return undefined;
  };
  return extended({ start: first.at, digits: [] }, 1);
}

/** Returns the number of facts before the first that a map does not give. */
function firstUnexplained(map: DigitMap, sorted: readonly KnownAddresses[], stride: number): number {
  const position = sorted.findIndex(
    ({ index, at }) => index >= stride || addressesAt(map, index).some((each, i) => each !== at[i]),
  );
  return position < 0 ? sorted.length : position;
}

/** Returns the divisors of a number in ascending order. */
export function divisorsOf(number: number): number[] {
  const low: number[] = [];
  const high: number[] = [];
  for (let i = 1; i * i <= number; i++) {
    if (number % i !== 0) continue;
    low.push(i);
    if (i * i < number) high.unshift(number / i);
  }
  return [...low, ...high];
}
