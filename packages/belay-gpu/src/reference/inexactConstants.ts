/**
 * Tells which constants an implementation may compute with another value. The specification grants
 * constant expressions the errors of the same functions at run time.
 *
 * Source: WGSL specification, "Floating Point Accuracy".
 */
import type { Expression } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, children } from "../wgsl/traverse.ts";

/** The functions whose results on constants are rounded in ways that implementations choose. */
const inexactFunctions: ReadonlySet<string> = new Set([
  ..."acos acosh asin asinh atan atan2 atanh cos cosh exp exp2 log log2 pow sin sinh tan tanh".split(" "),
  ..."cross degrees determinant distance dot faceForward fma inverseSqrt length mix normalize".split(" "),
  ..."radians reflect refract smoothstep sqrt".split(" "),
  ..."pack2x16snorm pack2x16unorm pack4x8snorm pack4x8unorm".split(" "),
  ..."unpack2x16snorm unpack2x16unorm unpack4x8snorm unpack4x8unorm".split(" "),
]);

const known = new WeakMap<Expression, boolean>();

/** Returns true if a constant depends on the result of an inexact function. */
export function isInexact(program: Program, constant: Expression): boolean {
  const found = known.get(constant);
  if (found !== undefined) return found;
  const dependsOnOne = (node: AnyNode): boolean => {
    if (node.kind === "call" && inexactFunctions.has(node.callee.name)) {
      const target = program.targetOf(node.callee);
      if (target?.kind === "builtin") return true;
    }
    if (node.kind === "identifier") {
      const target = program.targetOf(node);
      if (target?.kind === "const") return isInexact(program, target.initializer);
    }
    return [...children(node)].some(dependsOnOne);
  };
  const result = dependsOnOne(constant);
  known.set(constant, result);
  return result;
}
