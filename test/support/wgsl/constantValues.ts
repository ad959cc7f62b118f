/** Short functions that write, read and print constant values in tests. */
import { type Folded, parseLiteral } from "belay-gpu/internal/wgsl/constants/index";
import { isAbstract, vectorType } from "belay-gpu/internal/wgsl/conversion";
import type { ScalarType, Type } from "belay-gpu/internal/wgsl/types";
import type { CompositeValue, ScalarValue, Value } from "belay-gpu/internal/wgsl/values";

/** Returns the value of a literal such as `1.5h`. */
export function literal(text: string): ScalarValue {
  const parsed = parseLiteral(text);
  if (!parsed.ok || "elements" in parsed.value) throw new Error(`${text} is not a literal`);
  return parsed.value;
}

export function scalar(type: ScalarType, value: ScalarValue["value"]): ScalarValue {
  return { type, value };
}

/** Returns a vector of scalars of one type. */
export function vector(...components: readonly ScalarValue[]): CompositeValue {
  return { type: vectorType(components.length, components[0]!.type), elements: components };
}

type Plain = ScalarValue["value"] | readonly Plain[];

/** Returns a value as JavaScript numbers, big integers and booleans, in nested arrays. */
export function plain(value: Value): Plain {
  return "elements" in value ? value.elements.map(plain) : value.value;
}

/** Returns the plain value of an evaluation, or the reason why it has none. */
export function outcome(folded: Folded | undefined): Plain | string | undefined {
  return folded?.ok ? plain(folded.value) : folded?.reason;
}

/** Returns a type's constructor. The constructor of an abstract type omits the component type. */
export function constructorText(type: Type): string {
  if (type.kind === "scalar") return type.name;
  if (type.kind !== "vector" && type.kind !== "matrix") throw new Error(`a ${type.kind} is not printed`);
  const shape = type.kind === "vector" ? `vec${type.size}` : `mat${type.columns}x${type.rows}`;
  return isAbstract(type) ? shape : `${shape}<${type.element.name}>`;
}

/** Returns a WGSL expression with exactly this value and type. */
export function expressionText(value: Value): string {
  if ("elements" in value) {
    return `${constructorText(value.type)}(${value.elements.map(expressionText).join(", ")})`;
  }
  const text = String(value.value);
  const { name } = value.type;
  if (name === "bool") return text;
  // WGSL has no literal for the lowest AbstractInt, as the minus sign is an operator.
  if (name === "abstract-int")
    return value.value === -(2n ** 63n) ? "(-9223372036854775807 - 1)" : `(${text})`;
  const number = name === "i32" || name === "u32" || /[.e]/.test(text) ? text : `${text}.0`;
  return name === "abstract-float" ? `(${number})` : `${name}(${number})`;
}
