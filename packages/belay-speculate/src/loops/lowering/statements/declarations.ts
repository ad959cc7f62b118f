import type {
  ArrayPattern,
  MemberExpression,
  Node,
  ObjectPattern,
  Expression as Source,
  VariableDeclaration,
  VariableDeclarator,
} from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { withoutTypes } from "../../source/declaredTypes.ts";
import { type Binding, isFunction, isUsedOnlyIn, lookUp, namesOf } from "../../source/scopes.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import { loadOf } from "../expressions/elements.ts";
import { held } from "../expressions/evaluationOrder.ts";
import { meaningOf, refuseAssignment } from "../expressions/names.ts";
import { cellOf, elementOf, partNamed, propertyOf, requireMethodOfPart } from "../expressions/parts.ts";
import { propertyMeaning } from "../expressions/properties.ts";
import { declareScratch } from "../expressions/scratchArrays.ts";
import type { Lowering, Meaning, NestedPart } from "../lowering.ts";
import { zeroOfVariable } from "../numbers/minusZeros.ts";
import { hostConstant, type LoweredValue } from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { destructuring, valuesOfArray } from "./assignments.ts";
import { declareEmpty, recordAssignment, setInteger, setLocal } from "./setVariables.ts";

/** Translates `const`, `let` and `var` in the loop. */
export function declaration(lowering: Lowering, node: VariableDeclaration): void {
  for (const declarator of node.declarations) {
    if (lowering.attempt(() => declare(lowering, node.kind, declarator))) continue;
    for (const { name } of namesOf(declarator.id)) {
      const binding = lookUp(lowering.scope, name);
      if (binding) lowering.refused.add(binding);
    }
  }
}

function declare(lowering: Lowering, kind: string, declarator: VariableDeclarator): void {
  const { id, init } = declarator;
  const part = init && kind !== "var" ? partNamed(lowering, init) : undefined;
  if (part) {
    declarePart(lowering, id, part);
    return;
  }
  if (kind !== "const" && kind !== "let" && kind !== "var") {
    refuse(loopError.unsupported(`\`${kind}\``, declarator, "declare it with `let` or `const`"));
  }
  if (id.type === "ArrayPattern" && init && kind !== "var") {
    declareEach(lowering, id, init, declarator);
    return;
  }
  if (id.type === "ObjectPattern" && init && kind !== "var") {
    declareProperties(lowering, id, init);
    return;
  }
  if (id.type !== "Identifier") throw destructuring(declarator);
  if (kind === "var") {
    declareVar(lowering, lookUp(lowering.scope, id.name)!, init, declarator);
    return;
  }
  const binding = lookUp(lowering.scope, id.name)!;
  const isConstant = binding.assignments.length === 0;
  if (kind === "const" && !isConstant) refuseAssignment(binding);
  if (isConstant && init && isFunction(init)) return; // A helper is inlined at its calls.
  const array =
    init && isConstant
      ? (arrayNamed(lowering, init) ?? declareScratch(lowering, id.name, init, declarator))
      : undefined;
  if (array) lowering.meanings.set(binding, array);
  else if (init) declareWith(lowering, binding, lowering.expression(init), declarator);
  else declareWithout(lowering, binding, declarator);
}

/** Declares the variables of a pattern that stands for a part of an array from outside. */
export function declarePart(lowering: Lowering, pattern: Node, part: NestedPart): void {
  if (pattern.type === "ArrayPattern") {
    requireMethodOfPart(lowering, part, "values");
    for (const [at, target] of pattern.elements.entries())
      if (target) declarePart(lowering, target, elementOf(lowering, part, hostConstant(at), target));
    return;
  }
  if (pattern.type === "ObjectPattern") {
    for (const property of pattern.properties) {
      if (property.type !== "Property" || property.computed || property.key.type !== "Identifier")
        throw destructuring(property);
      declarePart(lowering, property.value, propertyOf(lowering, part, property.key.name, property));
    }
    return;
  }
  if (pattern.type !== "Identifier") throw destructuring(pattern);
  const binding = lookUp(lowering.scope, pattern.name)!;
  if (part.type.kind === "number") {
    const value = held(lowering, loadOf(lowering, cellOf(lowering, part, pattern)));
    declareWith(lowering, binding, value, pattern);
    return;
  }
  if (binding.assignments.length > 0) {
    const help = "declare it with `const`";
    refuse(loopError.unsupported("a variable for several arrays or objects", pattern, help));
  }
  lowering.meanings.set(binding, { kind: "part", part });
}

/** Translates `let [x, y] = [a, b]`. */
function declareEach(
  lowering: Lowering,
  { elements }: ArrayPattern,
  init: Source,
  declarator: VariableDeclarator,
): void {
  const values = valuesOfArray(lowering, init, elements.length, declarator);
  for (const [at, target] of elements.entries()) {
    if (!target) continue;
    if (target.type !== "Identifier") throw destructuring(target);
    declareWith(lowering, lookUp(lowering.scope, target.name)!, values[at]!, target);
  }
}

/** Declares the variables of `{ x, y: z }`, which are properties of an object from outside. */
function declareProperties(lowering: Lowering, { properties }: ObjectPattern, object: Source): void {
  for (const property of properties) {
    if (property.type !== "Property" || property.computed || property.key.type !== "Identifier")
      throw destructuring(property);
    const { key, value: target, start, end } = property;
    if (target.type !== "Identifier") throw destructuring(target);
    const at = { start, end };
    const value: MemberExpression = {
      type: "MemberExpression",
      object,
      property: key,
      computed: false,
      optional: false,
      ...at,
    };
    const binding = lookUp(lowering.scope, target.name)!;
    const array = binding.assignments.length === 0 ? arrayNamed(lowering, value) : undefined;
    if (array) lowering.meanings.set(binding, array);
    else declareWith(lowering, binding, lowering.expression(value), target);
  }
}

/**
 * Translates `var` as a variable of the whole iteration. Refuses one that is used outside of the
 * loop. It must be assigned to in each iteration before it is read, so that no iteration sees the
 * value of an earlier one.
 */
function declareVar(
  lowering: Lowering,
  binding: Binding,
  init: Source | null,
  declarator: VariableDeclarator,
): void {
  const isOfHelper = binding.scope.node !== lowering.loop.container;
  if (!isOfHelper && !isUsedOnlyIn(binding, lowering.loop.node, lowering.scopes)) {
    refuse(
      loopError.unsupported(
        "a `var` that is used outside of the loop",
        declarator,
        "declare it with `let` or `const`, so that each iteration has its own",
      ),
    );
  }
  const variable = lowering.hoist(binding.name, binding.declaration);
  lowering.meanings.set(binding, { kind: "variable", variable });
  if (!init) return;
  const value = lowering.expression(init);
  recordAssignment(lowering, variable, value, declarator);
  lowering.assigned.add(variable);
  setLocal(lowering, "assign", variable, value, declarator);
}

/** Returns the meaning of an expression that is just the name of an array; undefined for others. */
export function arrayNamed(lowering: Lowering, node: Source): Meaning | undefined {
  const property = propertyMeaning(lowering, node);
  if (property) return property.kind === "array" ? property : undefined;
  const name = withoutTypes(node);
  if (name.type !== "Identifier" || !lookUp(lowering.scope, name.name)) return undefined;
  const meaning = meaningOf(lowering, name.name, name);
  return meaning.kind === "array" || meaning.kind === "scratch" ? meaning : undefined;
}

/** Declares a variable with its value. A variable without assignments simply means its value. */
export function declareWith(lowering: Lowering, binding: Binding, value: LoweredValue, node: Node): void {
  if (binding.assignments.length === 0) {
    lowering.meanings.set(binding, { kind: "value", value: named(lowering, binding.name, value, node) });
    return;
  }
  const variable = lowering.declare(binding.name, node);
  recordAssignment(lowering, variable, value, node);
  lowering.assigned.add(variable);
  setLocal(lowering, "declare", variable, value, node);
  lowering.meanings.set(binding, { kind: "variable", variable });
}

function named(lowering: Lowering, name: string, value: LoweredValue, node: Node): LoweredValue {
  if (value.kind === "host") return value;
  if (value.kind === "pending") return held(lowering, value);
  const variable = lowering.declare(name, node);
  const ir: LoopExpression = { kind: "local", type: value.ir.type, name: variable.name };
  if (value.kind !== "integer") {
    lowering.emit({ kind: "declare", name: variable.name, type: value.ir.type, value: value.ir });
    return { ...value, ir };
  }
  if (value.minusZero) lowering.variables.setMinusZero(variable);
  setInteger(lowering, "declare", variable, value, value.ir.type);
  return { ...value, ir, minusZero: zeroOfVariable(lowering, variable, ir) };
}

/** Declares a variable without a value. It must be assigned to before it is read. */
function declareWithout(lowering: Lowering, binding: Binding, node: Node): void {
  const variable = lowering.declare(binding.name, node);
  lowering.assigned.delete(variable);
  declareEmpty(lowering, variable);
  lowering.meanings.set(binding, { kind: "variable", variable });
}
