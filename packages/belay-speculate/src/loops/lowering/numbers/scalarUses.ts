/**
 * Whether a number from outside is meant as an integer: `i * width` is one when it is an index, and
 * `i * dx` is none when it is added to an element of a `Float32Array`. What is computed from it and
 * an integer is taken for an integer, until its use tells otherwise.
 */
import type { Expression } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import type { HostValue } from "./values.ts";

/**
 * `compared` says little: as an integer a comparison is exact, and the host checks that it is one.
 */
export type ScalarUse = "integer" | "compared" | "float";

/** Notes how a value is used, for the numbers that it was computed from. */
export function noteUse(lowering: Lowering, value: Expression, use: ScalarUse): void {
  const { variables, inputs } = lowering;
  const seen = new Set<string>();
  const visit = (part: Expression): void => {
    switch (part.kind) {
      case "input": {
        const input = [...inputs].find(({ name }) => name === part.name);
        if (input) variables.noteUse(input.scalar, use);
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

/** Whether a number is no integer: by what it is, or because it is only used as none. */
export function isFloatScalar({ variables }: Lowering, { type, constant, nature, code }: HostValue): boolean {
  if (type !== "number" || constant !== undefined || nature === "integer") return false;
  const uses = variables.usesOf(code);
  return nature === "float" || (uses.has("float") && !uses.has("integer") && !uses.has("compared"));
}

/**
 * The numbers for which it is not clear, by their code: used as an f32, and compared as an integer.
 */
export function ambiguousScalars({ variables, inputs }: Lowering): readonly string[] {
  return [...inputs]
    .filter(({ type, scalar }) => {
      const uses = variables.usesOf(scalar);
      return type === "i32" && uses.has("float") && uses.has("compared") && !uses.has("integer");
    })
    .map(({ scalar }) => scalar);
}
