/**
 * Prints the syntax tree: two spaces per level, one statement per line. Parsing the text gives the
 * same tree.
 */
import type {
  Attribute,
  Block,
  Declaration,
  Directive,
  Expression,
  FunctionDeclaration,
  Module,
  Parameter,
  Statement,
  StructMember,
  SwitchClause,
  TypeExpression,
} from "./ast.ts";
import { printAttribute, printExpression, printList, printTemplateArguments } from "./printExpressions.ts";

export { printExpression };

/** Returns the WGSL text of a module. */
export function print(module: Module): string {
  const directives = module.directives.map((each) => `${printDirective(each)}\n`).join("");
  const declarations = module.declarations.map((each, i) => {
    const previous = module.declarations[i - 1];
    const startsGroup = previous === undefined ? directives !== "" : !standTogether(previous, each);
    return `${startsGroup ? "\n" : ""}${printDeclaration(each)}\n`;
  });
  return directives + declarations.join("");
}

/** Returns the WGSL text of a type. */
export function printType(type: TypeExpression): string {
  return printExpression(type);
}

/** Returns true if two declarations need no empty line between them: one kind, one line each. */
function standTogether(first: Declaration, second: Declaration): boolean {
  return first.kind === second.kind && first.kind !== "function" && first.kind !== "struct";
}

function printDirective(directive: Directive): string {
  switch (directive.kind) {
    case "enable":
    case "requires":
      return `${directive.kind} ${directive.names.join(", ")};`;
    case "diagnostic":
      return `diagnostic(${directive.severity}, ${directive.rule});`;
  }
}

/** Returns the WGSL text of a module-scope declaration. */
export function printDeclaration(declaration: Declaration): string {
  switch (declaration.kind) {
    case "globalVariable":
      return `${printAttributes(declaration.attributes)}${printVariable(declaration)};`;
    case "override":
      return `${printAttributes(declaration.attributes)}override ${printTypedName(declaration)}${printInitializer(declaration.initializer)};`;
    case "const":
      return `const ${printTypedName(declaration)}${printInitializer(declaration.initializer)};`;
    case "alias":
      return `alias ${declaration.name} = ${printType(declaration.type)};`;
    case "struct":
      return `struct ${declaration.name} {${indent(declaration.members.map((each) => `${printAttributedName(each)},`))}}`;
    case "function":
      return printFunction(declaration);
    case "constAssert":
      return `const_assert ${printExpression(declaration.condition)};`;
  }
}

function printFunction(fn: FunctionDeclaration): string {
  const attributes = fn.attributes.length === 0 ? "" : `${fn.attributes.map(printAttribute).join(" ")}\n`;
  const parameters = fn.parameters.map(printAttributedName).join(", ");
  const returns =
    fn.returnType === null ? "" : ` -> ${printAttributes(fn.returnAttributes)}${printType(fn.returnType)}`;
  return `${attributes}fn ${fn.name}(${parameters})${returns} ${printBlock(fn.body)}`;
}

function printAttributedName(node: Parameter | StructMember): string {
  return `${printAttributes(node.attributes)}${node.name}: ${printType(node.type)}`;
}

/** Prints attributes on one line, with a space after each. */
function printAttributes(attributes: readonly Attribute[]): string {
  return attributes.map((each) => `${printAttribute(each)} `).join("");
}

interface Declared {
  readonly name: string;
  readonly type: TypeExpression | null;
  readonly initializer: Expression | null;
}

function printVariable(variable: Declared & { readonly qualifiers: readonly Expression[] }): string {
  return `var${printTemplateArguments(variable.qualifiers)} ${printTypedName(variable)}${printInitializer(variable.initializer)}`;
}

function printTypedName({ name, type }: Declared): string {
  return type === null ? name : `${name}: ${printType(type)}`;
}

function printInitializer(initializer: Expression | null): string {
  return initializer === null ? "" : ` = ${printExpression(initializer)}`;
}

function printBlock(block: Block): string {
  return `${printAttributes(block.attributes)}{${indent(block.statements.map(printStatement))}}`;
}

/** Returns lines between braces, one level deeper; nothing for no lines. */
function indent(lines: readonly string[]): string {
  if (lines.length === 0) return "";
  return `\n${lines.join("\n").replace(/^(?=.)/gm, "  ")}\n`;
}

/** Returns the WGSL text of a statement with its semicolon. */
export function printStatement(statement: Statement): string {
  switch (statement.kind) {
    case "block":
      return printBlock(statement);
    case "if": {
      const head = `${printAttributes(statement.attributes)}if (${printExpression(statement.condition)}) ${printBlock(statement.then)}`;
      return statement.otherwise === null ? head : `${head} else ${printStatement(statement.otherwise)}`;
    }
    case "switch": {
      const head = `${printAttributes(statement.attributes)}switch (${printExpression(statement.selector)})`;
      const clauses = indent(statement.clauses.map(printClause));
      return `${head} ${printAttributes(statement.bodyAttributes)}{${clauses}}`;
    }
    case "loop": {
      const { attributes, body, continuing, breakIf } = statement;
      const lines = body.statements.map(printStatement);
      if (continuing !== null) {
        const last = breakIf === null ? [] : [`break if ${printExpression(breakIf)};`];
        const continuingLines = indent([...continuing.statements.map(printStatement), ...last]);
        lines.push(`continuing ${printAttributes(continuing.attributes)}{${continuingLines}}`);
      }
      return `${printAttributes(attributes)}loop ${printAttributes(body.attributes)}{${indent(lines)}}`;
    }
    case "for": {
      const { attributes, initializer, condition, update, body } = statement;
      const first = initializer === null ? "" : printSimpleStatement(initializer);
      const second = condition === null ? "" : ` ${printExpression(condition)}`;
      const third = update === null ? "" : ` ${printSimpleStatement(update)}`;
      return `${printAttributes(attributes)}for (${first};${second};${third}) ${printBlock(body)}`;
    }
    case "while": {
      const { attributes, condition, body } = statement;
      return `${printAttributes(attributes)}while (${printExpression(condition)}) ${printBlock(body)}`;
    }
    default:
      return `${printSimpleStatement(statement)};`;
  }
}

function printClause({ selectors, body }: SwitchClause): string {
  const isDefaultAlone = selectors.length === 1 && selectors[0] === "default";
  return `${isDefaultAlone ? "default" : `case ${printList(selectors)}`}: ${printBlock(body)}`;
}

type CompoundKind = "block" | "if" | "switch" | "loop" | "for" | "while";

/** Prints a statement without blocks, without its semicolon. */
function printSimpleStatement(statement: Exclude<Statement, { kind: CompoundKind }>): string {
  switch (statement.kind) {
    case "let":
    case "const":
      return `${statement.kind} ${printTypedName(statement)}${printInitializer(statement.initializer)}`;
    case "var":
      return printVariable(statement);
    case "constAssert":
      return `const_assert ${printExpression(statement.condition)}`;
    case "assign": {
      const target = statement.target === null ? "_" : printExpression(statement.target);
      return `${target} ${statement.operator} ${printExpression(statement.value)}`;
    }
    case "increment":
      return `${printExpression(statement.target)}${statement.operator}`;
    case "callStatement":
      return printExpression(statement.call);
    case "return":
      return statement.value === null ? "return" : `return ${printExpression(statement.value)}`;
    case "break":
    case "continue":
    case "discard":
      return statement.kind;
  }
}
