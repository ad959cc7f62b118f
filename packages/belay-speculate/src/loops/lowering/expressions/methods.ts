/** A method of arrays that a loop calls, or that makes the iterator of `for…of`. */
export type MethodName = "forEach" | "entries" | "at" | "set" | "fill" | "subarray" | "values";

/**
 * Returns JavaScript that is true if an array has a method of its class. `values` stands for the
 * method that `for…of` and patterns call.
 */
export const isMethodOf = (code: string, name: MethodName, owner: string) =>
  `${code}${name === "values" ? "?.[Symbol.iterator]" : `?.${name}`} === ${owner}.prototype.${name}`;
