import type { BodyStatement, CombiningOperator, Loop, LoopArray, LoopExpression } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { everyStatement, expressionsOf, isLoad, withOperands } from "../tree/walk.ts";
import { addressLoop } from "./addressLoop.ts";
import { combinationOf, isSame } from "./findReductions.ts";

type Store = Extract<BodyStatement, { kind: "store" }>;

/**
 * Finds the arrays of integers whose elements iterations only combine with others, such as
 * histograms. Atomic operations then change the elements in any order. Returns the loop itself if
 * it has no such array, or if its iterations depend on each other in another way, too.
 *
 * Before: h[a[i]] = h[a[i]] + 1, with h tracked
 * After:  h[a[i]] = 1, with h combined by +
 */
export const combiningLoop = oncePerLoop((loop): Loop => {
  const operators = new Map(
    loop.arrays.flatMap((array) => {
      const operator = operatorOf(loop, array);
      return operator ? [[array.name, operator] as const] : [];
    }),
  );
  const arrays = loop.arrays.map((array): LoopArray => {
    const operator = operators.get(array.name);
    return operator ? { ...array, role: "combined", operator } : array;
  });
  const isFree = loop.carried.length === 0 && arrays.every(({ role }) => role !== "tracked");
  if (operators.size === 0 || !isFree) return loop;
  const elements = new Map(arrays.map(({ name, element }) => [name, element]));
  const body = mapStores(loop.body, (store) =>
    operators.has(store.array)
      ? { ...store, value: changeBy(store, elements.get(store.array)!)!.operand }
      : store,
  );
  const made = { ...loop, arrays, body };
  return addressLoop(made)?.isExact ? made : loop;
});

/** Returns the operator by which all statements change an array; undefined if they do more. */
function operatorOf({ body }: Loop, { name, role, element, isCopy }: LoopArray) {
  if (role !== "tracked" || isCopy) return undefined;
  const statements = [...everyStatement(body)];
  const stores = statements.filter((one) => one.kind === "store").filter(({ array }) => array === name);
  const operators = new Set(stores.map((store) => changeBy(store, element)?.operator));
  const loads = statements
    .flatMap(expressionsOf)
    .flatMap((expression) => [...withOperands(expression)])
    .filter((part) => isLoad(part) && "array" in part && part.array === name);
  // Each store loads the element that it changes, and nothing else may load one.
  return operators.size === 1 && loads.length === stores.length ? [...operators][0] : undefined;
}

/** Returns the operator and the operand of `h[k] = h[k] + operand`. */
function changeBy(
  { array, index, value }: Store,
  element: LoopArray["element"],
): { readonly operator: CombiningOperator; readonly operand: LoopExpression } | undefined {
  // The store takes the low 32 bits.
  const bits = withoutConversions(value);
  if ((element !== "i32" && element !== "u32") || (bits.type !== "i32" && bits.type !== "u32"))
    return undefined;
  const isElement = (part: LoopExpression) => {
    const loaded = withoutConversions(part);
    return loaded.kind === "load" && loaded.array === array && isSame(loaded.index, index);
  };
  const found = combinationOf(bits, bits.type, isElement);
  if (!found || found.checked || found.operator === "*") return undefined;
  const isOrdered = found.operator === "min" || found.operator === "max";
  return isOrdered && bits.type !== element
    ? undefined
    : (found as { operator: CombiningOperator; operand: LoopExpression });
}

/** Returns an expression without the conversions around it that keep its 32 bits. */
function withoutConversions(value: LoopExpression): LoopExpression {
  const isKept =
    value.kind === "convert" &&
    !value.checked &&
    [value, value.operand].every(({ type }) => type === "i32" || type === "u32");
  return isKept ? withoutConversions(value.operand) : value;
}

function mapStores(statements: readonly BodyStatement[], map: (store: Store) => Store): BodyStatement[] {
  return statements.map((statement): BodyStatement => {
    switch (statement.kind) {
      case "store":
        return map(statement);
      case "if":
        return { ...statement, yes: mapStores(statement.yes, map), no: mapStores(statement.no, map) };
      case "loop":
        return {
          ...statement,
          body: mapStores(statement.body, map),
          update: mapStores(statement.update, map),
        };
      default:
        return statement;
    }
  });
}
