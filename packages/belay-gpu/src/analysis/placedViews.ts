/**
 * Finds a place for each view of a buffer. The buffer then becomes a struct whose members are the
 * views, so that each access names a variable and its parts.
 *
 *     var<storage, read_write> memory: buffer;        struct Views { at_0: u32, at_16: array<f32> }
 *     bufferView<u32>(&memory, 0)                     &memory.at_0
 *     bufferView<array<f32>>(&memory, 16)             &memory.at_16
 */
import type { CallExpression, Expression, GlobalVariable, Identifier, Parameter } from "../wgsl/ast.ts";
import { alignOf, sizeOf, strideOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import { describeType } from "../wgsl/typeNames.ts";
import { type AddressSpace, type BufferType, type Type, u32Type } from "../wgsl/types.ts";
import { functionsOf } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import type { OpaqueAccess } from "./opaqueAccesses.ts";
import { addressSpaceOf } from "./places.ts";

/** A view at a constant offset of a buffer. */
interface View {
  readonly offset: number;
  readonly type: Type;
  /** The offset of its end. Infinite if the buffer's binding decides it. */
  readonly end: number;
}

/** The views of a buffer, by offset, without overlap. */
interface Views {
  readonly views: readonly View[];
  /** True if the buffer is one view, which no member of a struct can be or needs to be. */
  readonly isWhole: boolean;
}

/** The places of all views of a module. */
export interface PlacedViews {
  readonly variables: ReadonlyMap<GlobalVariable, Views>;
  /** The offsets of views, by the name of the function in their calls. */
  readonly offsets: ReadonlyMap<Identifier, number>;
  readonly unplaced: readonly Unplaced[];
}

/** A call without a place, and the reason. */
interface Unplaced extends OpaqueAccess {
  readonly why: string;
}

const isView = (name: string | undefined) => name === "bufferView" || name === "bufferArrayView";

/** Returns the places of the views in a program whose pointers are not resolved yet. */
export function placedViews(program: Program): PlacedViews {
  const calls = hasBuffers(program) ? callsOf(program) : [];
  const origins = originsOf(program, calls);
  const placing = new Placing();
  for (const call of calls) {
    const operation = builtinFunction(program, call);
    if (isView(operation)) placing.add(call, viewOf(program, call), origins(call.args[0]!));
    if (operation !== "arrayLength") continue;
    // The length of any other view is that of the array at the end of the variable.
    const isBounded = origins(call.args[0]!).some((each) => {
      const view = each.kind === "call" ? viewOf(program, each) : "no view";
      return typeof view !== "string" && view.end < Number.POSITIVE_INFINITY;
    });
    if (isBounded) placing.refuse(call, "the view has a length of its own");
  }
  for (const call of calls) {
    if (builtinFunction(program, call) !== "bufferLength") continue;
    const isViewed = origins(call.args[0]!).some((each) => placing.has(each));
    const { space, store } = bufferAt(program, call);
    if (isViewed && store.size === "runtime") placing.refuse(call, "the buffer has views, and any size");
    // Memory of a workgroup needs a type to be set to zero.
    if (!isViewed && space === "workgroup" && store.size !== "runtime")
      placing.add(call, wordsIn(store.size), origins(call.args[0]!));
  }
  return placing.result();
}

class Placing {
  readonly #variables = new Map<GlobalVariable, Map<string, View & { readonly call: CallExpression }>>();
  readonly #offsets = new Map<Identifier, number>();
  readonly #unplaced: Unplaced[] = [];

  refuse({ span, callee }: CallExpression, why: string): void {
    this.#unplaced.push({ span, operation: callee.name, why });
  }

  has(origin: Origin): boolean {
    return origin.kind === "globalVariable" && this.#variables.has(origin);
  }

  /** Adds a view of each of some buffers. A text says why it has no place. */
  add(call: CallExpression, view: View | string, buffers: readonly Origin[]): void {
    if (typeof view === "string") {
      this.refuse(call, view);
      return;
    }
    this.#offsets.set(call.callee, view.offset);
    for (const buffer of buffers) {
      if (buffer.kind !== "globalVariable") continue;
      const views = this.#variables.get(buffer) ?? new Map();
      this.#variables.set(buffer, views.set(`${view.offset} ${describeType(view.type)}`, { ...view, call }));
    }
  }

  result(): PlacedViews {
    const variables = [...this.#variables].map(([variable, keyed]): [GlobalVariable, Views] => {
      const views = [...keyed.values()].sort((a, b) => a.offset - b.offset);
      const isWhole = views.length === 1 && views[0]!.offset === 0;
      for (const [i, { call, type, offset, end }] of views.entries()) {
        const next = views[i + 1];
        if (next && next.offset < end) this.refuse(next.call, "another view has some of its bytes");
        if (offset % alignOf(type) !== 0) this.refuse(call, "its offset is not aligned to its type");
        if (hasTail(type) && (!isWhole || addressSpaceOf(variable) === "workgroup"))
          this.refuse(call, "a struct that ends in an array of any length has to be all of the buffer");
      }
      return [variable, { views, isWhole }];
    });
    return { variables: new Map(variables), offsets: this.#offsets, unplaced: this.#unplaced };
  }
}

const hasBuffers = (program: Program): boolean =>
  program.module.declarations.some(
    (each) => each.kind === "globalVariable" && program.declaredTypeOf(each).kind === "buffer",
  );

function callsOf(program: Program): CallExpression[] {
  const calls: CallExpression[] = [];
  for (const fn of functionsOf(program))
    walk(fn.body, (node) => {
      if (node.kind === "call") calls.push(node);
    });
  return calls;
}

/** Returns the address space and the type of the buffer that a call has a pointer to. */
function bufferAt(program: Program, call: CallExpression): { space: AddressSpace; store: BufferType } {
  const pointer = program.typeOf(call.args[0]!);
  if (pointer.kind !== "pointer" || pointer.store.kind !== "buffer")
    throw new Error("no pointer to a buffer");
  return { space: pointer.space, store: pointer.store };
}

/** Returns a view, or the reason why it has no place. */
function viewOf(program: Program, call: CallExpression): View | string {
  const [, at, length] = call.args;
  const [offset, size] = [at, length].map((each) => each && constantOf(program, each));
  const result = program.typeOf(call);
  if (result.kind !== "pointer") throw new Error("a view is a pointer");
  if (offset === undefined) return "its offset is known only at run time";
  if (length && size === undefined) return "its size is known only at run time";
  const whole = bufferAt(program, call).store.size;
  const end = size !== undefined ? offset + size : whole === "runtime" ? undefined : whole;
  const type = result.store;
  if (hasTail(type)) return { offset, type, end: end ?? Number.POSITIVE_INFINITY };
  if (type.kind !== "array" || type.count !== "runtime") return { offset, type, end: offset + sizeOf(type) };
  if (end === undefined) return { offset, type, end: Number.POSITIVE_INFINITY };
  const count = Math.floor((end - offset) / strideOf(type));
  return count > 0 ? { offset, type: { ...type, count }, end } : "it has no elements";
}

/** Returns the view of so many bytes as words. */
const wordsIn = (bytes: number): View => ({
  offset: 0,
  type: { kind: "array", element: u32Type, count: Math.ceil(bytes / 4) },
  end: bytes,
});

/** Returns true for a struct whose last member is an array without a length. */
const hasTail = (type: Type): boolean => {
  const last = type.kind === "struct" ? type.members.at(-1)?.type : undefined;
  return last?.kind === "array" && last.count === "runtime";
};

/** Returns a constant, also that of a `let`. */
function constantOf(program: Program, expression: Expression): number | undefined {
  const constant = program.constantOf(expression);
  if (constant && "value" in constant) return Number(constant.value);
  const target = expression.kind === "identifier" ? program.targetOf(expression) : undefined;
  return target?.kind === "let" ? constantOf(program, target.initializer) : undefined;
}

type Origin = GlobalVariable | CallExpression;

/**
 * Returns a function that finds what a pointer or a place may come from: variables, and calls that
 * return views.
 */
function originsOf(
  program: Program,
  calls: readonly CallExpression[],
): (from: Expression) => readonly Origin[] {
  const known = new Map<object, readonly Origin[]>();
  const ofParameter = (parameter: Parameter): Origin[] =>
    calls.flatMap(({ callee, args }) => {
      const called = program.targetOf(callee);
      const at = called?.kind === "function" ? called.parameters.indexOf(parameter) : -1;
      return at < 0 ? [] : origins(args[at]!);
    });
  const origins = (from: Expression): readonly Origin[] => {
    if (from.kind === "index" || from.kind === "memberAccess") return origins(from.base);
    if (from.kind === "unary") return origins(from.operand);
    if (from.kind === "call") return isView(builtinFunction(program, from)) ? [from] : [];
    const target = from.kind === "identifier" ? program.targetOf(from) : undefined;
    if (target?.kind === "globalVariable") return [target];
    if (target?.kind !== "let" && target?.kind !== "parameter") return [];
    const before = known.get(target);
    if (before) return before;
    const made = target.kind === "let" ? origins(target.initializer) : [...new Set(ofParameter(target))];
    known.set(target, made);
    return made;
  };
  return origins;
}
