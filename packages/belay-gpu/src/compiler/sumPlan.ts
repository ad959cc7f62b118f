/** How a kernel adds up checksums of the buffers that it accesses, or why it can't. */
import { dependencesOfPlaces } from "../analysis/dependences.ts";
import type { MemoryAccess } from "../analysis/memoryAccesses.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import type { Dependences } from "../analysis/valueDependences.ts";
import { slotWords } from "../codes/checksum.ts";
import { type SumClass, summedAccesses } from "../transforms/memory/summedAccesses.ts";
import type { Expression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { bytesOfVariables } from "./workgroupMemory.ts";

export interface SumPlan {
  /** Set when it is summed; `varies` where the contents of memory also decide what is accessed. */
  readonly classes?: readonly SumClass[];
  readonly varies?: true;
  /** Why it is not. */
  readonly why?: string;
}

export interface SumPlanOptions {
  /** Whether each invocation of the program's accesses memory once, at the places that the text says. */
  readonly isPlain: boolean;
  /** Storage buffers that the kernel uses, all of which may be summed. */
  readonly buffers: number;
  readonly bytesOfWorkgroups: number;
}

/** Bytes of workgroup memory for the sums of a buffer. */
const bytesOfSums = 4 * slotWords;

/** Plans the buffers of a kernel, each from what accesses it, and the number of the only access that is wanted, if not all are. */
export function sumPlans(
  program: Program,
  kernel: FunctionDeclaration,
  { isPlain, buffers, bytesOfWorkgroups }: SumPlanOptions,
): (variable: GlobalVariable, accesses: readonly MemoryAccess[], site: number | undefined) => SumPlan {
  const shared = bytesOfVariables(program, kernel, (_, type) => sizeOf(type));
  const hasRoom = shared !== undefined && shared + bytesOfSums * buffers <= bytesOfWorkgroups;
  let dependsOn: ((place: Expression) => Dependences) | undefined;
  return (variable, accesses, site) => {
    if (!isPlain) return { why: "replicas, or faults that are injected, access it in other ways" };
    if (addressSpaceOf(variable) === "uniform") return { why: "it is a uniform buffer" };
    if (!hasRoom) return { why: "no workgroup memory is known to be left for sums" };
    dependsOn ??= dependencesOfPlaces(program, kernel);
    const sums = summedAccesses(program, kernel, variable, accesses, dependsOn, site);
    return "why" in sums ? sums : { classes: sums.classes, ...(sums.varies && { varies: true }) };
  };
}
