import { type Node, parseSync } from "oxc-parser";
import { childrenOf } from "../loops/source/scopes.ts";

/**
 * Turns TypeScript into JavaScript by replacing types with blanks, so that positions stay. Node.js
 * does the same from version 22.18 on. Throws a SyntaxError for syntax that is more than types,
 * such as enums, and for a file that does not parse.
 */
export function eraseTypes(source: string, filename: string): string {
  const { program, errors } = parseSync(filename, source, { astType: "ts" });
  const [error] = errors;
  if (error) throw new SyntaxError(`${filename}: ${error.message}`);
  const pieces: { readonly start: number; readonly end: number; readonly mark: string }[] = [];
  const erase = (start: number, end: number, mark = "") => {
    if (start < end) pieces.push({ start, end, mark });
  };

  const pending: Node[] = [program];
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (!eraseNode(node, source, filename, erase)) pending.push(...childrenOf(node).reverse());
  }
  let text = "";
  let at = 0;
  for (const { start, end, mark } of pieces.sort((one, other) => one.start - other.start)) {
    if (end <= at) continue;
    const from = Math.max(start, at);
    text += source.slice(at, from) + mark + source.slice(from + mark.length, end).replace(/[^\n\r]/g, " ");
    at = end;
  }
  return text + source.slice(at);
}

type Erase = (start: number, end: number, mark?: string) => void;

/** Erases the types of a node. Returns true if nothing of the node is left. */
function eraseNode(node: Node, source: string, filename: string, erase: Erase): boolean {
  switch (node.type) {
    case "TSTypeAnnotation": {
      // The mark of an optional or definite name may stand before the type.
      const before = source.slice(0, node.start).trimEnd();
      erase(/[?!]/.test(before.at(-1) ?? "") ? before.length - 1 : node.start, node.end);
      return true;
    }
    case "TSTypeParameterDeclaration":
    case "TSTypeParameterInstantiation":
    case "TSIndexSignature":
    case "TSAbstractMethodDefinition":
    case "TSAbstractPropertyDefinition":
      erase(node.start, node.end);
      return true;
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
    case "TSDeclareFunction":
      // The empty statement ends the one before, which may have relied on the line's end.
      erase(node.start, node.end, ";");
      return true;
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSNonNullExpression":
      erase(node.expression.end, node.end);
      return false;
    case "TSTypeAssertion":
      erase(node.start, node.expression.start);
      return false;
    case "TSEnumDeclaration":
    case "TSModuleDeclaration":
    case "TSParameterProperty":
    case "TSImportEqualsDeclaration":
    case "TSExportAssignment":
      if ("declare" in node && node.declare) {
        erase(node.start, node.end, ";");
        return true;
      }
      throw new SyntaxError(
        `${filename}: only types can be erased, not ${source.slice(node.start, node.start + 20)}`,
      );
    default:
      return eraseParts(node, source, erase);
  }
}

function eraseParts(node: Node, source: string, erase: Erase): boolean {
  const isTypeOnly =
    ("importKind" in node && node.importKind === "type") ||
    ("exportKind" in node && node.exportKind === "type") ||
    ("declare" in node && node.declare === true && node.type !== "PropertyDefinition");
  if (isTypeOnly) {
    const isSpecifier = node.type.endsWith("Specifier");
    const comma = isSpecifier ? (/^\s*,/.exec(source.slice(node.end))?.[0].length ?? 0) : 0;
    erase(node.start, node.end + comma, isSpecifier ? "" : ";");
    return true;
  }
  if (node.type === "ExportNamedDeclaration" && node.declaration?.type.startsWith("TS")) {
    if (
      /^TS(Interface|TypeAlias)/.test(node.declaration.type) ||
      node.declaration.type === "TSDeclareFunction"
    ) {
      erase(node.start, node.end, ";");
      return true;
    }
  }
  if (node.type === "MethodDefinition" && node.value.type === "TSEmptyBodyFunctionExpression") {
    erase(node.start, node.end);
    return true;
  }
  if (node.type === "PropertyDefinition" && node.declare) {
    erase(node.start, node.end);
    return true;
  }
  if (
    node.type === "PropertyDefinition" ||
    node.type === "MethodDefinition" ||
    node.type === "ClassDeclaration"
  ) {
    eraseModifiers(node, source, erase);
  }
  const interfaces = "implements" in node ? (node.implements ?? []) : [];
  if (interfaces.length > 0) {
    erase(source.lastIndexOf("implements", interfaces[0]!.start), interfaces.at(-1)!.end);
  }
  const { type, end, optional } = node as Node & { readonly optional?: boolean };
  if (type === "Identifier" && optional && source[end - 1] === "?") erase(end - 1, end);
  if ("params" in node && Array.isArray(node.params)) eraseThis(node.params as Node[], source, erase);
  return false;
}

/** Erases `private`, `readonly` and other modifiers, and marks after the name of a member. */
function eraseModifiers(node: Node, source: string, erase: Erase): void {
  const end = "key" in node ? node.key.start : source.indexOf("class", node.start);
  for (const { 0: word, index } of source
    .slice(node.start, end)
    .matchAll(/\b(public|private|protected|readonly|override|abstract)\b/g)) {
    erase(node.start + index, node.start + index + word.length);
  }
  if ("key" in node && (("optional" in node && node.optional) || ("definite" in node && node.definite))) {
    const mark = /^\]?\s*[?!]/.exec(source.slice(node.key.end))?.[0];
    if (mark) erase(node.key.end + mark.length - 1, node.key.end + mark.length);
  }
}

/** Erases a first parameter called `this`, which only has a type. */
function eraseThis([first]: readonly Node[], source: string, erase: Erase): void {
  if (first?.type !== "Identifier" || first.name !== "this") return;
  erase(first.start, first.end + (/^\s*,/.exec(source.slice(first.end))?.[0].length ?? 0));
}
