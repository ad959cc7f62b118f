/** Returns true for a function-scope variable without initializer. */
import type { VarStatement } from "../wgsl/ast.ts";
import { type AnyNode, forEachChild } from "../wgsl/traverse.ts";

export const isUninitialized = (node: AnyNode): node is VarStatement =>
  node.kind === "var" && !node.initializer;

/**
 * Returns the nodes inside loops below `root` that declare variables without initializer, or
 * contain such a declaration. WGSL zeroes these variables in each iteration. Dawn's code for Vulkan
 * zeroes them once per call of the function, so that they keep their values from one iteration to
 * the next.
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
