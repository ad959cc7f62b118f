import type { Type } from "../../types.ts";
import type { Value } from "../../values.ts";
import { componentwise, type ScalarOperation } from "../components.ts";
import { type ConstantFunction, type Folded, folded } from "../folded.ts";
import { bitReinterpretation } from "./bitcast.ts";
import { bitFunctions } from "./bits.ts";
import { floatFunctions, splittingFunctions } from "./floats.ts";
import { geometricFunctions } from "./geometry.ts";
import { logicalFunctions, orderFunctions } from "./order.ts";
import { packingFunctions } from "./packing.ts";

const componentwiseFunctions: Readonly<Record<string, ScalarOperation>> = {
  ...bitFunctions,
  ...floatFunctions,
  ...orderFunctions,
};

const builtins = new Map<string, ConstantFunction>([
  ...Object.entries(componentwiseFunctions).map(([name, operation]): [string, ConstantFunction] => [
    name,
    (args, resultType) => componentwise(resultType, args, operation),
  ]),
  ...Object.entries({
    ...bitReinterpretation,
    ...geometricFunctions,
    ...logicalFunctions,
    ...packingFunctions,
    ...splittingFunctions,
  }),
]);

/**
 * Evaluates a call of a built-in function, or returns undefined if it is not a const-function. The
 * arguments have the parameter types of the chosen overload. Source: WGSL specification, "Built-in
 * Functions".
 */
export function foldBuiltin(name: string, args: readonly Value[], resultType: Type): Folded | undefined {
  const builtin = builtins.get(name);
  return builtin && folded(() => builtin(args, resultType));
}
