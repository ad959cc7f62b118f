import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { constantValue } from "../../source/constantProperties.ts";
import { isInside } from "../../source/countedLoop.ts";
import type { DeclaredType } from "../../source/declaredTypes.ts";
import { typeOfBinding } from "../../source/propertyPaths.ts";
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
  return meaningOfBinding(lowering, binding, node);
}

/** Returns the meaning of a declaration. `code` is JavaScript for its value before the loop. */
export function meaningOfBinding(lowering: Lowering, binding: Binding, node: Node, code?: string): Meaning {
  const known = lowering.meanings.get(binding);
  if (known) return known;
  const meaning = fromOutside(lowering, binding, node, code);
  lowering.meanings.set(binding, meaning);
  return meaning;
}

function fromOutside(lowering: Lowering, binding: Binding, node: Node, code: string | undefined): Meaning {
  const { kind, declaration } = binding;
  const constant = constantValue(binding, lowering.file);
  if (constant !== undefined) return { kind: "value", value: hostConstant(constant) };
  const { start, end } = lowering.loop.node;
  if (start <= declaration.start && declaration.end <= end) {
    return refuse(lowering.refused.has(binding) ? null : loopError.notDeclaredYet(binding.name, node));
  }
  const name = code ?? nameBefore(lowering, binding);
  if (name === undefined) return refuseUnnamed(lowering, binding, node);
  if (kind === "import") {
    const what = `\`${name}\`, which ${lowering.imports.reasonFor(binding)},`;
    return refuse(loopError.unsupported(what, node, "copy it into a constant before the loop"));
  }
  const type = typeOfBinding(binding, lowering.file, lowering.scopes);
  switch (type.kind) {
    case "array":
      return accessed(lowering, name, type);
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
export function nameBefore({ loop, file }: Lowering, binding: Binding): string | undefined {
  if (lookUp(loop.scope, binding.name) === binding) return binding.name;
  for (let scope: Scope | undefined = loop.scope; scope; scope = scope.parent) {
    for (const [name, one] of scope.bindings) {
      if (file.follow(one) === binding && lookUp(loop.scope, name) === binding) return name;
      const isNamespace = file.memberOf(one, binding.name) === binding;
      if (isNamespace && lookUp(loop.scope, name) === one) return `${name}.${binding.name}`;
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
export function accessed(
  { arrays, guards, variables }: Lowering,
  code: string,
  { element, copied }: Extract<DeclaredType, { kind: "array" }>,
): Meaning {
  const name = code.replace(/[.#]+/g, "$");
  if (copied)
    guards.requireType(copied === "text" ? `typeof ${code} === "string"` : `Array.isArray(${code})`);
  const isChanged = copied === "numbers" && variables.isCopyChanged(name);
  const array: AccessedArray = { name, code, element: isChanged ? "f64" : element, copied, accesses: [] };
  arrays.set(name, array);
  return { kind: "array", array };
}

/** Returns a string without characters, which no name of the loop means. */
export function emptyText({ arrays }: Lowering): AccessedArray {
  const name = "$empty";
  const array: AccessedArray = arrays.get(name) ?? {
    name,
    code: '""',
    element: "u16",
    copied: "text",
    accesses: [],
  };
  arrays.set(name, array);
  return array;
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
