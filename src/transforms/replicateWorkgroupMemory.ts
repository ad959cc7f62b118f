/**
 * Gives each replica its own copy of every workgroup variable, so that faults in workgroup memory show.
 *
 * Before:  var<workgroup> tile: array<f32, 256>;   tile[i] = x;
 * After:   struct Copy { value: array<f32, 256>, skew: array<u32, 16> }
 *          var<workgroup> tile: array<Copy, 2>;    tile[replica].value[i] = x;
 *
 * The copies are skewed by half of the 32 banks: neighbouring lanes, which are replicas of one invocation, then
 * never meet in a bank. The skew is a member, as drivers choose the layout of workgroup memory and ignore `@size`. An array whose size an override decides becomes one array with both copies behind each other.
 * Atomic operations on a copy are its replica's. A `workgroupUniformLoad` reads both copies, compares them and goes on
 * with the first.
 *
 * Requires: access normal form, declareReport.   Ensures: valid module.
 * Order:    after replicateInvocations, before compareStores.
 * Source:   Wadden et al. 2014, section 6.3 (Intra-Group+LDS).
 */
import { variablesOf } from "../analysis/callGraph.ts";
import { builtinFunction } from "../analysis/effects.ts";
import { rootVariable } from "../analysis/places.ts";
import type {
  CallExpression,
  Declaration,
  Expression,
  FunctionDeclaration,
  GlobalVariable,
  Module,
  Statement,
} from "../wgsl/ast.ts";
import { alignOf, sizeOf, strideOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { quote } from "../wgsl/quote.ts";
import { mapExpression, mapExpressions, mapStatements } from "../wgsl/traverse.ts";
import { typeExpressionOf } from "../wgsl/typeNames.ts";
import type { ArrayType, Type } from "../wgsl/types.ts";
import type { Comparison } from "./comparison/comparison.ts";
import { mapBodies, withDeclarations } from "./mapFunctions.ts";
import type { Names } from "./names.ts";
import type { Pairing } from "./pairing.ts";
import { type CheckSites, recordCause } from "./reportBuffer.ts";

export interface ReplicateWorkgroupMemoryOptions {
  readonly pairing: Pairing;
  readonly comparison: Comparison;
  readonly sites: CheckSites;
  /** The functions that run replicated. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
  /** True for the variables to copy. */
  readonly isReplicated: (variable: GlobalVariable) => boolean;
}

/** Bytes of half the banks of workgroup memory (32 banks of 4 bytes), and of all. */
const halfBanks = 64;
const allBanks = 128;

/** Bytes that both copies of a variable of a type take. */
export function bytesOfCopies(type: Type, pairing: Pairing): number {
  const align = alignOf(type);
  return 2 * Math.ceil(copyStride(sizeOf(type), pairing) / align) * align;
}

/**
 * Bytes from one copy of a variable of `size` bytes to the next. Lanes of one subgroup must not meet in a bank, unless
 * they are of one replica; small variables need no skew.
 */
function copyStride(size: number, pairing: Pairing): number {
  return size < allBanks || pairing === "subgroups"
    ? Math.ceil(size / 4) * 4
    : Math.ceil((size - halfBanks) / allBanks) * allBanks + halfBanks;
}

export function replicateWorkgroupMemory(
  program: Program,
  names: Names,
  options: ReplicateWorkgroupMemoryOptions,
): Module {
  /** How an access names the copy of a replica. */
  type Copies = (identifierOrIndex: Expression, replica: string) => Expression | undefined;
  const copiesOf = new Map<GlobalVariable, Copies>();
  const used = variablesOf(program, options.functions);
  const declarations: Declaration[] = program.module.declarations.flatMap((variable) => {
    if (variable.kind !== "globalVariable" || !used.has(variable) || !options.isReplicated(variable))
      return [variable];
    const type = program.declaredTypeOf(variable);
    const override = type.kind === "array" && type.count === "override";
    const { declarations, copy } = override
      ? flatCopies(names, variable, type, options.pairing)
      : structCopies(program, names, variable, options.pairing);
    copiesOf.set(variable, copy);
    return declarations;
  });

  const access = (expression: Expression, replica: string): Expression => {
    const variable = rootVariable(
      program,
      expression.kind === "index" ? expression.base : expression,
    )?.variable;
    return (variable && copiesOf.get(variable)?.(expression, replica)) ?? expression;
  };
  const replica = names.the("replica");
  if (copiesOf.size === 0) return program.module;
  const rewritten = mapBodies({ ...program.module, declarations }, (body, fn) =>
    mapExpressions(
      mapStatements(body, (statement) => uniformLoad(statement, fn.name) ?? statement),
      (expression) => access(expression, replica),
    ),
  );
  return withDeclarations(rewritten, options.comparison.takeDeclarations());

  /** Loads both copies, which must stay in uniform control flow, and compares them; undefined for other statements. */
  function uniformLoad(statement: Statement, functionName: string): Statement[] | undefined {
    if (statement.kind !== "let" || statement.initializer.kind !== "call") return undefined;
    const { initializer: call } = statement;
    const root = call.args[0] && rootVariable(program, call.args[0]);
    if (builtinFunction(program, call) !== "workgroupUniformLoad" || !root || !copiesOf.has(root.variable))
      return undefined;
    const [first, second] = [names.fresh("copy"), names.fresh("copy")];
    const type = program.valueTypeOf(call);
    const words = [first, second].map((name) => options.comparison.wordsOf(name, type));
    const { scalar, count } = words[0]!;
    const site = options.sites.add({
      kind: "uniformLoad",
      span: call.span,
      functionName,
      name: root.variable.name,
      scalar,
      components: count,
    });
    const copy = (n: string): CallExpression =>
      mapExpression(call, (expression) => access(expression, n)) as CallExpression;
    const { statements } = quote(statement.span);
    const zeros = ["0u", "0u", "0u"]
      .slice(count - 1)
      .map((zero) => `, ${zero}`)
      .join("");
    return [
      ...statements`let ${first} = ${copy("0u")}; let ${second} = ${copy("1u")};`,
      ...statements`if (any(${words[0]!.expression} != ${words[1]!.expression})) {
        ${names.the("record")}(${`${site}u`}, ${`${recordCause.mismatch}u`}, 0u,
          vec4<u32>(select(${words[1]!.expression}, ${words[0]!.expression}, ${replica} == 0u)${zeros}));
      }`,
      { ...statement, initializer: quote(call.span).expression`${first}` },
    ];
  }
}

/** Two copies in an array of structs, whose size makes the skew. */
function structCopies(program: Program, names: Names, variable: GlobalVariable, pairing: Pairing) {
  const type = program.declaredTypeOf(variable);
  const struct = names.fresh("Copy");
  const { declarations } = quote(variable.span);
  const skew = (copyStride(sizeOf(type), pairing) - sizeOf(type)) >> 2;
  const copies = declarations`
    struct ${struct} { value: ${typeExpressionOf(type)}${skew > 0 ? `, skew: array<u32, ${skew}>` : ""} }
    var<workgroup> ${variable.name}: array<${struct}, 2>;`;
  return {
    declarations: copies,
    copy: (expression: Expression, replica: string) =>
      expression.kind === "identifier"
        ? quote(expression.span).expression`${variable.name}[${replica}].value`
        : undefined,
  };
}

/** One array with the second copy behind the first, for a size that an override decides. */
function flatCopies(names: Names, variable: GlobalVariable, type: ArrayType, pairing: Pairing) {
  const count = `u32(${type.countText})`;
  const row = allBanks / strideOf(type);
  const isSkewed = row > 1 && Number.isInteger(row) && pairing !== "subgroups";
  const skew = `select(0u, (${row * 1.5}u - ${count} % ${row}u) % ${row}u, ${count} >= ${row}u)`;
  const stride = names.fresh("stride");
  const { declarations } = quote(variable.span);
  const copies = declarations`
    override ${stride}: u32 = ${isSkewed ? `${count} + ${skew}` : count};
    var<workgroup> ${variable.name}: array<${typeExpressionOf(type.element)}, 2u * ${stride}>;`;
  return {
    declarations: copies,
    // The index stays in its copy as it stayed in the array: out of bounds means the last element.
    copy: (expression: Expression, replica: string) =>
      expression.kind === "index" && expression.base.kind === "identifier"
        ? quote(expression.span)
            .expression`${variable.name}[min(u32(${expression.index}), ${count} - 1u) + ${replica} * ${stride}]`
        : undefined,
  };
}
