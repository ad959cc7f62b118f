/**
 * Which of a kernel's buffers it checks itself, and which its host verifies before and encodes
 * after, and why.
 */
import { type BindingAccess, bindingPointOf } from "../analysis/bindings.ts";
import { dependencesOfPlaces } from "../analysis/dependences.ts";
import { executionBound } from "../analysis/executionBound.ts";
import { type MemoryAccess, memoryAccesses } from "../analysis/memoryAccesses.ts";
import { addressSpaceOf, containsAtomic } from "../analysis/places.ts";
import type { Dependences } from "../analysis/valueDependences.ts";
import { slotWords } from "../codes/checksum.ts";
import { type MemoryScheme, schemes } from "../codes/scheme.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { memoryPassVerified } from "../diagnostics/protection.ts";
import type { PieceBytes } from "../transforms/memory/checkedVariable.ts";
import type { ArenaAccess } from "../transforms/memory/checkWords.ts";
import { type PatternsOf, patternsIn } from "../transforms/memory/coalescedPattern.ts";
import { fillsGranules, isAccessible } from "../transforms/memory/coverage.ts";
import { type LinePlan, linePlan } from "../transforms/memory/linePlan.ts";
import { type SumClass, summedAccesses } from "../transforms/memory/summedAccesses.ts";
import type { Expression, GlobalVariable } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import { type KernelLimits, type MemorySummary, type ProtectedBinding, tableRow } from "./contract.ts";
import type { KernelFacts } from "./facts.ts";
import { type CodedPoint, isSame, type MemorySettings } from "./settings.ts";
import { bytesOfVariables } from "./workgroups.ts";

/** How a kernel adds up checksums of a buffer, or why it can't. */
interface SumPlan {
  /** Set when it is summed; `varies` where the contents of memory also decide what is accessed. */
  readonly classes?: readonly SumClass[];
  readonly varies?: true;
  /** Why it is not. */
  readonly why?: string;
}

/** A buffer that has a code. */
export interface CodedVariable extends ProtectedBinding {
  readonly variable: GlobalVariable;
  /** Set when lanes check lines together, in pieces of so many bytes. */
  readonly pieceBytes?: PieceBytes;
  /** Set when it is summed; `varies` where the contents of memory also decide what is accessed. */
  readonly classes?: readonly SumClass[];
  /** The reason why passes verify it instead of the kernel. */
  readonly why?: string;
}

export interface MemoryPlan {
  readonly variables: readonly CodedVariable[];
  /** How the kernel accesses the check words; undefined when it checks nothing. */
  readonly arena: ArenaAccess | undefined;
}

/** Bytes that an invocation accesses at once. */
const widestAccess = 16;

export interface MemoryPlanOptions {
  readonly limits: KernelLimits;
  /** Storage buffers that protection adds without the arena. */
  readonly others: number;
  /**
   * How many lanes may exchange what they access: those of a subgroup, but none where a replica is
   * among their neighbours.
   */
  readonly lanes: number;
  /**
   * Whether each invocation of the program's accesses memory once, at the places that the text
   * says: kernels may add up sums.
   */
  readonly isPlain: boolean;
}

/** The plan for a kernel in access normal form. */
export function memoryPlan(
  kernel: KernelFacts,
  coded: readonly CodedPoint[],
  { limits, others, lanes, isPlain }: MemoryPlanOptions,
): MemoryPlan {
  if (coded.length === 0) return { variables: [], arena: undefined };
  const { program, declaration, functions, storageBuffers } = kernel;
  const hasRoom = storageBuffers + others + 1 <= limits.maxStorageBuffersPerShaderStage;
  const { maxComputeWorkgroupStorageSize: bytesOfWorkgroups } = limits;
  const sumPlanOf = sumPlans(kernel, { isPlain, bytesOfWorkgroups });
  const accesses = memoryAccesses(program, functions);
  const patternsOf = patternsIn(program, declaration);
  const loads = [...accesses].flatMap(([variable, own]) =>
    addressSpaceOf(variable) === "storage" ? own.filter(({ kind }) => kind === "load") : [],
  );
  const loadsLittle =
    executionBound(program, declaration, new Set(loads.map(({ expression }) => expression))) <= 1;
  const variables = [...kernel.variables].flatMap((variable): CodedVariable[] => {
    const of = bindingPointOf(program, variable);
    const point = of && coded.find((each) => isSame(each.of, of));
    if (!point) return [];
    const declared = kernel.storageAccesses.get(variable) ?? "read";
    const uses = { loads: declared !== "write", stores: declared !== "read" };
    const own = accesses.get(variable) ?? [];
    const way = !hasRoom
      ? { why: "the device has no storage buffer left for check words" }
      : point.scheme === "checksum"
        ? sumPlanOf(variable, own, point.site)
        : wayOf(kernel, variable, own, {
            scheme: schemes[point.scheme],
            lanes,
            patternsOf,
            loadsLittle,
          });
    const mode = "why" in way ? "passVerified" : "classes" in way ? "summed" : "checked";
    return [{ ...point, ...uses, variable, mode, ...way }];
  });
  const checked = variables.filter(({ mode }) => mode === "checked");
  const arena = checked.some(({ pieceBytes, stores }) => pieceBytes && stores)
    ? "atomic"
    : checked.some(({ stores }) => stores)
      ? "read_write"
      : "read";
  return { variables, arena: checked.length > 0 ? arena : undefined };
}

interface WayOptions {
  readonly scheme: MemoryScheme;
  readonly lanes: number;
  readonly patternsOf: PatternsOf;
  /** Whether an invocation loads at most once. */
  readonly loadsLittle: boolean;
}

/**
 * How a kernel checks a buffer itself, or why it can't: what could race with the invocations that
 * share its granules.
 */
function wayOf(
  { program, declaration }: KernelFacts,
  variable: GlobalVariable,
  accesses: readonly MemoryAccess[],
  { scheme, lanes, patternsOf, loadsLittle }: WayOptions,
): Partial<LinePlan> {
  if (containsAtomic(program.declaredTypeOf(variable))) return { why: "atomic operations change it" };
  if (accesses.some(({ kind, place }) => kind === "other" || !place))
    return { why: "a pointer to it is passed on" };
  if (accesses.some(({ place }) => place && !isAccessible(place)))
    return { why: "values of its types are too large to be taken apart" };
  const { granuleBytes } = scheme;
  const stores = accesses.flatMap(({ kind, place }) => (kind === "store" && place ? [place] : []));
  const isWhole = stores.every((place) => fillsGranules(program, place, granuleBytes));
  if (isWhole && granuleBytes <= widestAccess) return {};
  // A stencil took 3.3 times as long with short lines, and 2.9 times with passes around it (NVIDIA
  // H200).
  if (granuleBytes <= widestAccess && !loadsLittle)
    return {
      why: `its stores fill parts of the ${granuleBytes} bytes that a check word of ${scheme.name} is for`,
    };
  const line = linePlan(program, declaration, variable, accesses, scheme, patternsOf);
  if ("why" in line) return line;
  const pieces = granuleBytes / line.pieceBytes;
  return pieces <= lanes ? line : { why: `no ${pieces} invocations can exchange what they access` };
}

/** Whether lanes exchange what they load or store. */
export const exchangesLanes = ({ variables }: MemoryPlan): boolean =>
  variables.some(({ pieceBytes }) => pieceBytes);

/** Whether a kernel adds up checksums. */
export const isSumming = ({ variables }: MemoryPlan): boolean =>
  variables.some(({ mode }) => mode === "summed");

/** The plan as the host is told it. */
export function memorySummary(plan: MemoryPlan, settings: MemorySettings): MemorySummary {
  const { variables, arena } = plan;
  const checks = {
    arena: settings.arena,
    table: settings.table,
    storesChecks: arena !== "read",
    tableBytes: 4 * tableRow.stride * settings.coded.length,
  };
  const bindings = variables.map(({ variable, why, pieceBytes, classes, ...binding }) => ({
    ...binding,
    ...(classes && { sums: classes.map(({ lanes, dimensions }) => ({ lanes, dimensions })) }),
  }));
  return { ...((arena || isSumming(plan)) && { checks }), bindings };
}

/** What a kernel that is left alone leaves to its host. */
export function passVerifiedSummary(
  accesses: readonly BindingAccess[],
  { coded }: MemorySettings,
): MemorySummary {
  const bindings = accesses.flatMap(({ access, ...of }): ProtectedBinding[] => {
    const point = coded.find((each) => isSame(each.of, of));
    const uses = { loads: access !== "write", stores: access !== "read" };
    return point ? [{ ...point, mode: "passVerified", ...uses }] : [];
  });
  return { bindings };
}

/** The buffers whose bits nobody checks while a kernel runs, each told once. */
export function passVerifiedMemory(plans: readonly (readonly [string, MemoryPlan])[]): Diagnostic[] {
  return plans.flatMap(([kernel, { variables }]) =>
    variables.flatMap(({ variable, why }) =>
      why ? [memoryPassVerified(variable.nameSpan, variable.name, kernel, why)] : [],
    ),
  );
}

interface SumPlanOptions {
  /**
   * Whether each invocation of the program's accesses memory once, at the places that the text
   * says.
   */
  readonly isPlain: boolean;
  readonly bytesOfWorkgroups: number;
}

/** Bytes of workgroup memory for the sums of a buffer. */
const bytesOfSums = 4 * slotWords;

/**
 * Plans the buffers of a kernel, each from what accesses it, and the number of the only access that
 * is wanted, if not all are.
 */
function sumPlans(
  kernel: KernelFacts,
  { isPlain, bytesOfWorkgroups }: SumPlanOptions,
): (variable: GlobalVariable, accesses: readonly MemoryAccess[], site: number | undefined) => SumPlan {
  const { program, declaration } = kernel;
  const shared = bytesOfVariables(kernel, (_, type) => sizeOf(type));
  // All of its storage buffers may be summed.
  const hasRoom = shared !== undefined && shared + bytesOfSums * kernel.storageBuffers <= bytesOfWorkgroups;
  let dependsOn: ((place: Expression) => Dependences) | undefined;
  return (variable, accesses, site) => {
    if (!isPlain) return { why: "replicas, or faults that are injected, access it in other ways" };
    if (addressSpaceOf(variable) === "uniform") return { why: "it is a uniform buffer" };
    if (!hasRoom) return { why: "no workgroup memory is known to be left for sums" };
    dependsOn ??= dependencesOfPlaces(program, declaration);
    const sums = summedAccesses(program, declaration, variable, accesses, dependsOn, site);
    return "why" in sums ? sums : { classes: sums.classes, ...(sums.varies && { varies: true }) };
  };
}
