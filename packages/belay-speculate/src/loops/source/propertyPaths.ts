import type { Class, Expression, Node, TSType } from "oxc-parser";
import {
  bindingOfType,
  type DeclaredType,
  declaredType,
  frozenBy,
  targetOf,
  typeOfAnnotation,
  typeOfInitializer,
  withoutTypes,
} from "./declaredTypes.ts";
import type { ParsedFile } from "./parse.ts";
import {
  type Binding,
  childrenOf,
  everyNode,
  isFunction,
  lookUp,
  type Scope,
  type Scopes,
} from "./scopes.ts";

/** A property of an object that a variable or `this` holds: `options.gain`, `this.cells`. */
export interface PropertyPath {
  /** The name of the variable; null for `this`. */
  readonly root: string | null;
  readonly names: readonly string[];
}

/** Returns the path that an expression is; undefined for other expressions. */
export function propertyPath(node: Node): PropertyPath | undefined {
  switch (node.type) {
    case "TSNonNullExpression":
    case "TSAsExpression":
      return propertyPath(node.expression);
    case "Identifier":
      return { root: node.name, names: [] };
    case "ThisExpression":
      return { root: null, names: [] };
    case "MemberExpression": {
      if (node.computed || node.optional) return undefined;
      const object = propertyPath(node.object);
      const { property } = node;
      const name =
        property.type === "PrivateIdentifier" ? `#${property.name}` : (property as { name: string }).name;
      return object && { root: object.root, names: [...object.names, name] };
    }
    default:
      return undefined;
  }
}

/** A declaration of an object or a property: its type, its first value, or its class. */
export interface Declared {
  readonly node: Node;
  /** The scope in which the declaration stands. */
  readonly scope: Scope;
  /** The class of a method. */
  readonly owner?: Class;
}

/** A property of a type, an object or a class. Without a type and a value, it declares nothing. */
interface Member {
  readonly name: string | undefined;
  readonly declared: Declared | undefined;
  readonly isStatic: boolean;
}

/** The most types and values that are followed for one property. Declarations may be circular. */
const mostFollowed = 200;

/** Returns the type of a property of a variable, or of `this`, as far as the program says. */
export function typeOfProperty(
  object: Binding | null,
  names: readonly string[],
  scope: Scope,
  file: ParsedFile,
  scopes: Scopes,
): DeclaredType {
  const objects = new DeclaredObjects(file, scopes);
  const declared = objects.propertyOf(object, names, scope);
  return declared ? objects.typeOf(declared) : { kind: "unknown" };
}

/** Returns the type of a property of objects that a type or a value declares. */
export function typeOfMember(
  declared: Declared,
  name: string,
  file: ParsedFile,
  scopes: Scopes,
): DeclaredType {
  const objects = new DeclaredObjects(file, scopes);
  const member = objects.member(declared, name, false);
  return member ? objects.typeOf(member) : { kind: "other", name: "property that is not declared" };
}

/** A method of a class or an object, as if it were a function. */
export interface Method {
  readonly binding: Binding;
  /** The name of the class; undefined for other methods, which need no check of it. */
  readonly owner: string | undefined;
}

/**
 * Returns the method that a property of a variable, or of `this`, is. Undefined for other
 * properties, and for methods of which the program says that they may change.
 */
export function methodOf(
  object: Binding | null,
  names: readonly string[],
  scope: Scope,
  file: ParsedFile,
  scopes: Scopes,
): Method | undefined {
  const declared = new DeclaredObjects(file, scopes).propertyOf(object, names, scope);
  const name = names.at(-1)!;
  if (!declared || declared.owner?.decorators.length) return undefined;
  const isOfObject = object?.kind === "const" && isFunction(declared.node);
  if (!declared.owner && !(isOfObject && !isPassedOn(object, file, scopes))) return undefined;
  if (factsAbout(file, scopes).assigned.has(name)) return undefined;
  const { node: declaration, owner } = declared;
  const { scope: around } = declared;
  const binding: Binding = { name, kind: "function", declaration, scope: around, assignments: [] };
  if (!owner || name.startsWith("#") || object?.kind === "class") return { binding, owner: undefined };
  const seen = owner.id ? lookUp(scope, owner.id.name) : undefined;
  return seen?.declaration === owner ? { binding, owner: seen.name } : undefined;
}

/** The facts about a file that a search of all of its nodes finds. */
interface FileFacts {
  /** The objects with functions as properties, by these functions. */
  readonly objects: ReadonlyMap<Node, Declared>;
  /** The names of the properties that the file assigns to. */
  readonly assigned: ReadonlySet<string>;
}

const knownFacts = new WeakMap<Node, FileFacts>();

function factsAbout({ program }: ParsedFile, scopes: Scopes): FileFacts {
  const known = knownFacts.get(program);
  if (known) return known;
  const objects = new Map<Node, Declared>();
  const assigned = new Set<string>();
  for (const [node, scope] of everyNode(program, scopes)) {
    if (node.type === "ObjectExpression") {
      for (const one of node.properties)
        if (one.type === "Property" && isFunction(one.value)) objects.set(one.value, { node, scope });
    } else if (node.type === "AssignmentExpression" && node.left.type === "MemberExpression") {
      const name = node.left.computed ? undefined : keyOf(node.left.property);
      if (name !== undefined) assigned.add(name);
    }
  }
  const facts = { objects, assigned };
  knownFacts.set(program, facts);
  return facts;
}

/** Returns true if a file uses an object in another way than to access its named properties. */
const isPassedOn = (object: Binding, { program }: ParsedFile, scopes: Scopes) =>
  [...everyNode(program, scopes)].some(([node, scope]) => {
    if (node === object.declaration || /^(Export|TSTypeQuery)/.test(node.type)) return false;
    if (node.type === "MemberExpression" && !node.computed) return false;
    const around = scopes.get(node) ?? scope;
    return childrenOf(node).some(
      (child) =>
        child.type === "Identifier" && child.name === object.name && lookUp(around, child.name) === object,
    );
  });

/**
 * Returns the type of a variable, as far as the program says. Its value may be a property, as in
 * `const data = grid.data`, and a pattern may declare it, as in `const { data } = grid`.
 */
export function typeOfBinding(binding: Binding, file: ParsedFile, scopes: Scopes): DeclaredType {
  const { declaration, scope } = binding;
  const [target, value] = targetOf(declaration);
  const objects = new DeclaredObjects(file, scopes);
  if (target.type === "Identifier") {
    const type = declaredType(binding, file);
    return type.kind === "unknown" && value ? objects.typeOf({ node: value, scope }) : type;
  }
  if (target.type !== "ObjectPattern") return { kind: "unknown" };
  const node = target.typeAnnotation?.typeAnnotation ?? value;
  for (const property of node ? target.properties : []) {
    if (property.type !== "Property" || property.computed) continue;
    const named = property.value.type === "AssignmentPattern" ? property.value.left : property.value;
    if (named.type !== "Identifier" || named.name !== binding.name) continue;
    const declared = objects.member({ node: node!, scope }, keyOf(property.key) ?? "", false);
    if (declared) return objects.typeOf(declared);
  }
  return { kind: "unknown" };
}

const isType = (node: Node): node is TSType =>
  node.type.startsWith("TS") && !/^TS(As|Satisfies|NonNull|Instantiation)Expression$/.test(node.type);

const isClass = (node: Node): node is Class =>
  node.type === "ClassDeclaration" || node.type === "ClassExpression";

function declarationOf({ declaration, scope }: Pick<Binding, "declaration" | "scope">): Declared | undefined {
  if (isClass(declaration) || /^TS(Interface|TypeAlias)Declaration$/.test(declaration.type))
    return { node: declaration, scope };
  const [target, value] = targetOf(declaration);
  if (target.type !== "Identifier") return undefined;
  const node = target.typeAnnotation?.typeAnnotation ?? value;
  return node ? { node, scope } : undefined;
}

/** The objects that a program declares, with their properties. */
class DeclaredObjects {
  readonly #file: ParsedFile;
  readonly #scopes: Scopes;
  #left = mostFollowed;

  constructor(file: ParsedFile, scopes: Scopes) {
    this.#file = file;
    this.#scopes = scopes;
  }

  /** Returns the declaration of `this` at a place. */
  thisIn(scope: Scope): Declared | undefined {
    for (let at: Scope | undefined = scope; at; at = at.parent) {
      const { node } = at;
      if (isClass(node)) return { node, scope: at };
      if (!isFunction(node) || node.type === "ArrowFunctionExpression") continue;
      const parameter = at.bindings.get("this");
      if (parameter) return declarationOf(parameter);
      const object = factsAbout(this.#file, this.#scopes).objects.get(node);
      if (object) return object;
    }
    return undefined;
  }

  /** Returns the declaration of a property of a variable, or of `this`. */
  propertyOf(object: Binding | null, names: readonly string[], scope: Scope): Declared | undefined {
    let declared = object ? declarationOf(object) : this.thisIn(scope);
    for (const [at, name] of names.entries())
      declared = declared && this.member(declared, name, at === 0 && object?.kind === "class");
    return declared;
  }

  typeOf({ node, scope }: Declared): DeclaredType {
    if (isType(node)) return typeOfAnnotation(node, scope, this.#file, 0);
    const property = this.#property(node, scope);
    return property ? this.typeOf(property) : typeOfInitializer(node as Expression, scope, this.#file, 0);
  }

  /** Returns the property that an expression such as `grid.data` reads. */
  #property(value: Node, scope: Scope): Declared | undefined {
    const node = withoutTypes(value as Expression);
    if (node.type !== "MemberExpression" || node.computed) return undefined;
    const name = keyOf(node.property);
    return name === undefined ? undefined : this.member({ node: node.object, scope }, name, false);
  }

  /** Returns a member of an object, or of a class itself. */
  member({ node, scope }: Declared, name: string, isStatic: boolean): Declared | undefined {
    for (const one of this.#membersOf(node, scope))
      if (one.name === name && one.isStatic === isStatic && one.declared) return one.declared;
    return undefined;
  }

  /** Yields the members of a type, of a class's instances and of an object. */
  *#membersOf(node: Node, scope: Scope): Generator<Member> {
    if (this.#left-- <= 0) return;
    switch (node.type) {
      case "TSTypeLiteral":
        for (const member of node.members) yield memberAt(member, scope);
        break;
      case "TSInterfaceDeclaration":
        for (const member of node.body.body) yield memberAt(member, scope);
        for (const { expression } of node.extends) yield* this.#membersOf(expression, scope);
        break;
      case "TSTypeAliasDeclaration":
        yield* this.#membersOf(node.typeAnnotation, scope);
        break;
      case "TSIntersectionType":
        for (const type of node.types) yield* this.#membersOf(type, scope);
        break;
      case "TSTypeReference": {
        const named = bindingOfType(node.typeName, scope, this.#file);
        const [argument] = node.typeArguments?.params ?? [];
        if (named) yield* this.#membersOfBinding(named);
        else if (argument) yield* this.#membersOf(argument, scope);
        break;
      }
      case "TSTypeQuery":
      case "Identifier": {
        const name = node.type === "Identifier" ? node : node.exprName;
        const named = name.type === "Identifier" ? lookUp(scope, name.name) : undefined;
        if (named) yield* this.#membersOfBinding(this.#file.follow(named));
        break;
      }
      case "TSAsExpression":
      case "TSSatisfiesExpression":
        yield* this.#membersOf(node.expression, scope);
        yield* this.#membersOf(node.typeAnnotation, scope);
        break;
      case "ObjectExpression":
        for (const property of node.properties) yield memberAt(property, scope);
        break;
      case "ThisExpression": {
        const self = this.thisIn(scope);
        if (self) yield* this.#membersOf(self.node, self.scope);
        break;
      }
      case "TSNonNullExpression":
        yield* this.#membersOf(node.expression, scope);
        break;
      case "MemberExpression": {
        const property = this.#property(node, scope);
        if (property) yield* this.#membersOf(property.node, property.scope);
        break;
      }
      case "NewExpression":
        yield* this.#membersOf(node.callee, scope);
        break;
      case "CallExpression": {
        const frozen = frozenBy(node);
        if (frozen) yield* this.#membersOf(frozen, scope);
        break;
      }
      case "ClassDeclaration":
      case "ClassExpression":
        yield* this.#membersOfClass(node, scope);
        if (node.superClass) yield* this.#membersOf(node.superClass, scope);
    }
  }

  *#membersOfBinding(binding: Binding): Generator<Member> {
    const declared = declarationOf(binding);
    if (declared) yield* this.#membersOf(declared.node, declared.scope);
  }

  /** Yields what a class declares, and what its constructor sets. */
  *#membersOfClass(node: Class, scope: Scope): Generator<Member> {
    for (const part of node.body.body) {
      const within = this.#scopes.get(node) ?? scope;
      if (part.type !== "MethodDefinition") {
        yield memberAt(part, within);
        continue;
      }
      if (part.kind === "method" && !part.computed && part.decorators.length === 0)
        yield member(keyOf(part.key), { node: part.value, scope: within, owner: node }, part.static);
      if (part.kind !== "constructor") continue;
      const inner = this.#scopes.get(part.value)!;
      for (const parameter of part.value.params) {
        const [target] = targetOf(parameter);
        if (parameter.type === "TSParameterProperty" && target.type === "Identifier")
          yield member(target.name, declarationOf({ declaration: parameter, scope: inner }));
      }
      for (const statement of part.value.body?.body ?? []) {
        if (statement.type !== "ExpressionStatement") continue;
        const { expression } = statement;
        if (expression.type !== "AssignmentExpression" || expression.operator !== "=") continue;
        const { left, right } = expression;
        if (left.type !== "MemberExpression" || left.object.type !== "ThisExpression" || left.computed)
          continue;
        yield member(keyOf(left.property), { node: right, scope: inner });
      }
    }
  }
}

const member = (name: string | undefined, declared: Declared | undefined, isStatic = false): Member => ({
  name,
  declared,
  isStatic,
});

function memberAt(part: Node, scope: Scope): Member {
  if (!("key" in part) || ("computed" in part && part.computed)) return member(undefined, undefined);
  const typed = "typeAnnotation" in part ? (part.typeAnnotation as { typeAnnotation: TSType } | null) : null;
  const value = part.type === "Property" || part.type === "PropertyDefinition" ? part.value : null;
  const node = typed?.typeAnnotation ?? value;
  const isStatic = "static" in part && part.static === true;
  return member(keyOf(part.key as Node), node ? { node, scope } : undefined, isStatic);
}

function keyOf(key: Node): string | undefined {
  if (key.type === "Identifier") return key.name;
  if (key.type === "PrivateIdentifier") return `#${key.name}`;
  return key.type === "Literal" ? String(key.value) : undefined;
}
