/** Which resources a program binds, and what an entry point does with each of them. */
import type { Expression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, walk } from "../wgsl/traverse.ts";
import type { AccessMode, Type } from "../wgsl/types.ts";
import { reachableFrom, variablesOf } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, rootVariable } from "./places.ts";

/** A place for a resource: `@group(group) @binding(binding)`. */
export interface BindingPoint {
  readonly group: number;
  readonly binding: number;
}

/**
 * What an entry point may do with what is bound at one point. Samplers and uniform buffers are
 * read.
 */
export interface BindingAccess extends BindingPoint {
  /** The variable. */
  readonly name: string;
  readonly access: AccessMode;
  /** What all of its words are; absent where that is not one type of 32 bits. */
  readonly scalar?: "f32" | "i32" | "u32";
}

/** Where a variable is bound, or undefined for one that is not. */
export function bindingPointOf(program: Program, variable: GlobalVariable): BindingPoint | undefined {
  const numberOf = (name: string) => {
    const argument = variable.attributes.find((attribute) => attribute.name === name)?.args[0];
    const constant = argument && program.constantOf(argument);
    return constant && "value" in constant ? Number(constant.value) : undefined;
  };
  const [group, binding] = [numberOf("group"), numberOf("binding")];
  return group === undefined || binding === undefined ? undefined : { group, binding };
}

/** Every binding point that a module declares. */
export function bindingPointsOf(program: Program): BindingPoint[] {
  return program.module.declarations.flatMap((declaration) => {
    const point = declaration.kind === "globalVariable" && bindingPointOf(program, declaration);
    return point ? [point] : [];
  });
}

/** What an entry point does with each resource it uses, in all functions that it reaches. */
export function bindingAccesses(program: Program, entryPoint: FunctionDeclaration): BindingAccess[] {
  const functions = reachableFrom(program, [entryPoint]);
  const storage = storageAccesses(program, functions);
  return [...variablesOf(program, functions)].flatMap((variable) => {
    const point = bindingPointOf(program, variable);
    if (!point) return [];
    const type = program.declaredTypeOf(variable);
    const access = storage.get(variable) ?? declaredAccess(type);
    const scalar = scalarOf(type);
    return [{ ...point, name: variable.name, access, ...(scalar && { scalar }) }];
  });
}

/** Returns the type of all words of a type's values, if they have one. */
function scalarOf(type: Type): BindingAccess["scalar"] {
  if (type.kind === "texture") return type.format?.endsWith("32float") ? "f32" : undefined;
  if (type.kind === "struct") {
    const [first, ...others] = type.members.map((member) => scalarOf(member.type));
    return others.every((other) => other === first) ? first : undefined;
  }
  if ("element" in type) return scalarOf(type.element);
  const isWord =
    type.kind === "scalar" && (type.name === "f32" || type.name === "i32" || type.name === "u32");
  return isWord ? (type.name as BindingAccess["scalar"]) : undefined;
}

function declaredAccess(type: Type): AccessMode {
  return type.kind === "texture" ? (type.access ?? "read") : "read";
}

/**
 * The storage buffers that `functions` change in place: they load and store them, other than by
 * atomic operations. A pointer to more than an atomic that is kept or passed on counts as both.
 */
export function buffersInPlace(
  program: Program,
  functions: Iterable<FunctionDeclaration>,
): Set<GlobalVariable> {
  const accesses = storageAccesses(program, functions, "plain");
  return new Set([...accesses].flatMap(([variable, access]) => (access === "read_write" ? [variable] : [])));
}

/**
 * The accesses to the storage buffers that `functions` use: `plain` loads and stores, or all, with
 * atomic operations. A pointer that is kept or passed on counts as read and written, if what it
 * points to can be written at all.
 */
export function storageAccesses(
  program: Program,
  functions: Iterable<{ readonly body: AnyNode }>,
  which: "all" | "plain" = "all",
): Map<GlobalVariable, AccessMode> {
  const accesses = new Map<GlobalVariable, AccessMode>();
  const note = (variable: GlobalVariable, access: AccessMode) => {
    if (addressSpaceOf(variable) !== "storage") return;
    const before = accesses.get(variable) ?? access;
    accesses.set(variable, before === access ? access : "read_write");
  };
  const pointerAccess = (pointer: Expression): AccessMode | null => {
    const type = program.typeOf(pointer);
    if (type.kind !== "pointer") return null;
    if (which === "plain" && type.store.kind === "atomic") return null;
    return type.access === "read" ? "read" : "read_write";
  };
  /** Notes what is done to the variable of a place, and what its indices load. */
  const notePlace = (place: Expression, access: AccessMode | null) => {
    const variable = rootVariable(program, place)?.variable;
    if (variable && access) note(variable, access);
    noteIndices(place);
  };
  const noteIndices = (place: Expression): void => {
    if (place.kind === "index") noteAll(place.index);
    if (place.kind === "index" || place.kind === "memberAccess") noteIndices(place.base);
    if (place.kind === "unary") noteIndices(place.operand);
  };
  const noteAll = (part: AnyNode): void =>
    walk(part, (node) => {
      if (node.kind === "assign" && node.target) {
        notePlace(node.target, node.operator === "=" ? "write" : "read_write");
        noteAll(node.value);
        return false;
      }
      if (node.kind === "increment") {
        notePlace(node.target, "read_write");
        return false;
      }
      const [pointer, ...operands] = node.kind === "call" ? node.args : [];
      const name = node.kind === "call" ? builtinFunction(program, node) : undefined;
      // A length is no part of the contents.
      if (pointer && name === "arrayLength") {
        notePlace(pointer, null);
        return false;
      }
      const access = operandAccess(name);
      if (pointer && access) {
        notePlace(pointer, which === "all" ? access : null);
        for (const operand of operands) noteAll(operand);
        return false;
      }
      if (node.kind === "unary" && node.operator === "&") {
        notePlace(node, pointerAccess(node));
        return false;
      }
      if (node.kind === "identifier") notePlace(node, "read");
      return true;
    });
  for (const fn of functions) noteAll(fn.body);
  return accesses;
}

/**
 * What a built-in function does with the memory that its first argument points to; undefined when
 * it takes no pointer.
 */
function operandAccess(name: string | undefined): AccessMode | undefined {
  if (name === "atomicStore") return "write";
  if (name === "atomicLoad") return "read";
  return name?.startsWith("atomic") ? "read_write" : undefined;
}
