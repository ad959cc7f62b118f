/** The parts of a new entry point around the body of an existing one. */
import { builtinValueOf } from "../../analysis/builtinValueOf.ts";
import { isUninitialized, uninitializedInLoops } from "../../analysis/uninitialized.ts";
import type { Attribute, Expression, FunctionDeclaration, Parameter, Statement } from "../../wgsl/ast.ts";
import { printExpression, printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, contains, isExpression, mapChildren, mapExpressions } from "../../wgsl/traverse.ts";
import type { Names } from "./names.ts";

export interface EntryPointWrapper {
  /** The built-in values that the wrapper may use, with their types. Their names are `in_…`. */
  readonly inputs: ReadonlyMap<string, string>;
  /** The expressions, as WGSL, that replace built-in values in the body. */
  readonly derived: Readonly<Record<string, string>>;
  /** The statements before the body. */
  readonly before: readonly Statement[];
  /** The statements after the body, however it returns. Default: none. */
  readonly after?: readonly Statement[];
  /**
   * Returns the statements that run the body from those that run it once. Default: runs it once.
   */
  readonly around?: (body: Statement[]) => Statement[];
  /**
   * True if `around` runs the body several times. Each run must then start with initial variables.
   * Default false.
   */
  readonly repeats?: boolean;
  /**
   * The condition, as WGSL, under which the body will have its second text. The body is then a
   * function, called in both branches. Default: one text.
   */
  readonly secondText?: string;
  readonly attributes: readonly Attribute[];
}

/**
 * Returns the new entry point, after the function of its body if it has one.
 *
 * A body that returns early becomes a function of its own. Any other body stays a block, because
 * drivers may unroll and schedule a called function differently: N-body took 1.16 times as long on
 * an NVIDIA H200. A block uses the entry point's own parameters for built-in values that do not
 * change.
 *
 * The call stands in a loop that a workgroup enters and leaves as a whole. After such a construct,
 * as after a block, subgroups have reconverged (SPIR-V specification, section 2.2.5). After a mere
 * call they need not have.
 */
export function wrapEntryPoint(
  program: Program,
  names: Names,
  fn: FunctionDeclaration,
  wrapper: EntryPointWrapper,
): FunctionDeclaration[] {
  const inputs = new Map(wrapper.inputs);
  const inputOf = (builtin: string) => names.the(`in_${builtin}`);
  const isDerived = (...builtins: string[]) => builtins.some((builtin) => builtin in wrapper.derived);
  const argument = (builtin: string, type: string): string => {
    const derived = wrapper.derived[builtin] ?? composed(builtin);
    if (derived) return derived;
    inputs.set(builtin, type);
    return inputOf(builtin);
  };
  const vector = (builtin: string) => argument(builtin, "vec3<u32>");
  const size = () => workgroupSizeOf(program, fn);
  /** Returns a built-in value composed of derived ones, or undefined. */
  const composed = (builtin: string): string | undefined => {
    switch (builtin) {
      case "global_invocation_id":
        if (!isDerived("workgroup_id", "local_invocation_id")) return undefined;
        return `(${vector("workgroup_id")} * vec3<u32>(${size().join(", ")}) + ${vector("local_invocation_id")})`;
      case "global_invocation_index": {
        if (!isDerived("workgroup_id", "local_invocation_id")) return undefined;
        const [x, y] = size();
        const id = vector("global_invocation_id");
        const groups = vector("num_workgroups");
        return `(${id}.x + ${groups}.x * ${x} * (${id}.y + ${groups}.y * ${y} * ${id}.z))`;
      }
      case "workgroup_index": {
        if (!isDerived("workgroup_id", "num_workgroups")) return undefined;
        const [id, groups] = [vector("workgroup_id"), vector("num_workgroups")];
        return `(${id}.x + ${groups}.x * (${id}.y + ${groups}.y * ${id}.z))`;
      }
      default:
        return undefined;
    }
  };
  const argumentOf = (parameter: Parameter) => argumentFor(program, parameter, argument);
  const { declarations, statements } = quote(fn.nameSpan);
  // In a function of its own, a variable that a loop declares without initializer behaves as in the
  // program.
  const isCalled =
    wrapper.secondText !== undefined ||
    returnsEarly(fn) ||
    (wrapper.repeats && uninitializedInLoops(fn.body).size > 0);
  const body = isCalled ? asFunction(names, fn) : undefined;
  const block = wrapper.repeats ? initialized(fn.body) : fn.body;
  const values = fn.parameters.map((parameter) => ({ parameter, value: argumentOf(parameter) }));
  // A body that stays a block uses unchanged built-in values directly: with copies of them N-body
  // took 1.17 times as long.
  const kept = new Map(
    values.flatMap(({ parameter, value }) => {
      const builtin = builtinValueOf(parameter.attributes);
      return !body && builtin && value === inputOf(builtin) ? [[value, parameter] as const] : [];
    }),
  );
  const copied = values.filter(({ value }) => !kept.has(value));
  const called = body ? `loop { ${body.name}(${values.map(({ value }) => value).join(", ")}); break; }` : "";
  const run = body
    ? statements`${wrapper.secondText ? `if (${wrapper.secondText}) { ${called} } else { ${called} }` : called}`
    : statements`{ ${copied.map(({ parameter, value }) => declared(parameter, value)).join("\n")} ${block.statements} }`;
  const parameters = [...inputs]
    .filter(([builtin]) => !kept.has(inputOf(builtin)))
    .map(([builtin, type]) => `@builtin(${builtin}) ${inputOf(builtin)}: ${type}`)
    .join(", ");
  const [made] = declarations`
    fn ${fn.name}(${parameters}) { ${wrapper.before} ${wrapper.around?.(run) ?? run} ${wrapper.after ?? []} }`;
  if (made?.kind !== "function") throw new Error("the wrapper is a function");
  const used = new Set<string>();
  const named = mapExpressions(made.body, (expression) => {
    if (expression.kind !== "identifier") return expression;
    const name = kept.get(expression.name)?.name ?? expression.name;
    used.add(name);
    return name === expression.name ? expression : { ...expression, name };
  });
  return [
    ...(body ? [body] : []),
    {
      ...made,
      nameSpan: fn.nameSpan,
      span: fn.span,
      attributes: wrapper.attributes,
      parameters: [...kept.values(), ...made.parameters].filter(({ name }) => used.has(name)),
      body: named,
    },
  ];
}

function returnsEarly(fn: FunctionDeclaration): boolean {
  return contains(fn.body, (node) => node.kind === "return");
}

/**
 * Adds an explicit zero to each variable without initializer. A driver may set such a variable to
 * zero only once per call of its function.
 */
function initialized<T extends AnyNode>(node: T): T {
  const mapped = mapChildren(node, (child) => (isExpression(child) ? child : initialized(child)));
  if (!isUninitialized(mapped)) return mapped;
  return { ...mapped, initializer: quote(mapped.span).expression`${printType(mapped.type!)}()` };
}

/** Returns the body as a function that takes built-in values as arguments. */
const asFunction = (names: Names, fn: FunctionDeclaration): FunctionDeclaration => ({
  ...fn,
  name: names.fresh(fn.name),
  attributes: fn.attributes.filter((a) => a.name === "diagnostic"),
  parameters: fn.parameters.map((parameter) => ({ ...parameter, attributes: [] })),
});

/** Returns the declaration, as WGSL, of a built-in value for the body. */
const declared = ({ name, type }: Parameter, value: string) => `let ${name}: ${printType(type)} = ${value};`;

/**
 * Returns the workgroup size as three WGSL expressions of type u32, which are literals if they are
 * constant.
 */
export function workgroupSizeOf(program: Program, fn: FunctionDeclaration): [string, string, string] {
  const sizes = fn.attributes.find((a) => a.name === "workgroup_size")?.args ?? [];
  const text = (size: Expression | undefined) => {
    if (!size) return "1u";
    const constant = program.constantOf(size);
    return constant && "value" in constant ? `${constant.value}u` : `u32(${printExpression(size)})`;
  };
  return [text(sizes[0]), text(sizes[1]), text(sizes[2])];
}

/** Returns the number of invocations in a workgroup, as a WGSL expression of type u32. */
export function invocationsOf(program: Program, fn: FunctionDeclaration): string {
  return product(workgroupSizeOf(program, fn));
}

/** Returns the product of sizes, as WGSL. */
export function product(size: readonly string[]): string {
  const factors = size.filter((factor) => factor !== "1u");
  return factors.length === 0 ? "1u" : factors.join(" * ");
}

/**
 * Returns the argument for a parameter of the entry point: a built-in value, or a struct of
 * built-in values.
 */
function argumentFor(
  program: Program,
  parameter: Parameter,
  argument: (builtin: string, type: string) => string,
): string {
  const builtin = builtinValueOf(parameter.attributes);
  if (builtin) return argument(builtin, printType(parameter.type));
  const type = program.declaredTypeOf(parameter);
  if (type.kind !== "struct" || !type.declaration) throw new Error("an entry point takes built-in values");
  const members = type.declaration.members.map((m) =>
    argument(builtinValueOf(m.attributes), printType(m.type)),
  );
  return `${type.name}(${members.join(", ")})`;
}
