/** What a kernel needs that is Inter-Group or whose replicas run in passes, known from its code in access normal form. */
import { type Arrival, arrivalIn } from "../analysis/arrival.ts";
import {
  type BindingPoint,
  bindingPointOf,
  bindingPointsOf,
  buffersInPlace,
  storageAccesses,
} from "../analysis/bindings.ts";
import { reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import {
  builtinFunction,
  isTextureInPlace,
  isTextureStore,
  textureLoadsInPlace,
} from "../analysis/effects.ts";
import { loadsAfterStores } from "../analysis/hazards.ts";
import { orderDependentVariables } from "../analysis/orderDependentVariables.ts";
import { addressSpaceOf, containsAtomic, rootVariable } from "../analysis/places.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { leftAlone } from "../diagnostics/protection.ts";
import { arrivalWorkgroupBytes, wordsOfWorkgroup } from "../transforms/redundancy/arriveBeforeStores.ts";
import { wrapperBytes } from "../transforms/redundancy/replicateWorkgroups.ts";
import type { CallExpression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import type { InterGroup, KernelLimits } from "./contract.ts";
import type { Settings } from "./settings.ts";
import { bytesOfVariables, invocationCount } from "./workgroups.ts";

export interface KernelPlan {
  /** The buffers that the kernel changes in place, of which the second replica has its own copy: names of variables. */
  readonly shadowed: ReadonlySet<string>;
  /** The variables whose atomic operations must run once, as their order matters or their memory is not replicated. */
  readonly once: ReadonlySet<string>;
  /** Whether twins wait for each other (`InterGroup.blocking`). */
  readonly blocking: boolean;
  /** Whether it needs no copies where all second replicas run before the first ones. */
  readonly inTurn: boolean;
  /** Set where then they may run at once, too, as whoever comes last of two replicas stores. */
  readonly arrival?: ArrivalPlan;
  /** Why the kernel must be left alone. */
  readonly obstacles: readonly Diagnostic[];
}

interface ArrivalPlan {
  /** Where a replica arrives. */
  readonly at: Arrival;
  /** Names of the variables of the buffers that it changes in place. */
  readonly inPlace: ReadonlySet<string>;
  /** Words of arrivals for each workgroup. */
  readonly words: number;
}

/** Plans an Inter-Group kernel: what it needs of its host and of its twin. */
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
  const inTurn = !blocking && inPlace.size > 0 && loadsAfterStores(program, kernel).length === 0;
  // Lanes that check memory together may load what their neighbours have stored.
  const arrives = inTurn && memory.coded.length === 0;
  const arrival = arrives ? arrivalPlan(program, kernel, inPlace, limits) : undefined;
  const shadowed = inTurn ? new Set<GlobalVariable>() : inPlace;
  return {
    shadowed: namesOf(shadowed),
    once: namesOf(once),
    blocking,
    inTurn,
    ...(arrival && { arrival }),
    obstacles: [
      ...unreplicable(program, functions, memoryOperations).map(({ span, why }) =>
        leftAlone("BELAY214", span, kernel.name, why),
      ),
      ...tooManyBuffers(kernel, buffers.length, shadowed.size, limits.maxStorageBuffersPerShaderStage),
      ...tooMuchMemory(program, kernel, blocking, limits.maxComputeWorkgroupStorageSize),
    ],
  };
}

/** How replicas arrive, where that is known, workgroups have a size, and there is memory for it. */
function arrivalPlan(
  program: Program,
  kernel: FunctionDeclaration,
  inPlace: ReadonlySet<GlobalVariable>,
  limits: KernelLimits,
): ArrivalPlan | undefined {
  const [at, invocations] = [arrivalIn(program, kernel), invocationCount(program, kernel)];
  if (!at || invocations === undefined) return undefined;
  const added = at.together ? wrapperBytes(program, kernel, false) + arrivalWorkgroupBytes : 0;
  if (bytesWith(program, kernel, added) > limits.maxComputeWorkgroupStorageSize) return undefined;
  return { at, inPlace: namesOf(inPlace), words: wordsOfWorkgroup(at, invocations) };
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
  blocking: boolean,
  most: number,
): Diagnostic[] {
  const bytes = bytesWith(program, kernel, wrapperBytes(program, kernel, blocking));
  if (bytes <= most) return [];
  const why = `it would need ${bytes} bytes of workgroup memory, and the device allows ${most}`;
  const help = blocking ? "use the check signature" : undefined;
  return [leftAlone("BELAY205", kernel.nameSpan, kernel.name, why, help)];
}

/** Bytes of workgroup memory with those that are `added`; none where nothing is, or an override decides. */
function bytesWith(program: Program, kernel: FunctionDeclaration, added: number): number {
  const own = bytesOfVariables(program, kernel, (_, type) => sizeOf(type));
  return own === undefined || added === 0 ? 0 : own + added;
}

/**
 * The second replica's pass is over before the first replica changes anything outside the workgroup. So neither may need
 * what the first one does there: what it has stored, or the result of an atomic operation that must run once. Workgroup
 * memory serves each pass by itself, and must then hold the same.
 */
export function passesPlan(program: Program, kernel: FunctionDeclaration): KernelPlan {
  const functions = reachableFrom(program, [kernel]);
  const once = variablesExecutedOnce(program, kernel, functions);
  const found = new Map<string, Span>();
  const add = (span: Span, why: string) => found.set(why, found.get(why) ?? span);
  for (const { variable, earlier, later } of loadsAfterStores(program, kernel)) {
    add(earlier, `it stores to "${variable.name}" before it loads from there`);
    add(later, `it loads from "${variable.name}" after it has stored there`);
  }
  for (const { name, variable, span, isUsed } of operationsOn(program, functions, once)) {
    if (addressSpaceOf(variable) === "workgroup")
      add(span, `the order of its atomic operations on "${variable.name}" matters`);
    else if (isUsed && name.startsWith("atomic")) add(span, `both replicas need the result of this ${name}`);
  }
  for (const { span } of loadsOfStoredTextures(program, functions))
    add(span, "it loads from a texture that it stores to");
  return {
    shadowed: new Set(),
    once: namesOf(once),
    blocking: false,
    inTurn: false,
    obstacles: [...found].map(([why, span]) =>
      leftAlone(
        "BELAY215",
        span,
        kernel.name,
        `${why}, and its replicas run one after the other`,
        "use the pairing adjacent",
      ),
    ),
  };
}

/**
 * Both replicas may execute atomic operations on workgroup memory, of which each has its own, if their order does not
 * matter, and load from storage that nobody changes.
 */
function variablesExecutedOnce(
  program: Program,
  kernel: FunctionDeclaration,
  functions: ReadonlySet<FunctionDeclaration>,
): Set<GlobalVariable> {
  const changed = [...storageAccesses(program, functions)].filter(([, access]) => access !== "read");
  return new Set([...changed.map(([variable]) => variable), ...orderDependentVariables(program, [kernel])]);
}

/** A call of an atomic or other built-in function that takes a pointer to memory. */
interface MemoryOperation {
  readonly name: string;
  readonly span: Span;
  readonly variable: GlobalVariable;
  /** Whether its result is. */
  readonly isUsed: boolean;
}

function operationsOn(
  program: Program,
  functions: Iterable<FunctionDeclaration>,
  variables: ReadonlySet<GlobalVariable>,
): MemoryOperation[] {
  const found: MemoryOperation[] = [];
  for (const fn of functions) {
    const unused = new Set<CallExpression>();
    walk(fn.body, (node) => {
      if (node.kind === "callStatement") unused.add(node.call);
      const name = node.kind === "call" ? builtinFunction(program, node) : undefined;
      if (node.kind !== "call" || !name || node.args[0]?.kind !== "unary") return;
      const variable = rootVariable(program, node.args[0])?.variable;
      if (variable && variables.has(variable))
        found.push({ name, span: node.span, variable, isUsed: !unused.has(node) });
    });
  }
  return found;
}

/** The loads from textures of functions that also store to such. */
function loadsOfStoredTextures(
  program: Program,
  functions: ReadonlySet<FunctionDeclaration>,
): CallExpression[] {
  const bodies = [...functions].map((fn) => fn.body);
  let stores = false;
  for (const body of bodies) {
    walk(body, (node) => {
      if (node.kind === "call" && isTextureStore(program, node) && isTextureInPlace(program, node))
        stores = true;
    });
  }
  return stores ? bodies.flatMap((body) => textureLoadsInPlace(program, body)) : [];
}

export const namesOf = (variables: Iterable<GlobalVariable>) =>
  new Set([...variables].map((variable) => variable.name));
