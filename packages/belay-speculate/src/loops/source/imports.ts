import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { ExportSpecifier, ModuleExportName, Node, Program } from "oxc-parser";
import { directiveModule } from "../directives/calls.ts";
import { type ParsedFile, parse } from "./parse.ts";
import {
  type Binding,
  identifiersIn,
  lookUp,
  namesOf,
  resolveScopes,
  type Scope,
  type Scopes,
} from "./scopes.ts";

/** A module that a file imports. */
export interface ModuleSource {
  /** The name of the module's file, which decides the language. */
  readonly filename: string;
  readonly source: string;
}

/** Returns the module that an import of a file means; undefined if it cannot be read. */
export type ModuleReader = (specifier: string, importer: string) => ModuleSource | undefined;

/** A module whose tree has positions after those of all earlier modules. */
interface Module extends ModuleSource {
  readonly start: number;
  readonly program: Program;
}

/** Keeps the text of a module apart from the one before it. */
const separator = "\n;\n";

/**
 * The names that a file imports, followed to their declarations in other modules. Modules are read
 * when a loop needs them. Their texts are added to the text of the file, so that each position
 * belongs to one module.
 */
export class Imports {
  readonly #file: ParsedFile;
  readonly #scopes: Scopes;
  readonly #read: ModuleReader;
  readonly #modules: Module[];
  /** The reasons why imported names are not followed. */
  readonly #reasons = new Map<Binding, string>();
  readonly #linked = new Set<Node>();
  /** The values of default exports that have no name. */
  readonly #unnamed = new Map<Node, Binding>();
  /** The modules that namespaces hold. */
  readonly #namespaces = new Map<Binding, Module>();

  constructor(file: ParsedFile, filename: string, scopes: Scopes, read: ModuleReader) {
    this.#file = file;
    this.#scopes = scopes;
    this.#read = read;
    this.#modules = [{ filename, source: file.source, start: 0, program: file.program }];
    file.follow = (binding) => this.#follow(binding, new Set());
    file.memberOf = (namespace, name) => this.#memberOf(namespace, name);
  }

  /** Replaces the imported names in a node by their declarations, for all later lookups. */
  link(node: Node, scope: Scope): void {
    if (this.#linked.has(node)) return;
    this.#linked.add(node);
    for (const [{ name }, inner] of identifiersIn(node, this.#scopes, scope)) {
      const binding = lookUp(inner, name);
      if (binding?.kind === "import") this.#file.follow(binding);
    }
  }

  /** Returns the export of a module's namespace, or of a declared one. */
  #memberOf(namespace: Binding, name: string): Binding | undefined {
    const module = this.#namespaces.get(this.#follow(namespace, new Set()));
    const found = module
      ? this.#exported(module, name, new Set())
      : this.#declaredIn(namespace.declaration, name);
    return typeof found === "string" ? undefined : found;
  }

  /** Returns the export of `namespace util { … }`; undefined for other declarations. */
  #declaredIn(declaration: Node, name: string): Binding | string | undefined {
    if (declaration.type !== "TSModuleDeclaration" || declaration.body?.type !== "TSModuleBlock")
      return undefined;
    const isExport = (one: Node) =>
      one.type === "ExportNamedDeclaration" && one.declaration && declares(one.declaration, name);
    if (!declaration.body.body.some(isExport)) return undefined;
    return this.#constant(this.#scopes.get(declaration.body)!.bindings.get(name), new Set());
  }

  /** Returns the reason why an imported name has no known declaration. */
  reasonFor(binding: Binding): string {
    return this.#reasons.get(binding) ?? "is imported from a module that cannot be read";
  }

  /** Returns the module in which a place lies, if it is not the file with the loops. */
  moduleAt({ start }: Span): (ModuleSource & { readonly start: number }) | undefined {
    const module = this.#modules.findLast((one) => one.start <= start);
    return module === this.#modules[0] ? undefined : module;
  }

  #follow(binding: Binding, pending: Set<string>): Binding {
    const { kind, name, declaration, scope } = binding;
    if (kind !== "import" || this.#namespaces.has(binding)) return binding;
    const importer = this.#modules.find(({ program }) => program === scope.node);
    const statement = importer?.program.body.find(
      (one) => one.type === "ImportDeclaration" && one.specifiers.some((part) => part === declaration),
    );
    if (!importer || statement?.type !== "ImportDeclaration") return binding;
    if (statement.source.value === directiveModule) return binding;
    const specifier = statement.source.value;
    const module = this.#load(specifier, importer);
    let found: Binding | string;
    if (typeof module === "string") found = module;
    else if (declaration.type === "ImportNamespaceSpecifier") {
      this.#namespaces.set(binding, module);
      return binding;
    } else {
      const imported = declaration.type === "ImportSpecifier" ? nameIn(declaration.imported) : "default";
      found = this.#exported(module, imported, pending);
    }
    if (typeof found === "string") {
      this.#reasons.set(binding, `is imported from \`${specifier}\`, ${found}`);
      return binding;
    }
    scope.bindings.set(name, found);
    return found;
  }

  /** Returns the module that a module imports, or the reason why its contents are not known. */
  #load(specifier: string, { filename: importer }: ModuleSource): Module | string {
    const read = this.#read(specifier, importer);
    if (!read) return "which cannot be read";
    const known = this.#modules.find(({ filename }) => filename === read.filename);
    if (known) return known;
    const start = this.#file.source.length + separator.length;
    const { file } = parse(read.source, read.filename, start);
    if (!file) return "which does not parse";
    this.#file.source += separator + read.source;
    this.#file.comments.push(...file.comments);
    for (const [node, scope] of resolveScopes(file.program)) this.#scopes.set(node, scope);
    const module = { ...read, start, program: file.program };
    this.#modules.push(module);
    return module;
  }

  /**
   * Returns the declaration of an export, or the reason why it is not known. `pending` are the
   * exports that are being looked for, as modules may export each other's names.
   */
  #exported(module: Module, name: string, pending: Set<string>): Binding | string {
    const missing = `which does not export ${name === "default" ? "a default" : `\`${name}\``}`;
    const key = `${module.start} ${name}`;
    if (pending.has(key)) return missing;
    pending.add(key);
    const scope = this.#scopes.get(module.program)!;
    for (const node of module.program.body) {
      if (node.type === "ExportDefaultDeclaration" && name === "default")
        return this.#constant(this.#defaultOf(node.declaration, scope), pending);
      if (node.type === "ExportAllDeclaration" && node.exported && nameIn(node.exported) === name) {
        const other = this.#load(node.source.value, module);
        return typeof other === "string" ? other : this.#namespace(node, other, scope);
      }
      if (node.type !== "ExportNamedDeclaration") continue;
      if (node.declaration && declares(node.declaration, name))
        return this.#constant(scope.bindings.get(name), pending);
      const specifier = node.specifiers.find(({ exported }) => nameIn(exported) === name);
      if (specifier) return this.#reexported(module, specifier, node.source?.value, scope, pending);
    }
    return name === "default" ? missing : (this.#exportedByAll(module, name, pending) ?? missing);
  }

  /** Returns the declaration of a name that `export * from` exports. */
  #exportedByAll(module: Module, name: string, pending: Set<string>): Binding | string | undefined {
    const found = new Set<Binding>();
    for (const node of module.program.body) {
      if (node.type !== "ExportAllDeclaration" || node.exported) continue;
      const other = this.#load(node.source.value, module);
      // The name may be one of this module, so that nothing is known about it.
      if (typeof other === "string") return other;
      const one = this.#exported(other, name, pending);
      if (typeof one !== "string") found.add(one);
    }
    const [one, another] = found;
    return another === undefined ? one : "which exports it twice";
  }

  #reexported(
    module: Module,
    { local }: ExportSpecifier,
    source: string | undefined,
    scope: Scope,
    pending: Set<string>,
  ): Binding | string {
    if (source === undefined) return this.#constant(scope.bindings.get(nameIn(local)), pending);
    const other = this.#load(source, module);
    return typeof other === "string" ? other : this.#exported(other, nameIn(local), pending);
  }

  #defaultOf(declaration: Node, scope: Scope): Binding | undefined {
    if (declaration.type === "Identifier") return scope.bindings.get(declaration.name);
    if ("id" in declaration && declaration.id)
      return scope.bindings.get((declaration.id as { name: string }).name);
    const known = this.#unnamed.get(declaration);
    if (known) return known;
    const { start, end } = declaration;
    const id = { type: "Identifier", name: "default", start, end };
    const declarator = { type: "VariableDeclarator", id, init: declaration, start, end } as unknown as Node;
    const made: Binding = { name: "default", kind: "const", declaration: declarator, scope, assignments: [] };
    this.#unnamed.set(declaration, made);
    return made;
  }

  #namespace(node: Node, module: Module, scope: Scope): Binding {
    const known = this.#unnamed.get(node);
    if (known) return known;
    const made: Binding = { name: "*", kind: "import", declaration: node, scope, assignments: [] };
    this.#unnamed.set(node, made);
    this.#namespaces.set(made, module);
    return made;
  }

  /** Returns a declaration of a module whose value cannot change. */
  #constant(binding: Binding | undefined, pending: Set<string>): Binding | string {
    if (!binding) return "which declares it in another way than a constant or a function";
    if (binding.kind === "import") {
      const found = this.#follow(binding, pending);
      if (found.kind !== "import" || this.#namespaces.has(found)) return found;
      return `where it ${this.reasonFor(found)}`;
    }
    const isConstant = binding.kind !== "var" && binding.kind !== "let" && binding.assignments.length === 0;
    return isConstant ? binding : "where its value may change";
  }
}

const nameIn = (name: ModuleExportName) => (name.type === "Literal" ? name.value : name.name);

function declares(declaration: Node, name: string): boolean {
  const targets: readonly Node[] =
    declaration.type === "VariableDeclaration"
      ? declaration.declarations.map(({ id }) => id)
      : [(declaration as { id?: Node | null }).id].filter((id) => id != null);
  return targets.some((target) => namesOf(target).some((one) => one.name === name));
}
