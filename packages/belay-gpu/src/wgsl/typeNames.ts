/** Describes types in words, and writes them as expressions. */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { Expression, TypeExpression } from "./ast.ts";
import type { ArrayType, Type } from "./types.ts";

/**
 * Returns the type in WGSL, for messages. A type that programs cannot write is shown as in the
 * specification.
 */
export function describeType(type: Type): string {
  switch (type.kind) {
    case "scalar":
      return type.name;
    case "vector":
      return `vec${type.size}<${type.element.name}>`;
    case "matrix":
      return `mat${type.columns}x${type.rows}<${type.element.name}>`;
    case "array": {
      const count = type.count === "override" ? (type.countText ?? "override") : type.count;
      return count === "runtime"
        ? `array<${describeType(type.element)}>`
        : `array<${describeType(type.element)}, ${count}>`;
    }
    case "struct":
      return type.name;
    case "atomic":
      return `atomic<${describeType(type.element)}>`;
    case "pointer":
    case "reference":
      return `${type.kind === "pointer" ? "ptr" : "ref"}<${type.space}, ${describeType(type.store)}, ${type.access}>`;
    case "texture": {
      const args = [type.sampled?.name, type.format, type.access].filter((arg) => arg !== undefined);
      return args.length === 0 ? type.name : `${type.name}<${args.join(", ")}>`;
    }
    case "sampler":
      return type.comparison ? "sampler_comparison" : "sampler";
    case "bindingArray":
      return `binding_array<${describeType(type.element)}, ${type.count}>`;
    case "buffer":
      return type.size === "runtime" ? "buffer" : `buffer<${type.size}>`;
    case "subgroupMatrix":
      return `subgroup_matrix_${type.side}<${type.component}, ${type.columns}, ${type.rows}>`;
    case "void":
      return "no value";
  }
}

/**
 * Returns true if a program can write the type: it is not abstract, no reference, and not the
 * result struct of a predeclared function.
 */
export function isSpellable(type: Type): boolean {
  switch (type.kind) {
    case "scalar":
      return !type.name.startsWith("abstract");
    case "vector":
    case "matrix":
    case "array":
      return isSpellable(type.element);
    case "struct":
      return type.declaration !== undefined;
    case "pointer":
      // Each `array<T, n + 1>` in a program is another type.
      return isSpellable(type.store) && (type.store.kind !== "array" || !hasUnnamedCount(type.store));
    case "reference":
    case "void":
      return false;
    default:
      return true;
  }
}

function hasUnnamedCount({ countExpression }: ArrayType): boolean {
  return countExpression !== undefined && countExpression.kind !== "identifier";
}

/**
 * Returns the type as WGSL, the inverse of `typeDenotedBy`. Throws for a type that no program can
 * write (see `isSpellable`). The result uses predeclared names, so it has another meaning where a
 * program shadows one.
 */
export function typeExpressionOf(type: Type, span: Span = { start: 0, end: 0 }): TypeExpression {
  const name = (name: string, templateArgs: readonly Expression[] | null = null): TypeExpression => ({
    kind: "identifier",
    name,
    templateArgs: templateArgs && templateArgs.length > 0 ? templateArgs : null,
    span,
  });
  const count = (count: number): Expression => ({ kind: "literal", text: `${count}`, span });
  const write = (type: Type): TypeExpression => {
    switch (type.kind) {
      case "scalar":
        return name(type.name);
      case "vector":
        return name(`vec${type.size}`, [write(type.element)]);
      case "matrix":
        return name(`mat${type.columns}x${type.rows}`, [write(type.element)]);
      case "array":
        return name("array", [write(type.element), ...countOf(type.count, type.countExpression, span)]);
      case "atomic":
        return name("atomic", [write(type.element)]);
      case "pointer": {
        const access = type.space === "storage" ? [name(type.access)] : [];
        return name("ptr", [name(type.space), write(type.store), ...access]);
      }
      case "texture": {
        const sampled = type.sampled ? [write(type.sampled)] : [];
        const storage = type.format && type.access ? [name(type.format), name(type.access)] : [];
        return name(type.name, [...sampled, ...storage]);
      }
      case "struct":
        return name(type.name);
      case "bindingArray":
        return name("binding_array", [write(type.element), count(type.count)]);
      case "buffer":
        return name("buffer", type.size === "runtime" ? null : [count(type.size)]);
      case "subgroupMatrix":
        return name(`subgroup_matrix_${type.side}`, [
          name(type.component),
          count(type.columns),
          count(type.rows),
        ]);
      case "sampler":
        return name(describeType(type));
      default:
        throw new RangeError(`no WGSL program can write ${describeType(type)}`);
    }
  };
  if (!isSpellable(type)) throw new RangeError(`no WGSL program can write ${describeType(type)}`);
  return write(type);
}

function countOf(
  count: number | "runtime" | "override",
  expression: Expression | undefined,
  span: Span,
): Expression[] {
  if (expression) return [expression];
  return typeof count === "number" ? [{ kind: "literal", text: `${count}`, span }] : [];
}
