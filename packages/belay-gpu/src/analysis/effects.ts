/** Finds the memory operations of expressions and functions. */
import type { CallExpression, Expression, Statement } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { contains, walk } from "../wgsl/traverse.ts";

/**
 * Returns the name of the built-in function that `call` calls, or undefined for a constructor or a
 * function of the program.
 */
export function builtinFunction(program: Program, call: CallExpression): string | undefined {
  const target = program.targetOf(call.callee);
  return target?.kind === "builtin" && target.category === "function" ? target.name : undefined;
}

/**
 * Returns true for calls of built-in functions that act on shared memory and return a value. These
 * are atomic operations and `workgroupUniformLoad`. Loads of subgroup matrices are, too, if they
 * are from a buffer that kernels may change.
 */
export function isMemoryOperation(program: Program, expression: Expression): boolean {
  if (expression.kind !== "call") return false;
  const name = builtinFunction(program, expression);
  if (name === "subgroupMatrixLoad") {
    const type = program.typeOf(expression.args[0]!);
    return type.kind === "pointer" && type.space === "storage" && type.access !== "read";
  }
  return name !== undefined && (name.startsWith("atomic") || name === "workgroupUniformLoad");
}

/** Returns true for a call of `textureStore`. */
export function isTextureStore(program: Program, expression: Expression): boolean {
  return expression.kind === "call" && builtinFunction(program, expression) === "textureStore";
}

/** Returns true if `part` contains a memory operation. */
export function containsMemoryOperation(program: Program, part: Expression | Statement): boolean {
  return contains(part, (node) => node.kind === "call" && isMemoryOperation(program, node));
}

/** Returns true for a call on a texture that can be both loaded and stored. */
export function isTextureInPlace(program: Program, call: CallExpression): boolean {
  const type = call.args[0] && program.valueTypeOf(call.args[0]);
  return type?.kind === "texture" && type.access === "read_write";
}

/** Returns the loads in `part` from textures that can also be stored. */
export function textureLoadsInPlace(program: Program, part: Statement): CallExpression[] {
  const found: CallExpression[] = [];
  walk(part, (node) => {
    if (node.kind !== "call" || builtinFunction(program, node) !== "textureLoad") return;
    if (isTextureInPlace(program, node)) found.push(node);
  });
  return found;
}
