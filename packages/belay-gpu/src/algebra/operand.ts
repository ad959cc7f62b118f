import type { BindingAccess, BindingPoint } from "../analysis/bindings.ts";
import { NoFit } from "./noFit.ts";
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

/**
 * Returns the operand of the numbers of a source. Throws `NoFit` for a uniform buffer, which the
 * check cannot bind as a storage buffer.
 */
export function operandOf(bindings: readonly BindingAccess[], { buffer, format, plus }: Source): Operand {
  const { group, binding, name, kind } = bindings[buffer]!;
  if (kind === "uniform")
    throw new NoFit(`it loads numbers of the uniform buffer "${name}" that the host does not know`);
  return { of: { group, binding }, name, format, plus };
}
