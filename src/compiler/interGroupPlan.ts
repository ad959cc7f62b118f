/** What an Inter-Group kernel needs of its host and of its twin: known from its code in access normal form. */
import { arrivalIn } from "../analysis/arrival.ts";
import { type BindingPoint, bindingPointOf, bindingPointsOf, buffersInPlace } from "../analysis/bindings.ts";
import { reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import { builtinFunction } from "../analysis/effects.ts";
import { loadsAfterStores } from "../analysis/hazards.ts";
import { addressSpaceOf, containsAtomic } from "../analysis/places.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { leftAlone } from "../diagnostics/protection.ts";
import { arrivalWorkgroupBytes, wordsOfWorkgroup } from "../transforms/arriveBeforeStores.ts";
import { wrapperBytes } from "../transforms/replicateWorkgroups.ts";
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import type { Type } from "../wgsl/types.ts";
import type { InterGroup } from "./contract.ts";
import {
  type ArrivalPlan,
  type KernelPlan,
  loadsOfStoredTextures,
  type MemoryOperation,
  namesOf,
  operationsOn,
  variablesExecutedOnce,
} from "./kernelPlan.ts";
import type { Settings } from "./settings.ts";
import { bytesOfVariables } from "./workgroupMemory.ts";
import { invocationCount } from "./workgroupSize.ts";

export function interGroupPlan(
  program: Program,
  kernel: FunctionDeclaration,
  { check, limits, memory }: Pick<Settings, "check" | "limits" | "memory">,
): KernelPlan {
  const functions = reachableFrom(program, [kernel]);
  const inPlace = buffersInPlace(program, functions);
  const once = variablesExecutedOnce(program, kernel, functions);
  const memoryOperations = operationsOn(program, functions, once);
  const buffers = [...variablesOf(program, functions)].filter((v) => addressSpaceOf(v) === "storage");
  const needsResult = memoryOperations.some(({ name, isUsed }) => isUsed && name.startsWith("atomic"));
  const blocking = check === "store" || needsResult;
  // Second replicas store nothing: once all of them have run, the first ones find what they found.
  const loadsFirst = !blocking && inPlace.size > 0 && loadsAfterStores(program, kernel).length === 0;
  // Lanes that check memory together may load what their neighbours have stored.
  const arrival = loadsFirst && memory.coded.length === 0 ? arrivalPlan(program, kernel, inPlace) : undefined;
  const repeated = loadsFirst && !arrival && !mayRoundDifferently(program, functions);
  const shadowed = repeated || arrival ? new Set<GlobalVariable>() : inPlace;
  return {
    shadowed: namesOf(shadowed),
    once: namesOf(once),
    blocking,
    repeated,
    ...(arrival && { arrival }),
    obstacles: [
      ...unreplicable(program, functions, memoryOperations).map(({ span, why }) =>
        leftAlone("BELAY214", span, kernel.name, why),
      ),
      ...tooManyBuffers(kernel, buffers.length, shadowed.size, limits.maxStorageBuffersPerShaderStage),
      ...tooMuchMemory(
        program,
        kernel,
        { blocking, repeated, arrival },
        limits.maxComputeWorkgroupStorageSize,
      ),
    ],
  };
}

/** How replicas arrive, where that is known and workgroups have a size. */
function arrivalPlan(
  program: Program,
  kernel: FunctionDeclaration,
  inPlace: ReadonlySet<GlobalVariable>,
): ArrivalPlan | undefined {
  const [at, invocations] = [arrivalIn(program, kernel), invocationCount(program, kernel)];
  if (!at || invocations === undefined) return undefined;
  return { at, inPlace: namesOf(inPlace), words: wordsOfWorkgroup(at, invocations) };
}

/**
 * Whether two pipelines of the same functions may give different floats: each is compiled by itself, and may fuse products with
 * sums, or compute quotients and built-in functions otherwise (WGSL specification, "Reassociation and Fusion").
 */
function mayRoundDifferently(program: Program, functions: Iterable<FunctionDeclaration>): boolean {
  let found = false;
  for (const fn of functions)
    walk(fn.body, (node) => {
      const isInexact =
        (node.kind === "binary" && node.operator !== "+" && node.operator !== "-") ||
        (node.kind === "call" && !exactFunctions.has(builtinFunction(program, node) ?? "select"));
      found ||= isInexact && isFloat(program.valueTypeOf(node));
      found ||=
        node.kind === "assign" &&
        inexactAssignments.has(node.operator) &&
        isFloat(program.valueTypeOf(node.value));
    });
  return found;
}

/** Those that choose among floats. What is no built-in function is one of the program's, or makes a value of others. */
const exactFunctions: ReadonlySet<string> = new Set(["select", "min", "max", "abs", "bitcast"]);
const inexactAssignments: ReadonlySet<string> = new Set(["*=", "/=", "%="]);

function isFloat(type: Type): boolean {
  if (type.kind === "vector" || type.kind === "matrix") return isFloat(type.element);
  return type.kind === "scalar" && ["f32", "f16", "abstract-float"].includes(type.name);
}

/**
 * Where the copies are bound, by the name of the buffer's variable: behind the report, where neither the module nor `others`
 * bind anything.
 */
export function shadowBindings(
  program: Program,
  report: BindingPoint,
  plans: Iterable<KernelPlan>,
  others: readonly BindingPoint[] = [],
): Map<string, BindingPoint> {
  const points = [...bindingPointsOf(program), ...others];
  const inGroup = points.filter(({ group }) => group === report.group);
  const taken = new Set(inGroup.map(({ binding }) => binding));
  let binding = report.binding;
  const next = () => {
    do binding++;
    while (taken.has(binding));
    return { group: report.group, binding };
  };
  const shadowed = new Set([...plans].flatMap((plan) => [...plan.shadowed]));
  const declared = program.module.declarations.filter((d) => d.kind === "globalVariable");
  return new Map(declared.flatMap(({ name }) => (shadowed.has(name) ? [[name, next()]] : [])));
}

/** The copies that a kernel has bound, as its host is told. */
export function shadowsOf(
  program: Program,
  { shadowed }: KernelPlan,
  shadows: ReadonlyMap<string, BindingPoint>,
): InterGroup["shadows"] {
  return program.module.declarations.flatMap((variable) => {
    if (variable.kind !== "globalVariable" || !shadowed.has(variable.name)) return [];
    const [of, at] = [bindingPointOf(program, variable), shadows.get(variable.name)];
    const hasAtomics = containsAtomic(program.declaredTypeOf(variable));
    return of && at ? [{ of, at, ...(hasAtomics && { hasAtomics }) }] : [];
  });
}

/** What has no second copy, and is loaded after a store all the same. */
function unreplicable(
  program: Program,
  functions: ReadonlySet<FunctionDeclaration>,
  memoryOperations: readonly MemoryOperation[],
): { span: Span; why: string }[] {
  const uniformLoads = memoryOperations.filter(({ name }) => name === "workgroupUniformLoad");
  return [
    ...loadsOfStoredTextures(program, functions).map(({ span }) => ({
      span,
      why: "it loads from a texture that it stores to, and a texture has no second copy",
    })),
    ...uniformLoads.map(({ span, variable }) => ({
      span,
      why: `all its invocations load "${variable.name}", on which only one replica operates`,
    })),
  ];
}

function tooManyBuffers(
  { name, nameSpan }: FunctionDeclaration,
  buffers: number,
  shadows: number,
  most: number,
): Diagnostic[] {
  const needed = buffers + shadows + 1;
  if (needed <= most) return [];
  const why = `with the report and a copy of each buffer that it changes in place it would need ${needed} storage buffers, and the device allows ${most}`;
  const help = "request a device with a higher maxStorageBuffersPerShaderStage";
  return [leftAlone("BELAY207", nameSpan, name, why, help)];
}

/** The kernel's own workgroup memory is not copied, but its wrapper may need some. */
function tooMuchMemory(
  program: Program,
  kernel: FunctionDeclaration,
  {
    blocking,
    repeated,
    arrival,
  }: Pick<KernelPlan, "blocking" | "repeated"> & { arrival: ArrivalPlan | undefined },
  most: number,
): Diagnostic[] {
  const own = bytesOfVariables(program, kernel, (_, type) => sizeOf(type));
  const added =
    (repeated ? 0 : wrapperBytes(program, kernel, blocking)) +
    (arrival?.at.together ? arrivalWorkgroupBytes : 0);
  if (own === undefined || added === 0 || own + added <= most) return [];
  const why = `it would need ${own + added} bytes of workgroup memory, and the device allows ${most}`;
  const help = blocking ? "use the check signature" : undefined;
  return [leftAlone("BELAY205", kernel.nameSpan, kernel.name, why, help)];
}
