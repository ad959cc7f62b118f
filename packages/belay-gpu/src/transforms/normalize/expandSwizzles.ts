/**
 * Rewrites a store to several components of a vector in shared memory as one store per component.
 *
 * Before:   out[i].zx = v;
 * After:    let a = v.x; out[i].z = a;
 *           let b = v.y; out[i].x = b;
 *
 * Requires: access normal form. Such a store is then a statement of its own.
 * Ensures:  a valid module. Every store to shared memory has a target of reference type.
 * Order:    right after normalizeAccesses.
 * Source:   language extension `swizzle_assignment`.
 */
import { isShared, spaceOf } from "../../analysis/places.ts";
import type { Assignment, Expression, MemberExpression, Module, Statement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapStatements } from "../../wgsl/traverse.ts";
import { mapBodies } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";

export function expandSwizzles(program: Program, names: Names): Module {
  const isSwizzle = (target: Expression | null): target is MemberExpression =>
    target?.kind === "memberAccess" && program.typeOf(target).kind !== "reference";
  const expanded = (statement: Assignment, target: MemberExpression): Statement[] => {
    const { vector, components } = swizzled(target, isSwizzle);
    const { statements, expression } = quote(statement.span);
    return components.flatMap((component, i) => {
      const name = names.fresh("value");
      const value =
        components.length === 1
          ? expression`${statement.value}`
          : expression`${statement.value}.${"xyzw"[i]!}`;
      return statements`let ${name} = ${value}; ${vector}.${component} = ${name};`;
    });
  };
  return mapBodies(program.module, (body) =>
    mapStatements(body, (statement) => {
      if (statement.kind !== "assign" || !isSwizzle(statement.target)) return statement;
      return isShared(spaceOf(program, statement.target)) ? expanded(statement, statement.target) : statement;
    }),
  );
}

/**
 * Returns the vector and the components that a swizzle selects. A swizzle of a swizzle is composed.
 */
function swizzled(
  { base, member }: MemberExpression,
  isSwizzle: (base: Expression) => base is MemberExpression,
): { vector: Expression; components: string[] } {
  if (!isSwizzle(base)) return { vector: base, components: [...member] };
  const { vector, components } = swizzled(base, isSwizzle);
  return { vector, components: [...member].map((letter) => components["xyzwrgba".indexOf(letter) % 4]!) };
}
