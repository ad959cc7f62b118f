import type { Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import {
  type BooleanValue,
  type FloatValue,
  hostBoolean,
  hostConstant,
  type LoweredValue,
} from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { held } from "./evaluationOrder.ts";
import { floorOf } from "./mathFunctions.ts";
import { binary } from "./operators.ts";

const names = ["isNaN", "isFinite", "isInteger"] as const;
type NumberTest = (typeof names)[number];

export const isNumberTest = (name: string): name is NumberTest => names.some((one) => one === name);

/**
 * Translates `Number.isNaN(x)`, `Number.isFinite(x)` and `Number.isInteger(x)` to comparisons. They
 * give the same for `undefined`, as which the CPU loads an element that does not exist.
 */
export function numberTest(
  lowering: Lowering,
  name: NumberTest,
  args: readonly Source[],
  node: Node,
): LoweredValue {
  const [argument, ...others] = args;
  if (!argument || others.length > 0) {
    return refuse(loopError.unknownCall(`Number.${name}`, `takes 1 argument, found ${args.length}`, node));
  }
  const value = held(lowering, lowering.expression(argument));
  switch (value.kind) {
    case "host":
      return value.type === "number" ? hostBoolean(`Number.${name}(${value.code})`) : hostConstant(false);
    case "boolean":
    case "character":
      return hostConstant(false);
    case "float":
      return testOfFloat(lowering, name, value, node);
    default: {
      if (name === "isNaN") return binary(lowering, "!==", value, value, node);
      return binary(lowering, "===", value, binary(lowering, "-", value, hostConstant(0), node), node);
    }
  }
}

function testOfFloat(lowering: Lowering, name: NumberTest, value: FloatValue, node: Node): LoweredValue {
  if (name === "isNaN") return binary(lowering, "!==", value, value, node);
  const size: FloatValue = {
    ...value,
    ir: { kind: "call", type: lowering.floats, callee: "abs", args: [value.ir] },
  };
  const isBounded = binary(lowering, "<", size, hostConstant(Number.POSITIVE_INFINITY), node) as BooleanValue;
  if (name === "isFinite") return isBounded;
  const isWhole = binary(lowering, "===", value, floorOf(value), node) as BooleanValue;
  const ir: LoopExpression = {
    kind: "binary",
    type: "bool",
    operator: "&&",
    left: isBounded.ir,
    right: isWhole.ir,
  };
  return { kind: "boolean", ir };
}
