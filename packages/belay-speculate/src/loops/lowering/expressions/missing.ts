/** Elements that may not exist, as in `a[i] ?? 0` and `rows[y]?.[x] ?? 0`. */
import type { LogicalExpression } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { as, isFloatType, type LoweredValue, literal } from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { choice, mayBeUndefined } from "./choices.ts";
import { loadOf } from "./elements.ts";
import { leaveLoop } from "./leaving.ts";
import { lowestChecked, optionalCell } from "./parts.ts";

/** Translates `a ?? b`. An element outside an array is undefined. */
export function coalesced(lowering: Lowering, node: LogicalExpression): LoweredValue {
  const other = () => lowering.expression(node.right);
  const cell = optionalCell(lowering, node.left);
  if (cell) return choice(lowering, cell.exists, () => loadOf(lowering, cell.place()), other, node);
  const left = lowering.expression(node.left);
  if (left.kind !== "integer" && left.kind !== "float") return left;
  const element = loadIn(left.ir);
  if (!element) {
    if (!mayBeUndefined(lowering, left.ir)) return left;
    const help = "write `??` where the element is loaded, as in `a[i] ?? 0`";
    return refuse(loopError.unsupported("`??` of a value that may be an element", node, help));
  }
  const array = lowering.arrays.get(element.array)!;
  // `charCodeAt` gives NaN where a string has no element.
  if (array.copied === "text") return left;
  const at = lowering.hold(element.index);
  const isWhole = !isFloatType(at.type);
  if (!isWhole && (!array.copied || at.type === "f32")) {
    const help = "coerce the index, as in `a[p[i] | 0] ?? 0`";
    return refuse(loopError.unsupported("`??` of an element whose index may be no integer", node, help));
  }
  const compare = (operator: "<" | ">=", right: LoopExpression): LoopExpression => ({
    kind: "binary",
    type: "bool",
    operator,
    left: at,
    right,
  });
  const length = as(at.type, lowering.lengthOf(array));
  const isBelow = compare("<", length);
  const isAbove = compare(">=", { kind: "literal", type: at.type, value: 0 });
  // An array may have a property `undefined`, and a plain one also −1.
  if (isWhole && (array.copied || mayBeUndefined(lowering, at))) {
    const least = at.type === "u32" ? 0 : array.copied ? lowestChecked : -(2 ** 31);
    if (array.copied) lowering.lowest.set(array.name, lowestChecked);
    const test = compare(">=", literal(at.type === "u32" ? "u32" : "i32", least));
    lowering.emit({ kind: "if", test, yes: [], no: lowering.collect(() => leaveLoop(lowering, node)) });
  }
  // A plain array may have a property 1.5, so the loop leaves its copy there.
  const exists: LoopExpression = isWhole
    ? { kind: "binary", type: "bool", operator: "&&", left: isAbove, right: isBelow }
    : { kind: "unary", type: "bool", operator: "!", operand: compare(">=", length) };
  return choice(lowering, exists, () => ({ ...left, ir: withIndex(left.ir, at) }), other, node);
}

type Load = Extract<LoopExpression, { kind: "load" }>;

/** Returns the load that an expression is, apart from conversions. Undefined for others. */
function loadIn(ir: LoopExpression): Load | undefined {
  if (ir.kind === "convert" && ir.implicit) return loadIn(ir.operand);
  return ir.kind === "load" ? ir : undefined;
}

/** Returns a load with another index, and the conversions around it. */
function withIndex(ir: LoopExpression, index: LoopExpression): LoopExpression {
  if (ir.kind === "convert") return { ...ir, operand: withIndex(ir.operand, index) };
  return ir.kind === "load" ? { ...ir, index } : ir;
}
