/**
 * The structs that `frexp`, `modf` and `atomicCompareExchangeWeak` return. Programs cannot name
 * them.
 */
import { withElement } from "../conversion.ts";
import { elementScalar } from "../typeFamilies.ts";
import {
  abstractIntType,
  boolType,
  i32Type,
  type StructMemberType,
  type StructType,
  type Type,
} from "../types.ts";

const memberTypes: Readonly<Record<string, (operand: Type) => readonly StructMemberType[]>> = {
  __frexp_result: (operand) => [
    { name: "fract", type: operand },
    {
      name: "exp",
      type: withElement(
        operand,
        elementScalar(operand)?.name === "abstract-float" ? abstractIntType : i32Type,
      ),
    },
  ],
  __modf_result: (operand) => [
    { name: "fract", type: operand },
    { name: "whole", type: operand },
  ],
  __atomic_compare_exchange_result: (operand) => [
    { name: "old_value", type: operand },
    { name: "exchanged", type: boolType },
  ],
};

const structs = new Map<string, StructType>();

/** Returns the result struct of a family for an operand type, such as `__frexp_result_vec2_f32`. */
export function resultStruct(family: string, operand: Type): StructType {
  const scalar = elementScalar(operand)!.name.replace("abstract-float", "abstract");
  const name = operand.kind === "vector" ? `${family}_vec${operand.size}_${scalar}` : `${family}_${scalar}`;
  let type = structs.get(name);
  if (!type) {
    type = { kind: "struct", name, members: memberTypes[family]!(operand) };
    structs.set(name, type);
  }
  return type;
}
