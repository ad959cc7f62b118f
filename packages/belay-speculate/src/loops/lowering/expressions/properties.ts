/** Properties of objects from outside, and the contents of namespaces. */
import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { constantProperty, constantValue } from "../../source/constantProperties.ts";
import { isInside } from "../../source/countedLoop.ts";
import type { DeclaredType } from "../../source/declaredTypes.ts";
import { methodOf, propertyPath, typeOfBinding, typeOfProperty } from "../../source/propertyPaths.ts";
import { type Binding, isFunction, lookUp, type Scope } from "../../source/scopes.ts";
import type { Lowering, Meaning, OuterObject } from "../lowering.ts";
import { hostBoolean, hostNumber } from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { accessed, meaningOfBinding, nameBefore } from "./names.ts";

/** A declaration that an expression names, also through namespaces, and the properties after it. */
interface NamedPart {
  readonly binding: Binding;
  readonly names: readonly string[];
  /** The namespaces with the declaration, and its name in them; undefined without namespaces. */
  readonly path: string | undefined;
  /** JavaScript that gives the value before the loop, if the path does. */
  readonly code: string | undefined;
}

/** Returns the declaration that an expression such as `util.table` names; undefined for others. */
export function namedPart(lowering: Lowering, node: Node): NamedPart | undefined {
  const { root, names } = propertyPath(node) ?? { root: null, names: [] };
  let binding = root === null ? undefined : lookUp(lowering.scope, root);
  if (!binding) return undefined;
  const isSeen = lookUp(lowering.loop.scope, root!) === binding;
  let depth = 0;
  for (const name of names) {
    const member = lowering.file.memberOf(binding, name);
    if (!member) break;
    binding = member;
    depth++;
  }
  const path = depth > 0 ? [root, ...names.slice(0, depth)].join(".") : undefined;
  return { binding, names: names.slice(depth), path, code: isSeen ? path : undefined };
}

/** Returns the number or boolean that a property or the content of a namespace always has. */
export function constantAt(lowering: Lowering, node: Node): number | boolean | undefined {
  const { binding, names } = namedPart(lowering, node) ?? {};
  if (!binding || !names || names.length > 1) return undefined;
  const [name] = names;
  return name === undefined
    ? constantValue(binding, lowering.file)
    : constantProperty(binding, name, lowering.file);
}

/**
 * Returns the meaning of a property of an object from outside, such as `options.gain`, or of the
 * content of a namespace; undefined for other expressions. The loop cannot change a property. The
 * host checks that it is a plain one, and reads it once.
 */
export function propertyMeaning(lowering: Lowering, node: Node): Meaning | undefined {
  const part = namedPart(lowering, node);
  if (part?.path !== undefined && part.names.length === 0)
    return meaningOfBinding(lowering, part.binding, node, part.code);
  const object = objectBefore(lowering, node);
  if (!object || object.names.length === 0) return undefined;
  const { names } = object;
  const code = [object.code, ...names].join(".");
  const known = lowering.properties.get(code);
  if (known) return known;

  const type = typeOfObject(lowering, object);
  if (type.kind === "other") return refuse(loopError.unsupportedType(code, type.name, node));
  requirePlain(lowering, object);
  const meaning = meaningOfProperty(lowering, code, type);
  lowering.properties.set(code, meaning);
  return meaning;
}

/** Requires that the properties that lead to an object are plain ones. */
export function requirePlain({ guards }: Lowering, { code, names }: OuterObject): void {
  let place = code;
  for (const name of names) {
    guards.requireType(`${place} != null`);
    // A getter may give something else each time.
    if (!name.startsWith("#"))
      guards.requireType(`Object.getOwnPropertyDescriptor(${place}, "${name}")?.writable !== undefined`);
    place += `.${name}`;
  }
}

/** A method that a loop calls, and its object. */
export interface MethodCall {
  readonly binding: Binding;
  readonly self: OuterObject;
}

/** Returns the method that an expression such as `this.at` names; undefined for others. */
export function methodCalled(lowering: Lowering, node: Node): MethodCall | undefined {
  const property = objectBefore(lowering, node);
  if (!property || property.names.length === 0) return undefined;
  const { loop, file, scopes, guards } = lowering;
  const method = methodOf(property.binding, property.names, loop.scope, file, scopes);
  if (!method) return undefined;
  const name = property.names.at(-1)!;
  const self = { ...property, names: property.names.slice(0, -1) };
  const code = [self.code, ...self.names].join(".");
  requirePlain(lowering, self);
  guards.requireType(`${code} != null`);
  // Another class may have a method of its own.
  if (method.owner) guards.requireType(`${code}.${name} === ${method.owner}.prototype.${name}`);
  else if (name.startsWith("#")) guards.requireType(`${name} in ${code}`);
  return { binding: method.binding, self };
}

/** Returns the object that `this` is at the current place, as the code before the loop has it. */
function selfAt({ scope, loop, calls }: Lowering): OuterObject | undefined {
  const around = functionWithThis(scope);
  const call = calls.findLast(({ callee }) => callee === around);
  if (call) return call.self;
  return around === functionWithThis(loop.scope) ? { binding: null, code: "this", names: [] } : undefined;
}

/** Returns the function, class or program whose `this` a place has. */
function functionWithThis({ node, parent }: Scope): Node {
  const isArrow = node.type === "ArrowFunctionExpression";
  const hasThis =
    !isArrow && (isFunction(node) || /^(Class(Declaration|Expression)|StaticBlock)$/.test(node.type));
  return hasThis || !parent ? node : functionWithThis(parent);
}

/**
 * Returns the meaning of an argument that is an object from outside, or one that a function around
 * the call got; undefined for other arguments.
 */
export function objectMeaning(lowering: Lowering, node: Node): Meaning | undefined {
  const object = objectBefore(lowering, node);
  return object && typeOfObject(lowering, object).kind === "other" ? { kind: "object", object } : undefined;
}

export function typeOfObject(
  { loop, file, scopes }: Lowering,
  { binding, names }: OuterObject,
): DeclaredType {
  if (names.length > 0) return typeOfProperty(binding, names, loop.scope, file, scopes);
  return binding ? typeOfBinding(binding, file, scopes) : { kind: "unknown" };
}

/**
 * Returns the object or property that an expression names, as the code before the loop has it;
 * undefined for other expressions, and for objects that may change.
 */
export function objectBefore(lowering: Lowering, node: Node): OuterObject | undefined {
  const path = propertyPath(node);
  if (!path) return undefined;
  if (path.root === null) {
    const self = selfAt(lowering);
    const object = self && { ...self, names: [...self.names, ...path.names] };
    return object && seen(lowering, object, node);
  }
  const part = namedPart(lowering, node);
  if (!part) return undefined;
  const { binding, names } = part;
  const meaning = lowering.meanings.get(binding);
  if (meaning?.kind === "object")
    return seen(lowering, { ...meaning.object, names: [...meaning.object.names, ...names] }, node);
  if (meaning?.kind === "part") return undefined;
  if (!isConstantObject(lowering, binding)) return undefined;
  const code = part.code ?? nameBefore(lowering, binding);
  return code === undefined ? undefined : { binding, code, names };
}

/** Returns an object. Refuses a private property that the code before the loop cannot name. */
function seen({ loop }: Lowering, object: OuterObject, node: Node): OuterObject {
  const hidden = object.names.find((name) => name.startsWith("#") && !hasPrivate(loop.scope, name.slice(1)));
  if (hidden === undefined) return object;
  const what = `\`${hidden}\`, which is private to another class,`;
  return refuse(loopError.unsupported(what, node, "move the loop into a method of the class"));
}

/** Returns true if a class around a place has a private member of this name. */
const hasPrivate = (scope: Scope | undefined, name: string): boolean =>
  scope !== undefined &&
  ((scope.node.type === "ClassBody" &&
    scope.node.body.some(
      (one) => "key" in one && one.key.type === "PrivateIdentifier" && one.key.name === name,
    )) ||
    hasPrivate(scope.parent, name));

function meaningOfProperty(lowering: Lowering, code: string, type: DeclaredType): Meaning {
  if (type.kind === "array") return accessed(lowering, code, type);
  const isBoolean = type.kind === "boolean";
  lowering.guards.requireType(`typeof ${code} === "${isBoolean ? "boolean" : "number"}"`);
  return { kind: "value", value: isBoolean ? hostBoolean(code) : hostNumber(code, "any") };
}

/** Returns true for a variable from outside that holds the same object in all iterations. */
function isConstantObject({ loop, file, scopes }: Lowering, binding: Binding): boolean {
  if (binding.kind === "import" || binding.kind === "function") return false;
  if (typeOfBinding(binding, file, scopes).kind === "array") return false;
  if (isInside(loop.node, binding.declaration)) return false;
  return binding.assignments.every(({ start, end }) => end <= loop.node.start || loop.node.end <= start);
}
