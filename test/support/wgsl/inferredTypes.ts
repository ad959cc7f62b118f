import type { Program } from "belay-gpu/internal/wgsl/program";
import { isSpellable, typeExpressionOf } from "belay-gpu/internal/wgsl/resolve/index";
import { isConstructible } from "belay-gpu/internal/wgsl/typeFamilies";
import type { Type } from "belay-gpu/internal/wgsl/types";
import {
  type Block,
  type Declaration,
  type Expression,
  type Module,
  mapStatements,
  type Statement,
  walk,
} from "belay-gpu/wgsl";

const span = { start: 0, end: 0 };

/**
 * Returns the program with every inferred type written down. A declaration without a type gets its
 * type. Each expression of a statement gets a typed `let` before the statement, and each place also
 * a pointer. A validator then judges every inferred type.
 */
export function withInferredTypes(program: Program): Module {
  let probes = 0;
  const probe = (type: Type, initializer: Expression): Statement => ({
    kind: "let",
    name: `probe${probes++}`,
    nameSpan: span,
    type: typeExpressionOf(type),
    initializer,
    span,
  });

  function probesOf(expression: Expression): Statement[] {
    const statements: Statement[] = [];
    walk(expression, (node) => {
      if (node.kind === "identifier" && node !== expression && !isValue(program, node)) return false;
      const part = node as Expression;
      const type = program.typeOf(part);
      const value = program.valueTypeOf(part);
      if (isConstructible(value) && isSpellable(value)) statements.push(probe(value, part));
      if (type.kind === "reference" && hasAddress(program, part)) {
        const pointer: Type = { ...type, kind: "pointer" };
        const operand: Expression = { kind: "unary", operator: "&", operand: part, span };
        if (isSpellable(pointer)) statements.push(probe(pointer, operand));
      }
      return undefined;
    });
    return statements;
  }

  const rewrite = (statement: Statement): Statement[] => [
    ...ownExpressions(statement).flatMap(probesOf),
    withType(program, statement),
  ];
  const rewriteBody = (body: Block): Block => mapStatements(body, rewrite);
  const declarations = program.module.declarations.map((declaration) =>
    declaration.kind === "function"
      ? { ...declaration, body: rewriteBody(declaration.body) }
      : withType(program, declaration),
  );
  return { ...program.module, declarations };
}

/** Returns true if an identifier is a value. Callees, types and enumerants are none. */
function isValue(program: Program, identifier: Expression): boolean {
  try {
    program.typeOf(identifier);
    return true;
  } catch {
    return false;
  }
}

/** Returns true if a place has an address. Resources and components of vectors have none. */
function hasAddress(program: Program, place: Expression): boolean {
  const type = program.typeOf(place);
  if (type.kind === "reference" && type.space === "handle") return false;
  if (place.kind !== "index" && place.kind !== "memberAccess") return true;
  const base = program.typeOf(place.base);
  return !((base.kind === "reference" || base.kind === "pointer") && base.store.kind === "vector");
}

function withType<T extends Statement | Declaration>(program: Program, node: T): T {
  switch (node.kind) {
    case "let":
    case "var":
    case "const":
    case "globalVariable":
    case "override": {
      const type = program.declaredTypeOf(node);
      return node.type || !isSpellable(type) ? node : { ...node, type: typeExpressionOf(type) };
    }
    default:
      return node;
  }
}

/** Returns the expressions that a statement evaluates in the scope before it. */
function ownExpressions(statement: Statement): Expression[] {
  switch (statement.kind) {
    case "let":
    case "var":
    case "return":
      return [statement.kind === "return" ? statement.value : statement.initializer].filter(
        (each) => each !== null,
      );
    case "assign":
      return [statement.target, statement.value].filter((each) => each !== null);
    case "callStatement":
      return [...statement.call.args];
    case "if":
    case "while":
      return [statement.condition];
    case "switch":
      return [statement.selector];
    default:
      return [];
  }
}
