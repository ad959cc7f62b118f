/**
 * Integers whose range may exceed 32 bits. Kernels compute them in 32 bits, and an iteration bails
 * out to the CPU unless these hold the exact integer.
 */
import type { LoopExpression } from "../../tree/ir.ts";
import type { Variables } from "../variables.ts";

/**
 * Returns an integer in a type, with a check of each operation that may leave the type. The
 * operands of these operations are checked too, and the values of variables in them.
 */
export function checkedAs(variables: Variables, type: "i32" | "u32", ir: LoopExpression): LoopExpression {
  const check = (operand: LoopExpression) => checkedAs(variables, type, operand);
  switch (ir.kind) {
    case "literal": {
      const [least, most] = type === "u32" ? [0, 2 ** 32 - 1] : [-(2 ** 31), 2 ** 31 - 1];
      const value = Number(ir.value);
      return value >= least && value <= most ? { ...ir, type } : { ...ir, type, checked: true };
    }
    case "binary":
      if (ir.operator === "+" || ir.operator === "-" || ir.operator === "*")
        return { ...ir, type, left: check(ir.left), right: check(ir.right), checked: true };
      break;
    case "unary":
      if (ir.operator === "-") return { ...ir, type, operand: check(ir.operand), checked: true };
      break;
    case "conditional":
      return { ...ir, type, yes: check(ir.yes), no: check(ir.no) };
    case "convert":
      if (ir.implicit && isInteger(ir.operand)) return check(ir.operand);
      break;
    case "call":
      // The bits of the largest absolute value, 2^31, are those of a u32.
      if (ir.callee === "abs" && ir.type === "i32") {
        const size: LoopExpression = { kind: "convert", type: "u32", operand: ir, implicit: true };
        return type === "u32" ? size : { ...size, type, operand: size, checked: true };
      }
      break;
    case "local":
    case "carried":
      variables.requireExact(ir.name);
  }
  return ir.type === type ? ir : { kind: "convert", type, operand: ir, implicit: true, checked: true };
}

const isInteger = ({ type }: LoopExpression) => type === "i32" || type === "u32";
