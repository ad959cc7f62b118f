import type { Node } from "oxc-parser";
import type { LoopExpression } from "../../tree/ir.ts";
import { type AccessedArray, type Lowering, spanOf } from "../lowering.ts";
import { accuracyOf, recordDecision, refuseWithoutDoubles, requireDoubles } from "../numbers/accuracy.ts";
import { asInteger, toBits, toFloat } from "../numbers/conversions.ts";
import { exact } from "../numbers/exactIntegers.ts";
import { as, isBooleanValue, type LoweredValue, literal, literalCode } from "../numbers/values.ts";
import type { ElementPlace } from "./elements.ts";
import { storeScratch } from "./scratchArrays.ts";

/** Emits the store of a value to an element. */
export function storeElement(
  lowering: Lowering,
  place: ElementPlace,
  value: LoweredValue,
  node: Node,
): LoweredValue {
  if ("scratch" in place) return storeScratch(lowering, place, value, node);
  const { array, ir, index } = place;
  array.accesses.push({ kind: "store", span: spanOf(node), index });
  if (array.copied === "numbers") lowering.variables.storeToCopy(array.name);
  lowering.emit({
    kind: "store",
    array: array.name,
    index: ir,
    value: elementValue(lowering, array, value, node),
    span: spanOf(node),
  });
  return value;
}

/**
 * Returns the value to store: the bits that the array keeps, or the value itself for arrays that
 * clamp. JavaScript stores the number that the program computes. At the index `undefined` that is
 * no element but a property, which keeps the number as it is.
 */
function elementValue(
  lowering: Lowering,
  { name, element }: AccessedArray,
  value: LoweredValue,
  node: Node,
): LoopExpression {
  if (element === "f64") return toFloat(lowering, value, node);
  if (element === "f32") {
    const stored = as("f32", toFloat(lowering, value, node));
    if (accuracyOf(lowering, value) === "other") {
      requireDoubles(lowering, "this number is computed in several steps, each a double", node);
      lowering.variables.storeOther(name);
    }
    return stored;
  }
  if (element === "u8c" && !isBooleanValue(value)) return clamped(lowering, value, node);
  return as(element === "u32" ? "u32" : "i32", storedBits(lowering, value, node));
}

/** Returns the low 32 bits of a value, which only the store takes. */
function storedBits(lowering: Lowering, value: LoweredValue, node: Node): LoopExpression {
  const bits = toBits(lowering, value, node);
  if (value.kind === "host" && value.constant !== undefined) return constantElement(bits, value.constant);
  // A boolean from outside is a number in the loop.
  if (value.kind === "host" && value.type === "boolean")
    return as("i32", { kind: "convert", type: "bool", operand: bits });
  const isCoerced = value.kind === "float" || value.kind === "boolean";
  return isCoerced && bits.kind === "convert" ? { ...bits, implicit: true } : bits;
}

/** Returns the stored form of a constant, with the constant as it is written if it differs. */
const constantElement = (stored: LoopExpression, constant: number | boolean): LoopExpression =>
  stored.kind === "literal" && !Object.is(stored.value, constant)
    ? { ...stored, written: literalCode(constant) }
    : stored;

/**
 * Returns a number for a store that clamps and rounds. An f32 in place of a double may round to
 * another integer.
 */
function clamped(lowering: Lowering, value: LoweredValue, node: Node): LoopExpression {
  if (value.kind === "host" && typeof value.constant === "number") {
    const element = Uint8ClampedArray.of(value.constant)[0]!;
    return constantElement(literal("i32", element), value.constant);
  }
  if (lowering.floats === "f32" && value.kind === "pending" && value.what === "quotient")
    return refuseWithoutDoubles(lowering, "this may be no integer", node, "coerce it: `(a / b) | 0`");
  const isWhole = value.kind !== "host" || value.nature === "integer";
  const whole = isWhole ? asInteger(lowering, value, node) : undefined;
  if (whole) return exact(lowering, whole);
  const ir = toFloat(lowering, value, node);
  recordDecision(lowering, [{ kind: "float", ir, accuracy: accuracyOf(lowering, value) }], node);
  return ir;
}
