/** Lists all loads and stores of the buffers that functions use. */
import type { Expression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, children } from "../wgsl/traverse.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, type Place, placeOf, rootVariable } from "./places.ts";

/** One access to a buffer. */
export interface MemoryAccess {
  /** The kind of access. `"other"` is an atomic operation, or a pointer that is passed on. */
  readonly kind: "load" | "store" | "other";
  readonly expression: Expression;
  /** The accessed place; undefined for accesses of kind `"other"`. */
  readonly place: Place | undefined;
}

/**
 * Returns the accesses of `functions` to storage and uniform buffers. Buffers that are only asked
 * for their length have none. Requires access normal form.
 */
export function memoryAccesses(
  program: Program,
  functions: Iterable<FunctionDeclaration>,
): Map<GlobalVariable, MemoryAccess[]> {
  const accesses = new Map<GlobalVariable, MemoryAccess[]>();
  const visit = (node: AnyNode): void => {
    const place = noted(node);
    if (place) visitIndices(place);
    if (node.kind === "assign" && place) visit(node.value);
    if (place) return;
    for (const child of children(node)) if (child.kind !== "attribute") visit(child);
  };
  /** Records the access that a node is, and returns its place. */
  const noted = (node: AnyNode): Expression | undefined => {
    switch (node.kind) {
      case "assign":
        return node.target && note(node.target, "store") ? node.target : undefined;
      case "increment":
        return note(node.target, "other") ? node.target : undefined;
      case "call": {
        const [array] = builtinFunction(program, node) === "arrayLength" ? node.args : [];
        return array && isBuffer(array) ? array : undefined;
      }
      case "unary":
        return node.operator === "&" && note(node, "other") ? node : undefined;
      case "identifier":
      case "index":
      case "memberAccess": {
        const isPlace = isBuffer(node) && program.typeOf(node).kind === "reference";
        return isPlace && note(node, "load") ? node : undefined;
      }
      default:
        return undefined;
    }
  };
  const isBuffer = (expression: Expression): GlobalVariable | undefined => {
    const variable = rootVariable(program, expression)?.variable;
    return variable && /^(storage|uniform)$/.test(addressSpaceOf(variable)) ? variable : undefined;
  };
  const note = (expression: Expression, kind: MemoryAccess["kind"]): boolean => {
    const variable = isBuffer(expression);
    if (!variable) return false;
    const place = kind === "other" ? undefined : placeOf(program, expression);
    const access: MemoryAccess = { kind: place ? kind : "other", expression, place };
    accesses.set(variable, [...(accesses.get(variable) ?? []), access]);
    return true;
  };
  const visitIndices = (place: Expression): void => {
    if (place.kind === "index") visit(place.index);
    if (place.kind === "index" || place.kind === "memberAccess") visitIndices(place.base);
    if (place.kind === "unary") visitIndices(place.operand);
  };
  for (const fn of functions) visit(fn.body);
  return accesses;
}
