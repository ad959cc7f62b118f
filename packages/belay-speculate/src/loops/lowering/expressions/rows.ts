/**
 * Arrays of arrays and arrays of objects from outside. The host copies their numbers to one typed
 * array, and each property of objects to one of its own.
 */
import type { MemberExpression, Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { withoutTypes } from "../../source/declaredTypes.ts";
import { typeOfMember } from "../../source/propertyPaths.ts";
import { lookUp } from "../../source/scopes.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import {
  type AccessedArray,
  type ArrayPlace,
  type Lowering,
  type Row,
  spanOf,
  type Table,
} from "../lowering.ts";
import { asInteger, toBoolean } from "../numbers/conversions.ts";
import { rangeOfInteger } from "../numbers/exactIntegers.ts";
import { add, constant, hostValue, zero } from "../numbers/linear.ts";
import { between, type HostValue, hostConstant, hostNumber, type LoweredValue } from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { afterwards, held } from "./evaluationOrder.ts";
import { toIndex } from "./indices.ts";
import { leaveLoop } from "./leaving.ts";
import { binary } from "./operators.ts";
import { objectBefore, requirePlain, typeOfObject } from "./properties.ts";

/** Returns the array of arrays or objects that an expression names; undefined for others. */
export function tableNamed(lowering: Lowering, node: Source): Table | undefined {
  const object = objectBefore(lowering, withoutTypes(node));
  const type = object && typeOfObject(lowering, object);
  if (type?.kind !== "other" || !type.rows) return undefined;
  requirePlain(lowering, object!);
  const code = [object!.code, ...object!.names].join(".");
  lowering.guards.requireType(`Array.isArray(${code})`);
  return { code, type: type.rows };
}

/** Returns the array or the object of a table that an expression names; undefined for others. */
export function rowNamed(lowering: Lowering, source: Source): Row | undefined {
  const node = withoutTypes(source);
  if (node.type === "Identifier") {
    const binding = lookUp(lowering.scope, node.name);
    const meaning = binding && lowering.meanings.get(binding);
    return meaning?.kind === "row" ? meaning.row : undefined;
  }
  if (node.type !== "MemberExpression" || !node.computed || node.optional) return undefined;
  const table = tableNamed(lowering, node.object);
  if (!table) return undefined;
  const index = wholeIndex(lowering, lowering.expression(node.property as Source), node.property);
  return { table, index: held(lowering, index) };
}

/** Returns the number that `row[index]` or `object.property` names; undefined for others. */
export function cellNamed(lowering: Lowering, node: MemberExpression): ArrayPlace | undefined {
  const row = rowNamed(lowering, node.object);
  if (!row) return undefined;
  if (row.table.type.kind === "objects") {
    const { property } = node;
    if (!node.computed && property.type === "Identifier") return fieldOf(lowering, row, property.name, node);
    const help = "write its name: `particles[i].x`";
    return refuse(loopError.unsupported("a property of an object with a computed name", node, help));
  }
  if (!node.computed) {
    const help = "access its elements, or its length";
    return refuse(loopError.unsupported("a property of an array", node, help));
  }
  let { index } = row;
  const place = afterwards(
    lowering,
    () => lowering.expression(node.property as Source),
    () => {
      index = held(lowering, index);
    },
  );
  return cellOf(lowering, { ...row, index }, place, node);
}

/** Returns an element of an array in a table. */
export function cellOf(lowering: Lowering, row: Row, at: LoweredValue, node: Node): ArrayPlace {
  const { table, index } = row;
  const width = widthOf(table);
  const place = held(lowering, wholeIndex(lowering, at, node));
  requireInside(lowering, index, lengthOfTable(table), node);
  requireInside(lowering, place, width, node);
  const flat = binary(lowering, "+", binary(lowering, "*", index, width, node), place, node);
  const length = `(${table.code}.length * ${width.code})`;
  return placeIn(lowering, copyOf(lowering, table, null, length), flat, node);
}

/** Returns a property of an object in a table. */
export function fieldOf(lowering: Lowering, { table, index }: Row, name: string, node: Node): ArrayPlace {
  const { code, type } = table;
  if (type.kind === "numbers") {
    const help = "take its elements: `const [x, y] = points[i]`";
    return refuse(loopError.unsupported("a property of an array", node, help));
  }
  const member = typeOfMember(type, name, lowering.file, lowering.scopes);
  if (member.kind !== "number" && member.kind !== "unknown")
    return refuse(
      loopError.unsupportedType(`${code}[].${name}`, "name" in member ? member.name : member.kind, node),
    );
  requireInside(lowering, index, lengthOfTable(table), node);
  return placeIn(lowering, copyOf(lowering, table, name, `${code}.length`), index, node);
}

/** Returns the length of a table, which the host knows. */
export const lengthOfTable = ({ code }: Table): HostValue =>
  hostNumber(`${code}.length`, "integer", { range: between(0, 2 ** 32 - 1) }) as HostValue;

/** Returns the length of each array in a table. The loop runs as written if they differ. */
export const widthOf = ({ code }: Table): HostValue =>
  hostNumber(`(${code}[0]?.length ?? 0)`, "integer", { range: between(0, 2 ** 32 - 1) }) as HostValue;

/** Returns the length of an array in a table. */
export function lengthOfRow(lowering: Lowering, { table, index }: Row, node: Node): HostValue {
  requireInside(lowering, index, lengthOfTable(table), node);
  return widthOf(table);
}

/** Requires that `forEach` of a table is JavaScript's. */
export const requireForEach = ({ guards }: Lowering, { code }: Table): void =>
  guards.require(`${code}.forEach === Array.prototype.forEach`);

/** Requires that `forEach` of all arrays in a table is JavaScript's. */
export const requireForEachOfRows = ({ guards }: Lowering, { code }: Table): void =>
  guards.require(`${code}.every((row) => row?.forEach === Array.prototype.forEach)`);

/** Lets the loop run as it is written unless an index is one of `count` elements. */
function requireInside(lowering: Lowering, index: LoweredValue, count: HostValue, node: Node): void {
  const high = add(hostValue(count.code), constant(-1));
  const range = rangeOfInteger(lowering, asInteger(lowering, index, node)!);
  if (lowering.guards.requireWithin(range, { low: zero, high })) return;
  const compare = (operator: string, other: HostValue) =>
    toBoolean(lowering, binary(lowering, operator, index, other, node), node);
  const [left, right] = [compare(">=", hostConstant(0)), compare("<", count)];
  const test: LoopExpression = { kind: "binary", type: "bool", operator: "&&", left: left!, right: right! };
  const no = lowering.collect(() => leaveLoop(lowering, node));
  lowering.emit({ kind: "if", test, yes: [], no });
}

function wholeIndex(lowering: Lowering, value: LoweredValue, node: Node): LoweredValue {
  if (value.kind !== "float" && value.kind !== "boolean" && asInteger(lowering, value, node)) return value;
  const help = "coerce it: `rows[k | 0]`";
  return refuse(loopError.unsupported("an index of nested arrays that may be no integer", node, help));
}

/** Returns the copy of a table's numbers. */
function copyOf(
  { arrays, variables }: Lowering,
  { code, type }: Table,
  property: string | null,
  length: string,
): AccessedArray {
  const name = [code.replace(/[.#]+/g, "$"), ...(property === null ? [] : [property])].join("$");
  const known = arrays.get(name);
  if (known) return known;
  const initial = type.kind === "numbers" ? type.element : "f64";
  const element = variables.isCopyChanged(name) ? "f64" : initial;
  const rows = { property, length };
  const array: AccessedArray = { name, code, element, copied: "numbers", rows, accesses: [] };
  arrays.set(name, array);
  return array;
}

function placeIn(lowering: Lowering, array: AccessedArray, value: LoweredValue, node: Node): ArrayPlace {
  const { ir, known } = toIndex(lowering, array, value, node);
  return { array, ir, index: known, span: spanOf(node) };
}
