/** Types in words, and types as expressions. */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { Expression, TypeExpression } from "./ast.ts";
import type { ArrayType, Type } from "./types.ts";

/**
 * The type as WGSL writes it, for messages. Types that programs cannot write are shown as the
 * specification does.
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
      return `atomic<${type.element.name}>`;
    case "pointer":
    case "reference":
      return `${type.kind === "pointer" ? "ptr" : "ref"}<${type.space}, ${describeType(type.store)}, ${type.access}>`;
    case "texture": {
      const args = [type.sampled?.name, type.format, type.access].filter((arg) => arg !== undefined);
      return args.length === 0 ? type.name : `${type.name}<${args.join(", ")}>`;
    }
    case "sampler":
      return type.comparison ? "sampler_comparison" : "sampler";
    case "void":
      return "no value";
  }
}

/**
 * Whether a program can write the type: not abstract, not a reference, not the result struct of a
 * predeclared function.
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
      // Each time that `array<T, n + 1>` is written it is another type.
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
 * The type written back as WGSL, the inverse of `typeDenotedBy`; throws for a type that no program
 * can write (see `isSpellable`). The result relies on predeclared names, so it means another type
 * where a program shadows one.
 */
export function typeExpressionOf(type: Type, span: Span = { start: 0, end: 0 }): TypeExpression {
  const name = (name: string, templateArgs: readonly Expression[] | null = null): TypeExpression => ({
    kind: "identifier",
    name,
    templateArgs: templateArgs && templateArgs.length > 0 ? templateArgs : null,
    span,
  });
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
