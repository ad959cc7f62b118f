/** Evaluates the functions of the WGSL specification's section "Logical Built-in Functions". */

import { componentwise, scalars } from "../components.ts";
import type { ConstantFunction } from "../folded.ts";
import { bool } from "../scalars.ts";

export const logicalFunctions: Readonly<Record<string, ConstantFunction>> = {
  all: ([e]) => bool(scalars(e!).every(({ value }) => value)),
  any: ([e]) => bool(scalars(e!).some(({ value }) => value)),
  select: (args, type) => componentwise(type, args, ([f, t, condition]) => (condition!.value ? t! : f!)),
};
