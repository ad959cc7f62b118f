import type { Declaration, Expression } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";

/**
 * The program with its overrides turned into constants of the given values (by name or `@id`), or of their
 * initializers. Overrides without a value stay, and so do the sizes that depend on them.
 * Source: WebGPU specification, `GPUProgrammableStage.constants`.
 */
export function withConstants(program: Program, constants: Readonly<Record<string, number>>): Program {
  const declarations = program.module.declarations.map((declaration): Declaration => {
    if (declaration.kind !== "override") return declaration;
    const id = declaration.attributes.find((a) => a.name === "id")?.args[0];
    const idValue = id && program.constantOf(id);
    const key = idValue && "value" in idValue ? String(idValue.value) : declaration.name;
    const value = Object.hasOwn(constants, key) ? constants[key] : undefined;
    const { span, name, nameSpan, type } = declaration;
    const initializer =
      value === undefined ? declaration.initializer : literal(value, program, declaration, span);
    return initializer ? { kind: "const", span, name, nameSpan, type, initializer } : declaration;
  });
  return resolve({ ...program.module, declarations });
}

function literal(
  value: number,
  program: Program,
  declaration: Extract<Declaration, { kind: "override" }>,
  span: Expression["span"],
): Expression {
  const type = program.declaredTypeOf(declaration);
  const isBool = type.kind === "scalar" && type.name === "bool";
  const text = isBool ? String(value !== 0) : String(Math.abs(value));
  const magnitude: Expression = { kind: "literal", span, text };
  return value < 0 && !isBool ? { kind: "unary", span, operator: "-", operand: magnitude } : magnitude;
}
