/**
 * Lets the host strike a source value with a fault: one word of one execution by one invocation of one replica.
 *
 * Before:  let v = f(x);
 * After:   let v = strike_vec2f(7, f(x));
 *
 * A site is the initializer of a `let` or `var`, or what an assignment stores, compound ones included, of a 32-bit
 * scalar or vector type; but not of a variable that a barrier depends on, whose value WGSL must know to be the same
 * in all invocations. Without an armed fault the function returns its argument, so the kernel computes the same bits.
 *
 * Requires: access normal form, declareReport.   Ensures: valid module.
 * Order:    before replicateInvocations: a site is a value of the source, computed by both replicas.
 * Source:   the single-bit fault model of Wadden et al. 2014, section 3, applied to values.
 */
import { isMemoryOperation } from "../../analysis/effects.ts";
import { isShared, rootIdentifier, spaceOf } from "../../analysis/places.ts";
import { uniformVariables } from "../../analysis/uniformity.ts";
import type {
  BinaryOperator,
  Declaration,
  Expression,
  FunctionDeclaration,
  Module,
  Statement,
} from "../../wgsl/ast.ts";
import { printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapStatements } from "../../wgsl/traverse.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import type { ScalarType, Type, VectorType } from "../../wgsl/types.ts";
import { mapFunctions } from "../mapFunctions.ts";
import type { Names } from "../names.ts";
import type { FaultSite } from "../reportBuffer.ts";

export interface InjectFaultsOptions {
  /** The functions whose values can be struck. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
}

export function injectFaults(
  program: Program,
  names: Names,
  options: InjectFaultsOptions,
): { module: Module; faultSites: FaultSite[] } {
  const faultSites: FaultSite[] = [];
  const strikes = new Map<string, Declaration[]>();

  const struck = (value: Expression, functionName: string): Expression =>
    isMemoryOperation(program, value) || isConstant(value)
      ? value
      : struckValue(value, program.valueTypeOf(value), functionName);
  const struckValue = (value: Expression, type: Type, functionName: string): Expression => {
    if (!isStrikeable(type)) return value;
    const id = faultSites.length + 1;
    const components = type.kind === "vector" ? type.size : 1;
    faultSites.push({ id, kind: "value", uniform: false, span: value.span, functionName, components });
    const text = printType(typeExpressionOf(type));
    const name = names.the(`strike_${text.replace(/\W/g, "")}`);
    if (!strikes.has(name)) strikes.set(name, strikeFunction(names, name, text, components));
    return quote(value.span).expression`${name}(${`${id}u`}, ${value})`;
  };
  /** Values that the normal form saved keep the site where they were computed. */
  const isConstant = (value: Expression) =>
    value.kind === "identifier" ? names.isGenerated(value.name) : program.stageOf(value) !== "runtime";

  const uniform = uniformVariables(program);
  const isUniform = (place: Expression) => {
    const root = rootIdentifier(place);
    const target = root && program.targetOf(root);
    return target !== undefined && uniform.has(target);
  };
  const statement = (s: Statement, functionName: string): Statement | Statement[] => {
    if ((s.kind === "let" || s.kind === "var") && uniform.has(s)) return s;
    if (s.kind === "let") return { ...s, initializer: struck(s.initializer, functionName) };
    if (s.kind === "var" && s.initializer) return { ...s, initializer: struck(s.initializer, functionName) };
    if (s.kind !== "assign" || !s.target || isUniform(s.target)) return s;
    if (s.operator === "=") {
      const value = struck(s.value, functionName);
      if (value === s.value || !isShared(spaceOf(program, s.target))) return { ...s, value };
      // What is stored keeps a name, as the normal form has it.
      const name = names.fresh("value");
      const { statements, expression } = quote(s.span);
      return [...statements`let ${name} = ${value};`, { ...s, value: expression`${name}` }];
    }
    // To a local variable, as the normal form has expanded all others.
    if (s.target.kind !== "identifier") return s;
    const operator = s.operator.slice(0, -1) as BinaryOperator;
    const value: Expression = {
      kind: "binary",
      span: s.span,
      operator,
      left: { ...s.target },
      right: s.value,
    };
    return { ...s, operator: "=", value: struckValue(value, program.valueTypeOf(s.target), functionName) };
  };
  const module = mapFunctions(program.module, (fn) =>
    options.functions.has(fn) ? { ...fn, body: mapStatements(fn.body, (s) => statement(s, fn.name)) } : fn,
  );
  if (faultSites.length === 0) return { module, faultSites };
  const occurrence = quote()
    .declarations`var<private> ${names.the("occurrence")}: u32; ${whetherStruck(names)}`;
  return {
    module: {
      ...module,
      declarations: [...module.declarations, ...occurrence, ...[...strikes.values()].flat()],
    },
    faultSites,
  };
}

function isStrikeable(type: Type): type is ScalarType | VectorType {
  const element = type.kind === "vector" ? type.element : type;
  return element.kind === "scalar" && ["u32", "i32", "f32"].includes(element.name);
}

/** Whether the armed fault strikes now. The occurrences of the armed site are counted per invocation. */
function whetherStruck(names: Names): string {
  const report = names.the("report");
  const workgroup = names.the("workgroup");
  // One test without short circuits and one exit: drivers inline this at every site, and compile branches slowly.
  return `fn ${names.the("is_struck")}(site: u32) -> bool {
    var struck = false;
    if ((${report}.armed_site == site) & (${report}.armed_replica == ${names.the("replica")})
      & (${report}.armed_local_index == ${names.the("local")}) & (${report}.armed_workgroup_x == ${workgroup}.x)
      & (${report}.armed_workgroup_y == ${workgroup}.y) & (${report}.armed_workgroup_z == ${workgroup}.z)) {
      struck = ${names.the("occurrence")} == ${report}.armed_occurrence;
      ${names.the("occurrence")} += 1u;
      if (struck) { atomicAdd(&${report}.strikes, 1u); }
    }
    return struck;
  }`;
}

function strikeFunction(names: Names, name: string, type: string, components: number): Declaration[] {
  const report = names.the("report");
  const words = components === 1 ? "u32" : `vec${components}<u32>`;
  const word = components === 1 ? "words" : `words[min(${report}.armed_component, ${components - 1}u)]`;
  const flip = `${report}.struck = ${word}; ${word} = (${word} & ~${report}.armed_clear) ^ ${report}.armed_mask;`;
  const wgsl = `fn ${name}(site: u32, value: ${type}) -> ${type} {
    var words = bitcast<${words}>(value);
    if (${names.the("is_struck")}(site)) { ${flip} }
    return bitcast<${type}>(words);
  }`;
  return quote().declarations`${wgsl}`;
}
