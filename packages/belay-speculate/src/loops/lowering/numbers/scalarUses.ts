/**
 * The classification of numbers from outside as integers or floats. `i * width` is an integer if it
 * is an index; `i * dx` is none if it is added to an element of a `Float32Array`. A result of such
 * a number and an integer is taken for an integer until a use shows otherwise.
 */
import type { LoopExpression } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import type { ScalarUse } from "../variables.ts";
import type { HostValue } from "./values.ts";

/** Records the use of a value for the numbers from which it was computed. */
export function recordUse(lowering: Lowering, value: LoopExpression, use: ScalarUse): void {
  const { variables, inputs } = lowering;
  const seen = new Set<string>();
  const visit = (part: LoopExpression): void => {
    switch (part.kind) {
      case "input": {
        const input = [...inputs].find(({ name }) => name === part.name);
        if (input) variables.recordUse(input.scalar, use);
        break;
      }
      case "local":
      case "carried":
        if (seen.has(part.name)) break;
        seen.add(part.name);
        for (const value of variables.definitionsOf(part.name)) visit(value);
        break;
      case "unary":
        visit(part.operand);
        break;
      case "convert":
        if (part.implicit) visit(part.operand);
        break;
      case "binary":
        if (!"+-*/%".includes(part.operator)) break;
        visit(part.left);
        visit(part.right);
        break;
      case "conditional":
        visit(part.yes);
        visit(part.no);
        break;
    }
  };
  visit(value);
}

/** Returns true if a number is no integer, by its nature or because it is only used as a float. */
export function isFloatScalar({ variables }: Lowering, { type, constant, nature, code }: HostValue): boolean {
  if (type !== "number" || constant !== undefined || nature === "integer") return false;
  const uses = variables.usesOf(code);
  return nature === "float" || (uses.has("float") && !uses.has("integer") && !uses.has("compared"));
}

/**
 * Returns the numbers whose kind is unclear, by their code: used as an f32, and compared as an
 * integer.
 */
export function ambiguousScalars({ variables, inputs }: Lowering): readonly string[] {
  return [...inputs]
    .filter(({ type, scalar }) => {
      const uses = variables.usesOf(scalar);
      return type === "i32" && uses.has("float") && uses.has("compared") && !uses.has("integer");
    })
    .map(({ scalar }) => scalar);
}
