import type { Declaration, Expression, OverrideDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { versionsOf } from "../wgsl/resolve/index.ts";
import { walk } from "../wgsl/traverse.ts";

/**
 * Returns the program with its overrides turned into constants: of the given values (by name or
 * `@id`), or of their initializers. Overrides without a value stay, as do the sizes that depend on
 * them.
 *
 * Source: WebGPU specification, `GPUProgrammableStage.constants`.
 */
export function withConstants(program: Program, constants: Readonly<Record<string, number>>): Program {
  const open = withoutValue(program, constants);
  const declarations = program.module.declarations.map((declaration): Declaration => {
    if (declaration.kind !== "override" || open.has(declaration)) return declaration;
    const { span, name, nameSpan, type } = declaration;
    const value = given(program, declaration, constants);
    const initializer =
      value === undefined ? declaration.initializer! : literal(value, program, declaration, span);
    return { kind: "const", span, name, nameSpan, type, initializer };
  });
  if (declarations.every((declaration, i) => declaration === program.module.declarations[i])) return program;
  const sized = versionsOf(program)({ ...program.module, declarations });
  // The device rejects values that no pipeline can have, such as an array size of 0.
  return sized.diagnostics.length > 0 ? program : sized;
}

function given(
  program: Program,
  override: OverrideDeclaration,
  constants: Readonly<Record<string, number>>,
): number | undefined {
  const key = keyOf(program, override);
  return Object.hasOwn(constants, key) ? constants[key] : undefined;
}

/**
 * Returns the overrides without value and initializer, and those whose initializers depend on such.
 */
function withoutValue(
  program: Program,
  constants: Readonly<Record<string, number>>,
): ReadonlySet<OverrideDeclaration> {
  const open = new Set<OverrideDeclaration>();
  const users = new Map<OverrideDeclaration, OverrideDeclaration[]>();
  for (const declaration of program.module.declarations) {
    if (declaration.kind !== "override" || given(program, declaration, constants) !== undefined) continue;
    if (!declaration.initializer) open.add(declaration);
    else
      walk(declaration.initializer, (node) => {
        const used = node.kind === "identifier" ? program.targetOf(node) : undefined;
        if (used?.kind !== "override") return;
        const known = users.get(used);
        if (known) known.push(declaration);
        else users.set(used, [declaration]);
      });
  }
  // Elements that are added during the loop are visited, too.
  for (const each of open) for (const user of users.get(each) ?? []) open.add(user);
  return open;
}

/** Returns the names in `constants` that no override of the program has. */
export function unknownConstants(program: Program, constants: Readonly<Record<string, number>>): string[] {
  const known = program.module.declarations.flatMap((each) =>
    each.kind === "override" ? [keyOf(program, each)] : [],
  );
  return Object.keys(constants).filter((name) => !known.includes(name));
}

/** Returns the key of an override in a pipeline's constants: its `@id`, or else its name. */
function keyOf(program: Program, { name, attributes }: OverrideDeclaration): string {
  const id = attributes.find((attribute) => attribute.name === "id")?.args[0];
  const value = id && program.constantOf(id);
  return value && "value" in value ? String(value.value) : name;
}

function literal(
  given: number,
  program: Program,
  declaration: Extract<Declaration, { kind: "override" }>,
  span: Expression["span"],
): Expression {
  const type = program.declaredTypeOf(declaration);
  const name = type.kind === "scalar" ? type.name : undefined;
  const isBool = name === "bool";
  // Source: Web IDL, "ConvertToInt": a number without its fraction.
  const value = name === "i32" || name === "u32" ? Math.trunc(given) + 0 : given;
  const isNegative = value < 0 || Object.is(value, -0);
  // A zero with a sign is a float.
  const magnitudeText = Object.is(value, -0) ? "0.0" : String(Math.abs(value));
  const text = isBool ? String(value !== 0) : magnitudeText;
  const magnitude: Expression = { kind: "literal", span, text };
  return isNegative && !isBool ? { kind: "unary", span, operator: "-", operand: magnitude } : magnitude;
}
