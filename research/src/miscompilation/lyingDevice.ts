/** A device below Belay whose compiler makes one mistake on purpose. */

import { builtinValueOf } from "belay-gpu/internal/analysis/builtinValueOf";
import { stageOf } from "belay-gpu/internal/analysis/callGraph";
import { builtinFunction } from "belay-gpu/internal/analysis/effects";
import type { BinaryOperator, Block, Declaration, Expression, Statement } from "belay-gpu/internal/wgsl/ast";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { print } from "belay-gpu/internal/wgsl/printer";
import type { Program } from "belay-gpu/internal/wgsl/program";
import { declarations, quote, statements } from "belay-gpu/internal/wgsl/quote";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";
import { type AnyNode, isExpression, mapChildren } from "belay-gpu/internal/wgsl/traverse";
import { type Mistake, mentions, operationOf, scalarTypes } from "./mistakes.ts";

/**
 * Returns the text of a module with a mistake at each place of a shape, such as `>> i32`. Calls
 * `found` with the shape of each place where the mistake can be made.
 */
export function miscompile(
  source: string,
  mistake: Mistake,
  shape: string | undefined,
  found: (shape: string) => void = () => {},
): string {
  const { module, diagnostics } = parse(source);
  if (diagnostics.length > 0) return source;
  const program = resolve(module);
  if (program.diagnostics.some(({ severity }) => severity === "error")) return source;
  let isChanged = false;
  const isHit = (at: string) => {
    found(at);
    if (at !== shape) return false;
    isChanged = true;
    return true;
  };
  const visit = (node: AnyNode): AnyNode => {
    if (node.kind === "attribute" || node.kind === "const" || node.kind === "override") return node;
    if (node.kind === "block") return visitBlock(node);
    // Headers of loops stay, as a loop that never ends tells everybody of the mistake.
    if (node.kind === "for" || node.kind === "while") return { ...node, body: visitBlock(node.body) };
    const mapped = mapChildren(node, visit);
    if (isExpression(node)) return wrongExpression(program, mistake, node, mapped as Expression, isHit);
    if (node.kind === "assign" && mapped.kind === "assign" && node.operator !== "=" && node.target) {
      const operator = node.operator.slice(0, -1) as BinaryOperator;
      const of = operationOf(program, operator, node.target, node.value);
      const wrong = mistake.operation?.(of);
      if (!wrong || !isHit(shapeOf(of))) return mapped;
      const value = wrong(node.target, parenthesized(mapped.value));
      return { ...mapped, operator: "=", value };
    }
    return mapped;
  };
  const visitBlock = (block: Block): Block => {
    const code: Statement[] = [];
    for (let i = 0; i < block.statements.length; i++) {
      const wrong = mistake.statements?.(program, block.statements.slice(i));
      if (wrong && isHit(wrong.shape)) {
        code.push(...wrong.code);
        i += wrong.count - 1;
      } else code.push(visit(block.statements[i]!) as Statement);
    }
    return { ...block, statements: code };
  };
  const changed = mapChildren(module, (child) => visit(child));
  if (!isChanged) return source;
  if (!mentions(changed, "lie_lane")) return print(changed);
  const withLane = changed.declarations.map((each) => knowingItsLane(each));
  return print({
    ...changed,
    declarations: [...declarations`var<private> lie_lane: u32;`, ...withLane],
  });
}

function shapeOf({ operator, type, isComposite, isConstant }: ReturnType<typeof operationOf>): string {
  return `${operator} ${type}${isComposite ? " of vectors" : ""}${isConstant ? " by a constant" : ""}`;
}

const { expression } = quote();
/** Returns an operand that can stand several times in a template. */
const parenthesized = (operand: Expression): Expression => expression`(${operand})`;

function wrongExpression(
  program: Program,
  mistake: Mistake,
  node: Expression,
  mapped: Expression,
  isHit: (shape: string) => boolean,
): Expression {
  if (node.kind === "binary" && mapped.kind === "binary" && program.constantOf(node) === undefined) {
    const of = operationOf(program, node.operator, node.left, node.right);
    const wrong = mistake.operation?.(of);
    return wrong && isHit(shapeOf(of)) ? wrong(mapped.left, mapped.right) : mapped;
  }
  if (node.kind === "call" && mapped.kind === "call" && mistake.call) {
    const name = builtinFunction(program, node);
    if (name === undefined || program.constantOf(node) !== undefined) return mapped;
    const types = scalarTypes(program, node);
    const wrong = mistake.call(name, node.args, types);
    return wrong && isHit(`${name} ${types[0] ?? ""}`.trim()) ? wrong(mapped.args) : mapped;
  }
  if (node.kind === "identifier" && mistake.input) {
    const target = program.targetOf(node);
    const name = target?.kind === "parameter" ? builtinValueOf(target.attributes) : undefined;
    const wrong = name ? mistake.input(name) : undefined;
    return wrong && isHit(name!) ? wrong(mapped) : mapped;
  }
  return mapped;
}

/** Returns an entry point that first keeps the index of its invocation in `lie_lane`. */
function knowingItsLane(declaration: Declaration): Declaration {
  if (declaration.kind !== "function" || stageOf(declaration) !== "compute") return declaration;
  const has = declaration.parameters.find(
    ({ attributes }) =>
      attributes.some(({ name }) => name === "builtin") &&
      builtinValueOf(attributes) === "local_invocation_index",
  );
  const name = has?.name ?? "lie_index";
  const [donor] = declarations`fn f(@builtin(local_invocation_index) lie_index: u32) {}`;
  const parameters = has
    ? declaration.parameters
    : [...declaration.parameters, ...(donor!.kind === "function" ? donor!.parameters : [])];
  const body = {
    ...declaration.body,
    statements: [...statements`lie_lane = ${name};`, ...declaration.body.statements],
  };
  return { ...declaration, parameters, body };
}

/** Returns the shapes of all places of modules where a mistake can be made. */
export function shapesIn(sources: Iterable<string>, mistake: Mistake): string[] {
  const shapes = new Set<string>();
  for (const source of sources) miscompile(source, mistake, undefined, (shape) => shapes.add(shape));
  return [...shapes].sort();
}

/** Returns a view of a device that makes a mistake at all places of a shape, in each module. */
export function lyingDevice(device: GPUDevice, mistake: Mistake, shape: string): GPUDevice {
  return new Proxy(device, {
    get(target, name) {
      if (name === "createShaderModule")
        return (descriptor: GPUShaderModuleDescriptor) =>
          target.createShaderModule({ ...descriptor, code: miscompile(descriptor.code, mistake, shape) });
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
