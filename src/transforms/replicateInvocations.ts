/**
 * Wraps entry points so that each invocation knows its replica, its workgroup and its index; doubles the workgroup.
 *
 * Before:  @compute @workgroup_size(8, 8) fn main(@builtin(local_invocation_id) id: vec3u) { body }
 * After:   fn main_1(id: vec3u) { body }
 *          @compute @workgroup_size(128) fn main(@builtin(local_invocation_index) index: u32, ...) {
 *            replica = index & 1; local = index >> 1; main_1(vec3(local % 8, local / 8, 0)); }
 *
 * The doubled workgroup is flat, so that the two replicas of an invocation are neighbours in one subgroup. Built-in
 * values are derived such that the body sees those of the original kernel. With `replicas: 1` the kernel keeps its
 * shape and only learns who it is. The body becomes a function of its own: its early returns end there, and what
 * must run last can follow the call.
 *
 * Requires: declareReport.   Ensures: valid module; `replica`, `local`, `workgroup` (and `lane`, `partner`) are set.
 * Rejects:  nothing; `obstacles` has found what can't be derived.   Order: before the comparing transforms.
 * Source:   Wadden et al. 2014, section 6.
 */
import type { Attribute, Expression, FunctionDeclaration, Module, Parameter } from "../wgsl/ast.ts";
import { printExpression, printType } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { quote } from "../wgsl/quote.ts";
import type { Names } from "./names.ts";

export interface ReplicateInvocationsOptions {
  readonly replicas: 1 | 2;
  /** Names of the entry points to wrap. */
  readonly entryPoints: ReadonlySet<string>;
  /** Sets `partner`, the ballot bit of the other replica; needs `enable subgroups`. */
  readonly subgroups: boolean;
}

export function replicateInvocations(
  program: Program,
  names: Names,
  options: ReplicateInvocationsOptions,
): Module {
  const { declarations } = quote();
  const added = [
    ...(options.replicas === 2 ? declarations`var<private> ${names.the("lane")}: u32;` : []),
    ...(options.subgroups ? declarations`var<private> ${names.the("partner")}: vec4<u32>;` : []),
  ];
  const module = program.module;
  return {
    ...module,
    declarations: [
      ...module.declarations.flatMap((declaration) =>
        declaration.kind === "function" && options.entryPoints.has(declaration.name)
          ? wrap(program, names, options, declaration)
          : [declaration],
      ),
      ...added,
    ],
  };
}

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
  const factors = workgroupSizeOf(program, fn).filter((size) => size !== "1u");
  return factors.length === 0 ? "1u" : factors.join(" * ");
}

function wrap(
  program: Program,
  names: Names,
  options: ReplicateInvocationsOptions,
  fn: FunctionDeclaration,
): FunctionDeclaration[] {
  const body: FunctionDeclaration = {
    ...fn,
    name: names.fresh(fn.name),
    attributes: fn.attributes.filter((a) => a.name === "diagnostic"),
    parameters: fn.parameters.map((parameter) => ({ ...parameter, attributes: [] })),
  };
  const builtins = new Map<string, string>([
    ["workgroup_id", "vec3<u32>"],
    ["local_invocation_index", "u32"],
  ]);
  if (options.subgroups) builtins.set("subgroup_invocation_id", "u32");
  const derive = options.replicas === 2 ? deriver(program, names, fn) : () => undefined;
  const argument = (builtin: string, type: string): string => {
    const derived = derive(builtin, (needed, neededType) => argument(needed, neededType));
    if (derived) return derived;
    builtins.set(builtin, type);
    return names.the(`in_${builtin}`);
  };
  const args = fn.parameters.map((parameter) => argumentFor(program, parameter, argument)).join(", ");
  const inputs = [...builtins]
    .map(([name, type]) => `@builtin(${name}) ${names.the(`in_${name}`)}: ${type}`)
    .join(", ");

  const index = names.the("in_local_invocation_index");
  const lane = names.the("in_subgroup_invocation_id");
  const partner = (word: number) => `select(0u, 1u << ((${lane} ^ 1u) & 31u), (${lane} >> 5u) == ${word}u)`;
  const { statements, declarations } = quote(fn.nameSpan);
  const doubled = statements`
    ${names.the("lane")} = ${index};
    ${names.the("replica")} = ${index} & 1u;
    ${names.the("local")} = ${index} >> 1u;`;
  const context = [
    ...statements`${names.the("workgroup")} = ${names.the("in_workgroup_id")};`,
    ...(options.replicas === 2 ? doubled : statements`${names.the("local")} = ${index};`),
    ...(options.subgroups
      ? statements`${names.the("partner")} = vec4<u32>(${[0, 1, 2, 3].map(partner).join(", ")});`
      : []),
  ];
  const [wrapper] = declarations`fn ${fn.name}(${inputs}) { ${context} ${body.name}(${args}); }`;
  if (wrapper?.kind !== "function") throw new Error("the wrapper is a function");
  const size = `${invocationsOf(program, fn)} * 2u`;
  const attributes = fn.attributes.map((attribute) =>
    attribute.name === "workgroup_size" && options.replicas === 2
      ? { ...attribute, args: [quote(attribute.span).expression`${size}`] }
      : attribute,
  );
  return [body, { ...wrapper, nameSpan: fn.nameSpan, span: fn.span, attributes }];
}

/** The WGSL expression that stands for a built-in value in the doubled workgroup, or undefined when it is unchanged. */
function deriver(program: Program, names: Names, fn: FunctionDeclaration) {
  const [x, y, z] = workgroupSizeOf(program, fn);
  const local = names.the("local");
  const localId =
    y === "1u" && z === "1u"
      ? `vec3<u32>(${local}, 0u, 0u)`
      : z === "1u"
        ? `vec3<u32>(${local} % ${x}, ${local} / ${x}, 0u)`
        : `vec3<u32>(${local} % ${x}, ${local} / ${x} % ${y}, ${local} / (${x} * ${y}))`;
  return (builtin: string, input: (builtin: string, type: string) => string): string | undefined => {
    const globalId = () =>
      `(${input("workgroup_id", "vec3<u32>")} * vec3<u32>(${x}, ${y}, ${z}) + ${localId})`;
    switch (builtin) {
      case "local_invocation_index":
        return local;
      case "local_invocation_id":
        return localId;
      case "global_invocation_id":
        return globalId();
      case "global_invocation_index": {
        const groups = input("num_workgroups", "vec3<u32>");
        return `(${globalId()}.x + ${groups}.x * ${x} * (${globalId()}.y + ${groups}.y * ${y} * ${globalId()}.z))`;
      }
      default:
        return undefined;
    }
  };
}

/** The argument for a parameter of the entry point: a built-in value, or a struct of built-in values. */
function argumentFor(
  program: Program,
  parameter: Parameter,
  argument: (builtin: string, type: string) => string,
): string {
  const builtin = builtinOf(parameter.attributes);
  if (builtin) return argument(builtin, printType(parameter.type));
  const type = program.declaredTypeOf(parameter);
  if (type.kind !== "struct" || !type.declaration) throw new Error("an entry point takes built-in values");
  const members = type.declaration.members.map((m) =>
    argument(builtinOf(m.attributes) ?? "", printType(m.type)),
  );
  return `${type.name}(${members.join(", ")})`;
}

/** The built-in value that an attribute list names. */
function builtinOf(attributes: readonly Attribute[]): string | undefined {
  const argument = attributes.find((a) => a.name === "builtin")?.args[0];
  return argument?.kind === "identifier" ? argument.name : undefined;
}
