/** What puts an entry point's body into a new entry point, with built-in values of its making. */
import { builtinValueOf } from "../../analysis/builtinValueOf.ts";
import { isUninitialized, uninitializedInLoops } from "../../analysis/uninitialized.ts";
import type { Attribute, Expression, FunctionDeclaration, Parameter, Statement } from "../../wgsl/ast.ts";
import { printExpression, printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, isExpression, mapChildren, mapExpressions, walk } from "../../wgsl/traverse.ts";
import { product } from "../redundancy/pairing.ts";
import type { Names } from "./names.ts";

export interface EntryPointWrapper {
  /** Built-in values that the wrapper itself may take, with their types; `in_…` names them. */
  readonly inputs: ReadonlyMap<string, string>;
  /** Built-in values that the body must not see as they are: what it gets instead, as WGSL. */
  readonly derived: Readonly<Record<string, string>>;
  /** What runs before the body, and after it, however the body returns. */
  readonly before: readonly Statement[];
  readonly after?: readonly Statement[];
  /** What makes statements of those that run the body. Default: these alone. */
  readonly around?: (body: Statement[]) => Statement[];
  /**
   * Whether `around` runs the body several times, each of which must find its variables as they are
   * at the start.
   */
  readonly repeats?: boolean;
  readonly attributes: readonly Attribute[];
}

/**
 * The new entry point. A body that returns early becomes a function of its own, which comes first;
 * any other stays a block, as drivers may unroll and schedule a function that is called in another
 * way (N-body took 1.16 times as long on an NVIDIA H200), and has the entry point's own parameters
 * where it gets their values as they are. The call stands in a construct that a workgroup enters
 * and leaves as a whole: behind that, as behind those of a block, subgroups have come together
 * again, as SPIR-V has it (section 2.2.5); behind a mere call they need not have.
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
  /** A built-in value made of derived ones. */
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
  // In a function of its own, what a loop declares without initializer is what it is in the
  // program.
  const isCalled = returnsEarly(fn) || (wrapper.repeats && uninitializedInLoops(fn.body).size > 0);
  const body = isCalled ? asFunction(names, fn) : undefined;
  const block = wrapper.repeats ? initialized(fn.body) : fn.body;
  const values = fn.parameters.map((parameter) => ({ parameter, value: argumentOf(parameter) }));
  // A body that stays keeps the built-in values that it gets as they are: with copies of them
  // N-body took 1.17 times as long.
  const kept = new Map(
    values.flatMap(({ parameter, value }) => {
      const builtin = builtinValueOf(parameter.attributes);
      return !body && builtin && value === inputOf(builtin) ? [[value, parameter] as const] : [];
    }),
  );
  const copied = values.filter(({ value }) => !kept.has(value));
  const run = body
    ? statements`loop { ${body.name}(${values.map(({ value }) => value).join(", ")}); break; }`
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
  let returns = false;
  walk(fn.body, (node) => {
    returns ||= node.kind === "return";
  });
  return returns;
}

/**
 * Gives each variable without initializer an explicit zero, as a driver may set it to zero once for
 * each call of its function.
 */
function initialized<T extends AnyNode>(node: T): T {
  const mapped = mapChildren(node, (child) => (isExpression(child) ? child : initialized(child)));
  if (!isUninitialized(mapped)) return mapped;
  return { ...mapped, initializer: quote(mapped.span).expression`${printType(mapped.type!)}()` };
}

/** The body as a function that takes built-in values as arguments. */
const asFunction = (names: Names, fn: FunctionDeclaration): FunctionDeclaration => ({
  ...fn,
  name: names.fresh(fn.name),
  attributes: fn.attributes.filter((a) => a.name === "diagnostic"),
  parameters: fn.parameters.map((parameter) => ({ ...parameter, attributes: [] })),
});

/** A declaration, as WGSL, of a built-in value as the body has it. */
const declared = ({ name, type }: Parameter, value: string) => `let ${name}: ${printType(type)} = ${value};`;

/** The workgroup size as three WGSL expressions of type u32: literals where it is constant. */
export function workgroupSizeOf(program: Program, fn: FunctionDeclaration): [string, string, string] {
  const sizes = fn.attributes.find((a) => a.name === "workgroup_size")?.args ?? [];
  const text = (size: Expression | undefined) => {
    if (!size) return "1u";
    const constant = program.constantOf(size);
    return constant && "value" in constant ? `${constant.value}u` : `u32(${printExpression(size)})`;
  };
  return [text(sizes[0]), text(sizes[1]), text(sizes[2])];
}

/** The number of invocations in a workgroup, as a WGSL expression of type u32. */
export function invocationsOf(program: Program, fn: FunctionDeclaration): string {
  return product(workgroupSizeOf(program, fn));
}

/**
 * The argument for a parameter of the entry point: a built-in value, or a struct of built-in
 * values.
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
