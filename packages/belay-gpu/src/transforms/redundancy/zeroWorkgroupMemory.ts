/** The code by which a workgroup sets its memory to zero, as WGSL does at the start. */
import { containsAtomic } from "../../analysis/places.ts";
import type { GlobalVariable } from "../../wgsl/ast.ts";
import { printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import type { Type } from "../../wgsl/types.ts";
import { product } from "../shared/entryPointWrapper.ts";
import type { Names } from "../shared/names.ts";

/**
 * The invocations that share the work: the index of one in its workgroup, and their number, as
 * WGSL.
 */
export interface Team {
  readonly index: string;
  readonly count: string;
}

/**
 * Returns statements, as WGSL, by which the invocations of a team together set a workgroup variable
 * to zero. They contain no barrier.
 */
export function zeroed(program: Program, names: Names, variable: GlobalVariable, team: Team): string {
  const extents: string[] = [];
  let type = program.declaredTypeOf(variable);
  for (; type.kind === "array"; type = type.element) extents.push(extentOf(type));
  if (extents.length === 0) return `if (${team.index} == 0u) { ${zero(type, variable.name, names, 0)} }`;
  // One loop over the elements of all dimensions lets neighboring lanes set neighboring elements.
  const i = names.the("element");
  const indices = extents.map((extent, dimension) => {
    const inner = extents.slice(dimension + 1);
    const row = inner.length > 0 ? `${i} / (${product(inner)})` : i;
    return `[${dimension > 0 ? `${row} % ${extent}` : row}]`;
  });
  return `for (var ${i} = ${team.index}; ${i} < ${product(extents)}; ${i} += ${team.count}) {
    ${zero(type, `${variable.name}${indices.join("")}`, names, 0)}
  }`;
}

/** Returns statements that set `place` to zero, including its atomics. */
function zero(type: Type, place: string, names: Names, depth: number): string {
  if (type.kind === "atomic") return `atomicStore(&${place}, 0);`;
  if (!containsAtomic(type)) return `${place} = ${printType(typeExpressionOf(type))}();`;
  if (type.kind === "struct")
    return type.members.map((member) => zero(member.type, `${place}.${member.name}`, names, depth)).join(" ");
  if (type.kind !== "array") throw new Error(`a ${type.kind} contains no atomic`);
  const i = names.the(`element_${depth + 1}`);
  return `for (var ${i} = 0u; ${i} < ${extentOf(type)}; ${i}++) {
    ${zero(type.element, `${place}[${i}]`, names, depth + 1)}
  }`;
}

const extentOf = (type: Extract<Type, { kind: "array" }>): string =>
  typeof type.count === "number" ? `${type.count}u` : `u32(${type.countText})`;
