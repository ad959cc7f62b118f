import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { constantValue } from "../../source/constantProperties.ts";
import { isInside } from "../../source/countedLoop.ts";
import { type DeclaredType, declaredType } from "../../source/declaredTypes.ts";
import { type PropertyPath, propertyPath, typeOfPath } from "../../source/propertyPaths.ts";
import { type Binding, lookUp, type Scope } from "../../source/scopes.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import type { AccessedArray, Lowering, Meaning } from "../lowering.ts";
import { hostValue, type Linear, zero } from "../numbers/linear.ts";
import { zeroOfVariable } from "../numbers/minusZeros.ts";
import {
  between,
  hostBoolean,
  hostConstant,
  hostNumber,
  integer,
  type LoweredValue,
} from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { rangeOf, typeOfVariable, type Variable } from "../variables.ts";

/**
 * Returns the meaning of a name at the current place. Names from outside get their meaning at their
 * first use.
 */
export function meaningOf(lowering: Lowering, name: string, node: Node): Meaning {
  const binding = lookUp(lowering.scope, name);
  if (!binding) return refuse(loopError.undeclared(name, node));
  const known = lowering.meanings.get(binding);
  if (known) return known;
  const meaning = fromOutside(lowering, binding, node);
  lowering.meanings.set(binding, meaning);
  return meaning;
}

function fromOutside(lowering: Lowering, binding: Binding, node: Node): Meaning {
  const { kind, declaration } = binding;
  const constant = constantValue(binding, lowering.file);
  if (constant !== undefined) return { kind: "value", value: hostConstant(constant) };
  const { start, end } = lowering.loop.node;
  if (start <= declaration.start && declaration.end <= end) {
    return refuse(lowering.refused.has(binding) ? null : loopError.notDeclaredYet(binding.name, node));
  }
  const name = nameBefore(lowering, binding);
  if (name === undefined) return refuseUnnamed(lowering, binding, node);
  if (kind === "import") {
    const what = `\`${name}\`, which ${lowering.imports.reasonFor(binding)},`;
    return refuse(loopError.unsupported(what, node, "copy it into a constant before the loop"));
  }
  const type = declaredType(binding, lowering.file);
  switch (type.kind) {
    case "array":
      return accessed(lowering, name, name, type);
    case "other":
      return refuse(loopError.unsupportedType(name, type.name, node));
    case "boolean":
    case "number":
    case "unknown": {
      const kind = type.kind === "boolean" ? "boolean" : "number";
      lowering.guards.requireType(`typeof ${name} === "${kind}"`);
      return scalar(lowering, binding, name, kind);
    }
  }
}

/** Returns the name by which the code before the loop knows a binding; undefined if it has none. */
function nameBefore({ loop, file }: Lowering, binding: Binding): string | undefined {
  if (lookUp(loop.scope, binding.name) === binding) return binding.name;
  for (let scope: Scope | undefined = loop.scope; scope; scope = scope.parent) {
    for (const [name, one] of scope.bindings) {
      if (file.follow(one) === binding && lookUp(loop.scope, name) === binding) return name;
    }
  }
  return undefined;
}

function refuseUnnamed({ imports }: Lowering, binding: Binding, node: Node): never {
  const { name, declaration, assignments } = binding;
  const module = imports.moduleAt(declaration);
  if (module && assignments.length > 0)
    return refuse(loopError.unsupported(`\`${name}\`, a variable of another module,`, node));
  if (module) return refuse(loopError.notImported(name, module.filename, node));
  const what = `\`${name}\`, which another variable hides before the loop,`;
  return refuse(loopError.unsupported(what, node, "rename one of the two"));
}

/** Returns the meaning of an array from outside, or of a value that the host copies to one. */
function accessed(
  { arrays, guards, variables }: Lowering,
  name: string,
  code: string,
  { element, copied }: Extract<DeclaredType, { kind: "array" }>,
): Meaning {
  if (copied)
    guards.requireType(copied === "text" ? `typeof ${code} === "string"` : `Array.isArray(${code})`);
  const isChanged = copied === "numbers" && variables.isCopyChanged(name);
  const array: AccessedArray = { name, code, element: isChanged ? "f64" : element, copied, accesses: [] };
  arrays.set(name, array);
  return { kind: "array", array };
}

/**
 * Returns the meaning of a property of an object from outside, such as `options.gain`; undefined
 * for other expressions. The loop cannot change the property. The host checks that it is a plain
 * one, and reads it once.
 */
export function propertyMeaning(lowering: Lowering, node: Node): Meaning | undefined {
  const path = pathBefore(lowering, node);
  if (!path || path.names.length === 0) return undefined;
  const binding = path.root === null ? undefined : lookUp(lowering.loop.scope, path.root);
  const code = [path.root ?? "this", ...path.names].join(".");
  const known = lowering.properties.get(code);
  if (known) return known;

  const type = typeOfPath(path, binding, lowering.loop.scope, lowering.file, lowering.scopes);
  if (type.kind === "other") return refuse(loopError.unsupportedType(code, type.name, node));
  const { guards } = lowering;
  let object = path.root ?? "this";
  for (const name of path.names) {
    guards.requireType(`${object} != null`);
    // A getter may give something else each time.
    if (!name.startsWith("#"))
      guards.requireType(`Object.getOwnPropertyDescriptor(${object}, "${name}")?.writable !== undefined`);
    object += `.${name}`;
  }
  const meaning = meaningOfProperty(lowering, code, type);
  lowering.properties.set(code, meaning);
  return meaning;
}

/**
 * Returns the meaning of an argument that is an object from outside, or one that a function around
 * the call got; undefined for other arguments.
 */
export function objectMeaning(lowering: Lowering, node: Node): Meaning | undefined {
  const path = pathBefore(lowering, node);
  if (!path) return undefined;
  const { loop, file, scopes } = lowering;
  const binding = path.root === null ? undefined : lookUp(loop.scope, path.root);
  const type =
    path.names.length === 0
      ? binding && declaredType(binding, file)
      : typeOfPath(path, binding, loop.scope, file, scopes);
  return type?.kind === "other" ? { kind: "object", path } : undefined;
}

/**
 * Returns the path by which the code before the loop knows an object or a property; undefined for
 * other expressions, and for objects that may change.
 */
function pathBefore(lowering: Lowering, node: Node): PropertyPath | undefined {
  const path = propertyPath(node);
  if (!path) return undefined;
  const { root, names } = path;
  if (root === null) return lowering.calls.length > 0 ? undefined : path;
  const binding = lookUp(lowering.scope, root);
  const meaning = binding && lowering.meanings.get(binding);
  if (meaning?.kind === "object") return { ...meaning.path, names: [...meaning.path.names, ...names] };
  return isConstantObject(lowering, root) ? path : undefined;
}

function meaningOfProperty(lowering: Lowering, code: string, type: DeclaredType): Meaning {
  if (type.kind === "array") {
    return accessed(lowering, code.replace(/[.#]+/g, "$"), code, type);
  }
  const isBoolean = type.kind === "boolean";
  lowering.guards.requireType(`typeof ${code} === "${isBoolean ? "boolean" : "number"}"`);
  return { kind: "value", value: isBoolean ? hostBoolean(code) : hostNumber(code, "any") };
}

/** Returns true for a variable from outside that holds the same object in all iterations. */
function isConstantObject({ loop, file, scope }: Lowering, name: string): boolean {
  const binding = lookUp(scope, name);
  if (!binding || lookUp(loop.scope, name) !== binding) return false;
  if (binding.kind === "import" || binding.kind === "class" || binding.kind === "function") return false;
  if (declaredType(binding, file).kind === "array") return false;
  return binding.assignments.every(({ start, end }) => end <= loop.node.start || loop.node.end <= start);
}

/**
 * Returns the meaning of a number or boolean from outside: the same in all iterations, carried from
 * each to the next, or reduced.
 */
function scalar(lowering: Lowering, binding: Binding, name: string, kind: "number" | "boolean"): Meaning {
  const { assignments } = binding;
  const { loop } = lowering;
  const executed = [loop.node, ...lowering.variables.inlined];
  const isWritten = assignments.some((one) => executed.some((part) => isInside(part, one)));
  if (isWritten && binding.kind === "const") return refuseAssignment(binding);
  const reduced = loop.directive.reductions.find((reduction) => reduction.name === name);
  if (!isWritten && !reduced)
    return { kind: "value", value: kind === "boolean" ? hostBoolean(name) : hostNumber(name, "any") };
  const variable = outsideVariable(lowering, binding, hostValue(name), kind, name);
  lowering.written.set(name, variable);
  return reduced
    ? { kind: "reduction", operator: reduced.operator, variable }
    : { kind: "carried", variable };
}

/** Returns a variable that iterations pass on, with its value before the loop. */
export function outsideVariable(
  { variables }: Lowering,
  { name, declaration }: Pick<Binding, "name" | "declaration">,
  before: Linear,
  kind: "number" | "boolean",
  key = `${name}@${declaration.start}`,
): Variable {
  const variable = variables.getOutside(key, name, { low: before, high: before });
  if (kind === "boolean") variables.set(variable, "boolean", between(0, 1), declaration);
  return variable;
}

export function refuseAssignment({ name, assignments }: Binding): never {
  return refuse(loopError.cannotAssign(name, "is a constant", assignments[0]!, "declare it with `let`"));
}

/** Returns the value of a variable that iterations pass on. A boolean is passed on as 0 or 1. */
export function carriedValue(variable: Variable): LoopExpression {
  const { name } = variable;
  const type = typeOfVariable(variable);
  if (type !== "bool") return { kind: "carried", type, name };
  return { kind: "convert", type, operand: { kind: "carried", type: "i32", name } };
}

/** Returns the value of a variable at the place where it is read. */
export function read(lowering: Lowering, variable: Variable, carried = false): LoweredValue {
  const { name, kind } = variable;
  const ir: LoopExpression = carried
    ? carriedValue(variable)
    : { kind: "local", type: typeOfVariable(variable), name };
  if (kind === "float") return { kind, ir, accuracy: variable.accuracy };
  if (kind === "boolean") return { kind, ir };
  return integer(ir, rangeOf(variable), zero, zeroOfVariable(lowering, variable, ir));
}
