/**
 * Rewrites stores of subgroup matrices to buffers as stores of their numbers, through workgroup
 * memory. Each subgroup has a turn, in which each of its lanes stores a share of the numbers. Loads
 * from buffers that kernels may change are rewritten in the same way.
 *
 * Before:   subgroupMatrixStore(&out, offset, m, false, stride);
 * After:    for (var turn = 0u; turn < 2u; turn++) {
 *             if (subgroup == turn) { subgroupMatrixStore(&staged.numbers, 0, m, false, 8); }
 *             workgroupBarrier();
 *             if (subgroup == turn) {
 *               for (var element = lane; element < 64u; element += lanes) {
 *                 let index = offset + element / 8 * stride + element % 8;
 *                 let value: f32 = staged.numbers[element];
 *                 out[index] = value;
 *               }
 *             }
 *             workgroupBarrier();
 *           }
 *
 * Rows of matrices must be aligned to 16 bytes. The numbers alone would only be aligned as one of
 * them, after other small variables. So they follow a vector of 16 bytes in a struct.
 *
 * An array of vectors becomes one of arrays of words, as `array<array<u32, 4>>`. Matrices may cover
 * the padding of `vec3`, which no vector names. Lanes also store words of one vector independently.
 *
 * Replicas then compare these numbers, and memory codes cover them, as those of any other store.
 * A module with subgroup matrices turns off the diagnostics for the uniformity of subgroups. They
 * would reject a turn, which a subgroup has as a whole, and each fault site before a matrix.
 *
 * Requires: access normal form. All invocations of a workgroup reach the accesses, and workgroups
 *           have at most `turns` subgroups. Only such accesses and `arrayLength`, in functions that
 *           `kernels` reach, name an array of vectors that takes matrices.
 * Ensures:  a valid module in access normal form, without such accesses.
 * Order:    right after expandSwizzles.
 * Source:   WGSL proposal, "Subgroup Matrix"; Vulkan specification,
 *           VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986.
 */

import { builtinValueOf } from "../../analysis/builtinValueOf.ts";
import { functionsOf, reachableFrom } from "../../analysis/callGraph.ts";
import {
  type MatrixAccess,
  type MatrixLayout,
  matrixAccess,
  needsStaging,
} from "../../analysis/matrixAccesses.ts";
import { matrixOperations } from "../../analysis/opaqueAccesses.ts";
import { rootVariable } from "../../analysis/places.ts";
import type {
  Declaration,
  Directive,
  FunctionDeclaration,
  Module,
  Statement,
  TypeExpression,
} from "../../wgsl/ast.ts";
import { printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapStatements } from "../../wgsl/traverse.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import { u32Type } from "../../wgsl/types.ts";
import { mapBodies, mapFunctions, withDeclarations } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";

/** The private variables that identify a lane, with the built-in values that they hold. */
const identities = {
  own_subgroup: "subgroup_id",
  own_lane: "subgroup_invocation_id",
  lane_count: "subgroup_size",
} as const;

export function stageMatrices(
  program: Program,
  names: Names,
  { turns, kernels }: { readonly turns: number; readonly kernels: ReadonlySet<string> },
): Module {
  const entryPoints = functionsOf(program).filter(({ name }) => kernels.has(name));
  const reached = reachableFrom(program, entryPoints);
  /** The numbers of the largest staged matrix, by the type of array elements. */
  const sizes = new Map<string, number>();
  /** The words of each vector, by the variables of arrays of vectors. */
  const vectors = new Map<Declaration, number>();
  const staged = mapBodies(program.module, (body, fn) => {
    if (!reached.has(fn)) return body;
    return mapStatements(body, (statement) => {
      const value = statement.kind === "let" ? statement.initializer : undefined;
      const access = matrixAccess(
        program,
        statement.kind === "callStatement" ? statement.call : (value ?? noCall),
      );
      if (!access?.layout || !needsStaging(access)) return statement;
      const { element, length, runs, words } = access.layout;
      const root = rootVariable(program, access.pointer);
      if (words !== undefined && root) vectors.set(root.variable, words);
      sizes.set(element.name, Math.max(sizes.get(element.name) ?? 0, length * runs));
      return stage(names, turns, { ...access, ...access.layout }, statement);
    });
  });
  if (matrixOperations(program, reached).length === 0) return program.module;
  if (sizes.size === 0) return withSubgroups(withFreeSubgroups(program.module));
  const { declarations } = quote();
  const added = [
    ...Object.keys(identities).flatMap((name) => declarations`var<private> ${names.the(name)}: u32;`),
    ...[...sizes].flatMap(
      ([type, size]) => declarations`
        struct ${names.the(`Staged_${type}`)} { aligned: vec4<u32>, numbers: array<${type}, ${size}> }
        var<workgroup> ${names.the(`staged_${type}`)}: ${names.the(`Staged_${type}`)};`,
    ),
  ];
  const inWords = withWords(program, staged, vectors);
  const identified = mapFunctions(inWords, (fn) =>
    kernels.has(fn.name) ? identify(program, names, fn) : fn,
  );
  return withSubgroups(withFreeSubgroups(withDeclarations(identified, added)));
}

const noCall = quote().expression`0`;

/** Returns the statements that access the numbers of a matrix in turns. */
function stage(
  names: Names,
  turns: number,
  access: MatrixAccess & MatrixLayout,
  statement: Statement,
): Statement[] {
  const { statements, expression } = quote(statement.span);
  const { call, element, length, runs, words, offset, stride, pointer } = access;
  const type = printType(typeExpressionOf(element));
  const memory = `${names.the(`staged_${element.name}`)}.numbers`;
  const [turn, at, index, value] = ["turn", "element", "index", "value"].map((name) => names.fresh(name)) as [
    string,
    string,
    string,
    string,
  ];
  const place = pointer.kind === "unary" ? pointer.operand : expression`*${pointer}`;
  const inner = {
    ...call,
    args: [expression`&${memory}`, expression`0u`, ...call.args.slice(2, -1), expression`${length}u`],
  };
  const inRun = `${at} % ${length}u`;
  const number = words === undefined ? inRun : `(${inRun}) / ${words}u`;
  const target = expression`${place}[${index}]`;
  const accessed = words === undefined ? target : expression`${target}[${inRun} % ${words}u]`;
  const elements = (copy: Statement[]) => statements`
    for (var ${at} = ${names.the("own_lane")}; ${at} < ${length * runs}u; ${at} += ${names.the("lane_count")}) {
      let ${index} = u32(${offset}) + ${at} / ${length}u * u32(${stride}) + ${number};
      ${copy}
    }`;
  const inTurns = (first: Statement[], second: Statement[]) => statements`
    for (var ${turn} = 0u; ${turn} < ${turns}u; ${turn}++) {
      if (${names.the("own_subgroup")} == ${turn}) { ${first} }
      workgroupBarrier();
      if (${names.the("own_subgroup")} == ${turn}) { ${second} }
      workgroupBarrier();
    }`;
  if (access.kind === "store")
    return inTurns(
      statements`${inner};`,
      elements(statements`let ${value}: ${type} = ${memory}[${at}]; ${accessed} = ${value};`),
    );
  if (statement.kind !== "let" || call.callee.kind !== "identifier") return [statement];
  const matrix = names.fresh("matrix");
  const loaded = printType(call.callee.templateArgs![0] as TypeExpression);
  return [
    ...statements`var ${matrix}: ${loaded};`,
    ...inTurns(
      elements(statements`let ${value}: ${type} = ${accessed}; ${memory}[${at}] = ${value};`),
      statements`${matrix} = ${inner};`,
    ),
    { ...statement, initializer: expression`${matrix}` },
  ];
}

/** Gives arrays of vectors the type of arrays of words. */
function withWords(program: Program, module: Module, vectors: ReadonlyMap<Declaration, number>): Module {
  const declarations = module.declarations.map((each) => {
    const words = vectors.get(each);
    if (words === undefined || each.kind !== "globalVariable") return each;
    const type = program.declaredTypeOf(each);
    if (type.kind !== "array") return each;
    const element = { kind: "array", element: u32Type, count: words } as const;
    return { ...each, type: typeExpressionOf({ ...type, element }) };
  });
  return { ...module, declarations };
}

/** Sets the private variables at the beginning of an entry point. */
function identify(program: Program, names: Names, fn: FunctionDeclaration): FunctionDeclaration {
  const { statements, declarations } = quote(fn.nameSpan);
  const added: string[] = [];
  const inputOf = (builtin: string): string => {
    for (const parameter of fn.parameters) {
      if (builtinValueOf(parameter.attributes) === builtin) return parameter.name;
      const type = program.declaredTypeOf(parameter);
      const members = type.kind === "struct" ? (type.declaration?.members ?? []) : [];
      const member = members.find(({ attributes }) => builtinValueOf(attributes) === builtin);
      if (member) return `${parameter.name}.${member.name}`;
    }
    const name = names.fresh(builtin);
    added.push(`@builtin(${builtin}) ${name}: u32`);
    return name;
  };
  const set = Object.entries(identities).flatMap(
    ([name, builtin]) => statements`${names.the(name)} = ${inputOf(builtin)};`,
  );
  const [made] = declarations`fn made(${added.join(", ")}) {}`;
  const parameters = made?.kind === "function" ? made.parameters : [];
  return {
    ...fn,
    parameters: [...fn.parameters, ...parameters],
    body: { ...fn.body, statements: [...set, ...fn.body.statements] },
  };
}

const freeRules = ["chromium.subgroup_matrix_uniformity", "subgroup_uniformity"];

/** Turns off the diagnostics for the uniformity of subgroups. */
function withFreeSubgroups(module: Module): Module {
  const kept = module.directives.filter((d) => d.kind !== "diagnostic" || !freeRules.includes(d.rule));
  const added = freeRules.map(
    (rule) => ({ kind: "diagnostic", span: nowhere, severity: "off", rule }) as const,
  );
  return { ...module, directives: [...kept, ...added] };
}

function withSubgroups(module: Module): Module {
  const isEnabled = module.directives.some((d) => d.kind === "enable" && d.names.includes("subgroups"));
  const enable: Directive = { kind: "enable", span: nowhere, names: ["subgroups"] };
  return isEnabled ? module : { ...module, directives: [enable, ...module.directives] };
}

const nowhere = { start: 0, end: 0 };
