import type { BodyStatement } from "../tree/ir.ts";
import { everyStatement, expressionsOf, withOperands } from "../tree/walk.ts";

/** Removes locals that nothing reads. Their values have no effects. */
export function prune(body: readonly BodyStatement[]): readonly BodyStatement[] {
  const read = new Set<string>();
  for (const statement of everyStatement(body)) {
    for (const expression of expressionsOf(statement)) {
      for (const part of withOperands(expression)) if (part.kind === "local") read.add(part.name);
    }
  }
  let isChanged = false;
  const keep = (statements: readonly BodyStatement[]): BodyStatement[] =>
    statements.flatMap((statement): BodyStatement[] => {
      switch (statement.kind) {
        case "declare":
        case "assign":
          isChanged ||= !read.has(statement.name);
          return read.has(statement.name) ? [statement] : [];
        case "if":
          return [{ ...statement, yes: keep(statement.yes), no: keep(statement.no) }];
        case "loop":
          return [{ ...statement, body: keep(statement.body), update: keep(statement.update) }];
        default:
          return [statement];
      }
    });
  const kept = keep(body);
  return isChanged ? prune(kept) : kept;
}
