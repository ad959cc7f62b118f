/** Translates kernels with all parts of the executor that users have. */
import { nearestArithmetic } from "./nearest.ts";
import { RaceDetector } from "./races.ts";
import {
  type ReferenceKernel,
  type ReferenceSource,
  referenceOf,
  resolveKernel,
  type UnsupportedConstruct,
} from "./referenceKernel.ts";
import { textureSupport } from "./textureCalls.ts";

/** The options of `createReference`. */
export interface ReferenceOptions {
  /**
   * `"intervals"` bounds what implementations may compute. `"nearest"` rounds each operation to the
   * nearest number, which compares two texts of one kernel exactly. Default: `"intervals"`.
   */
  readonly floats?: "intervals" | "nearest";
  /**
   * True to make a dispatch undecided if its invocations race for memory. It takes several times as
   * long. Default: false.
   */
  readonly detectRaces?: boolean;
}

/**
 * Translates a kernel for execution on the CPU. Returns the construct that the executor does not
 * have, if there is one. Throws a `TypeError` for a module with errors, for an unknown entry point
 * or override, and for a size of workgroups without a value.
 */
export function createReference(
  kernel: ReferenceSource,
  options: ReferenceOptions = {},
): ReferenceKernel | UnsupportedConstruct {
  const { floats = "intervals", detectRaces = false } = options;
  return referenceOf(resolveKernel(kernel), {
    ...(floats === "nearest" && { nearest: nearestArithmetic }),
    ...(detectRaces && { races: new RaceDetector() }),
    textures: textureSupport,
  });
}
