/** Variables of functions without an initializer. */
import type { VarStatement } from "../wgsl/ast.ts";
import { type AnyNode, forEachChild } from "../wgsl/traverse.ts";

export const isUninitialized = (node: AnyNode): node is VarStatement =>
  node.kind === "var" && !node.initializer;

/**
 * The nodes inside loops below `root` that declare variables without initializer, or hold such
 * declarations. WGSL sets these variables to zero in each iteration. Dawn's code for Vulkan does it
 * once for each call of the function, so that they keep their values from one iteration to the
 * next.
 */
export function uninitializedInLoops(root: AnyNode): Set<AnyNode> {
  const found = new Set<AnyNode>();
  const visit = (node: AnyNode, inLoop: boolean): boolean => {
    let declares = isUninitialized(node);
    const isLoop = node.kind === "loop" || node.kind === "for" || node.kind === "while";
    const startsLoop = (child: AnyNode) => isLoop && !(node.kind === "for" && child === node.initializer);
    forEachChild(node, (child) => {
      if (visit(child, inLoop || startsLoop(child))) declares = true;
    });
    if (inLoop && declares) found.add(node);
    return declares;
  };
  visit(root, false);
  return found;
}
