/** Binds every identifier to its declaration and finds which module-scope declarations use which others. */

import type { Diagnostic, Span } from "../../diagnostics/diagnostic.ts";
import { resolutionError } from "../../diagnostics/resolution.ts";
import type {
  Attribute,
  Block,
  Declaration,
  Expression,
  FunctionDeclaration,
  Identifier,
  Module,
  Statement,
} from "../ast.ts";
import type { Target } from "../program.ts";
import type { Layer } from "./layer.ts";
import { predeclared, predeclaredNames, unsupportedNames } from "./predeclared.ts";
import { similarName } from "./suggest.ts";

export interface Bindings {
  /** The module-scope declarations that each of the declarations names. */
  readonly uses: ReadonlyMap<Declaration, ReadonlySet<Declaration>>;
  readonly diagnostics: readonly Diagnostic[];
}

/** Attributes whose arguments are words of their own, not identifiers in scope. */
const wordAttributes = new Set(["builtin", "interpolate", "diagnostic"]);

/**
 * Applies the scope rules of the specification's section "Declaration and Scope" to some `declarations` of a module, and
 * enters what their identifiers mean into `targets`.
 */
export function bind(
  module: Module,
  declarations: Iterable<Declaration>,
  targets: Layer<Identifier, Target>,
): Bindings {
  return new Binder(targets).bind(module, declarations);
}

type Named = Exclude<Target, { kind: "builtin" }>;

class Binder {
  readonly #targets: Layer<Identifier, Target>;
  readonly #declared = new Set<Target>();
  readonly #uses = new Map<Declaration, Set<Declaration>>();
  readonly #diagnostics: Diagnostic[] = [];
  readonly #moduleScope = new Map<string, Named>();
  /** Innermost last. */
  readonly #scopes: Map<string, Named>[] = [this.#moduleScope];
  #used = new Set<Declaration>();

  constructor(targets: Layer<Identifier, Target>) {
    this.#targets = targets;
  }

  bind(module: Module, declarations: Iterable<Declaration>): Bindings {
    for (const declaration of module.declarations) {
      if (declaration.kind !== "constAssert") this.#declare(declaration, declaration.nameSpan);
    }
    for (const declaration of declarations) {
      this.#used = new Set();
      this.#uses.set(declaration, this.#used);
      this.#declaration(declaration);
    }
    return { uses: this.#uses, diagnostics: this.#diagnostics };
  }

  #declare(declaration: Named, span: Span): void {
    this.#declared.add(declaration);
    const scope = this.#scopes.at(-1)!;
    if (scope.has(declaration.name))
      this.#diagnostics.push(resolutionError.redeclared(declaration.name, span));
    else scope.set(declaration.name, declaration);
  }

  #inScope(body: () => void): void {
    this.#scopes.push(new Map());
    body();
    this.#scopes.pop();
  }

  #declaration(declaration: Declaration): void {
    switch (declaration.kind) {
      case "globalVariable":
        this.#attributes(declaration.attributes);
        this.#expressions(declaration.qualifiers);
        this.#expressions([declaration.type, declaration.initializer]);
        break;
      case "override":
        this.#attributes(declaration.attributes);
        this.#expressions([declaration.type, declaration.initializer]);
        break;
      case "const":
        this.#expressions([declaration.type, declaration.initializer]);
        break;
      case "alias":
        this.#expression(declaration.type);
        break;
      case "struct":
        for (const member of declaration.members) {
          this.#attributes(member.attributes);
          this.#expression(member.type);
        }
        break;
      case "function":
        this.#function(declaration);
        break;
      case "constAssert":
        this.#expression(declaration.condition);
        break;
    }
  }

  #function(declaration: FunctionDeclaration): void {
    this.#attributes(declaration.attributes);
    this.#attributes(declaration.returnAttributes);
    for (const parameter of declaration.parameters) {
      this.#attributes(parameter.attributes);
      this.#expression(parameter.type);
    }
    if (declaration.returnType) this.#expression(declaration.returnType);
    this.#attributes(declaration.body.attributes);
    this.#inScope(() => {
      for (const parameter of declaration.parameters) this.#declare(parameter, parameter.nameSpan);
      this.#statements(declaration.body.statements);
    });
  }

  #attributes(attributes: readonly Attribute[]): void {
    for (const attribute of attributes) {
      if (!wordAttributes.has(attribute.name)) this.#expressions(attribute.args);
    }
  }

  #block(block: Block): void {
    this.#attributes(block.attributes);
    this.#inScope(() => this.#statements(block.statements));
  }

  #statements(statements: readonly Statement[]): void {
    for (const statement of statements) this.#statement(statement);
  }

  #statement(statement: Statement): void {
    switch (statement.kind) {
      case "block":
        this.#block(statement);
        break;
      case "var":
        this.#expressions(statement.qualifiers);
        this.#expressions([statement.type, statement.initializer]);
        this.#declare(statement, statement.nameSpan);
        break;
      case "let":
      case "const":
        this.#expressions([statement.type, statement.initializer]);
        this.#declare(statement, statement.nameSpan);
        break;
      case "constAssert":
        this.#expression(statement.condition);
        break;
      case "assign":
        this.#expressions([statement.target, statement.value]);
        break;
      case "increment":
        this.#expression(statement.target);
        break;
      case "callStatement":
        this.#expression(statement.call);
        break;
      case "if":
        this.#attributes(statement.attributes);
        this.#expression(statement.condition);
        this.#block(statement.then);
        if (statement.otherwise) this.#statement(statement.otherwise);
        break;
      case "switch":
        this.#attributes(statement.attributes);
        this.#expression(statement.selector);
        this.#attributes(statement.bodyAttributes);
        for (const clause of statement.clauses) {
          for (const selector of clause.selectors) if (selector !== "default") this.#expression(selector);
          this.#block(clause.body);
        }
        break;
      case "loop":
        this.#attributes(statement.attributes);
        this.#attributes(statement.body.attributes);
        this.#inScope(() => {
          this.#statements(statement.body.statements);
          this.#attributes(statement.continuing?.attributes ?? []);
          this.#inScope(() => {
            this.#statements(statement.continuing?.statements ?? []);
            this.#expressions([statement.breakIf]);
          });
        });
        break;
      case "for":
        this.#attributes(statement.attributes);
        this.#inScope(() => {
          if (statement.initializer) this.#statement(statement.initializer);
          this.#expressions([statement.condition]);
          if (statement.update) this.#statement(statement.update);
          this.#block(statement.body);
        });
        break;
      case "while":
        this.#attributes(statement.attributes);
        this.#expression(statement.condition);
        this.#block(statement.body);
        break;
      case "return":
        this.#expressions([statement.value]);
        break;
    }
  }

  #expressions(expressions: readonly (Expression | null)[]): void {
    for (const expression of expressions) if (expression) this.#expression(expression);
  }

  #expression(expression: Expression): void {
    switch (expression.kind) {
      case "identifier":
        this.#identifier(expression);
        break;
      case "unary":
        this.#expression(expression.operand);
        break;
      case "binary":
        this.#expression(expression.left);
        this.#expression(expression.right);
        break;
      case "call":
        this.#identifier(expression.callee);
        this.#expressions(expression.args);
        break;
      case "index":
        this.#expression(expression.base);
        this.#expression(expression.index);
        break;
      case "memberAccess":
        this.#expression(expression.base);
        break;
    }
  }

  #identifier(identifier: Identifier): void {
    const target = this.#lookUp(identifier.name);
    if (target) {
      // A transform may use a node twice only where it means the same: what is known of a node is kept by node.
      const known = this.#targets.get(identifier);
      if (known && known !== target && this.#declared.has(known))
        throw new Error(`one node stands for two things named ${identifier.name}`);
      if (known !== target) this.#targets.set(identifier, target);
      if (this.#moduleScope.get(identifier.name) === target) this.#used.add(target as Declaration);
    } else {
      this.#diagnostics.push(this.#unknown(identifier));
    }
    this.#expressions(identifier.templateArgs ?? []);
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

  /** Looking for similar names costs time: only the first errors get a suggestion. */
  #similar(name: string): string | undefined {
    if (this.#diagnostics.length > 20) return undefined;
    const declared = this.#scopes.flatMap((scope) => [...scope.keys()]);
    return similarName(name, [...declared, ...predeclaredNames()]);
  }
}
