/** Writes the expressions of a kernel. Operands are evaluated in the order of the text. */
import { builtinFunction } from "../analysis/effects.ts";
import type {
  CallExpression,
  Expression,
  FunctionDeclaration,
  Identifier,
  IndexExpression,
  MemberExpression,
  UnaryExpression,
} from "../wgsl/ast.ts";
import { concretize } from "../wgsl/conversion.ts";
import { strideOf } from "../wgsl/layout.ts";
import type { Program, VariableDeclaration } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import type { ArrayType, PointerType, StructType, Type, VectorType } from "../wgsl/types.ts";
import { u32Type } from "../wgsl/types.ts";
import { emitBuiltin, emitParts } from "./builtinFunctions.ts";
import type { CodeWriter } from "./codeWriter.ts";
import type { MatrixOperations } from "./library.ts";
import { emitBinary, emitBitcast, emitConstructor, emitConversion, emitUnary } from "./operators.ts";
import type { OrderedSpace } from "./races.ts";
import type { TextureSupport } from "./textureCalls.ts";
import { Unsupported } from "./unsupported.ts";
import {
  type BytesPlace,
  type CellsPlace,
  type CellsValue,
  type EmittedPlace,
  type EmittedValue,
  isInCells,
  type MemoryPlace,
  moved,
  type PointerValue,
  positionText,
  type RegisterPlace,
  type Scalar,
  type ScalarsValue,
  type SwizzlePlace,
  scalarOf,
  type TextureValue,
} from "./values.ts";

/** The kernel that is being translated. */
export interface KernelTranslation {
  readonly program: Program;
  readonly code: CodeWriter;
  /** The values of parameters and `let`, and the memory of variables. */
  readonly values: Map<VariableDeclaration, EmittedValue>;
  readonly places: Map<VariableDeclaration, MemoryPlace>;
  /** The JavaScript names of functions. */
  readonly functions: ReadonlyMap<FunctionDeclaration, string>;
  /** The functions that wait for other invocations. */
  readonly waiting: ReadonlySet<FunctionDeclaration>;
  /** Absent if kernels have no textures. */
  readonly textures: TextureSupport | undefined;
  /** Absent if kernels have no subgroup matrices. */
  readonly matrices: MatrixOperations | undefined;
  /** Returns true for a constant of several values. Absent if each has one. */
  readonly isInexact: ((program: Program, expression: Expression) => boolean) | undefined;
}

/** Emits an expression, and returns its value after the load rule. */
export function emitExpression(cx: KernelTranslation, expression: Expression): EmittedValue {
  const { program, code } = cx;
  const constant = program.constantOf(expression);
  if (!constant) return emitEvaluation(cx, expression);
  if (!cx.isInexact?.(program, expression)) return code.constant(constant);
  const value = emitEvaluation(cx, expression);
  return value.kind === "scalars" ? converted(code, value, program.valueTypeOf(expression)) : value;
}

/** Converts a number to the type that the context of an abstract one gives it. */
function converted(code: CodeWriter, value: ScalarsValue, wanted: Type): ScalarsValue {
  const type = concretize(wanted);
  const [from, to] = [scalarOf(value.type), scalarOf(type)];
  return {
    kind: "scalars",
    type,
    scalars: value.scalars.map((each) => emitConversion(code, each, from, to)),
  };
}

/** Emits the evaluation of an expression. Numbers of abstract types are numbers of f32. */
function emitEvaluation(cx: KernelTranslation, expression: Expression): EmittedValue {
  const { program, code } = cx;
  const type = program.typeOf(expression);
  if (type.kind === "reference" && type.store.kind !== "texture") {
    const place = emitPlace(cx, expression, true);
    if (place.kind === "swizzle") throw new Unsupported("this swizzle", expression.span);
    return code.load(place);
  }
  switch (expression.kind) {
    case "identifier":
      return namedValue(cx, expression);
    case "unary":
      return emitPrefix(cx, expression);
    case "binary": {
      if (expression.operator === "&&" || expression.operator === "||")
        return emitShortCircuit(cx, expression.operator, expression.left, expression.right);
      const left = emitScalars(cx, expression.left);
      const right = emitScalars(cx, expression.right);
      return emitBinary(code, expression.operator, left, right, typeOf(cx, expression));
    }
    case "index":
      return emitIndex(cx, expression);
    case "memberAccess":
      return emitMember(cx, expression);
    case "call":
      return emitCall(cx, expression) ?? { kind: "scalars", type: u32Type, scalars: [] };
    default:
      throw new Unsupported("this expression", expression.span);
  }
}

/** Returns the type of a value as it is evaluated, before its context converts it. */
function typeOf({ program }: KernelTranslation, expression: Expression): Type {
  return concretize(program.typeOf(expression));
}

/** Emits an expression of a scalar, vector or matrix type. */
export function emitScalars(cx: KernelTranslation, expression: Expression): ScalarsValue {
  const value = emitExpression(cx, expression);
  if (value.kind !== "scalars") throw new Unsupported("a value of this type", expression.span);
  return value;
}

/** Emits an expression of a scalar type, and returns its first atom. */
export function emitAtom(cx: KernelTranslation, expression: Expression): string {
  return emitScalars(cx, expression).scalars[0]![0]!;
}

function namedValue(cx: KernelTranslation, identifier: Identifier): EmittedValue {
  const target = cx.program.targetOf(identifier) as VariableDeclaration;
  if (target.kind === "const") return emitExpression(cx, target.initializer);
  const value = cx.values.get(target);
  if (!value) throw new Unsupported(`the value of "${identifier.name}"`, identifier.span);
  return value;
}

function emitPrefix(cx: KernelTranslation, { operator, operand, span }: UnaryExpression): EmittedValue {
  switch (operator) {
    case "&": {
      const place = emitPlace(cx, operand);
      const type = cx.program.typeOf(operand);
      if (place.kind !== "cells" && place.kind !== "bytes") throw new Unsupported("this pointer", span);
      if (type.kind !== "reference") throw new Unsupported("this pointer", span);
      const { space, store, access } = type;
      return { kind: "pointer", type: { kind: "pointer", space, store, access }, place };
    }
    case "*":
      throw new Unsupported("this pointer", span);
    default:
      return emitUnary(cx.code, operator, emitScalars(cx, operand));
  }
}

function emitShortCircuit(
  cx: KernelTranslation,
  operator: "&&" | "||",
  left: Expression,
  right: Expression,
): ScalarsValue {
  const { code, program } = cx;
  // A constant that decides leaves the other operand without values of its own.
  const known = program.constantOf(left);
  if (known && "value" in known && known.value === (operator === "||"))
    return code.constant(known) as ScalarsValue;
  const result = code.variable();
  code.line(`${result} = ${code.decision(emitAtom(cx, left))};`);
  code.line(`if (${result} ${operator === "&&" ? "!==" : "==="} 0) {`);
  code.line(`${result} = ${emitAtom(cx, right)};`);
  code.line("}");
  return { kind: "scalars", type: program.valueTypeOf(left), scalars: [[code.temp(result)]] };
}

/**
 * Emits the place that a reference denotes, or a swizzle that is assigned to. A place that is only
 * loaded from may be outside of its buffer.
 */
export function emitPlace(cx: KernelTranslation, expression: Expression, isLoaded = false): EmittedPlace {
  switch (expression.kind) {
    case "identifier": {
      const target = cx.program.targetOf(expression) as VariableDeclaration;
      const place = cx.places.get(target);
      if (!place) throw new Unsupported(`the memory of "${expression.name}"`, expression.span);
      return place;
    }
    case "unary":
      if (expression.operator === "*") return pointed(cx, expression.operand);
      break;
    case "index": {
      const base = emitBase(cx, expression.base, isLoaded);
      return elementPlace(cx, base, expression.index, isLoaded);
    }
    case "memberAccess": {
      const components = componentsOf(expression.member);
      const outer = swizzleOf(cx, expression.base);
      if (outer)
        return swizzle(
          outer.type,
          components.map((i) => outer.components[i]!),
        );
      const base = emitBase(cx, expression.base, isLoaded);
      const { type } = base;
      if (type.kind === "struct") return cx.code.memberOf(base, type, memberIndex(type, expression.member));
      if (type.kind !== "vector") break;
      return swizzle(
        type,
        components.map((i) => cx.code.componentOf(base, type, i)),
      );
    }
  }
  throw new Unsupported("this place", expression.span);
}

/** Emits the components of a swizzle that is swizzled again; undefined for other bases. */
function swizzleOf(cx: KernelTranslation, base: Expression): SwizzlePlace | undefined {
  if (base.kind !== "memberAccess" || base.member.length === 1) return undefined;
  if (cx.program.typeOf(base).kind === "reference") return undefined;
  if (cx.program.valueTypeOf(base).kind !== "vector") return undefined;
  const place = emitPlace(cx, base);
  return place.kind === "swizzle" ? place : undefined;
}

function swizzle(type: VectorType, components: readonly MemoryPlace[]): EmittedPlace {
  if (components.length === 1) return components[0]!;
  return { kind: "swizzle", type: { ...type, size: components.length as VectorType["size"] }, components };
}

/** Emits the place of a composite, or the place to which a pointer at its position points. */
function emitBase(cx: KernelTranslation, base: Expression, isLoaded: boolean): MemoryPlace {
  const type = cx.program.typeOf(base);
  const place = type.kind === "pointer" ? pointed(cx, base) : emitPlace(cx, base, isLoaded);
  if (place.kind === "swizzle") throw new Unsupported("this swizzle", base.span);
  return place;
}

function pointed(cx: KernelTranslation, pointer: Expression): CellsPlace | BytesPlace {
  return emitPointer(cx, pointer).place;
}

export function emitPointer(cx: KernelTranslation, expression: Expression): PointerValue {
  const value = emitExpression(cx, expression);
  if (value.kind !== "pointer") throw new Unsupported("this pointer", expression.span);
  return value;
}

/** Returns the place of an element of an array, vector or matrix. */
function elementPlace(
  cx: KernelTranslation,
  whole: MemoryPlace,
  index: Expression,
  isLoaded = false,
): MemoryPlace {
  const { code } = cx;
  const { type } = whole;
  const count = countOf(cx, whole, type);
  let at: number | string;
  let base = whole;
  if (isLoaded && whole.kind === "bytes" && code.mode === "intervals") {
    at = emitAtom(cx, index);
    const isInside = `${at} >= 0 && ${at} < ${count}`;
    base = { ...whole, inside: code.temp(whole.inside ? `${whole.inside} && ${isInside}` : isInside) };
  } else at = emitChecked(cx, index, count);
  if (type.kind === "array") return code.elementOf(base, type, at);
  if (type.kind === "vector") return code.componentOf(base, type, at);
  if (type.kind === "matrix")
    return code.columnOf(base, { kind: "vector", size: type.rows, element: type.element }, at);
  throw new Unsupported("this index", index.span);
}

/** Emits an index and its check, and returns it: a number, or an atom. */
function emitChecked(cx: KernelTranslation, index: Expression, count: string): number | string {
  const { code } = cx;
  const atom = emitAtom(cx, index);
  if (/^\d+$/.test(atom) && /^\d+$/.test(count) && Number(atom) < Number(count)) return Number(atom);
  code.line(`if (!(${atom} >= 0 && ${atom} < ${count})) ${code.library("outOfBounds")}();`);
  return atom;
}

/** Returns the number of elements of a place, as a number or an atom. */
function countOf(cx: KernelTranslation, place: MemoryPlace, type: Type): string {
  if (type.kind === "vector") return String(type.size);
  if (type.kind === "matrix") return String(type.columns);
  if (type.kind !== "array") throw new TypeError(`a ${type.kind} has no elements`);
  if (typeof type.count === "number") return String(type.count);
  if (place.kind !== "bytes") throw new TypeError("only buffers have arrays without a known length");
  return runtimeLength(cx.code, place, type);
}

function runtimeLength(code: CodeWriter, { at, end }: BytesPlace, type: ArrayType): string {
  return code.temp(`Math.floor((${end} - (${positionText(at)})) / ${strideOf(type)})`);
}

function memberIndex(type: StructType, name: string): number {
  return type.members.findIndex((member) => member.name === name);
}

function componentsOf(swizzle: string): number[] {
  return [...swizzle].map((letter) => "xyzwrgba".indexOf(letter) % 4);
}

function emitIndex(cx: KernelTranslation, { base, index }: IndexExpression): EmittedValue {
  const value = emitExpression(cx, base);
  if (value.kind === "cells") return cx.code.load(elementPlace(cx, value.place, index));
  if (value.kind !== "scalars") throw new Unsupported("this index", index.span);
  const { type, scalars } = value;
  const [size, count] = type.kind === "matrix" ? [type.rows, type.columns] : [1, scalars.length];
  const at = emitChecked(cx, index, String(count));
  const element: Type =
    type.kind === "matrix" ? { kind: "vector", size: type.rows, element: type.element } : scalarOf(type);
  if (typeof at === "number")
    return { kind: "scalars", type: element, scalars: scalars.slice(at * size, (at + 1) * size) };
  const picked = Array.from({ length: size }, (_, i): Scalar => {
    const candidates = Array.from({ length: count }, (__, k) => scalars[k * size + i]!);
    return candidates[0]!.map((_atom, j) => {
      const choices = candidates.slice(0, -1).map((each, k) => `${at} === ${k} ? ${each[j]} : `);
      return cx.code.temp(`${choices.join("")}${candidates.at(-1)![j]}`);
    });
  });
  return { kind: "scalars", type: element, scalars: picked };
}

function emitMember(cx: KernelTranslation, { base, member, span }: MemberExpression): EmittedValue {
  if (cx.program.typeOf(base).kind === "reference" && cx.program.valueTypeOf(base).kind === "vector") {
    // A swizzle loads its vector.
    return swizzled(emitScalars(cx, base), member);
  }
  const value = emitExpression(cx, base);
  if (value.kind === "scalars") return swizzled(value, member);
  if (value.kind === "pointer") {
    const { type } = value.place;
    if (type.kind === "vector") return swizzled(cx.code.load(value.place) as ScalarsValue, member);
    throw new Unsupported("this member", span);
  }
  if (value.kind !== "cells" || value.type.kind !== "struct") throw new Unsupported("this member", span);
  const { place, type } = value;
  return cx.code.load(cx.code.memberOf(place, type, memberIndex(type, member)));
}

function swizzled(value: ScalarsValue, member: string): ScalarsValue {
  const components = componentsOf(member);
  const element = scalarOf(value.type);
  const scalars = components.map((i) => value.scalars[i]!);
  const type: Type =
    components.length === 1 ? element : { kind: "vector", size: components.length as 2 | 3 | 4, element };
  return { kind: "scalars", type, scalars };
}

// Calls

/** Emits a call, and returns its value; undefined for a function without one. */
export function emitCall(cx: KernelTranslation, call: CallExpression): EmittedValue | undefined {
  const { code, program, matrices } = cx;
  if (matrices?.isOperation(program, call)) {
    const args = call.args.map((arg) => emitExpression(cx, arg));
    return matrices.emit(code, program, call, args);
  }
  const target = program.targetOf(call.callee);
  if (target?.kind === "function") return emitUserCall(cx, call, target);
  if (target?.kind === "builtin" && target.category === "function") return emitBuiltinCall(cx, call);
  return emitConstruction(cx, call);
}

/** Emits a constructor of any type. */
function emitConstruction(cx: KernelTranslation, call: CallExpression): EmittedValue {
  const { code } = cx;
  const type = typeOf(cx, call);
  if (type.kind === "subgroupMatrix") throw new Unsupported(call.callee.name, call.span);
  if (type.kind !== "array" && type.kind !== "struct") {
    const args = call.args.map((arg) => emitScalars(cx, arg));
    return emitConstructor(code, type, args);
  }
  const args = call.args.map((arg) => emitExpression(cx, arg));
  const place = code.reserve("invocation", type);
  if (args.length === 0) code.clear(place);
  args.forEach((value, i) => {
    code.store(type.kind === "array" ? code.elementOf(place, type, i) : code.memberOf(place, type, i), value);
  });
  return { kind: "cells", type, place };
}

function emitUserCall(
  cx: KernelTranslation,
  call: CallExpression,
  fn: FunctionDeclaration,
): EmittedValue | undefined {
  const { code, program, functions, waiting } = cx;
  const atoms = call.args.flatMap((arg) => argumentAtoms(code, emitExpression(cx, arg)));
  const text = `${functions.get(fn)}(${["P", "PH", "X", ...atoms].join(", ")})`;
  code.line(waiting.has(fn) ? `yield* ${text};` : `${text};`);
  const type = program.returnTypeOf(fn);
  return type.kind === "void" ? undefined : returned(code, type);
}

/** Returns the atoms that pass a value to a function. */
function argumentAtoms(code: CodeWriter, value: EmittedValue): string[] {
  if (value.kind === "scalars") return value.scalars.flat();
  if (value.kind === "pointer") return pointerAtoms(code, value);
  if (value.kind === "texture") return [value.atom];
  // Parameters of array and structure types are in the memory of the invocation.
  const place = code.reserve("invocation", value.type);
  code.copy(place, value.place);
  return [positionText(place.at)];
}

function pointerAtoms(code: CodeWriter, { place }: PointerValue): string[] {
  const at = code.temp(positionText(place.at));
  return place.kind === "cells" ? [at] : [place.buffer, at, place.end];
}

/** Returns the value of a parameter, and the names of its atoms. */
export function parameterValue(
  code: CodeWriter,
  type: Type,
): { readonly names: string[]; readonly value: EmittedValue } {
  if (type.kind === "pointer") {
    const names = (type.space === "storage" || type.space === "uniform" ? ["b", "o", "e"] : ["o"]).map(
      (each) => code.fresh(each),
    );
    return { names, value: pointerFrom(type, names) };
  }
  if (type.kind === "texture") {
    const atom = code.fresh("x");
    return { names: [atom], value: { kind: "texture", type, atom } };
  }
  if (isInCells(type)) {
    const name = code.fresh("o");
    const at = { constant: 0, atoms: [name] };
    return {
      names: [name],
      value: { kind: "cells", type, place: { kind: "cells", type, arena: "invocation", at } },
    };
  }
  const { scalars } = code.zero(type);
  const named = scalars.map((each) => each.map(() => code.fresh("a")));
  return { names: named.flat(), value: { kind: "scalars", type, scalars: named } };
}

/** Returns a pointer made of its atoms. */
export function pointerFrom(type: PointerType, names: readonly string[]): PointerValue {
  const store = type.store;
  if (names.length === 3) {
    const [buffer, offset, end] = names as [string, string, string];
    const at = { constant: 0, atoms: [offset] };
    return { kind: "pointer", type, place: { kind: "bytes", type: store, buffer, at, end } };
  }
  const arena = type.space === "workgroup" ? "workgroup" : "invocation";
  const place: CellsPlace = { kind: "cells", type: store, arena, at: { constant: 0, atoms: [names[0]!] } };
  return { kind: "pointer", type, place };
}

/** Emits the result of a call, which the callee has left in `ret`. */
function returned(code: CodeWriter, type: Type): EmittedValue {
  if (isInCells(type)) {
    const name = code.temp("ret[0]");
    const from: CellsPlace = { kind: "cells", type, arena: "invocation", at: { constant: 0, atoms: [name] } };
    return code.load(from);
  }
  let i = 0;
  const scalars = code.zero(type).scalars.map((each) => each.map(() => code.temp(`ret[${i++}]`)));
  return { kind: "scalars", type, scalars };
}

/** Emits what leaves a function's result in `ret`. */
export function emitReturned(code: CodeWriter, value: EmittedValue): void {
  if (value.kind === "cells") {
    const place = code.reserve("invocation", value.type);
    code.copy(place, value.place);
    code.line(`ret[0] = ${positionText(place.at)};`);
  } else if (value.kind === "scalars") {
    for (const [i, atom] of value.scalars.flat().entries()) code.line(`ret[${i}] = ${atom};`);
  }
}

/** The site of an invocation that waits at a barrier. Subgroup operations have theirs from 0 on. */
export const atBarrier = -1;
/** The site of an invocation that lets others run, as it may wait for what they store. */
export const polling = -2;

const barriers: ReadonlySet<string> = new Set(["workgroupBarrier", "storageBarrier", "textureBarrier"]);

/** Returns true if a call of a built-in function lets other invocations run. */
export function waits(program: Program, call: CallExpression): boolean {
  const { name } = call.callee;
  return barriers.has(name) || name === "workgroupUniformLoad" || isSubgroup(name) || isPolled(program, call);
}

function isSubgroup(name: string): boolean {
  return /^(subgroup(?!Matrix)|quad)[A-Z]/.test(name);
}

/** Returns true for loads of the atomics with which invocations of a workgroup signal. */
function isPolled(program: Program, { callee, args }: CallExpression): boolean {
  if (callee.name !== "atomicLoad") return false;
  const type = program.valueTypeOf(args[0]!);
  return type.kind === "pointer" && type.space === "workgroup";
}

function emitBuiltinCall(cx: KernelTranslation, call: CallExpression): EmittedValue | undefined {
  const { code } = cx;
  const { name } = call.callee;
  if (barriers.has(name)) {
    emitBarrier(code, name.slice(0, -"Barrier".length) as OrderedSpace);
    return undefined;
  }
  if (name === "arrayLength") {
    const { place } = emitPointer(cx, call.args[0]!);
    const length =
      place.kind === "bytes" && place.type.kind === "array" && typeof place.type.count !== "number"
        ? runtimeLength(code, place, place.type)
        : countOf(cx, place, place.type);
    return { kind: "scalars", type: u32Type, scalars: [[length]] };
  }
  if (name === "workgroupUniformLoad") {
    const { place } = emitPointer(cx, call.args[0]!);
    emitBarrier(code, "workgroup");
    const value = code.load(place);
    emitBarrier(code, "workgroup");
    return value;
  }
  if (name.startsWith("atomic")) return emitAtomic(cx, call);
  if (isSubgroup(name)) return emitSubgroup(cx, call);
  if (/^texture(Dimensions|Num|Load|Store)/.test(name) && cx.textures) {
    const texture = emitExpression(cx, call.args[0]!) as TextureValue;
    const args = call.args.slice(1).map((arg) => emitScalars(cx, arg));
    return cx.textures.emitCall(code, name, texture, args, cx.program.valueTypeOf(call));
  }
  if (/^(texture|subgroupMatrix|buffer|print|dpd|fwidth)/.test(name)) throw new Unsupported(name, call.span);
  const type = typeOf(cx, call);
  if (name === "select" && canLeaveOut(cx, call)) return emitChoice(cx, call, type);
  const args = call.args.map((arg) => emitScalars(cx, arg));
  if (name === "bitcast") return emitBitcast(code, args[0]!, type);
  if (name === "frexp" || name === "modf") return emitPair(code, emitParts(code, name, args[0]!), type);
  const scalars = emitBuiltin(code, name, args, type);
  if (!scalars) throw new Unsupported(name, call.span);
  return { kind: "scalars", type, scalars };
}

/**
 * Returns true if a `select` need not evaluate the operand that it does not take. That is so where
 * an operand is loaded by an index, and the evaluation of none has effects.
 */
function canLeaveOut({ program }: KernelTranslation, { args }: CallExpression): boolean {
  let [isLoaded, hasEffects] = [false, false];
  for (const [i, arg] of args.entries())
    walk(arg, (node) => {
      isLoaded ||= i < 2 && node.kind === "index";
      if (node.kind !== "call") return;
      hasEffects ||= program.targetOf(node.callee)?.kind === "function";
      hasEffects ||= /^(atomic|subgroup|quad|workgroup)/.test(builtinFunction(program, node) ?? "");
    });
  return isLoaded && !hasEffects && program.valueTypeOf(args[2]!).kind === "scalar";
}

/**
 * Emits a `select` that evaluates the operand that it takes. The other one may be a load out of
 * bounds, of which nobody sees what it gives.
 */
function emitChoice(cx: KernelTranslation, { args }: CallExpression, type: Type): ScalarsValue {
  const { code } = cx;
  const [other, taken, condition] = args as [Expression, Expression, Expression];
  const results: (readonly string[])[] = [];
  const assign = (operand: Expression) => {
    for (const [i, atoms] of emitScalars(cx, operand).scalars.entries()) {
      results[i] ??= atoms.map(() => code.variable());
      for (const [j, atom] of atoms.entries()) code.line(`${results[i]![j]} = ${atom};`);
    }
  };
  code.line(`if (${code.decision(emitAtom(cx, condition))} !== 0) {`);
  assign(taken);
  code.line("} else {");
  assign(other);
  code.line("}");
  return { kind: "scalars", type, scalars: results.map((atoms) => atoms.map((each) => code.temp(each))) };
}

/** Emits a barrier, which orders the accesses to a space. */
function emitBarrier(code: CodeWriter, space: OrderedSpace): void {
  if (code.detectsRaces) code.line(`races.reach("${space}");`);
  code.line(`yield ${atBarrier};`);
}

/** Emits a structure of two members. */
function emitPair(code: CodeWriter, { fract, other }: ReturnType<typeof emitParts>, type: Type): CellsValue {
  if (type.kind !== "struct") throw new TypeError("two parts are a structure");
  const place = code.reserve("invocation", type);
  code.storeScalars(code.memberOf(place, type, 0), fract);
  code.storeScalars(code.memberOf(place, type, 1), other);
  return { kind: "cells", type, place };
}

/** Emits an atomic operation. Invocations take turns, so a load and a store do. */
function emitAtomic(cx: KernelTranslation, call: CallExpression): EmittedValue | undefined {
  const { code, program } = cx;
  const { name } = call.callee;
  const { place } = emitPointer(cx, call.args[0]!);
  const operands = call.args.slice(1).map((arg) => emitAtom(cx, arg));
  const type = scalarOf(place.type);
  const [x, y] = operands;
  // Stores of one value have one result in any order, and so have sums and differences.
  const isStore = name === "atomicStore" || name === "atomicExchange";
  const kind = isStore ? `"atomic store " + ${x}` : `"${name.replace("Sub", "Add")}"`;
  code.noteAccess(place, positionText(place.at), kind);
  if (name === "atomicStore") {
    code.storeScalar(place, [x!]);
    return undefined;
  }
  if (isPolled(program, call)) code.line(`yield ${polling};`);
  const old = code.loadScalar(place);
  const value = old[0]!;
  const wrapped = (text: string) => (type.name === "u32" ? `(${text}) >>> 0` : `(${text}) | 0`);
  const updates: Readonly<Record<string, string>> = {
    atomicAdd: `${value} + ${x}`,
    atomicSub: `${value} - (${x})`,
    atomicMax: `Math.max(${value}, ${x})`,
    atomicMin: `Math.min(${value}, ${x})`,
    atomicAnd: `${value} & ${x}`,
    atomicOr: `${value} | ${x}`,
    atomicXor: `${value} ^ ${x}`,
    atomicExchange: `${x}`,
    atomicCompareExchangeWeak: `${value} === ${x} ? ${y} : ${value}`,
  };
  const update = updates[name];
  if (update) code.storeScalar(place, [code.temp(wrapped(update))]);
  else if (name !== "atomicLoad") throw new Unsupported(name, call.span);
  if (name !== "atomicCompareExchangeWeak") return { kind: "scalars", type, scalars: [old] };
  const exchanged: Scalar = [code.temp(`${value} === ${x} ? 1 : 0`)];
  return emitPair(code, { fract: [old], other: [exchanged] }, program.valueTypeOf(call));
}

/** Emits a subgroup operation: its operands go to `X`, and its result comes from there. */
function emitSubgroup(cx: KernelTranslation, call: CallExpression): EmittedValue | undefined {
  const { code, program } = cx;
  const args = call.args.map((arg) => emitScalars(cx, arg));
  const operand = args[0];
  const scalar = operand ? scalarOf(operand.type) : u32Type;
  const site = code.sites.length;
  code.sites.push({ operation: call.callee.name, scalar, components: operand?.scalars.length ?? 0 });
  const operands = args.flatMap(({ scalars }) => scalars.flat());
  for (const [i, atom] of operands.entries()) code.line(`X[${i}] = ${atom};`);
  code.line(`yield ${site};`);
  const type = program.valueTypeOf(call);
  if (type.kind === "void") return undefined;
  let i = 0;
  const scalars = code.zero(type).scalars.map((each) => each.map(() => code.temp(`X[${i++}]`)));
  return { kind: "scalars", type, scalars };
}

/** Returns the place of a register or of memory, moved to a position that the function knows. */
export function steadyPointer(code: CodeWriter, value: PointerValue): PointerValue {
  const { place } = value;
  if (place.at.atoms.length === 0) return value;
  const name = code.variable();
  code.line(`${name} = ${positionText(place.at)};`);
  return { ...value, place: { ...place, at: moved({ constant: 0, atoms: [name] }, 0) } };
}

/** Returns registers for a variable. */
export function registerPlace(code: CodeWriter, type: Type): RegisterPlace {
  return { kind: "registers", type, names: code.registers(type) };
}
