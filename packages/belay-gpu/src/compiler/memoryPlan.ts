/**
 * Decides which buffers a kernel checks itself and which its host verifies before and encodes after
 * it, and why.
 */
import { type BindingAccess, bindingPointOf } from "../analysis/bindings.ts";
import { dependencesOfPlaces } from "../analysis/dependences.ts";
import { executionBound } from "../analysis/executionBound.ts";
import { type MemoryAccess, memoryAccesses } from "../analysis/memoryAccesses.ts";
import { addressSpaceOf, containsAtomic } from "../analysis/places.ts";
import type { DecidingMemory, Dependences } from "../analysis/valueDependences.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { memoryPassVerified } from "../diagnostics/protection.ts";
import { slotWords } from "../ecc/checksum.ts";
import type { MemoryScheme } from "../ecc/scheme.ts";
import type { PieceBytes } from "../transforms/memory/checkedVariable.ts";
import type { ArenaAccess } from "../transforms/memory/checkWords.ts";
import { type PatternsOf, patternsIn } from "../transforms/memory/coalescedPattern.ts";
import { fillsGranules, isAccessible } from "../transforms/memory/coverage.ts";
import { type LinePlan, linePlan } from "../transforms/memory/linePlan.ts";
import { type SumClass, summedAccesses } from "../transforms/memory/summedAccesses.ts";
import type { Expression, GlobalVariable } from "../wgsl/ast.ts";
import { sizeOf, sizeWith } from "../wgsl/layout.ts";
import { type KernelLimits, type MemorySummary, type ProtectedBinding, tableRow } from "./contract.ts";
import type { KernelFacts } from "./facts.ts";
import { type CodedPoint, isSame, type MemorySettings } from "./settings.ts";
import { bytesOfVariables } from "./workgroups.ts";

/** The plan for checksums of a buffer, or the reason why there is none. */
interface SumPlan {
  /** The classes of sums if the kernel sums the buffer. */
  readonly classes?: readonly SumClass[];
  /** The memory whose contents also decide which elements are accessed, if any. */
  readonly varies?: DecidingMemory;
  /** The reason why the kernel does not sum the buffer. */
  readonly why?: string;
}

/** A buffer that has a code. */
export interface CodedVariable extends ProtectedBinding {
  readonly variable: GlobalVariable;
  /** Absent for a checksum. */
  readonly code?: MemoryScheme;
  /** The bytes of a piece, if lanes check lines together. */
  readonly pieceBytes?: PieceBytes;
  /** The classes of sums if the kernel sums the buffer. */
  readonly classes?: readonly SumClass[];
  /** The reason why the buffer is host-verified. */
  readonly why?: string;
}

/** The plan for the memory of a kernel. */
export interface MemoryPlan {
  readonly variables: readonly CodedVariable[];
  /** The access of the kernel to the check words; undefined if it checks none. */
  readonly arena: ArenaAccess | undefined;
}

/** The bytes of the widest access of an invocation. */
const widestAccess = 16;

export interface MemoryPlanOptions {
  readonly limits: KernelLimits;
  /** The storage buffers that protection adds besides the shadow buffer. */
  readonly others: number;
  /**
   * The number of lanes that may exchange their accesses: those of a subgroup, or 0 if replicas are
   * neighbors.
   */
  readonly lanes: number;
  /**
   * True if each invocation accesses memory once, at the places in the source. Checksums require
   * that.
   */
  readonly isPlain: boolean;
}

/** Returns the plan for a kernel in access normal form. */
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
      : !point.code
        ? sumPlanOf(variable, own, point.site)
        : wayOf(kernel, variable, own, {
            scheme: point.code,
            lanes,
            patternsOf,
            loadsLittle,
          });
    const mode = "why" in way ? "passVerified" : "classes" in way ? "summed" : "checked";
    const isUniform = addressSpaceOf(variable) === "uniform" && { isUniform: true as const };
    const bytes = sizeWith(program.declaredTypeOf(variable), 1);
    const leastBytes = mode === "checked" && bytes > point.code!.granuleBytes && { leastBytes: bytes };
    return [{ ...point, ...uses, ...isUniform, ...leastBytes, variable, mode, ...way }];
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
  /** True if an invocation loads at most once. */
  readonly loadsLittle: boolean;
}

/**
 * Returns how a kernel checks a buffer itself, or the reason why it cannot. Invocations that share
 * granules must not race.
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
  // A stencil took 3.3 times as long with short lines, and 2.9 times with passes by the host
  // (NVIDIA H200).
  if (granuleBytes <= widestAccess && !loadsLittle)
    return {
      why: `its stores write only parts of the ${granuleBytes} bytes that share a check word of ${scheme.name}`,
    };
  const line = linePlan(program, declaration, variable, accesses, scheme, patternsOf);
  if ("why" in line) return line;
  const pieces = granuleBytes / line.pieceBytes;
  return pieces <= lanes ? line : { why: `the device cannot exchange words among ${pieces} invocations` };
}

/** Returns true if lanes exchange the words that they load or store. */
export const exchangesLanes = ({ variables }: MemoryPlan): boolean =>
  variables.some(({ pieceBytes }) => pieceBytes);

/** Returns true if a kernel computes checksums. */
export const isSumming = ({ variables }: MemoryPlan): boolean =>
  variables.some(({ mode }) => mode === "summed");

/** Returns the plan as the host receives it. */
export function memorySummary(plan: MemoryPlan, settings: MemorySettings): MemorySummary {
  const { variables, arena } = plan;
  const checks = {
    arena: settings.arena,
    table: settings.table,
    storesChecks: arena !== "read",
    tableBytes: 4 * tableRow.stride * settings.coded.length,
  };
  const bindings = variables.map(({ variable, code, why, pieceBytes, classes, ...binding }) => ({
    ...binding,
    ...(pieceBytes && { isInLines: true as const }),
    ...(classes && { sums: classes.map(({ lanes, dimensions }) => ({ lanes, dimensions })) }),
  }));
  return { ...((arena || isSumming(plan)) && { checks }), bindings };
}

/** Returns the plan for a kernel that is left unprotected: its host verifies all buffers. */
export function passVerifiedSummary(
  accesses: readonly BindingAccess[],
  { coded }: MemorySettings,
): MemorySummary {
  const bindings = accesses.flatMap(({ access, ...of }): ProtectedBinding[] => {
    const found = coded.find((each) => isSame(each.of, of));
    if (!found) return [];
    const { code, ...point } = found;
    return [{ ...point, mode: "passVerified", loads: access !== "write", stores: access !== "read" }];
  });
  return { bindings };
}

/** Returns one warning for each buffer that no check covers while a kernel runs. */
export function passVerifiedMemory(plans: readonly (readonly [string, MemoryPlan])[]): Diagnostic[] {
  return plans.flatMap(([kernel, { variables }]) =>
    variables.flatMap(({ variable, why }) =>
      why ? [memoryPassVerified(variable.nameSpan, variable.name, kernel, why)] : [],
    ),
  );
}

interface SumPlanOptions {
  /** True if each invocation accesses memory once, at the places in the source. */
  readonly isPlain: boolean;
  readonly bytesOfWorkgroups: number;
}

/** The bytes of workgroup memory for the sums of a buffer. */
const bytesOfSums = 4 * slotWords;

/**
 * Returns a function that plans the sums of each buffer from its accesses. `site` is the number of
 * the only access to sum, if not all are.
 */
function sumPlans(
  kernel: KernelFacts,
  { isPlain, bytesOfWorkgroups }: SumPlanOptions,
): (variable: GlobalVariable, accesses: readonly MemoryAccess[], site: number | undefined) => SumPlan {
  const { program, declaration } = kernel;
  const shared = bytesOfVariables(kernel, (_, type) => sizeOf(type));
  // All storage buffers of the kernel may be summed.
  const hasRoom = shared !== undefined && shared + bytesOfSums * kernel.storageBuffers <= bytesOfWorkgroups;
  let dependsOn: ((place: Expression) => Dependences) | undefined;
  return (variable, accesses, site) => {
    if (!isPlain) return { why: "replicas, or faults that are injected, access it in other ways" };
    if (addressSpaceOf(variable) === "uniform") return { why: "it is a uniform buffer" };
    if (!hasRoom) return { why: "no workgroup memory is known to be left for sums" };
    dependsOn ??= dependencesOfPlaces(program, declaration);
    const sums = summedAccesses(program, declaration, variable, accesses, dependsOn, site);
    return "why" in sums ? sums : { classes: sums.classes, ...(sums.varies && { varies: sums.varies }) };
  };
}
