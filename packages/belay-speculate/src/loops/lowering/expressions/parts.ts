/**
 * Arrays of arrays and of objects from outside, and their parts. The host copies the numbers that
 * all parts have at one place to one typed array.
 */
import type { MemberExpression, Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { classOf, type DeclaredType, withoutTypes } from "../../source/declaredTypes.ts";
import { typeOfMember } from "../../source/propertyPaths.ts";
import { lookUp } from "../../source/scopes.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import { type AccessedArray, type ArrayPlace, type Lowering, type NestedPart, spanOf } from "../lowering.ts";
import { asInteger, toBoolean } from "../numbers/conversions.ts";
import { rangeOfInteger } from "../numbers/exactIntegers.ts";
import { add, constant, hostValue, known, zero } from "../numbers/linear.ts";
import {
  between,
  boolean,
  type HostValue,
  hostConstant,
  hostNumber,
  integer,
  type LoweredValue,
} from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { afterwards, held } from "./evaluationOrder.ts";
import { toIndex } from "./indices.ts";
import { leaveLoop } from "./leaving.ts";
import { isMethodOf, type MethodName } from "./methods.ts";
import { binary } from "./operators.ts";
import { objectBefore, requirePlain, typeOfObject } from "./properties.ts";

/** Returns true for the type of an array or an object, and false for that of a number. */
const isPart = (type: DeclaredType | undefined): boolean =>
  (type?.kind === "array" && type.copied !== "text") ||
  (type?.kind === "other" && !!(type.elements ?? type.object));

/** Returns the type of the part that an expression names; undefined for other expressions. */
export function typeOfPart(lowering: Lowering, source: Source): DeclaredType | undefined {
  const node = withoutTypes(source);
  if (node.type === "ChainExpression") return typeOfPart(lowering, node.expression as Source);
  const named = meaningOfPart(lowering, node);
  if (named) return named.type;
  const table = objectBefore(lowering, node);
  const type = table && typeOfObject(lowering, table);
  if (type?.kind === "other" && type.elements) return type;
  const holder = node.type === "MemberExpression" ? typeOfPart(lowering, node.object) : undefined;
  const found = holder && typeAt(lowering, holder, node as MemberExpression);
  return isPart(found) ? found : undefined;
}

/** Returns the type of an element or a property of a part; undefined for numbers in arrays. */
function typeAt(
  { file, scopes }: Lowering,
  holder: DeclaredType,
  node: MemberExpression,
): DeclaredType | undefined {
  if (holder.kind !== "other") return undefined;
  if (holder.elements) return node.computed ? holder.elements : undefined;
  return node.computed || !holder.object
    ? undefined
    : typeOfMember(holder.object, (node.property as { name: string }).name, file, scopes);
}

function meaningOfPart({ scope, meanings }: Lowering, node: Node): NestedPart | undefined {
  const binding = node.type === "Identifier" ? lookUp(scope, node.name) : undefined;
  const meaning = binding && meanings.get(binding);
  return meaning?.kind === "part" ? meaning.part : undefined;
}

/** Returns the array or object that an expression names, if it is a part; undefined for others. */
export function partNamed(lowering: Lowering, source: Source): NestedPart | undefined {
  const type = typeOfPart(lowering, source);
  if (!type) return undefined;
  const node = withoutTypes(source);
  if (node.type === "ChainExpression") return partNamed(lowering, node.expression as Source);
  const named = meaningOfPart(lowering, node);
  if (named) return named;
  const table = objectBefore(lowering, node);
  if (!table) {
    const { object, computed, property, optional } = node as MemberExpression;
    const holder = partNamed(lowering, object)!;
    if (!computed) return propertyOf(lowering, holder, (property as { name: string }).name, node, optional);
    return indexed(lowering, holder, property as Source, optional);
  }
  requirePlain(lowering, table);
  const code = [table.code, ...table.names].join(".");
  lowering.guards.requireType(`Array.isArray(${code})`);
  return { code, path: [], indices: [], type };
}

/** Returns the number that `row[index]` or `object.property` names; undefined for others. */
export function cellNamed(lowering: Lowering, node: MemberExpression): ArrayPlace | undefined {
  const cell = numberNamed(lowering, node);
  return cell && cellOf(lowering, cell, node);
}

/** Returns a number in a part as if it were a part; undefined for other expressions. */
function numberNamed(lowering: Lowering, node: MemberExpression): NestedPart | undefined {
  const type = typeOfPart(lowering, node.object);
  if (!type || isPart(typeAt(lowering, type, node))) return undefined;
  const holder = partNamed(lowering, node.object)!;
  if (type.kind === "other" && type.object) {
    const { property } = node;
    if (!node.computed && property.type === "Identifier")
      return propertyOf(lowering, holder, property.name, node, node.optional);
    const help = "write its name: `particles[i].x`";
    return refuse(loopError.unsupported("a property of an object with a computed name", node, help));
  }
  if (!node.computed) {
    const help = "access its elements, or its length";
    return refuse(loopError.unsupported("a property of an array", node, help));
  }
  return indexed(lowering, holder, node.property as Source, node.optional);
}

/** Returns an element of a part, with an index that is translated after those of the part. */
function indexed(lowering: Lowering, holder: NestedPart, at: Source, isOptional: boolean): NestedPart {
  let { indices } = holder;
  const index = afterwards(
    lowering,
    () => lowering.expression(at),
    () => {
      indices = indices.map((one) => ({ ...one, value: held(lowering, one.value) }));
    },
  );
  return elementOf(lowering, { ...holder, indices }, index, at, isOptional);
}

/** Returns an element of a part that is an array. */
export function elementOf(
  lowering: Lowering,
  holder: NestedPart,
  index: LoweredValue,
  node: Node,
  isOptional = false,
): NestedPart {
  const { code, path, indices, type } = optionally(holder, isOptional);
  if (type.kind === "other" && type.object) {
    const help = "take its properties: `const { x, y } = points[i]`";
    return refuse(loopError.unsupported("an element of an object", node, help));
  }
  const element: DeclaredType = (type.kind === "other" && type.elements) || { kind: "number" };
  const value = held(lowering, wholeIndex(lowering, index, node));
  return {
    code,
    path: [...path, null],
    indices: [...indices, { value, mayMiss: false }],
    type: element,
    holder,
  };
}

/** Returns a property of a part that is an object. */
export function propertyOf(
  lowering: Lowering,
  holder: NestedPart,
  name: string,
  node: Node,
  isOptional = false,
): NestedPart {
  const { code, path, indices, type } = optionally(holder, isOptional);
  if (type.kind !== "other" || !type.object) {
    const help = "take its elements: `const [x, y] = points[i]`";
    return refuse(loopError.unsupported("a property of an array", node, help));
  }
  const found = typeOfMember(type.object, name, lowering.file, lowering.scopes);
  const member: DeclaredType = found.kind === "unknown" ? { kind: "number" } : found;
  const isText = member.kind === "array" && member.copied === "text";
  if (isText || (member.kind !== "number" && !isPart(member))) {
    const what = member.kind === "other" ? member.name : isText ? "string" : member.kind;
    return refuse(loopError.unsupportedType(`${code}[].${name}`, what, node));
  }
  return { code, path: [...path, name], indices, type: member, holder };
}

/** Returns a part of which an optional access follows: the part itself may be missing. */
function optionally(part: NestedPart, isOptional: boolean): NestedPart {
  if (!isOptional || part.path.at(-1) !== null) return part;
  const indices = part.indices.map((one, at) =>
    at === part.indices.length - 1 ? { ...one, mayMiss: true } : one,
  );
  return { ...part, indices };
}

/** Returns the place of a number in a part. The loop runs as it is written where it has none. */
export function cellOf(lowering: Lowering, cell: NestedPart, node: Node): ArrayPlace {
  const indices = cell.indices.map(({ value }, at) =>
    requireInside(lowering, value, countAt(cell, at), node),
  );
  return placeIn(lowering, cell, indices, node);
}

/** A number that may be missing, because an array has no such element. */
export interface OptionalCell {
  /** True where the number exists. */
  readonly exists: LoopExpression;
  /** Returns the place of the number where it exists. */
  readonly place: () => ArrayPlace;
}

/**
 * Returns the number that `rows[y]?.[x]` or `rows[y][x]` names, which may be missing; undefined for
 * other expressions.
 */
export function optionalCell(lowering: Lowering, source: Source): OptionalCell | undefined {
  const outer = withoutTypes(source);
  const node = outer.type === "ChainExpression" ? (outer.expression as Source) : outer;
  const cell = node.type === "MemberExpression" ? numberNamed(lowering, node) : undefined;
  if (!cell) return undefined;
  const last = cell.path.at(-1) === null ? cell.indices.length - 1 : -1;
  const array = copyOf(lowering, cell);
  const tests: LoopExpression[] = [];
  const indices = cell.indices.map(({ value, mayMiss }, at) => {
    const count = countAt(cell, at);
    if (!mayMiss && at !== last) return requireInside(lowering, value, count, node);
    tests.push(insideOf(lowering, array, value, count, node));
    return narrowed(lowering, value, count, node);
  });
  const both = (left: LoopExpression, right: LoopExpression): LoopExpression => ({
    kind: "binary",
    type: "bool",
    operator: "&&",
    left,
    right,
  });
  const exists = tests.length > 0 ? tests.reduce(both) : boolean(true);
  return { exists, place: () => placeIn(lowering, cell, indices, node) };
}

/** The lowest index at which the host checks that an array has no property. */
export const lowestChecked = -64;

/**
 * Returns true where an index is one of `count` elements. The loop runs as it is written where an
 * index is no integer. It does so too where an index is so low that the host does not know whether
 * the array has such a property.
 */
function insideOf(
  lowering: Lowering,
  array: AccessedArray,
  index: LoweredValue,
  count: HostValue,
  node: Node,
): LoopExpression {
  const { low } = rangeOfInteger(lowering, asInteger(lowering, index, node)!);
  const lowest = Math.max(known(low) ?? lowestChecked, lowestChecked);
  lowering.lowest.set(array.name, Math.min(lowering.lowest.get(array.name) ?? 0, lowest));
  const compare = (operator: string, other: HostValue) =>
    toBoolean(lowering, binary(lowering, operator, index, other, node), node);
  const no = lowering.collect(() => leaveLoop(lowering, node));
  lowering.emit({ kind: "if", test: compare(">=", hostConstant(lowest)), yes: [], no });
  const [left, right] = [compare(">=", hostConstant(0)), compare("<", count)];
  return { kind: "binary", type: "bool", operator: "&&", left, right };
}

/** Returns the length of a part that is an array, which the host knows; undefined for others. */
export function lengthOfPart(lowering: Lowering, part: NestedPart, node: Node): HostValue | undefined {
  if (part.type.kind === "other" && !part.type.elements) return undefined;
  for (const [at, { value }] of part.indices.entries())
    requireInside(lowering, value, countAt(part, at), node);
  return lengthAt(part);
}

/** Returns the number of elements among which an index of a part chooses. */
function countAt(part: NestedPart, at: number): HostValue {
  const holder = part.holder!;
  return part.path.at(-1) === null && part.indices.length === at + 1 ? lengthAt(holder) : countAt(holder, at);
}

/** Returns the length of all arrays at one place. The loop runs as it is written if they differ. */
function lengthAt({ code, path }: NestedPart): HostValue {
  const first = path
    .map((step) => (step === null ? "?.[0]" : `?.${step}`))
    .join("")
    .replace("?.", "");
  const length = path.length === 0 ? `${code}.length` : `(${code}${first}?.length ?? 0)`;
  return hostNumber(length, "integer", { range: between(0, 2 ** 32 - 1) }) as HostValue;
}

/** Requires that a method of all arrays at the place of a part is JavaScript's. */
export function requireMethodOfPart(
  { guards }: Lowering,
  { code, path, type }: NestedPart,
  name: MethodName,
): void {
  const owner = type.kind === "array" && !type.copied ? classOf(type.element) : "Array";
  const check = path.reduceRight<(code: string) => string>(
    (rest, step) =>
      step === null ? (at) => `${at}?.every((part) => ${rest("part")})` : (at) => rest(`${at}?.${step}`),
    (at) => isMethodOf(at, name, owner),
  );
  guards.require(check(code));
}

/** Lets the loop run as it is written unless an index is one of `count` elements. */
function requireInside(lowering: Lowering, index: LoweredValue, count: HostValue, node: Node): LoweredValue {
  const high = add(hostValue(count.code), constant(-1));
  const range = rangeOfInteger(lowering, asInteger(lowering, index, node)!);
  if (lowering.guards.requireWithin(range, { low: zero, high })) return index;
  const compare = (operator: string, other: HostValue) =>
    toBoolean(lowering, binary(lowering, operator, index, other, node), node);
  const [left, right] = [compare(">=", hostConstant(0)), compare("<", count)];
  const test: LoopExpression = { kind: "binary", type: "bool", operator: "&&", left: left!, right: right! };
  const no = lowering.collect(() => leaveLoop(lowering, node));
  lowering.emit({ kind: "if", test, yes: [], no });
  return narrowed(lowering, index, count, node);
}

/** Returns an index with the range that it has where it is one of `count` elements. */
function narrowed(lowering: Lowering, index: LoweredValue, count: HostValue, node: Node): LoweredValue {
  const value = asInteger(lowering, index, node)!;
  return integer(value.ir, { low: zero, high: add(hostValue(count.code), constant(-1)) });
}

function wholeIndex(lowering: Lowering, value: LoweredValue, node: Node): LoweredValue {
  if (value.kind !== "float" && value.kind !== "boolean" && asInteger(lowering, value, node)) return value;
  const help = "coerce it: `rows[k | 0]`";
  return refuse(loopError.unsupported("an index of nested arrays that may be no integer", node, help));
}

/** Returns the copy of the numbers that all parts have at the place of a number. */
function copyOf({ arrays, variables }: Lowering, cell: NestedPart): AccessedArray {
  const { code, path } = cell;
  const names = path.filter((step) => step !== null);
  const name = [code.replace(/[.#]+/g, "$"), ...names].join("$");
  const known = arrays.get(name);
  if (known) return known;
  const type = path.at(-1) === null ? cell.holder!.type : undefined;
  const initial = type?.kind === "array" ? type : undefined;
  const copied = initial && !initial.copied ? "typed" : "numbers";
  const element = copied === "numbers" && variables.isCopyChanged(name) ? "f64" : (initial?.element ?? "f64");
  const lengths = cell.indices.map((_, at) => countAt(cell, at).code);
  const rows = { path: path.slice(1), isTyped: copied === "typed", length: `(${lengths.join(" * ")})` };
  const array: AccessedArray = { name, code, element, copied, rows, accesses: [] };
  arrays.set(name, array);
  return array;
}

function placeIn(
  lowering: Lowering,
  cell: NestedPart,
  indices: readonly LoweredValue[],
  node: Node,
): ArrayPlace {
  const array = copyOf(lowering, cell);
  const flat = indices.reduce((sum, index, at) =>
    binary(lowering, "+", binary(lowering, "*", sum, countAt(cell, at), node), index, node),
  );
  const { ir, known } = toIndex(lowering, array, flat, node);
  return { array, ir, index: known, span: spanOf(node) };
}
