/** Which of a kernel's buffers it checks itself, and which its host verifies before and encodes after, and why. */
import {
  type BindingAccess,
  type BindingPoint,
  bindingPointOf,
  storageAccesses,
} from "../analysis/bindings.ts";
import { reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import { executionBound } from "../analysis/executionBound.ts";
import { type MemoryAccess, memoryAccesses } from "../analysis/memoryAccesses.ts";
import { addressSpaceOf, containsAtomic } from "../analysis/places.ts";
import { type MemoryScheme, schemes } from "../codes/scheme.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { memoryBracketed } from "../diagnostics/protection.ts";
import type { PieceBytes } from "../transforms/memory/checkedVariable.ts";
import type { ArenaAccess } from "../transforms/memory/checkWords.ts";
import { fillsGranules, isAccessible } from "../transforms/memory/coverage.ts";
import { laneElement } from "../transforms/memory/laneStores.ts";
import { type LinePlan, linePlan } from "../transforms/memory/linePlan.ts";
import { patternsIn } from "../transforms/memory/sideBySide.ts";
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import {
  type KernelLimits,
  type MemorySchemes,
  type MemorySummary,
  type ProtectedBinding,
  tableRow,
} from "./contract.ts";
import type { MemorySettings } from "./settings.ts";

/** A buffer that has a code. */
export interface CodedVariable extends ProtectedBinding {
  readonly variable: GlobalVariable;
  /** Set when lanes make the check words of what they store together. */
  readonly laneBytes?: 4 | 8;
  /** Set when lanes check lines together, in pieces of so many bytes. */
  readonly pieceBytes?: PieceBytes;
  /** Why it is bracketed. */
  readonly why?: string;
}

export interface MemoryPlan {
  readonly variables: readonly CodedVariable[];
  /** How the kernel accesses the check words; undefined when it checks nothing. */
  readonly arena: ArenaAccess | undefined;
}

/** A binding point and its code. */
export type CodedPoint = Pick<ProtectedBinding, "of" | "scheme" | "index">;

/** The binding points of a module that have a code, in the order of their rows. */
export function codedPoints(program: Program, { default: usual, bindings }: MemorySchemes): CodedPoint[] {
  const points = new Map<string, CodedPoint>();
  for (const variable of program.module.declarations) {
    if (variable.kind !== "globalVariable" || !/^(storage|uniform)$/.test(addressSpaceOf(variable))) continue;
    const of = bindingPointOf(program, variable);
    if (!of) continue;
    const own = bindings.find((each) => isSame(each.of, of));
    const scheme = own ? own.scheme : usual;
    const key = `${of.group} ${of.binding}`;
    if (scheme !== "none" && !points.has(key)) points.set(key, { of, scheme, index: points.size });
  }
  return [...points.values()];
}

const isSame = (a: BindingPoint, b: BindingPoint) => a.group === b.group && a.binding === b.binding;

export interface MemoryPlanOptions {
  readonly limits: KernelLimits;
  /** Storage buffers that protection adds without the arena. */
  readonly others: number;
  /** How many lanes may exchange what they access: those of a subgroup, but none where a replica is among their neighbours. */
  readonly lanes: number;
}

/** The plan for a kernel in access normal form. */
export function memoryPlan(
  program: Program,
  kernel: FunctionDeclaration,
  coded: readonly CodedPoint[],
  { limits, others, lanes }: MemoryPlanOptions,
): MemoryPlan {
  const functions = reachableFrom(program, [kernel]);
  const used = [...variablesOf(program, functions)];
  const storage = used.filter((variable) => addressSpaceOf(variable) === "storage").length;
  const hasRoom = storage + others + 1 <= limits.maxStorageBuffersPerShaderStage;
  const accesses = memoryAccesses(program, functions);
  const access = storageAccesses(program, functions);
  const loads = [...accesses].flatMap(([variable, own]) =>
    addressSpaceOf(variable) === "storage" ? own.filter(({ kind }) => kind === "load") : [],
  );
  // Check words that lanes make are atomic, and GPUs load atomics slowly: a copy takes 1.4 times as long, a stencil 10 times.
  const lanesPay =
    lanes > 0 && executionBound(program, kernel, new Set(loads.map(({ expression }) => expression))) <= 1;
  const patternsOf = patternsIn(program, kernel);
  const variables = used.flatMap((variable): CodedVariable[] => {
    const of = bindingPointOf(program, variable);
    const point = of && coded.find((each) => isSame(each.of, of));
    if (!point) return [];
    const declared = access.get(variable) ?? "read";
    const uses = { loads: declared !== "write", stores: declared !== "read" };
    const own = accesses.get(variable) ?? [];
    const scheme = schemes[point.scheme];
    const line = scheme.granuleBytes > 16 && linePlan(program, kernel, variable, own, scheme, patternsOf);
    const why = hasRoom
      ? (obstacle(program, variable, own) ??
        (line ? lineObstacle(line, scheme, lanes) : partObstacle(program, own, scheme)))
      : "the device has no storage buffer left for check words";
    if (!why && line && "pieceBytes" in line)
      return [{ ...point, ...uses, variable, mode: "checked", pieceBytes: line.pieceBytes }];
    if (!why) return [{ ...point, ...uses, variable, mode: "checked" }];
    const laneBytes = hasRoom && lanesPay && scheme.granuleBytes <= 16 && laneElement(program, kernel, own);
    if (laneBytes && !containsAtomic(program.declaredTypeOf(variable)))
      return [{ ...point, ...uses, variable, mode: "checked", laneBytes }];
    return [{ ...point, ...uses, variable, mode: "bracketed", why }];
  });
  const checked = variables.filter(({ mode }) => mode === "checked");
  const arena = checked.some(({ laneBytes, pieceBytes, stores }) => laneBytes || (pieceBytes && stores))
    ? "atomic"
    : checked.some(({ stores }) => stores)
      ? "read_write"
      : "read";
  return { variables, arena: checked.length > 0 ? arena : undefined };
}

/** Why a kernel can't check a buffer itself, whatever its granules are. */
function obstacle(
  program: Program,
  variable: GlobalVariable,
  accesses: readonly MemoryAccess[],
): string | undefined {
  if (containsAtomic(program.declaredTypeOf(variable))) return "atomic operations change it";
  if (accesses.some(({ kind, place }) => kind === "other" || !place)) return "a pointer to it is passed on";
  if (accesses.some(({ place }) => place && !isAccessible(place)))
    return "values of its types are too large to be taken apart";
  return undefined;
}

/** What could race with the invocations that share its granules. */
function partObstacle(
  program: Program,
  accesses: readonly MemoryAccess[],
  { name, granuleBytes }: MemoryScheme,
): string | undefined {
  const stores = accesses.filter(({ kind }) => kind === "store");
  return stores.every(({ place }) => place && fillsGranules(program, place, granuleBytes))
    ? undefined
    : `its stores fill parts of the ${granuleBytes} bytes that a check word of ${name} is for`;
}

function lineObstacle(line: LinePlan, { granuleBytes }: MemoryScheme, lanes: number): string | undefined {
  if ("why" in line) return line.why;
  const pieces = granuleBytes / line.pieceBytes;
  return pieces <= lanes ? undefined : `no ${pieces} invocations can exchange what they access`;
}

/** Whether lanes exchange what they load or store. */
export const exchangesLanes = ({ variables }: MemoryPlan): boolean =>
  variables.some(({ laneBytes, pieceBytes }) => laneBytes || pieceBytes);

/** The plan as the host is told it. */
export function memorySummary({ variables, arena }: MemoryPlan, settings: MemorySettings): MemorySummary {
  const checks = {
    arena: settings.arena,
    table: settings.table,
    storesChecks: arena !== "read",
    tableBytes: 4 * tableRow.stride * settings.coded.length,
  };
  const bindings = variables.map(({ variable, why, laneBytes, pieceBytes, ...binding }) => binding);
  return { ...(arena && { checks }), bindings };
}

/** What a kernel that is left alone leaves to its host. */
export function bracketed(accesses: readonly BindingAccess[], { coded }: MemorySettings): MemorySummary {
  const bindings = accesses.flatMap(({ access, ...of }): ProtectedBinding[] => {
    const point = coded.find((each) => isSame(each.of, of));
    const uses = { loads: access !== "write", stores: access !== "read" };
    return point ? [{ ...point, mode: "bracketed", ...uses }] : [];
  });
  return { bindings };
}

/** The buffers whose bits nobody checks while a kernel runs, each told once. */
export function bracketedMemory(plans: readonly (readonly [string, MemoryPlan])[]): Diagnostic[] {
  return plans.flatMap(([kernel, { variables }]) =>
    variables.flatMap(({ variable, why }) =>
      why ? [memoryBracketed(variable.nameSpan, variable.name, kernel, why)] : [],
    ),
  );
}
