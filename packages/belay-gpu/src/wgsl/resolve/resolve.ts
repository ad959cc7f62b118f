import type { Declaration, Expression, Identifier, Module } from "../ast.ts";
import type { Program } from "../program.ts";
import { type Type, voidType } from "../types.ts";
import { bind } from "./bind.ts";
import { Context, loaded } from "./context.ts";
import { checkDeclaration } from "./declarations.ts";
import { orderDeclarations } from "./order.ts";
import { predeclared } from "./predeclared.ts";

/** A program that is no WGSL at all may have an error per token. */
const maxDiagnostics = 100;

/**
 * Finds what every name in a module means, and the type, evaluation stage and constant value of
 * every expression (specification sections "Declaration and Scope", "Types", "Expressions").
 *
 * It refuses programs whose meaning it cannot tell; it is not a validator, and takes some programs
 * that a device refuses.
 */
export function resolve(module: Module): Program {
  return resolveVersion(new Context(), module);
}

/**
 * Resolves versions of a valid `program`'s module, one after another. Only declarations that a
 * version does not share with the one before, and those that use such, are looked at: a transform
 * costs what it changes. A version is of no use once the next one is resolved, and throws;
 * `program` stays.
 */
export function versionsOf(program: Program): (module: Module) => Program {
  const cx = new Context(contexts.get(program));
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

/**
 * The declarations of a module that may mean something else than they did in the version that is
 * known.
 */
function changedIn(module: Module, { declarations: before, users }: Context): ReadonlySet<Declaration> {
  const now = new Set(module.declarations);
  const added = module.declarations.filter((declaration) => !before.has(declaration));
  // A name of the language that is declared hides what was meant.
  if (added.some((declaration) => "name" in declaration && predeclared(declaration.name))) return now;
  const changed = new Set<Declaration>();
  const gone = [...before].filter((declaration) => !now.has(declaration));
  // What is added meanwhile is visited too.
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
