/** The granules that an access touches, as far as known at compile time. */
import type { Place, PlaceStep } from "../../analysis/places.ts";
import { memberOffsets, sizeOf, strideOf } from "../../wgsl/layout.ts";
import type { Program } from "../../wgsl/program.ts";
import type { Type } from "../../wgsl/types.ts";
import { chunksOf } from "./valueWriter.ts";
import { isLong, partsOf } from "./wordValues.ts";

/** A step of a place, and the type of which it selects a part. */
interface TypedStep {
  readonly of: Type;
  readonly step: PlaceStep;
  /** The index, if it is known and certainly in bounds. */
  readonly known: number | undefined;
}

/** Returns the steps of a place with the types that they select from. */
export function typedSteps(program: Program, { variable, steps }: Place): TypedStep[] {
  let type = program.declaredTypeOf(variable);
  return steps.map((step) => {
    const of = type;
    type = partType(type, step);
    const constant = step.kind === "index" ? program.constantOf(step.index) : undefined;
    const isClamped = of.kind === "array" && of.count === "runtime";
    const known = !isClamped && constant && "value" in constant ? Number(constant.value) : undefined;
    return { of, step, known };
  });
}

function partType(type: Type, step: PlaceStep): Type {
  if (step.kind === "member" && type.kind === "struct")
    return type.members.find(({ name }) => name === step.name)!.type;
  if (type.kind === "matrix") return { kind: "vector", size: type.rows, element: type.element };
  if (type.kind === "array" || type.kind === "vector") return type.element;
  throw new Error(`a ${type.kind} has no parts`);
}

/**
 * Returns the known byte offset of an access. The unknown rest of the offset is a multiple of
 * `multiple` bytes.
 */
function knownPart(program: Program, place: Place): { at: number; multiple: number } {
  let [at, multiple] = [0, 2 ** 30];
  for (const { step, known } of typedSteps(program, place)) {
    if (step.kind === "member") at += step.offset;
    else if (known !== undefined) at += known * step.stride;
    else multiple = Math.min(multiple, step.stride & -step.stride);
  }
  return { at, multiple };
}

/**
 * Returns true if a store fills all data words of the granules that it touches. No other invocation
 * of a race-free kernel then accesses these granules before the store is done.
 */
export function fillsGranules(program: Program, place: Place, granuleBytes: number): boolean {
  const { at, multiple } = knownPart(program, place);
  if (multiple < granuleBytes) return false;
  const end = at + sizeOf(place.type);
  const first = Math.floor(at / granuleBytes) * granuleBytes;
  const last = Math.ceil(end / granuleBytes) * granuleBytes;
  const type = program.declaredTypeOf(place.variable);
  return (
    isWritable(place.type, at, granuleBytes) &&
    !hasDataIn(type, 0, first, at) &&
    !hasDataIn(type, 0, end, last)
  );
}

/** Returns true if a type at `offset` has data between `from` and `to`. */
function hasDataIn(type: Type, offset: number, from: number, to: number): boolean {
  const isRuntimeSized = type.kind === "array" && type.count === "runtime";
  if (from >= to || offset >= to || (!isRuntimeSized && offset + sizeOf(type) <= from)) return false;
  switch (type.kind) {
    case "struct":
      return type.members.some((member, i) =>
        hasDataIn(member.type, offset + memberOffsets(type)[i]!, from, to),
      );
    case "array": {
      const stride = strideOf(type);
      const count = typeof type.count === "number" ? type.count : Number.POSITIVE_INFINITY;
      for (
        let i = Math.max(0, Math.floor((from - offset) / stride));
        i < count && offset + i * stride < to;
        i++
      )
        if (hasDataIn(type.element, offset + i * stride, from, to)) return true;
      return false;
    }
    case "matrix": {
      const column = { kind: "vector", size: type.rows, element: type.element } as const;
      return hasDataIn({ kind: "array", element: column, count: type.columns }, offset, from, to);
    }
    default:
      return true;
  }
}

/**
 * Returns true if all arrays in a type that are stored in loops have elements that start granules.
 */
function isWritable(type: Type, at: number, granuleBytes: number): boolean {
  if (type.kind === "array" && isLong(type))
    return chunksOf(type, at, granuleBytes) !== undefined && isWritable(type.element, 0, granuleBytes);
  const parts = partsOf(type);
  return !parts || parts.every((part) => isWritable(part.type, at + part.offset, granuleBytes));
}

/** The limit of parts of an accessible type, because generated code names each part. */
const mostParts = 1024;

/** Returns true if the place's type has few enough parts. */
export function isAccessible({ type }: Place): boolean {
  let budget = mostParts;
  const spend = (part: Type): boolean => {
    budget -= 1;
    if (budget < 0) return false;
    if (part.kind === "array" && isLong(part)) return spend(part.element);
    return (partsOf(part) ?? []).every((each) => spend(each.type));
  };
  return spend(type);
}
