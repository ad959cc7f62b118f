/** Two texts with the same meaning for the replicas of a kernel. */
import type { Diversity, DiversityPasses } from "../shared/diversity.ts";
import { diversifyReplicas } from "./diversifyReplicas.ts";
import { keepRounding } from "./keepRounding.ts";

export type { Diversity };

const passes: DiversityPasses = { texts: 2, keepRounding, diversifyReplicas };

/**
 * Two texts with the same meaning, for the option `diversity` of `harden` and `protect`. The second
 * replica of an invocation runs the second text, so that replicas also find mistakes of compilers.
 */
export const twoTexts: Diversity = passes;
