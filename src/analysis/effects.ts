/** Which memory operations an expression or a function performs. */
import type {
  CallExpression,
  Expression,
  FunctionDeclaration,
  GlobalVariable,
  Identifier,
  Statement,
} from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import { rootVariable } from "./places.ts";

/** The name of the built-in function that `call` calls, or undefined for a user's function or a constructor. */
export function builtinFunction(program: Program, call: CallExpression): string | undefined {
  const target = program.targetOf(call.callee);
  return target?.kind === "builtin" && target.category === "function" ? target.name : undefined;
}

/** True for the built-in calls that act on shared memory and return a value: atomics and `workgroupUniformLoad`. */
export function isMemoryOperation(program: Program, expression: Expression): boolean {
  if (expression.kind !== "call") return false;
  const name = builtinFunction(program, expression);
  return name !== undefined && (name.startsWith("atomic") || name === "workgroupUniformLoad");
}

export function isTextureStore(program: Program, expression: Expression): boolean {
  return expression.kind === "call" && builtinFunction(program, expression) === "textureStore";
}

/** True when `part` has a memory operation inside. */
export function containsMemoryOperation(program: Program, part: Expression | Statement): boolean {
  let found = false;
  walk(part, (node) => {
    if (node.kind === "call" && isMemoryOperation(program, node)) found = true;
  });
  return found;
}

/** How a set of functions uses module-scope variables. */
export interface VariableUse {
  readonly loaded: ReadonlySet<GlobalVariable>;
  readonly stored: ReadonlySet<GlobalVariable>;
}

/**
 * The variables that the bodies of `functions` load and store. Atomic operations and `arrayLength` are neither.
 * A texture counts as loaded by `textureLoad` and stored by `textureStore`.
 */
export function variableUse(program: Program, functions: Iterable<FunctionDeclaration>): VariableUse {
  const loaded = new Set<GlobalVariable>();
  const stored = new Set<GlobalVariable>();
  for (const fn of functions) {
    const notLoads = new Set<Identifier>();
    walk(fn.body, (node) => {
      if ((node.kind === "assign" || node.kind === "increment") && node.target) {
        const root = rootVariable(program, node.target);
        if (!root) return;
        stored.add(root.variable);
        if (node.kind === "assign" && node.operator === "=") notLoads.add(root.identifier);
      } else if (node.kind === "call") {
        const name = builtinFunction(program, node);
        const first = node.args[0];
        if (!name || !first) return;
        const root = rootVariable(program, first);
        if (!root) return;
        if (name === "textureStore") stored.add(root.variable);
        if (name === "textureStore" || name.startsWith("atomic") || name === "arrayLength")
          notLoads.add(root.identifier);
      } else if (node.kind === "identifier" && !notLoads.has(node)) {
        const target = program.targetOf(node);
        if (target?.kind === "globalVariable") loaded.add(target);
      }
    });
  }
  return { loaded, stored };
}
