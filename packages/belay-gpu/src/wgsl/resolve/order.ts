/** Orders module-scope declarations so that each comes after those it uses, and finds recursion. */

import type { Diagnostic } from "../../diagnostics/diagnostic.ts";
import { resolutionError } from "../../diagnostics/resolution.ts";
import type { Declaration } from "../ast.ts";

export interface DeclarationOrder {
  readonly declarations: readonly Declaration[];
  /**
   * One error for each cycle. Source: WGSL specification, "Declaration and Scope": no declaration
   * depends on itself.
   */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Returns the order of a depth-first walk. The walk has its own stack, because chains of
 * declarations may be longer than the call stack. Uses of anything other than `declarations` are
 * ignored.
 */
export function orderDeclarations(
  declarations: Iterable<Declaration>,
  uses: ReadonlyMap<Declaration, ReadonlySet<Declaration>>,
): DeclarationOrder {
  const ordered: Declaration[] = [];
  const diagnostics: Diagnostic[] = [];
  const state = new Map<Declaration, "open" | "done">();
  for (const root of declarations) {
    if (state.has(root)) continue;
    const path: { declaration: Declaration; rest: Iterator<Declaration> }[] = [];
    const open = (declaration: Declaration): void => {
      state.set(declaration, "open");
      path.push({ declaration, rest: uses.get(declaration)!.values() });
    };
    open(root);
    while (path.length > 0) {
      const top = path.at(-1)!;
      const { done, value: used } = top.rest.next();
      if (!done && !uses.has(used)) continue;
      if (done) {
        state.set(top.declaration, "done");
        ordered.push(top.declaration);
        path.pop();
      } else if (!state.has(used)) {
        open(used);
      } else if (state.get(used) === "open") {
        const cycle = path.slice(path.findIndex((entry) => entry.declaration === used));
        diagnostics.push(recursion(cycle.map((entry) => entry.declaration)));
      }
    }
  }
  return { declarations: ordered, diagnostics };
}

function recursion(cycle: readonly Declaration[]): Diagnostic {
  const names = cycle.map((declaration) => ("name" in declaration ? declaration.name : "const_assert"));
  const first = cycle[0]!;
  return resolutionError.recursive(names, "nameSpan" in first ? first.nameSpan : first.span);
}
