/** The numbers in a buffer of a WGSL type: their places, and contents for them. */
import { alignOf, memberOffsets, sizeOf, strideOf } from "../wgsl/layout.ts";
import type { ScalarType, Type } from "../wgsl/types.ts";

/** A number in a buffer. */
export interface Leaf {
  /** The offset in bytes. */
  readonly offset: number;
  readonly type: ScalarType;
}

/** Yields the numbers of a value in a buffer, in ascending order. Padding has none. */
export function* leavesOf(type: Type, bytes: number, offset = 0): Generator<Leaf, void> {
  switch (type.kind) {
    case "scalar":
      yield { offset, type };
      break;
    case "atomic":
      yield* leavesOf(type.element, bytes, offset);
      break;
    case "vector":
      for (let i = 0; i < type.size; i++)
        yield { offset: offset + i * sizeOf(type.element), type: type.element };
      break;
    case "matrix": {
      const column: Type = { kind: "vector", size: type.rows, element: type.element };
      for (let i = 0; i < type.columns; i++) yield* leavesOf(column, bytes, offset + i * alignOf(type));
      break;
    }
    case "array": {
      const stride = strideOf(type);
      const count = typeof type.count === "number" ? type.count : Math.floor((bytes - offset) / stride);
      for (let i = 0; i < count; i++) yield* leavesOf(type.element, bytes, offset + i * stride);
      break;
    }
    case "struct":
      for (const [i, member] of type.members.entries())
        yield* leavesOf(member.type, bytes, offset + memberOffsets(type)[i]!);
  }
}

/** Returns the number at an offset: its path, such as `[3].position.y`, and its type. */
export function numberAt(type: Type, offset: number): { readonly path: string; readonly scalar: ScalarType } {
  const within = (step: string, of: Type, start: number) => {
    const { path, scalar } = numberAt(of, offset - start);
    return { path: `${step}${path}`, scalar };
  };
  switch (type.kind) {
    case "atomic":
      return numberAt(type.element, offset);
    case "vector": {
      const i = Math.floor(offset / sizeOf(type.element));
      return within(`.${"xyzw"[i]}`, type.element, i * sizeOf(type.element));
    }
    case "matrix": {
      const column: Type = { kind: "vector", size: type.rows, element: type.element };
      const i = Math.floor(offset / alignOf(type));
      return within(`[${i}]`, column, i * alignOf(type));
    }
    case "array": {
      const i = Math.floor(offset / strideOf(type));
      return within(`[${i}]`, type.element, i * strideOf(type));
    }
    case "struct": {
      const offsets = memberOffsets(type);
      const i = offsets.findLastIndex((each) => each <= offset);
      const { name, type: of } = type.members[i]!;
      return within(`.${name}`, of, offsets[i]!);
    }
    default:
      return { path: "", scalar: type as ScalarType };
  }
}
