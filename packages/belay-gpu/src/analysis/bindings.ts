/** Lists the resources that a program binds, and the accesses of an entry point to each. */
import type { Expression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, walk } from "../wgsl/traverse.ts";
import type { AccessMode, Type } from "../wgsl/types.ts";
import { reachableFrom, variablesOf } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, rootVariable } from "./places.ts";

/** The address of a resource: `@group(group) @binding(binding)`. */
export interface BindingPoint {
  /** The number in `@group`. */
  readonly group: number;
  /** The number in `@binding`. */
  readonly binding: number;
}

/** The kind of a binding: the member of a `GPUBindGroupLayoutEntry` that a shader needs. */
export type BindingKind = "uniform" | "storage" | "texture" | "storageTexture" | "other";

/** The accesses of an entry point to one resource. Samplers and uniform buffers are read. */
export interface BindingAccess extends BindingPoint {
  /** The variable's name. */
  readonly name: string;
  readonly access: AccessMode;
  readonly kind: BindingKind;
  /** The type of all words of the resource; absent if they differ or are not of 32 bits. */
  readonly scalar?: "f32" | "i32" | "u32";
}

/** Returns the binding point of a variable, or undefined for a variable without one. */
export function bindingPointOf(program: Program, variable: GlobalVariable): BindingPoint | undefined {
  const numberOf = (name: string) => {
    const argument = variable.attributes.find((attribute) => attribute.name === name)?.args[0];
    const constant = argument && program.constantOf(argument);
    return constant && "value" in constant ? Number(constant.value) : undefined;
  };
  const [group, binding] = [numberOf("group"), numberOf("binding")];
  return group === undefined || binding === undefined ? undefined : { group, binding };
}

/** Returns all binding points that a module declares. */
export function bindingPointsOf(program: Program): BindingPoint[] {
  return program.module.declarations.flatMap((declaration) => {
    const point = declaration.kind === "globalVariable" && bindingPointOf(program, declaration);
    return point ? [point] : [];
  });
}

/**
 * Returns the accesses of an entry point, and of all functions that it reaches, to each resource.
 */
export function bindingAccesses(program: Program, entryPoint: FunctionDeclaration): BindingAccess[] {
  const functions = reachableFrom(program, [entryPoint]);
  const storage = storageAccesses(program, functions);
  return [...variablesOf(program, functions)].flatMap((variable) => {
    const point = bindingPointOf(program, variable);
    if (!point) return [];
    const type = program.declaredTypeOf(variable);
    const access = storage.get(variable) ?? declaredAccess(type);
    const scalar = scalarOf(type);
    const kind = kindOf(variable, type);
    return [{ ...point, name: variable.name, access, kind, ...(scalar && { scalar }) }];
  });
}

function kindOf(variable: GlobalVariable, type: Type): BindingKind {
  const space = addressSpaceOf(variable);
  if (space === "uniform" || space === "storage") return space;
  if (type.kind !== "texture") return "other";
  return type.access ? "storageTexture" : "texture";
}

/** Returns the type that all words of a type's values share, if there is one. */
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
 * Returns the storage buffers that `functions` change in place: those with both plain loads and
 * plain stores. A pointer to plain memory that is kept or passed on counts as both.
 */
export function buffersInPlace(
  program: Program,
  functions: Iterable<FunctionDeclaration>,
): Set<GlobalVariable> {
  const accesses = storageAccesses(program, functions, "plain");
  return new Set([...accesses].flatMap(([variable, access]) => (access === "read_write" ? [variable] : [])));
}

/**
 * Returns the accesses of `functions` to storage buffers. `which` selects plain loads and stores,
 * or those and atomic operations. A pointer that is kept or passed on counts as read, and as
 * written if its access mode allows that.
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
  /** Records the access to the variable of a place, and the loads of its indices. */
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
      // The length is not part of the contents.
      if (pointer && name === "arrayLength") {
        notePlace(pointer, null);
        return false;
      }
      const access = operandAccess(name);
      if (pointer && access) {
        notePlace(pointer, which === "plain" && name?.startsWith("atomic") ? null : access);
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
 * Returns the access of a built-in function to the memory that its first argument points to, or
 * undefined for a function without pointer argument.
 */
function operandAccess(name: string | undefined): AccessMode | undefined {
  if (name === "atomicStore" || name === "subgroupMatrixStore") return "write";
  if (name === "atomicLoad" || name === "subgroupMatrixLoad") return "read";
  return name?.startsWith("atomic") ? "read_write" : undefined;
}
