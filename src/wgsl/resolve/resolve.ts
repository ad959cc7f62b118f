import type { Expression, Identifier, Module } from "../ast.ts";
import type { Program } from "../program.ts";
import { type Type, voidType } from "../types.ts";
import { bind } from "./bind.ts";
import { Context } from "./context.ts";
import { checkDeclaration } from "./declarations.ts";
import { orderDeclarations } from "./order.ts";

/** A program that is no WGSL at all may have an error per token. */
const maxDiagnostics = 100;

/**
 * Finds what every name in a module means, and the type, evaluation stage and constant value of every expression
 * (specification sections "Declaration and Scope", "Types", "Expressions").
 *
 * It refuses programs whose meaning it cannot tell; it is not a validator, and takes some programs that a device refuses.
 */
export function resolve(module: Module): Program {
  const { targets, uses, diagnostics } = bind(module);
  const order = orderDeclarations(module.declarations, uses);
  const cx = new Context(targets, [...diagnostics, ...order.diagnostics]);
  for (const declaration of order.declarations) checkDeclaration(cx, declaration);
  return programOf(module, cx);
}

function programOf(module: Module, cx: Context): Program {
  return {
    module,
    diagnostics: cx.diagnostics.toSorted((a, b) => a.span.start - b.span.start).slice(0, maxDiagnostics),
    typeOf: (expression) => known(cx.facts.get(expression)?.type, expression),
    valueTypeOf: (expression) => {
      const type = known((cx.converted.get(expression) ?? cx.facts.get(expression))?.type, expression);
      return type.kind === "reference" ? type.store : type;
    },
    typeDenotedBy: (type) => known(cx.denoted.get(type), type),
    declaredTypeOf: (declaration) => known(cx.declared.get(declaration), declaration),
    returnTypeOf: (fn) => cx.returns.get(fn) ?? voidType,
    targetOf: (identifier: Identifier) => cx.targets.get(identifier),
    stageOf: (expression) => cx.stageOf(expression),
    constantOf: (expression: Expression) => cx.valueOf(expression),
  };
}

function known(type: Type | undefined, { kind }: { readonly kind: string }): Type {
  if (!type) throw new RangeError(`this ${kind} has no type in this program`);
  return type;
}
