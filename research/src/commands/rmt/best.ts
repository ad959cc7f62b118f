/**
 * The configuration that represents a program if there is room for one figure, and the mean that
 * represents all programs.
 */

import type { Check } from "belay-gpu/internal/compiler/contract";
import { geometricMean } from "simple-statistics";
import { type Flavor, usualOf } from "../../bench/measuring/configurations.ts";
import type { Overhead } from "../../bench/measuring/overhead.ts";
import type { ProgramResult } from "../../bench/rmt/program.ts";

/** The programs of the catalog that the paper does not have. */
const additional: readonly string[] = ["reductionFloat", "histogram"];

export const measured = ({ overheads }: Pick<ProgramResult, "overheads">): Overhead[] =>
  overheads.filter((each) => "ratio" in each);

/** Returns the overhead of a flavor in its usual configuration. */
export function usual({ overheads }: ProgramResult, flavor: Flavor, check: Check): Overhead | undefined {
  const found = usualOf(overheads, flavor, check);
  return found && "ratio" in found ? found : undefined;
}

/** Returns the configuration with the least overhead, of those that `isAsked` accepts. */
function best(
  program: Pick<ProgramResult, "overheads">,
  isAsked: (each: Overhead) => boolean,
): Overhead | undefined {
  return measured(program)
    .filter(isAsked)
    .reduce<Overhead | undefined>(
      (least, each) => (least && least.ratio <= each.ratio ? least : each),
      undefined,
    );
}

export const bestIn = (program: ProgramResult, flavor: Flavor) =>
  best(program, ({ redundancy }) => redundancy === flavor);

/**
 * Returns the best configuration that covers the parts that `"auto"` must cover: arithmetic,
 * registers and workgroup memory.
 */
export const bestCovering = (program: ProgramResult) =>
  best(
    program,
    ({ redundancy, check }) =>
      redundancy === "intra+lds" || (redundancy === "inter" && check === "signature"),
  );

/**
 * Returns the geometric mean of a ratio over the paper's programs, or undefined when none has it.
 */
export function meanOf(
  programs: readonly ProgramResult[],
  ratioOf: (program: ProgramResult) => number | undefined,
): number | undefined {
  const ratios = programs
    .filter(({ name }) => !additional.includes(name))
    .flatMap((program) => ratioOf(program) ?? []);
  return ratios.length === 0 ? undefined : geometricMean(ratios);
}

/** Returns the comparison of a check in words. */
export const compared = (check: Check) =>
  `compared ${check === "store" ? "before each store" : "by signature"}`;
