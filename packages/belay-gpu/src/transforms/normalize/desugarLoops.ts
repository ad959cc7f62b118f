/**
 * Rewrites `for` and `while` loops whose header accesses shared memory as `loop`. Statements can
 * then stand before each evaluation of the condition.
 *
 * Before:   for (var i = 0u; i < atomicLoad(&n); i++) { body }
 * After:    {
 *             var i = 0u;
 *             loop {
 *               if (!(i < atomicLoad(&n))) { break; }
 *               { body }
 *               continuing { i++; }
 *             }
 *           }
 *
 * Requires: nothing.
 * Ensures:  a valid module. No header of a `for` or `while` loop stores to shared memory, contains
 *           a memory operation or declares a pointer.
 * Order:    before resolvePointers and normalizeAccesses.
 * Source:   WGSL specification, "For Statement" and "While Statement", which define both by this
 *           expansion.
 */
import { containsMemoryOperation, isTextureStore } from "../../analysis/effects.ts";
import { storesToShared } from "../../analysis/places.ts";
import type { Block, Expression, ForStatement, Module, Statement, WhileStatement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapStatements } from "../../wgsl/traverse.ts";
import { mapBodies } from "../shared/mapFunctions.ts";

/** Returns the module without `for` and `while` loops whose header needs room. */
export const desugarLoops = (program: Program): Module =>
  desugared(program, (part) => part !== null && needsRoom(program, part));

/** Returns the module without any `for` and `while` loops. */
export const desugarAllLoops = (program: Program): Module => desugared(program, () => true);

function desugared(program: Program, isRewritten: (part: Expression | Statement | null) => boolean): Module {
  return mapBodies(program.module, (body) =>
    mapStatements(body, (statement) => {
      if (statement.kind === "while")
        return isRewritten(statement.condition) ? desugarWhile(statement) : statement;
      if (statement.kind !== "for") return statement;
      const header = [statement.initializer, statement.condition, statement.update];
      return header.some(isRewritten) ? desugarFor(statement) : statement;
    }),
  );
}

/**
 * Returns true if a part of a header needs statements of its own: it contains a memory operation,
 * stores to shared memory or declares a pointer.
 */
function needsRoom(program: Program, part: Expression | Statement): boolean {
  if (part.kind === "let" && program.declaredTypeOf(part).kind === "pointer") return true;
  if (part.kind === "callStatement" && isTextureStore(program, part.call)) return true;
  return containsMemoryOperation(program, part) || storesToShared(program, part);
}

function desugarWhile({ span, attributes, condition, body }: WhileStatement): Statement {
  return {
    kind: "loop",
    span,
    attributes,
    body: block(span, [...exit(condition), body]),
    continuing: null,
    breakIf: null,
  };
}

function desugarFor({ span, attributes, initializer, condition, update, body }: ForStatement): Statement {
  const loop: Statement = {
    kind: "loop",
    span,
    attributes,
    body: block(span, [...(condition ? exit(condition) : []), body]),
    continuing: update && block(span, [update]),
    breakIf: null,
  };
  return initializer ? block(span, [initializer, loop]) : loop;
}

/** Returns the statement that leaves the loop unless its condition holds. */
function exit(condition: Expression): Statement[] {
  return quote(condition.span).statements`if (!${condition}) { break; }`;
}

function block(span: Statement["span"], statements: readonly Statement[]): Block {
  return { kind: "block", span, attributes: [], statements };
}
