/** Finds accesses of subgroup matrices that have no place in a variable. */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { CallExpression, Expression, FunctionDeclaration, Identifier } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, forEachChild, walk } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { type MatrixAccess, matrixAccess, needsStaging } from "./matrixAccesses.ts";

/** A call of a function that accesses memory as a whole, or as another type. */
export interface OpaqueAccess {
  readonly span: Span;
  /** The name of the function. */
  readonly operation: string;
}

/** Returns the operations on subgroup matrices. */
export const matrixOperations = (
  program: Program,
  functions: Iterable<FunctionDeclaration>,
): OpaqueAccess[] =>
  callsIn(functions).flatMap((call) => {
    const operation = builtinFunction(program, call);
    return operation?.startsWith("subgroupMatrix") ? [{ span: call.span, operation }] : [];
  });

/**
 * Returns a function that tells if a part of the program operates on subgroup matrices, itself or
 * in functions that it calls.
 */
export function matrixUsers(program: Program): (part: AnyNode) => boolean {
  const known = new Map<AnyNode, boolean>();
  const isUser = (part: AnyNode): boolean => {
    let uses = known.get(part) ?? false;
    if (uses || known.has(part)) return uses;
    if (part.kind === "call") {
      const callee = program.targetOf(part.callee);
      uses =
        callee?.kind === "function"
          ? [...reachableFrom(program, [callee])].some(({ body }) => isUser(body))
          : (builtinFunction(program, part)?.startsWith("subgroupMatrix") ?? false);
    }
    forEachChild(part, (child) => {
      uses ||= isUser(child);
    });
    known.set(part, uses);
    return uses;
  };
  return isUser;
}

/** Returns the loads and stores of subgroup matrices whose numbers have to be seen. */
export const stagedMatrices = (program: Program, functions: Iterable<FunctionDeclaration>): MatrixAccess[] =>
  callsIn(functions).flatMap((call) => {
    const access = matrixAccess(program, call);
    return access && needsStaging(access) ? [access] : [];
  });

/**
 * Returns the accesses of matrices to arrays of vectors that cannot become arrays of words. In such
 * an array, `functions` name no vector, and other functions of the module do not name it.
 */
export function matricesAmongVectors(
  program: Program,
  functions: ReadonlySet<FunctionDeclaration>,
): MatrixAccess[] {
  const accesses = stagedMatrices(program, functions).filter(({ layout }) => layout?.words !== undefined);
  if (accesses.length === 0) return [];
  const lengths = callsIn(functions).filter((call) => builtinFunction(program, call) === "arrayLength");
  const pointers = [...accesses.map(({ pointer }) => pointer), ...lengths.map(({ args }) => args[0]!)];
  const whole = new Set(pointers.map(namedArray));
  const named = new Set<unknown>();
  walk(program.module, (node) => {
    if (node.kind === "identifier" && !whole.has(node)) named.add(program.targetOf(node));
  });
  return accesses.filter(({ pointer }) => {
    const array = namedArray(pointer);
    return !array || named.has(program.targetOf(array));
  });
}

/** Returns the name in `&name`. */
function namedArray(pointer: Expression): Identifier | undefined {
  if (pointer.kind !== "unary" || pointer.operator !== "&") return undefined;
  return pointer.operand.kind === "identifier" ? pointer.operand : undefined;
}

function callsIn(functions: Iterable<FunctionDeclaration>): CallExpression[] {
  const found: CallExpression[] = [];
  for (const fn of functions)
    walk(fn.body, (node) => {
      if (node.kind === "call") found.push(node);
    });
  return found;
}
