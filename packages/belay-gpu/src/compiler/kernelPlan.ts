/**
 * The plan for a kernel that is Inter-Group or whose replicas run in passes. Its source is in
 * access normal form.
 */

import {
  builtinFunction,
  isTextureInPlace,
  isTextureStore,
  textureLoadsInPlace,
} from "../analysis/effects.ts";
import { executionBound } from "../analysis/executionBound.ts";
import { type LoadStoreFrontier, loadStoreFrontierIn } from "../analysis/loadStoreFrontier.ts";
import { addressSpaceOf, rootVariable } from "../analysis/places.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { leftAlone, moreBindings } from "../diagnostics/protection.ts";
import { finalBytes } from "../transforms/redundancy/comparison/conclusion.ts";
import { arrivalWorkgroupBytes, wordsOfWorkgroup } from "../transforms/redundancy/lastArriverCommit.ts";
import { wrapperBytes } from "../transforms/redundancy/replicateWorkgroups.ts";
import type { CallExpression, GlobalVariable } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import { walk } from "../wgsl/traverse.ts";
import type { KernelLimits } from "./contract.ts";
import type { KernelFacts } from "./facts.ts";
import type { Settings } from "./settings.ts";
import { bytesOfVariables, memoryShortage } from "./workgroups.ts";

export interface KernelPlan {
  /**
   * The names of the buffers that the kernel changes in place and of which the second replica has a
   * copy.
   */
  readonly shadowed: ReadonlySet<string>;
  /**
   * The names of the variables whose atomic operations are executed once, because their order
   * matters or their memory is not replicated.
   */
  readonly once: ReadonlySet<string>;
  /** True if the replicas wait for each other (`InterGroup.blocking`). */
  readonly blocking: boolean;
  /** True if the kernel needs no copies when all second replicas run before the first ones. */
  readonly sequentialReplicas: boolean;
  /** True if both replicas of an invocation run on one lane. */
  readonly keepsLanes: boolean;
  /**
   * The most results of an atomic operation that the first pass keeps for the second. The first
   * pass then executes all of them. Zero if replicas share results in another way.
   */
  readonly keptResults: number;
  /** True if the kernel has room for one more word of workgroup memory. */
  readonly isRoomy: boolean;
  /** The plan for a last-arriver commit, with which such replicas may also run at the same time. */
  readonly arrival?: ArrivalPlan;
  /** The reasons why the kernel must be left unprotected. */
  readonly obstacles: readonly Diagnostic[];
}

interface ArrivalPlan {
  /** The load/store frontier, at which a replica arrives. */
  readonly at: LoadStoreFrontier;
  /** The names of the buffers that the kernel changes in place. */
  readonly inPlace: ReadonlySet<string>;
  /** The number of arrival words for each workgroup. */
  readonly words: number;
}

/** Plans an Inter-Group kernel: its needs of the host and of the other replica. */
export function interGroupPlan(
  kernel: KernelFacts,
  {
    check,
    limits,
    memory,
    diversity,
    copies,
  }: Pick<Settings, "check" | "limits" | "memory" | "diversity" | "copies">,
): KernelPlan {
  const inPlace = kernel.buffersInPlace;
  const once = variablesExecutedOnce(kernel);
  const memoryOperations = operationsOn(kernel, once);
  const needsResult = memoryOperations.some(({ name, isUsed }) => isUsed && name.startsWith("atomic"));
  const blocking = check === "store" || needsResult;
  // Second replicas store nothing. After all of them have run, the first ones load the same values.
  const needsCopies = copies || blocking || kernel.loadsAfterStores.length > 0;
  const sequentialReplicas = !needsCopies && inPlace.size > 0;
  // Lanes that check memory together may load words that their neighbors stored.
  const arrives = sequentialReplicas && memory.coded.length === 0;
  const arrival = arrives ? arrivalPlan(kernel, limits, diversity !== undefined) : undefined;
  const shadowed = sequentialReplicas ? new Set<GlobalVariable>() : inPlace;
  return {
    shadowed: namesOf(shadowed),
    once: namesOf(once),
    blocking,
    sequentialReplicas,
    keepsLanes: false,
    keptResults: 0,
    isRoomy: hasRoom(
      kernel,
      limits,
      wrapperBytes(kernel.program, kernel.declaration, { blocking, texts: true }) + arrivalWorkgroupBytes,
    ),
    ...(arrival && { arrival }),
    obstacles: [
      ...unreplicable(kernel, memoryOperations).map(({ span, why }) =>
        leftAlone("single-copy-state", span, kernel.name, why),
      ),
      ...tooManyBuffers(kernel, shadowed.size, limits.maxStorageBuffersPerShaderStage),
      ...tooMuchMemory(
        kernel,
        { blocking, texts: diversity !== undefined },
        limits.maxComputeWorkgroupStorageSize,
      ),
    ],
  };
}

/**
 * Plans the arrival of replicas if the frontier and the size of workgroups are known, and the
 * device has the memory for it.
 */
function arrivalPlan(kernel: KernelFacts, limits: KernelLimits, texts: boolean): ArrivalPlan | undefined {
  const { program, declaration, invocations, buffersInPlace } = kernel;
  const at = loadStoreFrontierIn(program, declaration);
  if (!at || invocations === undefined) return undefined;
  const added = at.together ? wrapperBytes(program, declaration, { texts }) + arrivalWorkgroupBytes : 0;
  if (bytesWith(kernel, added) > limits.maxComputeWorkgroupStorageSize) return undefined;
  return { at, inPlace: namesOf(buffersInPlace), words: wordsOfWorkgroup(at, invocations) };
}

/** Returns the loads from state that has only one copy and that the kernel also stores to. */
function unreplicable(
  kernel: KernelFacts,
  memoryOperations: readonly MemoryOperation[],
): { span: Span; why: string }[] {
  const uniformLoads = memoryOperations.filter(({ name }) => name === "workgroupUniformLoad");
  return [
    ...loadsOfStoredTextures(kernel).map(({ span }) => ({
      span,
      why: "it loads from a texture that it stores to, and a texture has no second copy",
    })),
    ...uniformLoads.map(({ call: { span }, variable }) => ({
      span,
      why: `all its invocations load "${variable.name}", on which only one replica operates`,
    })),
  ];
}

function tooManyBuffers(
  { name, declaration: { nameSpan }, storageBuffers }: KernelFacts,
  shadows: number,
  most: number,
): Diagnostic[] {
  const needed = storageBuffers + shadows + 1;
  if (needed <= most) return [];
  const why = `with the report and a copy of each buffer that it changes in place it would need ${needed} storage buffers, and the device allows ${most}`;
  return [leftAlone("too-many-storage-buffers", nameSpan, name, why, moreBindings)];
}

/**
 * Returns an obstacle if a kernel's wrapper needs too much workgroup memory. The kernel's own
 * workgroup memory is not copied.
 */
function tooMuchMemory(
  kernel: KernelFacts,
  needs: { readonly blocking: boolean; readonly texts: boolean },
  most: number,
): Diagnostic[] {
  const { program, declaration } = kernel;
  const bytes = bytesWith(kernel, wrapperBytes(program, declaration, needs));
  if (bytes <= most) return [];
  const help = needs.blocking ? "use the check signature" : undefined;
  const { reason, help: advice } = memoryShortage(kernel, bytes, most, help);
  return [leftAlone("workgroup-memory-too-large", declaration.nameSpan, kernel.name, reason, advice)];
}

/** Returns true if a word fits beside a kernel's own workgroup memory and `added` bytes. */
function hasRoom(kernel: KernelFacts, limits: KernelLimits, added: number): boolean {
  const own = bytesOfVariables(kernel, (_, type) => sizeOf(type));
  return own !== undefined && own + added + 16 <= limits.maxComputeWorkgroupStorageSize;
}

/**
 * Returns the bytes of workgroup memory including `added` ones; 0 if none are added or an override
 * decides.
 */
function bytesWith(kernel: KernelFacts, added: number): number {
  const own = bytesOfVariables(kernel, (_, type) => sizeOf(type));
  return own === undefined || added === 0 ? 0 : own + added;
}

/** The most results of an atomic operation that a lane keeps from one pass to the next. */
const MOST_KEPT_RESULTS = 16;

/**
 * Plans a kernel whose replicas run one after the other. The second replica's pass ends before the
 * first replica changes anything outside the workgroup. Neither replica may therefore need such a
 * change: a stored value, or the result of an atomic operation that is executed once. A lane that
 * runs both replicas can keep such results, if their number has a small bound. Both passes use the
 * same workgroup memory, which must hold the same values in both.
 */
export function passesPlan(
  kernel: KernelFacts,
  { limits, diversity }: Pick<Settings, "limits" | "diversity">,
): KernelPlan {
  const once = variablesExecutedOnce(kernel);
  const found = new Map<string, Span>();
  const add = (span: Span, why: string) => found.set(why, found.get(why) ?? span);
  for (const { variable, earlier, later } of kernel.loadsAfterStores) {
    add(earlier, `it stores to "${variable.name}" before it loads from there`);
    add(later, `it loads from "${variable.name}" after it has stored there`);
  }
  // Two texts would keep results in variables of their own.
  const mayKeep = kernel.dependsOnLanes && diversity === undefined;
  const resultsOf = ({ call }: MemoryOperation) =>
    mayKeep ? executionBound(kernel.program, kernel.declaration, new Set([call])) : Number.POSITIVE_INFINITY;
  let keptResults = 0;
  for (const operation of operationsOn(kernel, once)) {
    const { name, variable, call, isUsed } = operation;
    if (addressSpaceOf(variable) === "workgroup")
      add(call.span, `the order of its atomic operations on "${variable.name}" matters`);
    else if (isUsed && name.startsWith("atomic")) {
      const results = resultsOf(operation);
      if (results <= MOST_KEPT_RESULTS) keptResults = Math.max(keptResults, results);
      else add(call.span, `both replicas need the result of this ${name}`);
    }
  }
  for (const { span } of loadsOfStoredTextures(kernel))
    add(span, "it loads from a texture that it stores to");
  return {
    shadowed: new Set(),
    once: namesOf(once),
    blocking: false,
    sequentialReplicas: false,
    keepsLanes: kernel.dependsOnLanes,
    keptResults,
    isRoomy: hasRoom(
      kernel,
      limits,
      finalBytes * (kernel.invocations ?? limits.maxComputeInvocationsPerWorkgroup),
    ),
    obstacles: [...found].map(([why, span]) =>
      leftAlone(
        "not-repeatable",
        span,
        kernel.name,
        `${why}, and its replicas run one after the other`,
        "use the pairing adjacent",
      ),
    ),
  };
}

/**
 * Returns the variables whose atomic operations are executed once. Both replicas may execute them
 * on workgroup memory if their order does not matter, and load from storage that no invocation
 * changes.
 */
function variablesExecutedOnce({
  storageAccesses,
  orderDependentVariables,
}: KernelFacts): Set<GlobalVariable> {
  const changed = [...storageAccesses].filter(([, access]) => access !== "read");
  return new Set([...changed.map(([variable]) => variable), ...orderDependentVariables]);
}

/** A call of an atomic or other built-in function with a pointer to memory. */
interface MemoryOperation {
  readonly name: string;
  readonly call: CallExpression;
  readonly variable: GlobalVariable;
  /** True if the result is used. */
  readonly isUsed: boolean;
}

function operationsOn(
  { program, functions }: KernelFacts,
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
        found.push({ name, call: node, variable, isUsed: !unused.has(node) });
    });
  }
  return found;
}

/** Returns the loads from textures in functions that also store to such textures. */
function loadsOfStoredTextures({ program, functions }: KernelFacts): CallExpression[] {
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

/** Returns the names of variables. */
export const namesOf = (variables: Iterable<GlobalVariable>) =>
  new Set([...variables].map((variable) => variable.name));
