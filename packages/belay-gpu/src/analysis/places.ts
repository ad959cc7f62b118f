/** One step from a variable towards the accessed part. */
import type { Expression, GlobalVariable, Identifier, Statement } from "../wgsl/ast.ts";
import { memberOffsets, sizeOf, strideOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { contains } from "../wgsl/traverse.ts";
import type { AddressSpace, Type } from "../wgsl/types.ts";

export type PlaceStep =
  | { readonly kind: "index"; readonly index: Expression; readonly stride: number }
  /** A struct member or a vector component, at a constant byte offset. */
  | { readonly kind: "member"; readonly name: string; readonly offset: number };

/** A memory location: a module-scope variable and the steps to a part of it. */
export interface Place {
  readonly variable: GlobalVariable;
  readonly space: AddressSpace;
  readonly steps: readonly PlaceStep[];
  /** The type of the accessed part. */
  readonly type: Type;
}

/**
 * Returns the place that `expression` denotes, or undefined if it is no part of a module-scope
 * variable. Pointers must be resolved before: `*&x` is followed, a pointer variable is not.
 */
export function placeOf(program: Program, expression: Expression): Place | undefined {
  const type = program.typeOf(expression);
  switch (expression.kind) {
    case "identifier": {
      const target = program.targetOf(expression);
      if (target?.kind !== "globalVariable" || type.kind !== "reference") return undefined;
      return { variable: target, space: type.space, steps: [], type: type.store };
    }
    case "unary":
      return expression.operator === "*" &&
        expression.operand.kind === "unary" &&
        expression.operand.operator === "&"
        ? placeOf(program, expression.operand.operand)
        : undefined;
    case "index": {
      const base = placeOf(program, expression.base);
      // An element of an array of textures is no part of memory.
      if (!base || type.kind !== "reference" || type.space === "handle") return undefined;
      const step: PlaceStep = { kind: "index", index: expression.index, stride: elementStride(base.type) };
      return { ...base, steps: [...base.steps, step], type: type.store };
    }
    case "memberAccess": {
      const base = placeOf(program, expression.base);
      if (!base || type.kind !== "reference") return undefined;
      const step: PlaceStep = {
        kind: "member",
        name: expression.member,
        offset: memberOffset(base.type, expression.member),
      };
      return { ...base, steps: [...base.steps, step], type: type.store };
    }
    default:
      return undefined;
  }
}

/**
 * Returns the address space of the place that `target` names. A swizzle, which is no reference, has
 * the address space of its vector.
 */
export function spaceOf(program: Program, target: Expression): AddressSpace | undefined {
  const type = program.typeOf(target);
  if (type.kind === "reference" || type.kind === "pointer") return type.space;
  return target.kind === "memberAccess" ? spaceOf(program, target.base) : undefined;
}

/** Returns true for the address spaces whose stores other invocations or the host can see. */
export function isShared(space: AddressSpace | undefined): boolean {
  return space === "storage" || space === "workgroup";
}

/** Returns the distance in bytes between neighboring elements of an indexable type. */
function elementStride(type: Type): number {
  if (type.kind === "array") return strideOf(type);
  if (type.kind === "vector") return sizeOf(type.element);
  if (type.kind === "matrix") {
    const column = { kind: "vector", size: type.rows, element: type.element } as const;
    return strideOf({ kind: "array", element: column, count: type.columns });
  }
  throw new Error(`a ${type.kind} has no elements`);
}

function memberOffset(type: Type, member: string): number {
  if (type.kind === "struct") {
    const index = type.members.findIndex((m) => m.name === member);
    return memberOffsets(type)[index] ?? 0;
  }
  if (type.kind === "vector") {
    const component = "xyzwrgba".indexOf(member[0] ?? "x") % 4;
    return component * sizeOf(type.element);
  }
  return 0;
}

/** Returns the identifier at the root of a place, or of a pointer to one. */
export function rootIdentifier(expression: Expression): Identifier | undefined {
  let at = expression;
  while (at.kind !== "identifier") {
    if (at.kind === "index" || at.kind === "memberAccess") at = at.base;
    else if (at.kind === "unary" && (at.operator === "*" || at.operator === "&")) at = at.operand;
    else return undefined;
  }
  return at;
}

/**
 * Returns the module-scope variable at the root of a place, or of a pointer to one, and the
 * identifier that names it.
 */
export function rootVariable(
  program: Program,
  expression: Expression,
): { variable: GlobalVariable; identifier: Identifier } | undefined {
  const identifier = rootIdentifier(expression);
  const target = identifier && program.targetOf(identifier);
  return identifier && target?.kind === "globalVariable" ? { variable: target, identifier } : undefined;
}

/** Returns true if a statement in `part` assigns to storage or workgroup memory. */
export function storesToShared(program: Program, part: Expression | Statement): boolean {
  return contains(part, (node) => {
    if ((node.kind !== "assign" && node.kind !== "increment") || !node.target) return false;
    return isShared(spaceOf(program, node.target));
  });
}

/** Returns true for a type that contains an atomic. */
export function containsAtomic(type: Type): boolean {
  if (type.kind === "array") return containsAtomic(type.element);
  if (type.kind === "struct") return type.members.some((member) => containsAtomic(member.type));
  return type.kind === "atomic";
}

/** Returns the address space of a module-scope variable; `handle` for textures and samplers. */
export function addressSpaceOf(variable: GlobalVariable): AddressSpace {
  const space = variable.qualifiers[0];
  return space?.kind === "identifier" ? (space.name as AddressSpace) : "handle";
}
