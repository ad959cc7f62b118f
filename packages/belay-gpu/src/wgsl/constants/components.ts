/** Takes composite values apart and puts them together. */
import { vectorType } from "../conversion.ts";
import type { ArrayType, MatrixType, ScalarType, StructType, Type, VectorType } from "../types.ts";
import type { CompositeValue, ScalarValue, Value } from "../values.ts";
import { scalar } from "./scalars.ts";

export type CompositeType = VectorType | MatrixType | ArrayType | StructType;

export function isComposite(type: Type): type is CompositeType {
  return type.kind === "vector" || type.kind === "matrix" || type.kind === "array" || type.kind === "struct";
}

export function columnType(type: MatrixType): VectorType {
  return vectorType(type.rows, type.element);
}

/** Returns the type of element `index`: a component, a column, an array element or a member. */
export function elementType(type: CompositeType, index: number): Type {
  if (type.kind === "matrix") return columnType(type);
  return type.kind === "struct" ? type.members[index]!.type : type.element;
}

/** Returns the elements of a composite value. Throws for a scalar, a defect of the caller. */
export function elements(value: Value | undefined): readonly Value[] {
  if (value === undefined || !("elements" in value)) throw new TypeError("expected a composite value");
  return value.elements;
}

export function composite(type: CompositeType, values: readonly Value[]): CompositeValue {
  return { type, elements: values };
}

/** Returns a vector of the given components, of their type. */
export function vector(components: readonly ScalarValue[]): CompositeValue {
  return composite(vectorType(components.length, components[0]!.type), components);
}

/** Returns the scalars of a value in order. */
export function scalars(value: Value): ScalarValue[] {
  return "elements" in value ? value.elements.flatMap(scalars) : [value];
}

/** An operation on scalars whose result is a scalar of `type`. */
export type ScalarOperation = (args: readonly ScalarValue[], type: ScalarType) => ScalarValue;

/**
 * Applies `operation` to each scalar of the result. A scalar argument is used for all components.
 */
export function componentwise(type: Type, args: readonly Value[], operation: ScalarOperation): Value {
  if (type.kind === "scalar") return operation(args.map(scalar), type);
  if (!isComposite(type)) throw new TypeError(`no constant has a ${type.kind} type`);
  const parts = args.map((arg) => ("elements" in arg ? arg.elements : arg));
  const count = parts.find(Array.isArray)?.length ?? 0;
  return composite(
    type,
    Array.from({ length: count }, (_, i) =>
      componentwise(
        elementType(type, i),
        parts.map((part) => ("type" in part ? part : part[i]!)),
        operation,
      ),
    ),
  );
}
