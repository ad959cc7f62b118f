import type { Loop } from "../tree/ir.ts";
import type { Effects } from "./code/body.ts";

/**
 * Returns the code for carried variables that are predicted to keep their values from before the
 * window. Iterations then need not wait for each other. Each iteration has a copy of them. The
 * first iteration that stores to one ends the window and is the last one executed in it. All
 * earlier iterations were therefore predicted right.
 * Source: value prediction; Lipasti, Shen, "Exceeding the dataflow limit via value prediction",
 * 1996.
 */
export function valuePrediction(
  { carried }: Loop,
  from: "carried" | "carried_before",
  whenStored: (slot: number) => string,
): { effects: Pick<Effects, "loadCarried" | "storeCarried">; declaration: string; start: string } {
  return {
    effects: {
      loadCarried: (_, slot) => `  return own_carried[${slot}];`,
      storeCarried: (_, slot) => `  own_carried[${slot}] = bits;\n${whenStored(slot)}`.trimEnd(),
    },
    declaration: `/** The carried variables as the iteration sees them. */\nvar<private> own_carried: array<u32, ${carried.length}>;`,
    start: `own_carried = control.${from};`,
  };
}
