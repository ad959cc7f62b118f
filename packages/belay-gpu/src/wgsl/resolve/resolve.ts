import type { Declaration, Expression, Identifier, Module } from "../ast.ts";
import type { Program } from "../program.ts";
import { type Type, voidType } from "../types.ts";
import { bind } from "./bind.ts";
import { Context, loaded } from "./context.ts";
import { checkDeclaration } from "./declarations.ts";
import { factsOf } from "./expressions.ts";
import { orderDeclarations } from "./order.ts";
import { predeclared } from "./predeclared.ts";

/** The largest number of diagnostics. A program that is no WGSL may have one per token. */
const maxDiagnostics = 100;

/**
 * Resolves the names of a module, and the type, evaluation stage and constant value of every
 * expression. Rejects programs whose meaning it cannot determine. It is not a validator: it accepts
 * some programs that a device rejects.
 *
 * Source: WGSL specification, "Declaration and Scope", "Types" and "Expressions".
 */
export function resolve(module: Module): Program {
  return resolveVersion(new Context(factsOf), module);
}

/**
 * Returns a function that resolves versions of a valid `program`'s module, one after another. It
 * visits only declarations that the last version does not contain, and those that use them: the
 * cost of a transform depends on its changes. A version throws once the next one is resolved;
 * `program` stays valid.
 */
export function versionsOf(program: Program): (module: Module) => Program {
  const cx = new Context(factsOf, contexts.get(program));
  return (module) => resolveVersion(cx, module);
}

const contexts = new WeakMap<Program, Context>();

function resolveVersion(cx: Context, module: Module): Program {
  const changed = changedIn(module, cx);
  const bindings = bind(module, changed, cx.targets);
  const order = orderDeclarations(changed, bindings.uses);
  cx.begin(module, [...bindings.diagnostics, ...order.diagnostics]);
  for (const [user, uses] of bindings.uses)
    for (const used of uses) {
      const users = cx.users.get(used);
      if (users) users.add(user);
      else cx.users.set(used, new Set([user]));
    }
  for (const declaration of order.declarations) checkDeclaration(cx, declaration);
  return programOf(module, cx);
}

/** Returns the declarations of a module whose meaning may differ from that in the last version. */
function changedIn(module: Module, { declarations: before, users }: Context): ReadonlySet<Declaration> {
  const now = new Set(module.declarations);
  const added = module.declarations.filter((declaration) => !before.has(declaration));
  // A new declaration may shadow a predeclared name that others use.
  if (added.some((declaration) => "name" in declaration && predeclared(declaration.name))) return now;
  const changed = new Set<Declaration>();
  const gone = [...before].filter((declaration) => !now.has(declaration));
  // Elements that are added during the loop are visited, too.
  for (const declaration of gone)
    for (const user of users.get(declaration) ?? [])
      if (now.has(user) && !changed.has(user)) {
        changed.add(user);
        gone.push(user);
      }
  return new Set(module.declarations.filter((each) => changed.has(each) || !before.has(each)));
}

function programOf(module: Module, cx: Context): Program {
  const { version } = cx;
  const current = () => {
    if (cx.version !== version) throw new Error("there is a later version of this program");
    return cx;
  };
  const program: Program = {
    module,
    diagnostics: cx.diagnostics.toSorted((a, b) => a.span.start - b.span.start).slice(0, maxDiagnostics),
    typeOf: (expression) => known(current().facts.get(expression)?.type, expression),
    valueTypeOf: (expression) => {
      const facts = current().facts.get(expression);
      return loaded(known((facts?.converted ?? facts)?.type, expression));
    },
    typeDenotedBy: (type) => known(current().denoted.get(type), type),
    declaredTypeOf: (declaration) => known(current().declared.get(declaration), declaration),
    returnTypeOf: (fn) => current().returns.get(fn) ?? voidType,
    targetOf: (identifier: Identifier) => current().targets.get(identifier),
    stageOf: (expression) => current().stageOf(expression),
    constantOf: (expression: Expression) => current().valueOf(expression),
  };
  contexts.set(program, cx);
  return program;
}

function known(type: Type | undefined, { kind }: { readonly kind: string }): Type {
  if (!type) throw new RangeError(`this ${kind} has no type in this program`);
  return type;
}
