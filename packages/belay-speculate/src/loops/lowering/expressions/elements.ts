import type { MemberExpression, Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { classOf, withoutTypes } from "../../source/declaredTypes.ts";
import { lookUp } from "../../source/scopes.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import { type AccessedArray, type ArrayPlace, type Lowering, spanOf } from "../lowering.ts";
import { asInteger } from "../numbers/conversions.ts";
import { rangeOfInteger } from "../numbers/exactIntegers.ts";
import { add, constant, scale } from "../numbers/linear.ts";
import {
  as,
  between,
  type CharacterValue,
  hostConstant,
  hostNumber,
  hull,
  type IntegerValue,
  type Interval,
  int32,
  integer,
  type LoweredValue,
  literal,
  open,
  uint32,
} from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { bitwise } from "./bitwise.ts";
import { choice, mayBeMissing } from "./choices.ts";
import { indexOf, toIndex } from "./indices.ts";
import { isMethodOf, type MethodName } from "./methods.ts";
import { meaningOf } from "./names.ts";
import { binary } from "./operators.ts";
import {
  cellNamed,
  cellOf,
  elementOf,
  lengthOfPart,
  partNamed,
  requireMethodOfPart,
  typeOfPart,
} from "./parts.ts";
import { propertyMeaning } from "./properties.ts";
import { loadScratch, type ScratchPlace, scratchNamed, scratchPlace } from "./scratchArrays.ts";

/** An element of an array of the program, or of one that the iteration makes. */
export type ElementPlace = ArrayPlace | ScratchPlace;

export function loadOf(lowering: Lowering, place: ElementPlace): LoweredValue {
  if ("scratch" in place) return loadScratch(lowering, place);
  const { array, ir, index, span } = place;
  array.accesses.push({ kind: "load", span, index });
  const { element } = array;
  const type = element === "f32" || element === "f64" || element === "u32" ? element : "i32";
  const load: LoopExpression = { kind: "load", type, array: array.name, index: ir, span };
  return element === "f32" || element === "f64"
    ? {
        kind: "float",
        ir: as(lowering.floats, load),
        accuracy: lowering.variables.holdsOther(array.name) ? "other" : "exact",
      }
    : integer(load, rangeOfElement[element] ?? open);
}

/**
 * Returns `text[index]` or `text.charAt(index)`, or its code unit. Where the string has no such
 * character, the loop runs as it is written.
 */
export function characterOf(lowering: Lowering, text: AccessedArray, at: Source, node: Node): CharacterValue {
  const { ir, known } = indexOf(lowering, text, at);
  const load = loadOf(lowering, { array: text, ir, index: known, span: spanOf(node) }) as IntegerValue;
  return { kind: "character", ir: load.ir };
}

/** Returns the string that an expression names; undefined for other expressions. */
export function textNamed(lowering: Lowering, node: Source): AccessedArray | undefined {
  const name = withoutTypes(node);
  if (name.type !== "Identifier" && name.type !== "MemberExpression") return undefined;
  if (typeOfPart(lowering, name)) return undefined;
  const property = propertyMeaning(lowering, name);
  const isName = name.type === "Identifier" && lookUp(lowering.scope, name.name) !== undefined;
  const meaning = property ?? (isName ? meaningOf(lowering, name.name, name) : undefined);
  return meaning?.kind === "array" && meaning.array.copied === "text" ? meaning.array : undefined;
}

/** Returns the element that `array[index]` names. */
export function element(lowering: Lowering, node: MemberExpression): ElementPlace {
  if (typeOfPart(lowering, node)) {
    const help = "name it in a `const`, and use its numbers; a loop cannot replace it";
    return refuse(loopError.unsupported("an array or object in an array used as a value", node, help));
  }
  const cell = cellNamed(lowering, node);
  if (cell) return cell;
  if (!node.computed) {
    return refuse(
      loopError.unsupported(
        "a property of an object",
        node,
        "read it into a constant before the loop; of arrays, the loop can use elements and `length`",
      ),
    );
  }
  const scratch = scratchNamed(lowering, node.object);
  if (scratch) return scratchPlace(lowering, scratch, lowering.expression(node.property as Source), node);
  const array = arrayOf(lowering, node.object);
  const { ir, known } = indexOf(lowering, array, node.property);
  return { array, ir, index: known, span: spanOf(node) };
}

/**
 * Translates `array.at(place)`. A negative place counts from the end. As the method does, a place
 * that is no number becomes 0.
 */
export function elementAt(lowering: Lowering, object: Source, at: Source, node: Node): LoweredValue {
  const part = partNamed(lowering, object);
  const place = wholePlace(lowering, lowering.expression(at), at);
  const length = part && lengthOfPart(lowering, part, node);
  if (part && length) {
    requireMethodOfPart(lowering, part, "at");
    const cell = elementOf(lowering, part, fromEnd(lowering, place, length, node), node);
    if (cell.type.kind === "number") return loadOf(lowering, cellOf(lowering, cell, node));
  }
  const scratch = scratchNamed(lowering, object);
  if (scratch) {
    const index = fromEnd(lowering, place, hostConstant(scratch.variables.length), node);
    return loadOf(lowering, scratchPlace(lowering, scratch, index, node));
  }
  const array = arrayOf(lowering, object);
  requireMethod(lowering, array, "at");
  const { ir, known } = toIndex(lowering, array, fromEnd(lowering, place, lengthOf(array), node), node);
  return loadOf(lowering, { array, ir, index: known, span: spanOf(node) });
}

/** Returns an argument of `at` as an integer of 32 bits. */
function wholePlace(lowering: Lowering, value: LoweredValue, node: Node): IntegerValue {
  const index = value.kind === "float" ? undefined : asInteger(lowering, value, node);
  if (!index || !lowering.guards.requireWithin(rangeOfInteger(lowering, index), int32))
    return refuse(
      loopError.unsupported("`at` of a number that may be no i32", node, "coerce it: `a.at(x | 0)`"),
    );
  const coerced = bitwise(lowering, "|", index, hostConstant(0), node);
  const ir = lowering.hold(coerced.ir);
  // A missing element becomes 0, which the range may not have.
  return mayBeMissing(lowering, index.ir)
    ? integer(ir, hull(rangeOfInteger(lowering, coerced), between(0, 0)))
    : { ...coerced, ir };
}

/** Returns the index of the element at a place, which counts from the end if it is negative. */
function fromEnd(lowering: Lowering, place: IntegerValue, length: LoweredValue, node: Node): LoweredValue {
  const { guards } = lowering;
  const { low, high } = rangeOfInteger(lowering, place);
  const counted = () => binary(lowering, "+", length, place, node);
  if (guards.state(add(high, constant(1))) === "known") return counted();
  if (guards.state(scale(low, -1)) === "known") return place;
  const right = literal("i32", 0);
  const isNegative: LoopExpression = { kind: "binary", type: "bool", operator: "<", left: place.ir, right };
  return choice(lowering, isNegative, counted, () => place, node);
}

/** Returns the length of an array, which the host knows. */
export const lengthOf = ({ code }: AccessedArray): LoweredValue =>
  hostNumber(`${code}.length`, "integer", { range: between(0, 2 ** 52) });

/** Returns the array that an expression names, whose elements are numbers. */
export function arrayOf(lowering: Lowering, node: Source): AccessedArray {
  const array = arrayOrText(lowering, node);
  if (array.copied !== "text") return array;
  return refuse(
    loopError.unsupported("a character of a string", node, "compare its code: `text.charCodeAt(i)`"),
  );
}

/** Returns the array or the string that an expression names. */
export function arrayOrText(lowering: Lowering, node: Source): AccessedArray {
  if (node.type === "TSNonNullExpression" || node.type === "TSAsExpression")
    return arrayOrText(lowering, node.expression);
  const property = propertyMeaning(lowering, node);
  if (property?.kind === "array") return property.array;
  if (node.type !== "Identifier") {
    return refuse(
      loopError.unsupported(
        "an array that is not a variable",
        node,
        "keep it in a constant before the loop: `const data = object.data`",
      ),
    );
  }
  const meaning = meaningOf(lowering, node.name, node);
  if (meaning.kind === "array") return meaning.array;
  return refuse(loopError.unknownType(node.name, node, arrayHelp(node.name)));
}

/** Requires that a method of an array is JavaScript's. */
export function requireMethod(
  { guards }: Lowering,
  { code, element, copied }: AccessedArray,
  name: MethodName,
): void {
  guards.require(isMethodOf(code, name, copied ? "Array" : classOf(element)));
}

const arrayHelp = (name: string) =>
  `a loop uses arrays of numbers: declare it as \`${name}: Float32Array\` or \`${name}: number[]\``;

/** The ranges of the elements of integer arrays. */
const rangeOfElement: Readonly<Record<string, Interval>> = {
  i8: between(-128, 127),
  u8: between(0, 255),
  u8c: between(0, 255),
  i16: between(-32768, 32767),
  u16: between(0, 65535),
  i32: int32,
  u32: uint32,
};
