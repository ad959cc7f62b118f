import type { SpeculateOptions } from "belay-speculate";
import { run as chase } from "./examples/chase.ts";
import chaseSource from "./examples/chase.ts?raw";
import { run as deposit } from "./examples/deposit.ts";
import depositSource from "./examples/deposit.ts?raw";
import { run as recurrence } from "./examples/recurrence.ts";
import recurrenceSource from "./examples/recurrence.ts?raw";

/** A loop of the picker. Its iterations count from 0. */
export interface LoopExample {
  readonly name: string;
  readonly title: string;
  readonly source: string;
  /** Runs the loop. Resolves to the array that it changes. */
  readonly run: (options: SpeculateOptions) => Promise<Int32Array>;
}

/** Returns the text of the function with the loop, and the comment before it. */
const excerpt = (source: string) =>
  source
    .replace(/^import .*\n/gm, "")
    .split("\nexport const run")[0]!
    .replace(/\n{2,}/g, "\n")
    .trim();

/** The loops of the picker. All have 256 iterations. */
export const loopExamples: readonly [LoopExample, ...LoopExample[]] = [
  { name: "deposit", title: "Deposits in cells", source: excerpt(depositSource), run: deposit },
  { name: "recurrence", title: "A recurrence", source: excerpt(recurrenceSource), run: recurrence },
  { name: "chase", title: "Addresses from data", source: excerpt(chaseSource), run: chase },
];
