/** Loops over the elements of arrays: `for…of`, also of `entries()`, and `forEach`. */
import type { ForOfStatement, Node, Expression as Source, Statement } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { withoutTypes } from "../../source/declaredTypes.ts";
import { type ElementsLoop, elementsLoop } from "../../source/forLoops.ts";
import { lookUp } from "../../source/scopes.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import { arrayOf, loadOf, requireMethod } from "../expressions/elements.ts";
import { held, inOrder } from "../expressions/evaluationOrder.ts";
import { isMethodOf } from "../expressions/methods.ts";
import { elementOf, lengthOfPart, partNamed, requireMethodOfPart } from "../expressions/parts.ts";
import { elementsOf, scratchNamed, scratchOf } from "../expressions/scratchArrays.ts";
import { type Lowering, type ScratchArray, spanOf } from "../lowering.ts";
import { add, constant, type Linear, zero } from "../numbers/linear.ts";
import { type IntegerValue, integer, type LoweredValue, literal } from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { destructuring } from "./assignments.ts";
import { body } from "./branches.ts";
import { declarePart, declareWith } from "./declarations.ts";
import { hostCount, leaveUnless, loop } from "./innerLoops.ts";
import { callbackBody } from "./returns.ts";
import { setInteger } from "./setVariables.ts";

/** The elements that a loop goes over. */
interface Elements {
  /** The number of elements, as a bound and for the loop's test. */
  readonly count: Linear;
  readonly length: () => LoopExpression;
  /** Declares the variables for the element at an index. */
  readonly declare: (index: IntegerValue) => void;
}

/** Returns the elements of the array that a loop goes over. */
export function elementsOver(lowering: Lowering, { right, target, method }: ElementsLoop): Elements {
  const part = partNamed(lowering, right);
  const length = part && lengthOfPart(lowering, part, right);
  if (part && length) {
    requireMethodOfPart(lowering, part, method);
    return {
      count: hostCount(lowering, length.code),
      length: () => lowering.inputs.of(length, "i32"),
      declare: (index) => {
        if (target) declarePart(lowering, target, elementOf(lowering, part, index, right));
      },
    };
  }
  const made = scratchNamed(lowering, right);
  const columns = made ? { names: null, scratches: [made] } : columnsOf(lowering, right);
  if (columns) {
    const { length } = columns.scratches[0]?.variables ?? [];
    lowering.guards.require(isMethodOf("[]", method, "Array"));
    return {
      count: constant(length ?? 0),
      length: () => literal("i32", length ?? 0),
      declare: ({ ir }) => {
        if (!target) return;
        const span = spanOf(right);
        const load = (scratch: ScratchArray) => held(lowering, loadOf(lowering, { scratch, ir, span }));
        declareRow(lowering, target, columns, columns.scratches.map(load));
      },
    };
  }
  const array = arrayOf(lowering, right);
  requireMethod(lowering, array, method);
  return {
    count: hostCount(lowering, `${array.code}.length`),
    length: () => lowering.lengthOf(array),
    declare: (index) => {
      if (!target) return;
      if (target.type !== "Identifier") throw destructuring(target);
      // An element is loaded where its turn comes, so it is current.
      const load = loadOf(lowering, { array, ir: index.ir, index, span: spanOf(right) });
      declareWith(lowering, lookUp(lowering.scope, target.name)!, held(lowering, load), target);
    },
  };
}

/** The columns of an array of arrays or objects that the loop makes, or one column of numbers. */
interface Columns {
  /** The names of properties; null for elements. Undefined for an array of numbers. */
  readonly names: readonly (string | null)[] | null;
  readonly scratches: readonly ScratchArray[];
}

/** Returns the columns of `[[a, b], [c, d]]` or `[a, b]`; undefined for other expressions. */
function columnsOf(lowering: Lowering, source: Source): Columns | undefined {
  const elements = withoutTypes(source).type === "ArrayExpression" && elementsOf(lowering, source);
  if (!elements) return undefined;
  const rows = elements.map((element) => rowOf(lowering, element));
  const [first] = rows;
  const names = first ? first.map(({ name }) => name) : null;
  const isSame = (row: (typeof rows)[number]) =>
    row === undefined
      ? names === null
      : row.length === names?.length && row.every(({ name }, at) => name === names[at]);
  if (!rows.every(isSame)) {
    const help = "give all elements the same form: `[[0, 1], [1, 0]]`";
    return refuse(loopError.unsupported("an array of different elements that the loop makes", source, help));
  }
  const width = names?.length ?? 1;
  const values = inOrder(
    lowering,
    rows.flatMap((row, at) => row?.map(({ value }) => value) ?? [elements[at]!]),
  );
  const scratches = Array.from({ length: width }, (_, column) =>
    scratchOf(
      lowering,
      `element${column}`,
      values.filter((_, at) => at % width === column),
      source,
    ),
  );
  return { names, scratches };
}

/** Returns the parts of an array or an object that the loop makes; undefined for numbers. */
function rowOf(lowering: Lowering, source: Source) {
  const node = withoutTypes(source);
  if (node.type === "ArrayExpression")
    return elementsOf(lowering, node)?.map((value) => ({ name: null, value }));
  if (node.type !== "ObjectExpression") return undefined;
  return node.properties.map((property) => {
    const isPlain = property.type === "Property" && !property.computed && property.kind === "init";
    if (!isPlain || property.method || property.key.type !== "Identifier")
      return refuse(loopError.unsupported("this property", property, "write `name: value`"));
    return { name: property.key.name, value: property.value };
  });
}

/** Declares the variables for a row of columns. */
function declareRow(
  lowering: Lowering,
  target: Node,
  { names }: Columns,
  values: readonly LoweredValue[],
): void {
  const declare = (pattern: Node | null, value: LoweredValue | undefined) => {
    if (!pattern) return;
    if (pattern.type !== "Identifier" || !value) throw destructuring(pattern);
    declareWith(lowering, lookUp(lowering.scope, pattern.name)!, value, pattern);
  };
  if (names === null) {
    declare(target, values[0]);
  } else if (target.type === "ArrayPattern" && names.every((name) => name === null)) {
    for (const [at, pattern] of target.elements.entries()) declare(pattern, values[at]);
  } else if (target.type === "ObjectPattern") {
    for (const property of target.properties) {
      if (property.type !== "Property" || property.computed || property.key.type !== "Identifier")
        throw destructuring(property);
      declare(property.value, values[names.indexOf(property.key.name)]);
    }
  } else if (target.type === "Identifier" && names.every((name) => name === null)) {
    const binding = lookUp(lowering.scope, target.name)!;
    const scratch = scratchOf(lowering, target.name, values, target);
    lowering.meanings.set(binding, { kind: "scratch", scratch });
  } else throw destructuring(target);
}

/** Translates a loop over elements. Returns false for other statements. */
export function loopOverElements(lowering: Lowering, node: Statement, label: string | undefined): boolean {
  const found = elementsLoop(node);
  if (!found) return false;
  lowering.within(found.callback ?? node, () => forElements(lowering, node, found, label));
  return true;
}

function forElements(lowering: Lowering, node: Node, found: ElementsLoop, label: string | undefined): void {
  const elements = elementsOver(lowering, found);
  forIndices(lowering, node, elements, label, (index) => {
    const binding = found.index === undefined ? undefined : lookUp(lowering.scope, found.index);
    if (binding) lowering.meanings.set(binding, { kind: "value", value: index });
    elements.declare(index);
    const iteration = () => body(lowering, found.body, found.right.end);
    if (found.callback) callbackBody(lowering, lowering.jumpTargets.at(-1)!.goOn!(), iteration);
    else iteration();
  });
}

/** Emits a loop over the indices from 0 on. */
export function forIndices(
  lowering: Lowering,
  node: Node,
  { count, length }: Pick<Elements, "count" | "length">,
  label: string | undefined,
  translate: (index: IntegerValue) => void,
): void {
  const counter = lowering.declare("place", node);
  const type = "i32";
  const place: LoopExpression = { kind: "local", type, name: counter.name };
  const set = (kind: "declare" | "assign", value: LoopExpression) =>
    setInteger(lowering, kind, counter, integer(value, { low: zero, high: count }), type);
  set("declare", literal(type, 0));
  loop(lowering, {
    label,
    test: () =>
      leaveUnless(lowering, { kind: "binary", type: "bool", operator: "<", left: place, right: length() }),
    body: () => translate(integer(place, { low: zero, high: add(count, constant(-1)) })),
    update: () =>
      set("assign", { kind: "binary", type, operator: "+", left: place, right: literal(type, 1) }),
    trips: count,
  });
}

/** Returns the refusal of a loop over something else than the elements of an array. */
export const refuseElements = ({ left }: ForOfStatement) =>
  refuse(loopError.unsupported("this variable of a loop over elements", left, "write `for (const x of a)`"));
