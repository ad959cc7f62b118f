/**
 * Binds every identifier to its declaration, and finds the module-scope declarations that each one
 * uses.
 */

import type { Diagnostic } from "../../diagnostics/diagnostic.ts";
import { resolutionError } from "../../diagnostics/resolution.ts";
import type { Declaration, FunctionDeclaration, Identifier, LoopStatement, Module } from "../ast.ts";
import type { Target } from "../program.ts";
import { type AnyNode, forEachChild } from "../traverse.ts";
import type { LayeredMap } from "./layeredMap.ts";
import { predeclared, predeclaredNames, unsupportedNames } from "./predeclared.ts";
import { similarName } from "./suggest.ts";

export interface Bindings {
  /** The module-scope declarations that each of the declarations names. */
  readonly uses: ReadonlyMap<Declaration, ReadonlySet<Declaration>>;
  readonly diagnostics: readonly Diagnostic[];
}

/** The attributes whose arguments are words of their own, not identifiers in scope. */
const wordAttributes = new Set(["builtin", "interpolate", "diagnostic"]);

/**
 * Binds the identifiers of some `declarations` of a module, and enters the results into `targets`.
 * Source: WGSL specification, "Declaration and Scope".
 */
export function bind(
  module: Module,
  declarations: Iterable<Declaration>,
  targets: LayeredMap<Identifier, Target>,
): Bindings {
  return new Binder(targets).bind(module, declarations);
}

type Named = Exclude<Target, { kind: "builtin" }>;

class Binder {
  readonly #targets: LayeredMap<Identifier, Target>;
  readonly #declared = new Set<Target>();
  readonly #uses = new Map<Declaration, Set<Declaration>>();
  readonly #diagnostics: Diagnostic[] = [];
  readonly #moduleScope = new Map<string, Named>();
  /** The open scopes, innermost last. */
  readonly #scopes: Map<string, Named>[] = [this.#moduleScope];
  #used = new Set<Declaration>();

  constructor(targets: LayeredMap<Identifier, Target>) {
    this.#targets = targets;
  }

  bind(module: Module, declarations: Iterable<Declaration>): Bindings {
    for (const declaration of module.declarations) {
      if (declaration.kind !== "constAssert") this.#declare(declaration);
    }
    for (const declaration of declarations) {
      this.#used = new Set();
      this.#uses.set(declaration, this.#used);
      if (declaration.kind === "function") this.#function(declaration);
      else this.#visitChildren(declaration);
    }
    return { uses: this.#uses, diagnostics: this.#diagnostics };
  }

  #declare(declaration: Named): void {
    this.#declared.add(declaration);
    const { name, nameSpan } = declaration;
    const scope = this.#scopes.at(-1)!;
    if (scope.has(name)) this.#diagnostics.push(resolutionError.redeclared(name, nameSpan));
    else scope.set(name, declaration);
  }

  #inScope(body: () => void): void {
    this.#scopes.push(new Map());
    body();
    this.#scopes.pop();
  }

  #visit(node: AnyNode): void {
    switch (node.kind) {
      case "identifier":
        this.#identifier(node);
        break;
      case "attribute":
        if (!wordAttributes.has(node.name)) this.#visitChildren(node);
        break;
      case "let":
      case "var":
      case "const":
        this.#visitChildren(node);
        this.#declare(node);
        break;
      case "block":
      case "for":
        this.#inScope(() => this.#visitChildren(node));
        break;
      case "loop":
        this.#loop(node);
        break;
      default:
        this.#visitChildren(node);
    }
  }

  #visitChildren(node: AnyNode): void {
    forEachChild(node, (child) => this.#visit(child));
  }

  /** Binds a function. Its parameters are in the scope of its body. */
  #function(fn: FunctionDeclaration): void {
    const { parameters, body } = fn;
    forEachChild(fn, (child) => {
      if (child !== body) this.#visit(child);
    });
    for (const attribute of body.attributes) this.#visit(attribute);
    this.#inScope(() => {
      for (const parameter of parameters) this.#declare(parameter);
      for (const statement of body.statements) this.#visit(statement);
    });
  }

  /**
   * Binds a loop. Names of the body are in scope in the continuing block, and names of that block
   * in its `break if`.
   */
  #loop({ attributes, body, continuing, breakIf }: LoopStatement): void {
    for (const attribute of attributes) this.#visit(attribute);
    this.#inScope(() => {
      this.#visitChildren(body);
      this.#inScope(() => {
        if (continuing) this.#visitChildren(continuing);
        if (breakIf) this.#visit(breakIf);
      });
    });
  }

  #identifier(identifier: Identifier): void {
    const target = this.#lookUp(identifier.name);
    if (target) {
      // Facts are kept by node, so a transform may use a node twice only with one meaning.
      const known = this.#targets.get(identifier);
      if (known && known !== target && this.#declared.has(known))
        throw new Error(`one node stands for two things named ${identifier.name}`);
      if (known !== target) this.#targets.set(identifier, target);
      if (this.#moduleScope.get(identifier.name) === target) this.#used.add(target as Declaration);
    } else {
      this.#diagnostics.push(this.#unknown(identifier));
    }
    this.#visitChildren(identifier);
  }

  #lookUp(name: string): Target | undefined {
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const target = this.#scopes[i]!.get(name);
      if (target) return target;
    }
    return predeclared(name);
  }

  #unknown({ name, span }: Identifier): Diagnostic {
    const extension = unsupportedNames.get(name);
    if (extension) return resolutionError.unsupported(name, extension, span);
    return resolutionError.unresolved(name, this.#similar(name), span);
  }

  /** Returns a similar name for the first errors only, because the search takes time. */
  #similar(name: string): string | undefined {
    if (this.#diagnostics.length > 20) return undefined;
    const declared = this.#scopes.flatMap((scope) => [...scope.keys()]);
    return similarName(name, [...declared, ...predeclaredNames()]);
  }
}
