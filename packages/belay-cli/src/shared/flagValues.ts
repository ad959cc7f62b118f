import { longestWait } from "belay-gpu/internal/runtime/context/timers";
import { InvalidArgumentError } from "commander";

/** Values that the flags of several commands have. */

/** A whole number from 1 on. */
export function count(text: string): number {
  const number = whole(text);
  if (number < 1) throw new InvalidArgumentError("Expected a whole number from 1 on.");
  return number;
}

/** A whole number from 0 on. */
export function whole(text: string): number {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new InvalidArgumentError("Expected a whole number.");
  return number;
}

const mostSeconds = Math.floor(longestWait / 1000);

/** Seconds that something may take before it is ended. */
export function patience(text: string): number {
  const seconds = count(text);
  if (seconds > mostSeconds) throw new InvalidArgumentError(`Expected at most ${mostSeconds}.`);
  return seconds;
}

/** The path of a file or directory. */
export function path(text: string): string {
  if (text === "") throw new InvalidArgumentError("Expected a path.");
  return text;
}

/** Some of the known names, with commas between; one that is said twice counts once. */
export function namesFrom<Name extends string>(text: string, known: readonly Name[]): Name[] {
  const names = text.split(",").map((name) => {
    const found = known.find((each) => each === name.trim());
    if (!found) throw new InvalidArgumentError(`"${name}" is none of ${known.join(", ")}.`);
    return found;
  });
  return [...new Set(names)];
}
