/** The setup file that makes comparisons of large typed arrays cheap. */
import { expect } from "vitest";

type TypedArray = Int8Array | Float32Array;

const isTyped = (value: unknown): value is TypedArray =>
  ArrayBuffer.isView(value) && !(value instanceof DataView);

/**
 * Returns true for typed arrays that `toEqual` finds equal, in a hundredth of its time. Leaves all
 * others to it.
 */
function areSame(one: unknown, other: unknown): true | undefined {
  if (!isTyped(one) || !isTyped(other) || one.constructor !== other.constructor) return undefined;
  const { length } = one;
  if (length !== other.length) return undefined;
  for (let i = 0; i < length; i++) if (!Object.is(one[i], other[i])) return undefined;
  const hasOwn = (array: TypedArray) => Object.keys(array).length > length;
  return hasOwn(one) || hasOwn(other) ? undefined : true;
}

// Test files share a process, whose comparisons stay changed.
const shared: typeof globalThis & { belayComparesTypedArrays?: true } = globalThis;
if (!shared.belayComparesTypedArrays) expect.addEqualityTesters([areSame]);
shared.belayComparesTypedArrays = true;
