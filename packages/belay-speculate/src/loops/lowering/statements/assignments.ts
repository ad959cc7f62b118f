import type {
  ArrayAssignmentTarget,
  AssignmentExpression,
  MemberExpression,
  Node,
  Expression as Source,
  UpdateExpression,
} from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { hasEffects } from "../../source/countedLoop.ts";
import { withoutTypes } from "../../source/declaredTypes.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import { element, loadOf } from "../expressions/elements.ts";
import { afterwards, held, inOrder } from "../expressions/evaluationOrder.ts";
import { carriedValue, meaningOf, read } from "../expressions/names.ts";
import { binary, numeric } from "../expressions/operators.ts";
import { elementsOf } from "../expressions/scratchArrays.ts";
import { storeElement } from "../expressions/storedElements.ts";
import type { Lowering } from "../lowering.ts";
import { settled } from "../numbers/conversions.ts";
import { zeroOfVariable } from "../numbers/minusZeros.ts";
import { hostConstant, isBooleanValue, type LoweredValue } from "../numbers/values.ts";
import { LoopRefusal, refuse } from "../refusal.ts";
import { reduce } from "./reductions.ts";
import { type Change, recordAssignment, setCarried, setLocal, warnOfSum } from "./setVariables.ts";

/**
 * Translates `target = value` and `target += value`: emits the store, and returns the stored value
 * if it is used.
 */
export function assign(lowering: Lowering, node: AssignmentExpression, isUsed = true): LoweredValue {
  const target = withoutTypes(node.left as Source);
  const { operator, right } = asCompound(node, target);
  if (operator === "&&" || operator === "||" || operator === "??") {
    return assignLogically(lowering, node, target, operator);
  }
  if (node.left.type === "ArrayPattern" && !isUsed) return assignEach(lowering, node.left, right, node);
  if (target.type === "Identifier") {
    const meaning = meaningOf(lowering, target.name, target);
    if (meaning.kind === "reduction") return reduce(lowering, meaning, target.name, node);
    if (!("variable" in meaning) && meaning.kind !== "value") return refuseTarget(target.name, node);
    const isSum =
      node.operator === "=" ? accumulates(node.right, target.name) : ["+", "-", "*"].includes(operator);
    if (isSum && meaning.kind !== "value") warnOfSum(lowering, meaning.variable, node);
    if (operator === "") return setName(lowering, target.name, lowering.expression(right), node);
    const [before, change] = inOrder(lowering, [target, right]);
    return setName(lowering, target.name, binary(lowering, operator, before!, change!, node), node, {
      operator,
      change: change!,
    });
  }
  if (target.type !== "MemberExpression") throw destructuring(node);
  const place = element(lowering, target);
  if (operator === "") {
    let index = place.ir;
    const value = afterwards(
      lowering,
      () => lowering.expression(right),
      () => {
        index = lowering.hold(index);
      },
    );
    return storeElement(lowering, { ...place, ir: index }, isUsed ? held(lowering, value) : value, node);
  }
  const once = { ...place, ir: lowering.hold(place.ir) };
  let before = loadOf(lowering, once);
  const change = afterwards(
    lowering,
    () => lowering.expression(right),
    () => {
      before = held(lowering, before);
    },
  );
  const total = binary(lowering, operator, before, change, node);
  return storeElement(lowering, once, isUsed ? held(lowering, total) : total, node);
}

/** Translates `x ||= value` as `x || (x = value)`, and `&&=` and `??=` likewise. */
function assignLogically(
  lowering: Lowering,
  node: AssignmentExpression,
  left: Source,
  operator: "&&" | "||" | "??",
): LoweredValue {
  // The index is evaluated twice.
  if (left.type === "MemberExpression" && hasEffects(left)) {
    return refuse(
      loopError.unsupported(
        `\`${node.operator}\` with an index that changes something`,
        node,
        "compute the index before",
      ),
    );
  }
  const right: AssignmentExpression = { ...node, operator: "=" };
  return lowering.expression({ ...node, type: "LogicalExpression", operator, left, right });
}

/** Translates `[x, a[i]] = [value, other]`. All values are computed before the first assignment. */
function assignEach(
  lowering: Lowering,
  { elements }: ArrayAssignmentTarget,
  right: Source,
  node: AssignmentExpression,
): LoweredValue {
  const values = valuesOfArray(lowering, right, elements.length, node).map((value) => held(lowering, value));
  for (const [at, element] of elements.entries()) {
    if (!element) continue;
    const target = withoutTypes(element as Source);
    if (target.type === "Identifier") setName(lowering, target.name, values[at]!, element);
    else if (target.type === "MemberExpression") storeAt(lowering, target, values[at]!, element);
    else throw destructuring(element);
  }
  return values[0] ?? hostConstant(Number.NaN);
}

const storeAt = (lowering: Lowering, target: MemberExpression, value: LoweredValue, node: Node) =>
  storeElement(lowering, element(lowering, target), value, node);

/** Returns the values of `[a, b]`, from which at least `count` variables are set. */
export function valuesOfArray(
  lowering: Lowering,
  node: Source,
  count: number,
  place: Node,
): readonly LoweredValue[] {
  const elements = elementsOf(lowering, node);
  if (!elements || elements.length < count) throw destructuring(place);
  return inOrder(lowering, elements);
}

/** Returns the refusal of a pattern that is no list of variables, set from a list of values. */
export const destructuring = (node: Node) =>
  new LoopRefusal(
    loopError.unsupported("destructuring", node, "set one variable at a time, or write `[x, y] = [a, b]`"),
  );

/** Translates `x++`, `++x`, `x--` and `--x`. */
export function update(lowering: Lowering, node: UpdateExpression, isUsed = true): LoweredValue {
  const operator = node.operator === "++" ? "+" : "-";
  const target = withoutTypes(node.argument as Source);
  const change = hostConstant(1);
  if (target.type === "Identifier") {
    const meaning = meaningOf(lowering, target.name, target);
    if (meaning.kind === "reduction") return reduce(lowering, meaning, target.name, node);
    if ("variable" in meaning) warnOfSum(lowering, meaning.variable, node);
    const read = lowering.expression(target);
    const before = isUsed ? held(lowering, numeric(lowering, read, node)) : read;
    // The variable itself, so that it can be seen that this only adds to it.
    const sum = binary(lowering, operator, isUsed ? lowering.expression(target) : read, change, node);
    const after = setName(lowering, target.name, sum, node, {
      operator,
      change,
    });
    return node.prefix ? after : before;
  }
  if (target.type !== "MemberExpression") return refuse(loopError.unsupported("this target", node));
  const place = element(lowering, target);
  const once = { ...place, ir: lowering.hold(place.ir) };
  const loaded = loadOf(lowering, once);
  const before = isUsed ? held(lowering, numeric(lowering, loaded, node)) : loaded;
  const after = storeElement(lowering, once, binary(lowering, operator, before, change, node), node);
  return node.prefix ? after : before;
}

/** Returns true if a value is a sum or a product with the variable as a part. */
function accumulates(node: Source, name: string): boolean {
  const value = withoutTypes(node);
  if (value.type === "Identifier") return value.name === name;
  if (value.type === "UnaryExpression") return value.operator === "-" && accumulates(value.argument, name);
  if (value.type !== "BinaryExpression" || !["+", "-", "*"].includes(value.operator)) return false;
  return accumulates(value.left as Source, name) || accumulates(value.right, name);
}

/** Returns an assignment as an operator and a right side. `x = x + y` is treated as `x += y`. */
function asCompound(node: AssignmentExpression, target: Source): { operator: string; right: Source } {
  const { right } = node;
  const adds = right.type === "BinaryExpression" && (right.operator === "+" || right.operator === "-");
  if (node.operator !== "=" || target.type !== "Identifier" || !adds) {
    return { operator: node.operator.slice(0, -1), right };
  }
  const { left } = right;
  return left.type === "Identifier" && left.name === target.name
    ? { operator: right.operator, right: right.right }
    : { operator: "", right };
}

/** Sets the variable that a name means. Returns the value as it can be read again. */
function setName(
  lowering: Lowering,
  name: string,
  given: LoweredValue,
  node: Node,
  change?: Change,
): LoweredValue {
  const value = settled(lowering, given, node);
  const meaning = meaningOf(lowering, name, node);
  switch (meaning.kind) {
    case "variable": {
      const { variable } = meaning;
      lowering.assigned.add(variable);
      recordAssignment(lowering, variable, value, node, change);
      const type = setLocal(lowering, "assign", variable, value, node);
      const ir: LoopExpression = { kind: "local", type, name: variable.name };
      return value.kind === "integer"
        ? { ...value, ir, minusZero: value.minusZero && zeroOfVariable(lowering, variable, ir) }
        : readBack(value, ir);
    }
    case "carried":
      if (isBooleanValue(value) && meaning.variable.kind !== "boolean")
        return refuse(loopError.mixedTypes(name, "boolean", "number", node));
      recordAssignment(lowering, meaning.variable, value, node, change);
      setCarried(lowering, meaning.variable, name, value, node);
      return isBooleanValue(value)
        ? read(lowering, meaning.variable, true)
        : readBack(value, carriedValue(meaning.variable));
    case "value":
    case "array":
    case "scratch":
    case "object":
    case "part":
      return refuseTarget(name, node);
    case "reduction":
      return refuse(loopError.notReduced(name, meaning.operator, node));
  }
}

const refuseTarget = (name: string, node: Node): never =>
  refuse(loopError.cannotAssign(name, "cannot be assigned to in the loop", node, "use another variable"));

const readBack = (value: LoweredValue, ir: LoopExpression): LoweredValue =>
  value.kind === "host" || value.kind === "pending" ? value : { ...value, ir };

/** Translates an expression whose value is not used. */
export function effects(lowering: Lowering, node: Source): void {
  if (node.type === "AssignmentExpression") assign(lowering, node, false);
  else if (node.type === "UpdateExpression") update(lowering, node, false);
  else if (node.type === "SequenceExpression") for (const one of node.expressions) effects(lowering, one);
  else lowering.expression(node);
}
