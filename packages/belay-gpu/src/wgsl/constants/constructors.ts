import type { StructType, Type } from "../types.ts";
import type { Value } from "../values.ts";
import { columnType, composite, scalars } from "./components.ts";
import { cast, converted } from "./conversions.ts";
import { type Folded, folded, noValue } from "./folded.ts";
import { scalar } from "./scalars.ts";

/**
 * Returns the zero value of a constructible type. Source: WGSL specification, "Zero Value Built-in
 * Functions".
 */
export function zeroValue(type: Type): Folded {
  return folded(() => zero(type));
}

/**
 * Evaluates a value constructor. Without arguments, it returns the zero value. Source: WGSL
 * specification, "Value Constructor Built-in Functions".
 */
export function foldConstructor(resultType: Type, args: readonly Value[]): Folded {
  return folded(() => (args.length === 0 ? zero(resultType) : constructed(resultType, args)));
}

function constructed(type: Type, args: readonly Value[]): Value {
  switch (type.kind) {
    case "scalar":
      return cast(scalar(args[0]), type);
    case "vector": {
      const parts = args.flatMap(scalars).map((part) => cast(part, type.element));
      return composite(type, parts.length === 1 ? Array.from({ length: type.size }, () => parts[0]!) : parts);
    }
    case "matrix": {
      const parts = args.flatMap(scalars).map((part) => cast(part, type.element));
      const columns = Array.from({ length: type.columns }, (_, i) =>
        parts.slice(i * type.rows, (i + 1) * type.rows),
      );
      return composite(
        type,
        columns.map((column) => composite(columnType(type), column)),
      );
    }
    case "array":
      return composite(
        type,
        args.map((arg) => converted(arg, type.element)),
      );
    case "struct":
      return composite(
        type,
        args.map((arg, i) => converted(arg, type.members[i]!.type)),
      );
    default:
      throw new TypeError(`a ${type.kind} has no constructor`);
  }
}

/**
 * The zero value of each struct type. Structs nest, so sharing keeps their total size linear in the
 * program's.
 */
const zeroStructs = new WeakMap<StructType, Value>();

/** The longest array whose zero value is evaluated. */
const maxZeroElements = 65_536;

function zero(type: Type): Value {
  switch (type.kind) {
    case "scalar":
      return { type, value: type.name === "bool" ? false : type.name === "abstract-int" ? 0n : 0 };
    case "vector":
      return repeated(type, type.size, type.element);
    case "matrix":
      return repeated(type, type.columns, columnType(type));
    case "array":
      if (typeof type.count !== "number") return noValue("the array's element count is not a constant");
      if (type.count > maxZeroElements)
        return noValue(`an array of ${type.count} elements is too large to evaluate`);
      return repeated(type, type.count, type.element);
    case "struct": {
      const known = zeroStructs.get(type);
      if (known !== undefined) return known;
      const value = composite(
        type,
        type.members.map((member) => zero(member.type)),
      );
      zeroStructs.set(type, value);
      return value;
    }
    default:
      return noValue("the type has no zero value");
  }
}

/** Returns a value of equal elements, which are one shared object. */
function repeated(type: Parameters<typeof composite>[0], count: number, element: Type): Value {
  return composite(type, new Array<Value>(count).fill(zero(element)));
}
