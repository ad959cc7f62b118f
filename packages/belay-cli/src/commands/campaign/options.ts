import { InvalidArgumentError, Option } from "commander";
import { readWeights, studiedWeights } from "../../campaign/model/weights.ts";
import { count } from "../../shared/options.ts";

/** The greatest number of processes. No machine has devices and memory for more. */
const MOST_JOBS = 256;

/** Parses the number of processes with a device. */
export function jobs(text: string): number {
  const number = count(text);
  if (number > MOST_JOBS) throw new InvalidArgumentError(`Expected at most ${MOST_JOBS}.`);
  return number;
}

/** Makes the option for the shares of fault models. */
export const weightsOption = (): Option =>
  new Option("--weights <file>", "JSON with the shares of fault models in the weighted table")
    .argParser(readWeights)
    .default(studiedWeights, studiedWeights.name);
