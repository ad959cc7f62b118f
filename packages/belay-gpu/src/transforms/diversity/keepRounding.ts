/**
 * Makes each operation on floats round by itself, with operands that no compiler knows. Two texts
 * of a kernel then compute the same bits. A compiler may fuse a product with a sum, or group sums
 * in another way, in one text and not in the other.
 *
 * Before:   fn body(x: f32) { sum += x * x / 3.0; }
 * After:    fn body(x: f32, zero: u32) {
 *             sum = kept(sum + kept(kept(kept(x * x, zero), zero) / 3.0, zero), zero);
 *           }
 *           fn kept(x: f32, zero: u32) -> f32 { return bitcast<f32>(bitcast<u32>(x) | zero); }
 *
 * The results of operations and inexact functions are kept, and so are the operands of quotients
 * and inexact functions. A compiler that knows them in one text could compute the result itself,
 * and round it in another way. A number may be kept twice, as a result and as an operand. So it is
 * kept by `|`: two `^` with the same word cancel, and a compiler would know the number again.
 *
 * Requires: replicateWorkgroups or repeatInvocations with `texts`, which call bodies in two places.
 * Ensures:  a valid module whose bodies, and the functions of the source that they reach, take the
 *           hidden zero as their last argument.
 * Order:    before diversifyReplicas.
 */
import { builtinFunction } from "../../analysis/effects.ts";
import type { BinaryOperator, Declaration, Expression, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import type { AnyNode } from "../../wgsl/traverse.ts";
import { elementScalar } from "../../wgsl/typeFamilies.ts";
import { describeType } from "../../wgsl/typeNames.ts";
import type { Type } from "../../wgsl/types.ts";
import { type DiversityOptions, zeroOf } from "../shared/diversity.ts";
import { withDeclarations } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";
import { calledBy, calling, functionsOfBodies, rewriteTyped } from "./bodies.ts";
import { isCompound, writtenOut } from "./compoundAssignments.ts";

/** Returns the module whose bodies round alike in each text. */
export function keepRounding(program: Program, names: Names, options: DiversityOptions): Module {
  const functions = functionsOfBodies(program, names, options);
  const keeper = new Keeper(program, names);
  const zero = zeroOf(names);
  const [donor] = quote().declarations`fn f(${zero}: u32) {}`;
  const parameters = donor?.kind === "function" ? donor.parameters : [];
  const visit = (node: AnyNode, mapped: AnyNode): AnyNode => {
    const called = node.kind === "call" ? calledBy(program, node) : undefined;
    if (mapped.kind !== "call" || !called || !functions.has(called)) return mapped;
    return { ...mapped, args: [...mapped.args, quote(mapped.span).expression`${zero}`] };
  };
  const declarations = program.module.declarations.map((each): Declaration => {
    if (each.kind !== "function") return each;
    if (!functions.has(each))
      return options.entryPoints.has(each.name) ? { ...each, body: rewriteTyped(each.body, visit) } : each;
    const body = rewriteTyped(each.body, (node, mapped) => keeper.rewrite(node, visit(node, mapped)));
    return { ...each, parameters: [...each.parameters, ...structuredClone(parameters)], body };
  });
  return withDeclarations({ ...program.module, declarations }, keeper.declarations());
}

/** Returns the name of the function that keeps the bits of a type from compilers. */
export const keeperOf = (names: Names, type: Type): string =>
  names.the(`kept_${describeType(type).replace(/[<>]/g, "_").replace(/_$/, "")}`);

/** The functions whose results are exact, or are the same however they are compiled. */
const exact =
  /^(abs|bitcast|ceil|clamp|floor|fma|fract|frexp|ldexp|max|min|modf|quantizeToF16|round|saturate|select|sign|step|transpose|trunc|unpack2x16float|workgroupUniformLoad)$|^(atomic|dpd|fwidth|quad|subgroup|texture)/;

class Keeper {
  readonly #program: Program;
  readonly #names: Names;
  /** The types whose bits are kept, by the names of their functions. */
  readonly #types = new Map<string, Type>();

  constructor(program: Program, names: Names) {
    this.#program = program;
    this.#names = names;
  }

  rewrite(node: AnyNode, mapped: AnyNode): AnyNode {
    if (node.kind === "binary" && mapped.kind === "binary" && this.#rounds(node.operator, node)) {
      const [left, right] = [this.#typeToKeep(node.left), this.#typeToKeep(node.right)];
      return this.#rounded(node.operator, [mapped.left, left], [mapped.right, right], node);
    }
    if (node.kind === "assign" && mapped.kind === "assign" && node.target && isCompound(node)) {
      const target = node.target;
      const operation = node.operator.slice(0, -1) as BinaryOperator;
      if (!this.#rounds(operation, target)) return mapped;
      const [left, right] = [this.#typeToKeep(target), this.#typeToKeep(node.value)];
      return writtenOut(mapped, this.#names, (place, operator, value) =>
        this.#rounded(operator, [place, left], [value, right], target),
      );
    }
    if (node.kind === "call" && mapped.kind === "call") {
      const name = builtinFunction(this.#program, node);
      if (name === undefined || exact.test(name)) return mapped;
      const type = this.#typeToKeep(node);
      if (!type) return mapped;
      const args = node.args.map((arg, i) => this.#kept(mapped.args[i]!, this.#typeToKeep(arg)));
      return this.#kept({ ...mapped, args }, type);
    }
    return mapped;
  }

  /** Returns the functions that keep bits. */
  declarations(): Declaration[] {
    const zero = zeroOf(this.#names);
    const texts = new Map<string, string>();
    const declare = (type: Type): string => {
      const name = keeperOf(this.#names, type);
      if (!texts.has(name)) {
        const text = describeType(type);
        const value = this.#bitsOf(type, declare);
        texts.set(name, `fn ${name}(x: ${text}, ${zero}: u32) -> ${text} { return ${value}; }`);
      }
      return name;
    };
    for (const type of this.#types.values()) declare(type);
    return quote().declarations`${[...texts.values()].join("\n")}`;
  }

  #bitsOf(type: Type, declare: (type: Type) => string): string {
    const zero = zeroOf(this.#names);
    const parts = (count: number, part: Type) =>
      Array.from({ length: count }, (_, i) => `${declare(part)}(x[${i}], ${zero})`).join(", ");
    if (type.kind === "matrix")
      return `${describeType(type)}(${parts(type.columns, { kind: "vector", size: type.rows, element: type.element })})`;
    if (type.kind === "vector") return `${describeType(type)}(${parts(type.size, type.element)})`;
    return type.kind === "scalar" && type.name === "f16"
      ? `bitcast<vec2<f16>>(bitcast<u32>(vec2<f16>(x, x)) | ${zero}).x`
      : `bitcast<f32>(bitcast<u32>(x) | ${zero})`;
  }

  /** Returns true if an operation, with the type of `result`, rounds. */
  #rounds(operator: BinaryOperator, result: Expression): boolean {
    return /^[-+*/%]$/.test(operator) && this.#typeToKeep(result) !== undefined;
  }

  #rounded(
    operator: BinaryOperator,
    [left, leftType]: readonly [Expression, Type | undefined],
    [right, rightType]: readonly [Expression, Type | undefined],
    result: Expression,
  ): Expression {
    const { expression } = quote(left.span);
    const keep = (operand: Expression, type: Type | undefined) =>
      operator === "/" || operator === "%" ? this.#kept(operand, type) : operand;
    const value = expression`(${keep(left, leftType)}) ${operator} (${keep(right, rightType)})`;
    return this.#kept(value, this.#typeToKeep(result));
  }

  #kept(value: Expression, type: Type | undefined): Expression {
    if (!type) return value;
    const name = keeperOf(this.#names, type);
    if (value.kind === "call" && value.callee.name === name) return value;
    this.#types.set(name, type);
    return calling(this.#names, name, value, value);
  }

  /** Returns the type of an expression if it is a float that compilers do not always know. */
  #typeToKeep(expression: Expression): Type | undefined {
    const type = this.#program.valueTypeOf(expression);
    const isFloat = /^f(32|16)$/.test(elementScalar(type)?.name ?? "");
    return isFloat && this.#program.stageOf(expression) === "runtime" ? type : undefined;
  }
}
