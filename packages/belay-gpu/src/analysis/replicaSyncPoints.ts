/**
 * Finds the places inside a kernel at which the replicas of an invocation would have to
 * synchronize.
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction, isTextureInPlace, isTextureStore, textureLoadsInPlace } from "./effects.ts";
import { hazardousVariables } from "./hazards.ts";
import { isShared, rootVariable, spaceOf } from "./places.ts";

/** A place at which replicas would have to synchronize. */
export interface ReplicaSyncPoint {
  readonly span: Span;
  /** The reason, as the end of a sentence. */
  readonly why: string;
}

/**
 * Returns the first sync point of each kind. One kind is a store to memory that the invocation also
 * loads, without a barrier between them. There the store of one replica has to wait for the load of
 * the other. The other kind is an atomic operation on memory outside the sphere of replication
 * whose result both replicas need. `isInside` is true for variables with one copy per replica.
 *
 * Requires access normal form.
 */
export function replicaSyncPoints(
  program: Program,
  entryPoint: FunctionDeclaration,
  isInside: (variable: GlobalVariable) => boolean,
): ReplicaSyncPoint[] {
  const found = new Map<string, ReplicaSyncPoint>();
  const add = (span: Span, why: string) => {
    if (!found.has(why)) found.set(why, { span, why });
  };
  const hazards = hazardousVariables(program, [entryPoint]);
  const functions = reachableFrom(program, [entryPoint]);
  const loadsTextures = [...functions].some(({ body }) => textureLoadsInPlace(program, body).length > 0);
  for (const fn of functions) {
    walk(fn.body, (node) => {
      if (node.kind === "call" && isTextureStore(program, node) && isTextureInPlace(program, node)) {
        const texture = rootVariable(program, node.args[0]!)?.variable;
        if (texture && loadsTextures && !isInside(texture))
          add(node.span, `it stores to "${texture.name}", which it also loads`);
      }
      if (node.kind === "assign" && node.target && isShared(spaceOf(program, node.target))) {
        const variable = rootVariable(program, node.target)?.variable;
        if (variable && hazards.has(variable) && !isInside(variable))
          add(node.span, `it stores to "${variable.name}", which it also loads`);
      }
      if (node.kind === "let" && node.initializer.kind === "call") {
        const operation = builtinFunction(program, node.initializer);
        const [pointer] = node.initializer.args;
        const variable = pointer && rootVariable(program, pointer)?.variable;
        if (operation?.startsWith("atomic") && variable && !isInside(variable))
          add(node.initializer.span, `both replicas need the result of this ${operation}`);
      }
    });
  }
  return [...found.values()];
}
