import type { Statement as SourceStatement } from "oxc-parser";
import type { BodyStatement } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";

/** Translates a single statement or a block. Directives for it stand from the place `from` on. */
export function body(lowering: Lowering, node: SourceStatement, from: number): void {
  const start = node.type === "BlockStatement" ? node.start : from;
  lowering.statements([node], { start, end: node.end });
}

/**
 * Returns lists of statements of which one is executed. A variable has a value afterwards if it has
 * one after each list that does not jump.
 */
export function branches(lowering: Lowering, makers: readonly (() => void)[]): BodyStatement[][] {
  const before = lowering.assigned;
  const after: ReadonlySet<unknown>[] = [];
  lowering.branches++;
  const lists = makers.map((make) => {
    lowering.assigned = new Set(before);
    const statements = lowering.collect(make);
    if (!jumps(statements)) after.push(lowering.assigned);
    return statements;
  });
  lowering.branches--;
  const everywhere = (variable: unknown) => after.every((set) => set.has(variable));
  const all = after.length === 0 ? before : (after[0] as Lowering["assigned"]);
  lowering.assigned = new Set([...all].filter(everywhere));
  return lists;
}

const jumps = (statements: readonly BodyStatement[]) =>
  ["break", "continue", "endIteration", "endLoop"].includes(statements.at(-1)?.kind ?? "");
