/**
 * Arrays that an iteration makes: `const t = [a, b, c]`, `new Float32Array(4)`. Each element is a
 * variable. An index that is no constant chooses among the variables.
 */

import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { CallExpression, Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { elementTypes, withoutTypes } from "../../source/declaredTypes.ts";
import { lookUp } from "../../source/scopes.ts";
import type { ElementType, LoopExpression } from "../../tree/ir.ts";
import type { Lowering, Meaning, ScratchArray } from "../lowering.ts";
import { asInteger, settled } from "../numbers/conversions.ts";
import { exact, rangeOfInteger } from "../numbers/exactIntegers.ts";
import { as, between, hostConstant, isBooleanValue, type LoweredValue, literal } from "../numbers/values.ts";
import { LoopRefusal, refuse } from "../refusal.ts";
import { branches } from "../statements/branches.ts";
import { declareEmpty, recordAssignment, setLocal } from "../statements/setVariables.ts";
import type { Variable } from "../variables.ts";
import { choice, mayBeMissing } from "./choices.ts";
import { held, inOrder } from "./evaluationOrder.ts";
import { roundedToSingle } from "./mathFunctions.ts";
import { meaningOf, read } from "./names.ts";
import { binary } from "./operators.ts";

/** An element of a scratch array. Its index is a constant in range, or is known to be in range. */
export interface ScratchPlace {
  readonly scratch: ScratchArray;
  readonly ir: LoopExpression;
  readonly span: Span;
}

/** The most elements of a scratch array. Each access names all of them. */
const mostElements = 64;

/** Returns the scratch array that an expression names; undefined for other expressions. */
export function scratchNamed(lowering: Lowering, node: Source): ScratchArray | undefined {
  const name = withoutTypes(node);
  if (name.type !== "Identifier" || !lookUp(lowering.scope, name.name)) return undefined;
  const meaning = meaningOf(lowering, name.name, name);
  return meaning.kind === "scratch" ? meaning.scratch : undefined;
}

/** Returns the elements of `[a, b]`, or of a scratch array; undefined for other expressions. */
export function elementsOf(lowering: Lowering, source: Source): readonly Source[] | undefined {
  const node = withoutTypes(source);
  if (node.type === "ArrayExpression") {
    const elements = node.elements.map((one) => {
      if (one?.type === "SpreadElement") return elementsOf(lowering, one.argument);
      return one ? [one] : undefined;
    });
    return elements.every((one) => one !== undefined) ? elements.flat() : undefined;
  }
  const { start, end } = node;
  return scratchNamed(lowering, node)?.variables.map((_, at) => {
    const property: Source = { type: "Literal", value: at, raw: String(at), start, end };
    return { type: "MemberExpression", object: node, property, computed: true, optional: false, start, end };
  });
}

/** Declares an array that an iteration makes; undefined if the expression makes none. */
export function declareScratch(
  lowering: Lowering,
  name: string,
  init: Source,
  node: Node,
): Meaning | undefined {
  const made = madeBy(lowering, withoutTypes(init));
  if (!made) return undefined;
  const { element, values } = made;
  if (values.length > mostElements) {
    const what = `an array of ${values.length} elements that the loop makes`;
    return refuse(loopError.unsupported(what, init, `make at most ${mostElements} elements`));
  }
  return { kind: "scratch", scratch: scratchOf(lowering, name, values, node, element) };
}

/** Declares an array with these elements; null for an element without a value. */
export function scratchOf(
  lowering: Lowering,
  name: string,
  values: readonly (LoweredValue | null)[],
  node: Node,
  element: ElementType | null = null,
): ScratchArray {
  const variables = values.map((value, at): Variable => {
    const variable = lowering.declare(`${name}$${at}`, node, `${name}[${at}]`);
    if (value === null) {
      lowering.assigned.delete(variable);
      declareEmpty(lowering, variable);
    } else {
      set(lowering, "declare", variable, stored(lowering, element, value, node), node);
    }
    return variable;
  });
  return { name, element, variables };
}

interface Made {
  readonly element: ElementType | null;
  /** The first values; null for an element without one. */
  readonly values: readonly (LoweredValue | null)[];
}

function madeBy(lowering: Lowering, init: Source): Made | undefined {
  if (init.type === "ArrayExpression") {
    const elements = elementsOf(lowering, init);
    return elements && { element: null, values: inOrder(lowering, elements) };
  }
  if (init.type !== "NewExpression" && init.type !== "CallExpression") return undefined;
  const { callee } = init;
  const args = init.arguments.filter((one): one is Source => one.type !== "SpreadElement");
  if (args.length < init.arguments.length) return undefined;
  if (callee.type === "MemberExpression" && !callee.computed)
    return filled(lowering, init, callee.object, args);
  if (callee.type !== "Identifier" || lookUp(lowering.scope, callee.name)) return undefined;
  const element = elementOfClass(callee.name);
  if (element === undefined || args.length !== 1 || (element !== null && init.type === "CallExpression"))
    return undefined;
  const elements = element === null ? undefined : elementsOf(lowering, args[0]!);
  if (elements) return { element, values: inOrder(lowering, elements) };
  const count = lowering.expression(args[0]!);
  if (count.kind !== "host" || typeof count.constant !== "number") {
    throw new LoopRefusal(
      loopError.unsupported(
        "an array that the loop makes with a length that is no constant",
        init,
        "make it before the loop, or write its length as a number",
      ),
    );
  }
  const first = element === null ? null : hostConstant(0);
  return { element, values: Array.from({ length: Math.min(count.constant, mostElements + 1) }, () => first) };
}

/** Returns the array that `new Array(n).fill(x)` or `Float32Array.of(…)` makes. */
function filled(
  lowering: Lowering,
  { callee }: Pick<CallExpression, "callee">,
  object: Source,
  args: readonly Source[],
): Made | undefined {
  const { name } = (callee as unknown as { property: { name: string } }).property;
  if (object.type === "Identifier" && name === "of" && !lookUp(lowering.scope, object.name)) {
    const element = elementOfClass(object.name);
    return element === undefined ? undefined : { element, values: inOrder(lowering, args) };
  }
  const isMaking = object.type === "NewExpression" || object.type === "CallExpression";
  const made = name === "fill" && args.length === 1 && isMaking ? madeBy(lowering, object) : undefined;
  if (!made) return undefined;
  const value = held(lowering, lowering.expression(args[0]!));
  return { element: made.element, values: made.values.map(() => value) };
}

/** Returns the element type of a class of arrays, and null for `Array`. */
const elementOfClass = (name: string): ElementType | null | undefined =>
  name === "Array" ? null : Object.hasOwn(elementTypes, name) ? elementTypes[name] : undefined;

/** Returns the place of an element. Refuses an index that may be out of range. */
export function scratchPlace(
  lowering: Lowering,
  scratch: ScratchArray,
  value: LoweredValue,
  node: Node,
): ScratchPlace {
  const { name, variables } = scratch;
  const span = { start: node.start, end: node.end };
  const index =
    value.kind === "float" || value.kind === "boolean" ? undefined : asInteger(lowering, value, node);
  const whole = between(0, variables.length - 1);
  const isInside = index && lowering.guards.requireWithin(rangeOfInteger(lowering, index), whole);
  if (!isInside || mayBeMissing(lowering, index.ir)) {
    const mask = 2 ** Math.floor(Math.log2(Math.max(1, variables.length))) - 1;
    const help = `write an index that is surely one of its ${variables.length} elements, such as \`${name}[k & ${mask}]\``;
    return refuse(loopError.unsupported(`an element that \`${name}\` may not have`, node, help));
  }
  return { scratch, ir: exact(lowering, index), span };
}

export function loadScratch(lowering: Lowering, { scratch, ir, span }: ScratchPlace): LoweredValue {
  const node = span as Node;
  const at = lowering.hold(ir);
  const load = (low: number, high: number): LoweredValue => {
    if (high > low + 1) {
      const middle = Math.ceil((low + high) / 2);
      return choice(
        lowering,
        isBelow(at, middle),
        () => load(low, middle),
        () => load(middle, high),
        node,
      );
    }
    const variable = scratch.variables[low]!;
    if (lowering.assigned.has(variable)) return read(lowering, variable);
    const what = `an element of \`${scratch.name}\` that may have no value yet`;
    return refuse(loopError.unsupported(what, node, "give it a value where the array is made: `.fill(0)`"));
  };
  const constant = constantOf(at);
  return constant === undefined ? load(0, scratch.variables.length) : load(constant, constant + 1);
}

/** Sets an element. Returns the value, which other code may use. */
export function storeScratch(
  lowering: Lowering,
  { scratch, ir }: ScratchPlace,
  given: LoweredValue,
  node: Node,
): LoweredValue {
  const at = lowering.hold(ir);
  const value = held(lowering, given);
  const kept = held(lowering, stored(lowering, scratch.element, value, node));
  const store = (low: number, high: number): void => {
    if (high > low + 1) {
      const middle = Math.ceil((low + high) / 2);
      const [yes, no] = branches(lowering, [() => store(low, middle), () => store(middle, high)]);
      lowering.emit({ kind: "if", test: isBelow(at, middle), yes: yes!, no: no! });
    } else {
      set(lowering, "assign", scratch.variables[low]!, kept, node);
    }
  };
  const constant = constantOf(at);
  if (constant === undefined) store(0, scratch.variables.length);
  else store(constant, constant + 1);
  return value;
}

function set(
  lowering: Lowering,
  kind: "declare" | "assign",
  variable: Variable,
  given: LoweredValue,
  node: Node,
): void {
  const value = settled(lowering, given, node);
  recordAssignment(lowering, variable, value, node);
  lowering.assigned.add(variable);
  setLocal(lowering, kind, variable, value, node);
}

const constantOf = (index: LoopExpression) =>
  index.kind === "literal" && typeof index.value === "number" ? index.value : undefined;

function isBelow(index: LoopExpression, limit: number): LoopExpression {
  const right = literal("i32", limit);
  return { kind: "binary", type: "bool", operator: "<", left: as("i32", index), right };
}

/** Returns a value as the array keeps it. */
function stored(
  lowering: Lowering,
  element: ElementType | null,
  value: LoweredValue,
  node: Node,
): LoweredValue {
  const operate = (operator: string, one: LoweredValue, other: number) =>
    binary(lowering, operator, one, hostConstant(other), node);
  const extended = (bits: number) => operate(">>", operate("<<", value, bits), bits);
  switch (element) {
    case "f32":
      return roundedToSingle(lowering, value, node);
    case "i32":
      return operate("|", value, 0);
    case "u32":
      return operate(">>>", value, 0);
    case "i8":
      return extended(24);
    case "i16":
      return extended(16);
    case "u8":
      return operate("&", value, 0xff);
    case "u16":
      return operate("&", value, 0xffff);
    case "u8c":
      return refuse(
        loopError.unsupported("a `Uint8ClampedArray` that the loop makes", node, "use a plain array"),
      );
    case "f64":
      return isBooleanValue(value) ? operate("-", value, 0) : value;
    default:
      return value;
  }
}
