import { InvalidArgumentError } from "commander";

/** Values that the flags of several benchmarks have. */

/** A whole number from 1 on. */
export function count(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new InvalidArgumentError("Expected a whole number from 1 on.");
  return number;
}

/** Some of the known names, with commas between. */
export function namesFrom<Name extends string>(text: string, known: readonly Name[]): Name[] {
  return text.split(",").map((name) => {
    const found = known.find((each) => each === name.trim());
    if (!found) throw new InvalidArgumentError(`"${name}" is none of ${known.join(", ")}.`);
    return found;
  });
}
