/**
 * Throws a `TypeError` for options that do not exist, which types do not keep JavaScript from
 * passing. `names` has every option that exists.
 */
export function refuseUnknownOptions<Options extends object>(
  options: Options,
  names: Readonly<Record<keyof Options, true>>,
): void {
  if (typeof options !== "object" || options === null) throw new TypeError("the options are no object");
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  throw new TypeError(`there is no option ${unknown}: the options are ${Object.keys(names).join(", ")}`);
}
