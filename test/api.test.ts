/**
 * Compares the public API with its report in the repository, and checks its comments.
 *
 * The API of a package is read from its built declarations: all that its entry points export,
 * except the `internal` ones.
 */
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { root, workspaces } from "./support/workspaces.ts";

/** The name of each entry point, and the file with its declarations. */
const entryPoints = workspaces
  .map(({ folder, manifest }) => ({
    folder,
    files: new Map(
      Object.entries(manifest.exports).flatMap(([path, target]) =>
        typeof target === "string" || path.includes("*")
          ? []
          : [[`${manifest.name}${path.slice(1)}`, join(root, folder, target.types)] as const],
      ),
    ),
  }))
  .filter(({ files }) => files.size > 0);

const program = ts.createProgram(
  entryPoints.flatMap(({ files }) => [...files.values()]),
  { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023, lib: ["lib.es2023.d.ts"], types: [] },
);
const checker = program.getTypeChecker();

/** Returns the symbol that an import or an export stands for. */
function resolved(symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** Returns the declarations of a module's exports, by their names in alphabetical order. */
function exportsOf(
  file: string,
): readonly (readonly [name: string, declarations: readonly ts.Declaration[]])[] {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!);
  if (!module) return [];
  return checker
    .getExportsOfModule(module)
    .map((symbol) => [symbol.name, resolved(symbol).declarations ?? []] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Every exported declaration of the packages. */
const exported = entryPoints.flatMap(({ files }) =>
  [...files].flatMap(([from, file]) =>
    exportsOf(file).flatMap(([name, declarations]) =>
      declarations.map((declaration) => ({ from, name, declaration })),
    ),
  ),
);

/** Returns true for members that no program uses. Belay makes the objects of all its classes. */
const isPrivate = (member: ts.Node) =>
  ts.isConstructorDeclaration(member) ||
  (ts.canHaveModifiers(member) &&
    ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)) ||
  (ts.isPropertyDeclaration(member) && ts.isPrivateIdentifier(member.name));

/** Returns the statement around a declaration: that of a variable, or the declaration itself. */
const statementOf = (declaration: ts.Node): ts.Node =>
  ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;

const printer = ts.createPrinter({ removeComments: true });

/** Returns the text of a declaration without comments, modifiers and private members. */
function signatureOf(declaration: ts.Declaration): string {
  const statement = statementOf(declaration);
  const result = ts.transform(statement, [
    (context) => (node) =>
      ts.visitEachChild(
        node,
        (child) => {
          const isModifier =
            child.kind === ts.SyntaxKind.ExportKeyword || child.kind === ts.SyntaxKind.DeclareKeyword;
          return isModifier || isPrivate(child) ? undefined : child;
        },
        context,
      ),
  ]);
  return printer.printNode(ts.EmitHint.Unspecified, result.transformed[0]!, statement.getSourceFile());
}

function reportOf(files: ReadonlyMap<string, string>): string {
  const parts = [...files].map(([name, file]) => {
    const signatures = exportsOf(file).map(([exportedName, declarations]) => {
      const texts = declarations.map(signatureOf).join("\n");
      return new RegExp(`\\b${exportedName}\\b`).test(texts) ? texts : `${exportedName}: ${texts}`;
    });
    return [`// ${name}`, ...signatures].join("\n\n");
  });
  return `${parts.join("\n\n\n")}\n`;
}

describe("the public API", () => {
  it.each(entryPoints)("of $folder is as its report says", async ({ folder, files }) => {
    await expect(
      reportOf(files),
      `the API differs from ${folder}/api.txt; if that is intended, run: npm run api`,
    ).toMatchFileSnapshot(join(root, folder, "api.txt"));
  });

  it("names no type that is not exported", () => {
    const known = new Set(exported.map(({ declaration }) => declaration));
    const isOurs = (file: string) =>
      entryPoints.some(({ folder }) => file.startsWith(join(root, folder, "dist")));
    const missing = new Set<string>();
    for (const { from, name, declaration } of exported) {
      const visit = (node: ts.Node): void => {
        if (isPrivate(node)) return;
        const named = ts.isTypeReferenceNode(node)
          ? node.typeName
          : ts.isExpressionWithTypeArguments(node)
            ? node.expression
            : ts.isTypeQueryNode(node)
              ? node.exprName
              : ts.isImportTypeNode(node)
                ? node.qualifier
                : undefined;
        const symbol = named && checker.getSymbolAtLocation(named);
        const target = symbol && resolved(symbol).declarations?.[0];
        if (
          target &&
          !ts.isTypeParameterDeclaration(target) &&
          isOurs(target.getSourceFile().fileName) &&
          !known.has(target)
        )
          missing.add(`${from}: ${name} names ${symbol.name}`);
        ts.forEachChild(node, visit);
      };
      visit(statementOf(declaration));
    }
    expect([...missing]).toEqual([]);
  });

  it("has a comment on each export and each public member", () => {
    const missing = exported.flatMap(({ from, name, declaration }) =>
      undocumentedIn(declaration, `${from}: ${name}`),
    );
    expect([...new Set(missing)]).toEqual([]);
  });

  it("is found to lack a comment", () => {
    const source = `
      /** An error. */
      export declare class Failure extends Error { readonly name = "Failure"; private state; count: number }
      export interface Size {
        readonly kind: "size";
        /** The width. */
        x: number;
        grow(by: { x: number }): void;
      }`;
    const file = ts.createSourceFile("size.d.ts", source, ts.ScriptTarget.ES2023, true);
    const [failure, size] = file.statements as unknown as readonly ts.Declaration[];
    expect(undocumentedIn(failure!, "Failure")).toEqual(["Failure.count"]);
    expect(undocumentedIn(size!, "Size")).toEqual(["Size", "Size.grow"]);
  });
});

const hasComment = (node: ts.Node) => ts.getJSDocCommentsAndTags(node).some(ts.isJSDoc);

/** Returns true for members such as the `kind` of a node and the `name` of an error. */
const hasOneValue = (member: ts.Node) =>
  (ts.isPropertySignature(member) && member.type && ts.isLiteralTypeNode(member.type)) ||
  (ts.isPropertyDeclaration(member) &&
    (member.initializer || (member.type && ts.isLiteralTypeNode(member.type))));

/**
 * Returns the names of a declaration and its public members that have no comment. The comment of a
 * function or a member covers its parts.
 */
function undocumentedIn(declaration: ts.Declaration, name: string): string[] {
  const missing = hasComment(statementOf(declaration)) ? [] : [name];
  const visit = (node: ts.Node): void => {
    if (ts.isConditionalTypeNode(node)) return;
    if (ts.isFunctionLike(node) && !ts.isMethodSignature(node) && !ts.isMethodDeclaration(node)) return;
    if (!ts.isTypeElement(node) && !ts.isClassElement(node)) {
      ts.forEachChild(node, visit);
      return;
    }
    if (isPrivate(node) || !node.name || hasComment(node) || hasOneValue(node)) return;
    missing.push(`${name}.${node.name.getText()}`);
  };
  if (!ts.isFunctionLike(declaration)) ts.forEachChild(declaration, visit);
  return missing;
}
