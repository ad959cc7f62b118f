import type { Declaration, Expression, OverrideDeclaration } from "../wgsl/ast.ts";
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
    const key = keyOf(program, declaration);
    const value = Object.hasOwn(constants, key) ? constants[key] : undefined;
    const { span, name, nameSpan, type } = declaration;
    const initializer =
      value === undefined ? declaration.initializer : literal(value, program, declaration, span);
    return initializer ? { kind: "const", span, name, nameSpan, type, initializer } : declaration;
  });
  return resolve({ ...program.module, declarations });
}

/** The names in `constants` that no override of the program has. */
export function unknownConstants(program: Program, constants: Readonly<Record<string, number>>): string[] {
  const known = program.module.declarations.flatMap((each) =>
    each.kind === "override" ? [keyOf(program, each)] : [],
  );
  return Object.keys(constants).filter((name) => !known.includes(name));
}

/** What a pipeline calls an override: its `@id`, or else its name. */
function keyOf(program: Program, { name, attributes }: OverrideDeclaration): string {
  const id = attributes.find((attribute) => attribute.name === "id")?.args[0];
  const value = id && program.constantOf(id);
  return value && "value" in value ? String(value.value) : name;
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
