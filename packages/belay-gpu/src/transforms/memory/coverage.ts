/** What is known of the granules that an access touches. */
import type { Place, PlaceStep } from "../../analysis/places.ts";
import { memberOffsets, sizeOf, strideOf } from "../../wgsl/layout.ts";
import type { Program } from "../../wgsl/program.ts";
import type { Type } from "../../wgsl/types.ts";
import { chunksOf } from "./valueWriter.ts";
import { isLong, partsOf } from "./wordValues.ts";

/** A step of a place, and the type of what it takes a part of. */
interface TypedStep {
  readonly of: Type;
  readonly step: PlaceStep;
  /** The index, where it is known and in bounds for certain. */
  readonly known: number | undefined;
}

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
 * Where an access is, as far as is known: what is added when the kernel runs is a multiple of
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
 * Whether a store fills all words with data of the granules that it touches, so that no other
 * invocation of a race-free kernel accesses them before it is done.
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

/** Whether a type at `offset` has data between `from` and `to`. */
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

/** Whether arrays in a type that are stored in loops have elements that start granules. */
function isWritable(type: Type, at: number, granuleBytes: number): boolean {
  if (type.kind === "array" && isLong(type))
    return chunksOf(type, at, granuleBytes) !== undefined && isWritable(type.element, 0, granuleBytes);
  const parts = partsOf(type);
  return !parts || parts.every((part) => isWritable(part.type, at + part.offset, granuleBytes));
}

/** Types with more parts are left alone: each is written out. */
const mostParts = 1024;

/** Whether a value of the place's type has few enough parts. */
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
