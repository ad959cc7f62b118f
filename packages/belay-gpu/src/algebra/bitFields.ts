/**
 * Integers that a kernel takes out of loaded words, such as weights of four bits. Operations with
 * constants lead from one such integer to another.
 */

/** An integer from some bits of a buffer: `(bits << left) + plus`. */
export interface BitField {
  /** The number of the binding. */
  readonly buffer: number;
  /** The first bit, from the start of the binding. */
  readonly bit: number;
  readonly width: number;
  /** True if the highest bit is a sign. */
  readonly isSigned: boolean;
  readonly left: number;
  readonly plus: number;
}

/** Returns the integer in a loaded word. */
export const wordAt = (buffer: number, offset: number): BitField => ({
  buffer,
  bit: 8 * offset,
  width: 32,
  isSigned: false,
  left: 0,
  plus: 0,
});

/**
 * Returns the result of an operation on an integer and constants: another one, 0 without any bits,
 * or undefined if it is no such integer.
 */
export function operated(
  field: BitField,
  operation: string,
  ...constants: readonly number[]
): BitField | 0 | undefined {
  const [by = 0, count = 0] = constants;
  const { width, isSigned, left, plus } = field;
  if (operation === "same") return field;
  if (operation === "+" || operation === "-") {
    if (left > 0) return undefined;
    return { ...field, plus: plus + (operation === "+" ? by | 0 : -(by | 0)) };
  }
  // The operations below are on bits.
  if (plus !== 0) return undefined;
  switch (operation) {
    case "&":
      return isSigned ? undefined : masked(field, by);
    case "<<": {
      const moved = left + (by & 31);
      const kept = Math.min(width, 32 - moved);
      return kept <= 0 ? 0 : { ...field, width: kept, isSigned: isSigned && kept === width, left: moved };
    }
    case ">>":
      return shiftedRight({ ...field, isSigned: isSigned || left + width === 32 }, by & 31);
    case ">>>":
      return isSigned ? undefined : shiftedRight(field, by & 31);
    case "extractBitsU32": {
      const shifted = shiftedRight({ ...field, isSigned: false }, by);
      if (isSigned || !shifted) return isSigned ? undefined : shifted;
      return masked(shifted, count === 32 ? -1 : 2 ** count - 1);
    }
    case "extractBitsI32": {
      const high = operated(field, "<<", 32 - by - count);
      return high ? operated(high, ">>", 32 - count) : high;
    }
    default:
      return undefined;
  }
}

function shiftedRight(field: BitField, by: number): BitField | 0 {
  const cut = Math.max(0, by - field.left);
  const width = field.width - cut;
  if (width <= 0)
    return field.isSigned ? { ...field, bit: field.bit + field.width - 1, width: 1, left: 0 } : 0;
  return { ...field, bit: field.bit + cut, width, left: Math.max(0, field.left - by) };
}

/** Returns the bits that neighboring ones of a mask leave. */
function masked(field: BitField, mask: number): BitField | 0 | undefined {
  const high = 32 - Math.clz32(mask);
  const low = 31 - Math.clz32(mask & -mask);
  if (mask === 0) return 0;
  if (mask >>> 0 !== 2 ** high - 2 ** low) return undefined;
  const first = Math.max(low, field.left);
  const width = Math.min(high, field.left + field.width) - first;
  return width <= 0 ? 0 : { ...field, bit: field.bit + first - field.left, width, left: first };
}
