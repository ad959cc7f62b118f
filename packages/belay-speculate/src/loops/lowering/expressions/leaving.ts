import type { Node } from "oxc-parser";
import type { LoopExpression } from "../../tree/ir.ts";
import { type Lowering, spanOf } from "../lowering.ts";
import { emptyText } from "./names.ts";

/**
 * Lets the loop run as it is written. It reads a character of an empty string, which a loop only
 * does as it is written. The character does not matter.
 */
export function leaveLoop(lowering: Lowering, node: Node): void {
  const array = emptyText(lowering);
  const span = spanOf(node);
  const zero: LoopExpression = { kind: "literal", type: "i32", value: 0 };
  array.accesses.push({ kind: "load", span, index: null });
  const load: LoopExpression = { kind: "load", type: "i32", array: array.name, index: zero, span };
  const test: LoopExpression = { kind: "binary", type: "bool", operator: "==", left: load, right: zero };
  lowering.emit({ kind: "if", test, yes: [], no: [] });
}
