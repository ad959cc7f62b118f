/** Methods of typed arrays that change several elements: `set` and `fill`. */
import type { IdentifierName, Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { withoutTypes } from "../../source/declaredTypes.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import { choice, mayBeMissing } from "../expressions/choices.ts";
import { lengthOf, loadOf, requireMethod } from "../expressions/elements.ts";
import { held, inOrder } from "../expressions/evaluationOrder.ts";
import { toIndex } from "../expressions/indices.ts";
import { leaveLoop } from "../expressions/leaving.ts";
import { binary } from "../expressions/operators.ts";
import { elementsOf } from "../expressions/scratchArrays.ts";
import { storeElement } from "../expressions/storedElements.ts";
import { type AccessedArray, type Lowering, spanOf } from "../lowering.ts";
import { asInteger, toBoolean } from "../numbers/conversions.ts";
import { exact, rangeOfInteger } from "../numbers/exactIntegers.ts";
import { hostValue, zero } from "../numbers/linear.ts";
import {
  hostConstant,
  type IntegerValue,
  int32,
  integer,
  type LoweredValue,
  literal,
} from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { arrayNamed } from "./declarations.ts";
import { forIndices } from "./elementLoops.ts";
import { hostCount } from "./innerLoops.ts";

/**
 * Translates `a.set([x, y], k)`, `a.set(b.subarray(i, j), k)` and `a.fill(x, i, j)`. Returns false
 * for other calls.
 */
export function changeElements(lowering: Lowering, node: Source): boolean {
  if (node.type !== "CallExpression") return false;
  const { callee, optional } = node;
  if (callee.type !== "MemberExpression" || callee.computed || callee.optional || optional) return false;
  const { name } = callee.property as IdentifierName;
  if (name !== "set" && name !== "fill") return false;
  const args = node.arguments.filter((one): one is Source => one.type !== "SpreadElement");
  const meaning = arrayNamed(lowering, callee.object);
  if (meaning?.kind !== "array" || meaning.array.copied || args.length < node.arguments.length) return false;
  const [least, most] = name === "set" ? [1, 2] : [1, 3];
  if (args.length < least || args.length > most) return false;
  requireMethod(lowering, meaning.array, name);
  if (name === "set") setElements(lowering, meaning.array, args, node);
  else fillElements(lowering, meaning.array, args, node);
  return true;
}

function fillElements(lowering: Lowering, array: AccessedArray, args: readonly Source[], node: Node): void {
  const [value, ...places] = inOrder(lowering, args).map((one) => held(lowering, one));
  const { start, count } = partOf(lowering, array, places, node);
  forEach(lowering, node, array, count, (at) => {
    const place = placeAt(lowering, array, binary(lowering, "+", start, at, node), node);
    storeElement(lowering, place, value!, node);
  });
}

function setElements(
  lowering: Lowering,
  array: AccessedArray,
  [source, offset]: readonly Source[],
  node: Node,
): void {
  const made = elementsOf(lowering, source!);
  if (made) {
    const values = inOrder(lowering, offset ? [...made, offset] : made).map((one) => held(lowering, one));
    const start = requireRoom(lowering, array, values[made.length], hostConstant(made.length), node);
    for (const [at, value] of values.slice(0, made.length).entries()) {
      const index = binary(lowering, "+", start, hostConstant(at), node);
      storeElement(lowering, placeAt(lowering, array, index, node), value, node);
    }
    return;
  }
  const from = sourceOf(lowering, array, source!);
  const values = inOrder(lowering, offset ? [...from.places, offset] : from.places).map((one) =>
    held(lowering, one),
  );
  const part = partOf(lowering, from.array, values.slice(0, from.places.length), node);
  const start = requireRoom(lowering, array, values[from.places.length], part.count, node);
  forEach(lowering, node, array, part.count, (at) => {
    const read = placeAt(lowering, from.array, binary(lowering, "+", part.start, at, node), node);
    const place = placeAt(lowering, array, binary(lowering, "+", start, at, node), node);
    storeElement(lowering, place, held(lowering, loadOf(lowering, read)), node);
  });
}

/** Returns the array that `b` or `b.subarray(i, j)` names, and the places in it. */
function sourceOf(
  lowering: Lowering,
  target: AccessedArray,
  source: Source,
): { readonly array: AccessedArray; readonly places: readonly Source[] } {
  const node = withoutTypes(source);
  const callee = node.type === "CallExpression" ? node.callee : undefined;
  const isPart =
    callee?.type === "MemberExpression" &&
    !callee.computed &&
    (callee.property as IdentifierName).name === "subarray";
  const object = isPart ? callee.object : node;
  const meaning = arrayNamed(lowering, object);
  const places = isPart && node.type === "CallExpression" ? (node.arguments as readonly Source[]) : [];
  const isText = meaning?.kind === "array" && meaning.array.copied === "text";
  if (meaning?.kind !== "array" || isText || places.some(({ type }) => (type as string) === "SpreadElement"))
    return refuse(
      loopError.unsupported("`set` of this", source, "set `[x, y]`, an array, or `b.subarray(i, j)`"),
    );
  const { array } = meaning;
  if (array.name === target.name)
    return refuse(loopError.unsupported("`set` of a part of the array itself", source, "copy in a loop"));
  if (isPart) requireMethod(lowering, array, "subarray");
  // `set` copies overlapping memory as if at once.
  if (!array.copied) lowering.guards.require(`${array.code}.buffer !== ${target.code}.buffer`);
  return { array, places };
}

/** Returns the first index of a part of an array, and its length. Ends count as in `slice`. */
function partOf(
  lowering: Lowering,
  array: AccessedArray,
  [from, to]: readonly LoweredValue[],
  node: Node,
): { readonly start: LoweredValue; readonly count: LoweredValue } {
  const start = from ? clamped(lowering, array, from, node) : hostConstant(0);
  if (!from || !to) {
    const length = lengthOf(array);
    return { start, count: from ? held(lowering, binary(lowering, "-", length, start, node)) : length };
  }
  return {
    start,
    count: held(lowering, binary(lowering, "-", clamped(lowering, array, to, node), start, node)),
  };
}

/** Returns a place as an index from 0 to the length. A negative place counts from the end. */
function clamped(lowering: Lowering, array: AccessedArray, place: LoweredValue, node: Node): LoweredValue {
  const index = wholePlace(lowering, place, node);
  const bounds = { low: zero, high: hostValue(`${array.code}.length`) };
  if (lowering.guards.within(rangeOfInteger(lowering, index), bounds) !== "never") {
    lowering.guards.requireWithin(rangeOfInteger(lowering, index), bounds);
    return index;
  }
  const length = lengthOf(array);
  const test = (operator: string, one: LoweredValue, other: LoweredValue) =>
    toBoolean(lowering, binary(lowering, operator, one, other, node), node);
  const pick = (condition: Parameters<typeof choice>[1], yes: () => LoweredValue, no: () => LoweredValue) =>
    choice(lowering, condition, yes, no, node);
  const nothing = hostConstant(0);
  const counted = held(
    lowering,
    pick(
      test("<", index, nothing),
      () => binary(lowering, "+", length, index, node),
      () => index,
    ),
  );
  const value = pick(
    test("<", counted, nothing),
    () => nothing,
    () =>
      pick(
        test(">", counted, length),
        () => length,
        () => counted,
      ),
  );
  return integer((held(lowering, value) as IntegerValue).ir, bounds);
}

/** Returns where elements are set. The loop runs as it is written where the array ends before. */
function requireRoom(
  lowering: Lowering,
  array: AccessedArray,
  offset: LoweredValue | undefined,
  count: LoweredValue,
  node: Node,
): LoweredValue {
  const index = wholePlace(lowering, offset ?? hostConstant(0), node);
  const end = binary(lowering, "+", index, count, node);
  const length = lengthOf(array);
  const known = (value: LoweredValue, bounds: Parameters<typeof lowering.guards.within>[1]) =>
    lowering.guards.requireWithin(rangeOfInteger(lowering, asInteger(lowering, value, node)!), bounds);
  const bounds = { low: zero, high: hostValue(`${array.code}.length`) };
  if (known(index, bounds) && known(end, bounds)) return index;
  const test = (operator: string, one: LoweredValue, other: LoweredValue) =>
    toBoolean(lowering, binary(lowering, operator, one, other, node), node);
  lowering.emit({
    kind: "if",
    test: {
      kind: "binary",
      type: "bool",
      operator: "&&",
      left: test(">=", index, hostConstant(0)),
      right: test("<=", end, length),
    },
    yes: [],
    no: lowering.collect(() => leaveLoop(lowering, node)),
  });
  return integer(index.ir, bounds);
}

function wholePlace(lowering: Lowering, value: LoweredValue, node: Node): IntegerValue {
  const index =
    value.kind === "float" || value.kind === "boolean" ? undefined : asInteger(lowering, value, node);
  if (!index)
    return refuse(loopError.unsupported("a place that may be no integer", node, "coerce it: `k | 0`"));
  const ir = lowering.hold(exact(lowering, index, "i32"));
  const isShort = lowering.guards.within(rangeOfInteger(lowering, index), int32) !== "never";
  const at = isShort ? { ...index, ir } : integer(ir, int32);
  if (!mayBeMissing(lowering, index.ir)) return at;
  // Each number of the loop is at least this one, and `undefined` is not.
  const least = literal("i32", -(2 ** 31));
  const test: LoopExpression = { kind: "binary", type: "bool", operator: ">=", left: at.ir, right: least };
  lowering.emit({ kind: "if", test, yes: [], no: lowering.collect(() => leaveLoop(lowering, node)) });
  return at;
}

function placeAt(lowering: Lowering, array: AccessedArray, index: LoweredValue, node: Node) {
  const { ir, known } = toIndex(lowering, array, index, node);
  return { array, ir, index: known, span: spanOf(node) };
}

function forEach(
  lowering: Lowering,
  node: Node,
  array: AccessedArray,
  count: LoweredValue,
  translate: (at: IntegerValue) => void,
): void {
  const value = asInteger(lowering, count, node)!;
  const most = hostCount(lowering, `${array.code}.length`);
  forIndices(
    lowering,
    node,
    { count: most, length: () => exact(lowering, value, "i32") },
    undefined,
    translate,
  );
}
