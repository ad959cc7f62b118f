/** Smaller kernels of a kernel, for cutting down one whose results are disputed. */
import type { Block, Declaration, Expression, Module, Statement } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import { print } from "../wgsl/printer.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { type AnyNode, isExpression, mapChildren, walk } from "../wgsl/traverse.ts";

/**
 * Yields valid modules that are smaller than `source`: without some statements, with a branch in
 * place of a condition, and with an operand in place of an operation. Large parts go first.
 */
export function* smallerModules(source: string): Generator<string> {
  const { module } = parse(source);
  const known = new Set([source]);
  for (const [node, replacement] of edits(module)) {
    const text = withoutUnused(replaced(module, node, replacement) as Module);
    if (text === undefined || known.has(text) || text.length >= source.length) continue;
    known.add(text);
    yield text;
  }
}

type Edit = readonly [node: AnyNode, replacement: readonly AnyNode[]];

function* edits(module: Module): Generator<Edit> {
  const blocks: Block[] = [];
  const expressions: Expression[] = [];
  walk(module, (node) => {
    if (node.kind === "block") blocks.push(node);
    else if (isExpression(node)) expressions.push(node);
    return node.kind !== "attribute";
  });
  const longest = Math.max(0, ...blocks.map(({ statements }) => statements.length));
  for (let size = 2 ** Math.ceil(Math.log2(Math.max(longest, 1))); size >= 1; size /= 2)
    for (const block of blocks)
      for (let start = 0; start < block.statements.length; start += size)
        yield [block, [without(block, start, start + size)]];
  for (const block of blocks)
    for (const statement of block.statements)
      for (const inner of bodiesOf(statement)) yield [statement, inner];
  for (const expression of expressions) for (const part of partsOf(expression)) yield [expression, [part]];
}

const without = (block: Block, start: number, end: number): Block => ({
  ...block,
  statements: block.statements.filter((_, i) => i < start || i >= end),
});

/** Returns the lists of statements that can stand in place of a statement. */
function bodiesOf(statement: Statement): (readonly Statement[])[] {
  switch (statement.kind) {
    case "if":
      return [
        statement.then.statements,
        ...(statement.otherwise?.kind === "block" ? [statement.otherwise.statements] : []),
      ];
    case "block":
      return [statement.statements];
    case "for":
      return [[...(statement.initializer ? [statement.initializer] : []), ...statement.body.statements]];
    case "loop":
    case "while":
      return [statement.body.statements];
    default:
      return [];
  }
}

/** Returns the operands that may have the type of an operation. */
function partsOf(expression: Expression): readonly Expression[] {
  if (expression.kind === "binary") return [expression.left, expression.right];
  if (expression.kind === "unary") return [expression.operand];
  return expression.kind === "call" ? expression.args : [];
}

function replaced(node: AnyNode, target: AnyNode, replacement: readonly AnyNode[]): AnyNode {
  return mapChildren(node, (child) =>
    child === target
      ? replacement.length === 1
        ? replacement[0]!
        : [...replacement]
      : replaced(child, target, replacement),
  );
}

/** Returns the text of a module without declarations that no kernel uses; undefined if invalid. */
function withoutUnused(module: Module): string | undefined {
  let left = module;
  for (;;) {
    const used = new Map<string, number>();
    walk(left, (node) => {
      if (node.kind === "identifier") used.set(node.name, (used.get(node.name) ?? 0) + 1);
    });
    const declarations = left.declarations.filter((each) => isUsed(each, used));
    if (declarations.length === left.declarations.length) break;
    left = { ...left, declarations };
  }
  const text = print(left);
  const parsed = parse(text);
  const { diagnostics } = resolve(parsed.module);
  const isValid = [...parsed.diagnostics, ...diagnostics].every(({ severity }) => severity !== "error");
  return isValid ? text : undefined;
}

function isUsed(declaration: Declaration, used: ReadonlyMap<string, number>): boolean {
  if (!("name" in declaration)) return false;
  if (declaration.kind === "function" && declaration.attributes.some(({ name }) => name === "compute"))
    return true;
  return used.has(declaration.name);
}
