/**
 * What stands for a program where there is room for one figure, and what stands for all of them.
 */

import type { Check } from "belay-gpu/internal/compiler/contract";
import { geometricMean } from "simple-statistics";
import { type Flavor, usualOf } from "../../bench/measuring/configurations.ts";
import type { Overhead } from "../../bench/measuring/overhead.ts";
import type { ProgramResult } from "../../bench/rmt/program.ts";

/** Programs of the catalog that the paper does not have. */
const additional: readonly string[] = ["reductionFloat", "histogram"];

export const measured = ({ overheads }: Pick<ProgramResult, "overheads">): Overhead[] =>
  overheads.filter((each) => "ratio" in each);

/** A flavor's overhead in the configuration that stands for it. */
export function usual({ overheads }: ProgramResult, flavor: Flavor, check: Check): Overhead | undefined {
  const found = usualOf(overheads, flavor, check);
  return found && "ratio" in found ? found : undefined;
}

/** The configuration with the least overhead, of those that are asked for. */
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

/** The best that covers what `"auto"` must cover: arithmetic, registers and workgroup memory. */
export const bestCovering = (program: ProgramResult) =>
  best(
    program,
    ({ redundancy, check }) =>
      redundancy === "intra+lds" || (redundancy === "inter" && check === "signature"),
  );

/** The geometric mean of a ratio over the paper's programs; undefined when none has it. */
export function meanOf(
  programs: readonly ProgramResult[],
  ratioOf: (program: ProgramResult) => number | undefined,
): number | undefined {
  const ratios = programs
    .filter(({ name }) => !additional.includes(name))
    .flatMap((program) => ratioOf(program) ?? []);
  return ratios.length === 0 ? undefined : geometricMean(ratios);
}

/** How a check compares, in words. */
export const compared = (check: Check) =>
  `compared ${check === "store" ? "before each store" : "by signature"}`;
