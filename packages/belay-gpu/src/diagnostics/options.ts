import { isA } from "./isA.ts";

/** The values that an option takes. */
export interface Values {
  /** The name of the values, such as `a list of WGSL sources`. */
  readonly what: string;
  has(value: unknown): boolean;
  /** Throws a `TypeError` that names a wrong part of a value of these. */
  refuseParts?(value: unknown): void;
}

/** The most characters of a value in a message. */
const mostShown = 200;

/** Returns a value as it appears in a message. */
export function shown(value: unknown): string {
  const text = textOf(value);
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text;
}

function textOf(value: unknown): string {
  // JSON has no text for NaN and infinities.
  if (typeof value === "number") return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** Returns the set of the listed values. */
export const oneOf = (values: readonly unknown[]): Values => ({
  what: `one of ${values.map(shown).join(", ")}`,
  has: (value) => values.includes(value),
});

export const flag = oneOf([true, false]);

/** Returns the set of whole numbers from `least` on. */
export const wholeFrom = (least: number): Values => ({
  what: `a whole number from ${least} on`,
  has: (value) => Number.isSafeInteger(value) && Number(value) >= least,
});

/** The set of all functions. */
export const aFunction: Values = { what: "a function", has: (value) => typeof value === "function" };

/** The set of all `AbortSignal`s. */
const aSignal: Values = {
  what: "an AbortSignal",
  has: (value) => isA(value, AbortSignal),
};

/** Returns the set of lists whose elements satisfy `has`. `what` names the elements. */
export const listOf = (what: string, has: (value: unknown) => boolean): Values => ({
  what: `a list of ${what}`,
  has: (value) => Array.isArray(value) && value.every(has),
});

/** The options of all long work, with the values that they take. */
export const longWork = { signal: aSignal, onProgress: aFunction };

/**
 * Throws a `TypeError` for an unknown option, for an invalid value, and for a missing option of
 * `needed`. Also throws for an option that the object inherits or hides, as copies lack it. Types
 * do not keep JavaScript from passing such options. An option with `null` takes any value. `of`
 * names the owner of the options, such as ` of the policy`.
 */
export function refuseUnknown<T extends object>(
  given: T,
  options: { readonly [Name in keyof Required<T>]: Values | null },
  of = "",
  needed: readonly (keyof T)[] = [],
): void {
  if (typeof given !== "object" || given === null) throw new TypeError(`the options${of} are no object`);
  const own = Object.keys(given);
  for (const name of Object.keys(options))
    if (name in given && !own.includes(name))
      throw new TypeError(`the option ${name}${of} is inherited or hidden: set it on the object itself`);
  for (const name of [...own, ...needed] as (keyof T & string)[]) {
    if (!Object.hasOwn(options, name))
      throw new TypeError(
        `there is no option ${name}${of}: the options are ${Object.keys(options).join(", ")}`,
      );
    const [value, values] = [given[name], options[name]];
    if (value === undefined ? needed.includes(name) : values && !values.has(value))
      throw new TypeError(`the option ${name}${of} cannot be ${shown(value)}: it is ${values?.what}`);
    if (value !== undefined) values?.refuseParts?.(value);
  }
}
