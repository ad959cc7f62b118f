/**
 * Another text for the second replica, as the other passes see it. The passes that write the text
 * are an entry of their own: pages without them do not load them.
 */
import type { Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import type { Names } from "./names.ts";

/** Different texts for the replicas of a kernel. `twoTexts` of `belay-gpu/diversity` is one. */
export interface Diversity {
  /** The number of texts. */
  readonly texts: number;
}

/** A diversity with its passes, in their order. */
export interface DiversityPasses extends Diversity {
  keepRounding(program: Program, names: Names, options: DiversityOptions): Module;
  diversifyReplicas(program: Program, names: Names, options: DiversifyReplicasOptions): Module;
}

/** The entry points whose bodies have two texts. */
export interface DiversityOptions {
  readonly entryPoints: ReadonlySet<string>;
}

export interface DiversifyReplicasOptions extends DiversityOptions {
  /** The entry points with room for a word of workgroup memory, which barriers need. */
  readonly roomy: ReadonlySet<string>;
}

/** Returns the name of the boolean with which an entry point chooses the text of its body. */
export const secondTextOf = (names: Names): string => names.the("second_text");

/** Returns the name of the zero whose value no compiler knows. */
export const zeroOf = (names: Names): string => names.the("zero");

/** Returns that zero, as WGSL: no workgroup is beyond the last one. */
export const hiddenZero = (names: Names): string =>
  `u32(${names.the("in_workgroup_id")}.x >= ${names.the("in_num_workgroups")}.x)`;
