/**
 * Adds a second copy of every workgroup variable and rewrites accesses to use the replica's own
 * copy. Faults in workgroup memory then strike one replica only.
 *
 * Before:   var<workgroup> tile: array<f32, 256>;   tile[i] = x;
 * After:    struct Copy { value: array<f32, 256>, skew: array<u32, 16> }
 *           var<workgroup> tile: array<Copy, 2>;    tile[replica].value[i] = x;
 *
 * Neighboring lanes, which are replicas of one invocation, must not access the same bank. So the
 * copies are skewed by half of the 32 banks, or elements have their copies side by side: `tile:
 * array<array<f32, 2>, 256>`, `tile[i][replica]`. The skew is a member, because drivers choose the
 * layout of workgroup memory and ignore `@size`. If an override decides an array's size, both
 * copies lie one after the other in one array (workgroupCopies.ts).
 *
 * Each replica executes atomic operations on its own copy. A `workgroupUniformLoad` reads both
 * copies, compares them and continues with the first.
 *
 * Requires: access normal form, declareReport.
 * Ensures:  a valid module.
 * Order:    after replicateInvocations, before compareStores.
 * Source:   Wadden et al. 2014, section 6.3 (Intra-Group+LDS).
 */
import { variablesOf } from "../../analysis/callGraph.ts";
import { builtinFunction } from "../../analysis/effects.ts";
import { elementwiseArrays } from "../../analysis/elementwiseArrays.ts";
import { rootVariable } from "../../analysis/places.ts";
import type {
  CallExpression,
  Declaration,
  Expression,
  FunctionDeclaration,
  GlobalVariable,
  Module,
  Statement,
} from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapExpression, mapExpressions, mapStatements } from "../../wgsl/traverse.ts";
import { mapBodies, withDeclarations } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";
import type { Comparison } from "./comparison/comparison.ts";
import type { Pairing } from "./pairing.ts";
import { type CheckSites, recordCause } from "./reportBuffer.ts";
import { flatCopies, pairedCopies, structCopies, type WorkgroupCopies } from "./workgroupCopies.ts";

/** The variables to copy, and the functions that access the copies. */
export interface ReplicateWorkgroupMemoryOptions {
  readonly pairing: Pairing;
  readonly comparison: Comparison;
  readonly sites: CheckSites;
  /** The functions that run replicated. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
  /** Returns true for the variables to copy. */
  readonly isReplicated: (variable: GlobalVariable) => boolean;
}

/** Returns the module with two copies of each selected workgroup variable. */
export function replicateWorkgroupMemory(
  program: Program,
  names: Names,
  options: ReplicateWorkgroupMemoryOptions,
): Module {
  const copiesOf = new Map<GlobalVariable, WorkgroupCopies>();
  const used = variablesOf(program, options.functions);
  const elementwise = elementwiseArrays(program, options.functions);
  const layoutOf = (variable: GlobalVariable): WorkgroupCopies => {
    const type = program.declaredTypeOf(variable);
    if (type.kind !== "array") return structCopies(names, variable, type, options.pairing);
    if (options.pairing === "adjacent" && elementwise.has(variable)) return pairedCopies(variable, type);
    const layout = type.count === "override" ? flatCopies : structCopies;
    return layout(names, variable, type, options.pairing);
  };
  const declarations: Declaration[] = program.module.declarations.flatMap((variable) => {
    if (variable.kind !== "globalVariable" || !used.has(variable) || !options.isReplicated(variable))
      return [variable];
    const copies = layoutOf(variable);
    copiesOf.set(variable, copies);
    return copies.declarations;
  });

  const access = (expression: Expression, replica: string): Expression => {
    const variable = rootVariable(
      program,
      expression.kind === "index" ? expression.base : expression,
    )?.variable;
    return (variable && copiesOf.get(variable)?.copy(expression, replica)) ?? expression;
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

  /**
   * Loads both copies and compares them; returns undefined for other statements. Both loads must
   * stay in uniform control flow.
   */
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
