import type { BindingAccess, BindingPoint } from "../analysis/bindings.ts";
import type { Format, Source } from "./symbols.ts";

/** A buffer of a sum of products. Its addresses count numbers from the start of the binding. */
export interface Operand {
  /** The binding point. */
  readonly of: BindingPoint;
  /** The name of the variable. */
  readonly name: string;
  /** The format of its numbers. */
  readonly format: Format;
  /** The number that is added to each of its integers. */
  readonly plus: number;
}

/** Returns the operand of the numbers of a source. */
export function operandOf(bindings: readonly BindingAccess[], { buffer, format, plus }: Source): Operand {
  const { group, binding, name } = bindings[buffer]!;
  return { of: { group, binding }, name, format, plus };
}
