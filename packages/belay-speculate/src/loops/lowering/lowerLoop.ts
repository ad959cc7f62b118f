import type { Diagnostic, Span } from "belay-gpu/internal/diagnostics/diagnostic";
import { nameOf } from "belay-gpu/internal/diagnostics/registry";
import type { Expression as Source } from "oxc-parser";
import { loopError, loopWarning } from "../../diagnostics/loops.ts";
import { accessCounts } from "../analysis/accessCounts.ts";
import { combiningLoop } from "../analysis/combiningLoop.ts";
import { findReductions } from "../analysis/findReductions.ts";
import { addressesAreFixed } from "../analysis/fixedAddresses.ts";
import { scanLoop } from "../analysis/scanLoop.ts";
import { classOf } from "../source/declaredTypes.ts";
import type { Imports } from "../source/imports.ts";
import type { ParsedFile } from "../source/parse.ts";
import { type Binding, lookUp, type Scopes } from "../source/scopes.ts";
import type { SpeculatedLoop } from "../source/speculatedLoops.ts";
import type { BodyStatement, FloatType, Loop, LoopArray, LoopExpression, Reduction } from "../tree/ir.ts";
import { isChoice, reducedVariables } from "../tree/walk.ts";
import { condition } from "./expressions/choices.ts";
import { type LoopHeader, loopHeader } from "./header.ts";
import { type CopiedRows, type LoopExit, Lowering, spanOf } from "./lowering.ts";
import { toBoolean } from "./numbers/conversions.ts";
import { safe } from "./numbers/exactIntegers.ts";
import { constant } from "./numbers/linear.ts";
import { ambiguousScalars } from "./numbers/scalarUses.ts";
import { between, integer } from "./numbers/values.ts";
import { prune } from "./prune.ts";
import { roleOf } from "./roles.ts";
import { body } from "./statements/branches.ts";
import { elementsOver } from "./statements/elementLoops.ts";
import { exitVariable } from "./statements/exits.ts";
import { callbackBody } from "./statements/returns.ts";
import { declareEmpty } from "./statements/setVariables.ts";
import { statements } from "./statements/statements.ts";
import { translateExpression } from "./translateExpression.ts";
import { assignedRange, largestChange, typeOfVariable, type Variable, Variables } from "./variables.ts";

/**
 * The JavaScript that the host evaluates before it runs a loop, written for the place of the loop.
 */
export interface HostExpressions {
  /**
   * The conditions under which the translation is exact. If one fails, the loop runs as it was
   * written.
   */
  readonly guards: readonly string[];
  readonly first: string;
  readonly step: string;
  readonly count: string;
  /** The program's variable that has the index after the loop; null if none has. */
  readonly final: string | null;
  /** The JavaScript of each input's value. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The JavaScript of each array, and of each value that the host copies to one. */
  readonly arrays: Readonly<Record<string, string>>;
  /** The numbers that the host copies from arrays of arrays or of objects. */
  readonly rows: Readonly<Record<string, CopiedRows>>;
  /** The lowest indices at which copied arrays must not have a property. */
  readonly lowest: Readonly<Record<string, number>>;
  /** The JavaScript of each carried variable's value before the loop. */
  readonly carried: Readonly<Record<string, string>>;
  /** The program's variable for each reduction. */
  readonly reductions: Readonly<Record<string, string>>;
  /** The variables of the program that change, each with the carried variable of its value. */
  readonly changed: Readonly<Record<string, PassedOn>>;
  /** The statements that leave the function, by their numbers from 1 on. */
  readonly exits: readonly HostExit[];
  /** The carried variable with the number of the statement that left; null if there is none. */
  readonly exit: string | null;
}

/** A value that the loop leaves in a carried variable. */
export interface PassedOn {
  readonly carried: string;
  /** True if 0 and 1 stand for false and true. */
  readonly isBoolean: boolean;
}

/** A statement that leaves the function around the loop. The host executes it. */
export interface HostExit extends Pick<LoopExit, "statement" | "arrays"> {
  /** The loop's own variables that the statement uses, with their values. */
  readonly locals: readonly ({ readonly name: string } & (PassedOn | { readonly code: string }))[];
}

export interface LoweredLoop {
  /** The translation; absent if the loop was refused. */
  readonly result?: {
    readonly loop: Loop;
    readonly host: HostExpressions;
    /** The bindings that the loop uses, and those of them that it changes. */
    readonly used: readonly Binding[];
    readonly changed: readonly Binding[];
  };
  readonly diagnostics: readonly Diagnostic[];
  /** True if the loop accesses a `Float64Array`. */
  readonly accessesDoubles: boolean;
  /** The first place where the loop computes with doubles. */
  readonly firstDouble: Span | undefined;
}

/**
 * The largest number of passes. More would mean that the analysis does not converge, which is a
 * defect.
 */
const mostPasses = 60;

/**
 * Translates a speculated loop of a file, or returns the reasons why it cannot be translated. The
 * loop computes in floats of 32 bits if they give the same, or if the directive says that they will
 * do. Otherwise it computes in doubles, and also if it accesses a `Float64Array`.
 */
export function lowerLoop(
  file: ParsedFile,
  imports: Imports,
  scopes: Scopes,
  loop: SpeculatedLoop,
  directiveNames: ReadonlyMap<string, string>,
): LoweredLoop {
  const lower = (floats: FloatType) => lowerWith(floats, file, imports, scopes, loop, directiveNames);
  const lowered = lower("f32");
  const reason = lowered.diagnostics.find(({ code }) => nameOf(code) === "needs-doubles");
  if (!reason && !lowered.accessesDoubles) return lowered;
  const exact = lower("f64");
  const place = reason?.span ?? exact.firstDouble;
  if (!exact.result || !place) return exact;
  return {
    ...exact,
    diagnostics: [...exact.diagnostics, loopWarning.computedDoubles(reason?.message, place)],
  };
}

/**
 * Translates a loop. It does so once more if reductions set variables to values of the loop. The
 * loop then does not compute with the values of these variables before the loop.
 */
function lowerWith(floats: FloatType, ...parameters: Parameters<typeof lowerLoop>): LoweredLoop {
  const first = lowerOnce(floats, new Set(), ...parameters);
  const chosen = chosenBy(first);
  if (chosen.size === 0) return first;
  const second = lowerOnce(floats, chosen, ...parameters);
  const isSame = [...chosen].every((name) => chosenBy(second).has(name));
  return isSame ? second : first;
}

/** Returns the variables of the program that reductions set to values of iterations. */
function chosenBy({ result }: LoweredLoop): ReadonlySet<string> {
  if (!result) return new Set();
  const reductions = result.loop.reductions.filter(keepsValues);
  return new Set(reducedVariables({ reductions }).map(({ name }) => result.host.reductions[name]!));
}

function lowerOnce(
  floats: FloatType,
  chosen: ReadonlySet<string>,
  ...[file, imports, scopes, loop, directiveNames]: Parameters<typeof lowerLoop>
): LoweredLoop {
  const variables = new Variables(floats, chosen);
  for (let pass = 0; pass < mostPasses; pass++) {
    variables.startPass();
    const lowering = new Lowering(file, imports, scopes, loop, directiveNames, variables, {
      expression: translateExpression,
      statements,
    });
    const translated = translateOnce(lowering);
    if (variables.changed) continue;
    const accessesDoubles = [...lowering.arrays.values()].some(({ element }) => element === "f64");
    const firstDouble = lowering.firstDouble && spanOf(lowering.firstDouble);
    return { ...finish(lowering, translated), accessesDoubles, firstDouble };
  }
  throw new Error("what is known about the variables of a loop does not settle");
}

interface Translated {
  readonly header: LoopHeader;
  readonly statements: readonly BodyStatement[];
}

function translateOnce(lowering: Lowering): Translated | undefined {
  const { node, label, elements } = lowering.loop;
  let translated: Translated | undefined;
  lowering.attempt(() =>
    lowering.within(node, () => {
      const header = loopHeader(lowering, node);
      lowering.repetitions.push({ trips: header.iterations });
      lowering.jumpTargets.push({
        label,
        leave: () => ({ kind: "endLoop" }),
        goOn: () => ({ kind: "endIteration" }),
      });
      const statements = lowering.collect(() => {
        for (const condition of header.conditions) endUnless(lowering, condition);
        if (elements) {
          const ir: LoopExpression = { kind: "index", type: "i32" };
          elementsOver(lowering, elements).declare(integer(ir, between(0, 0), constant(1)));
        }
        const iteration = () => body(lowering, node.body, (node.update ?? node).end);
        if (elements?.callback) callbackBody(lowering, { kind: "endIteration" }, iteration);
        else iteration();
      });
      const hoisted = lowering.collect(() => {
        for (const variable of lowering.hoisted) declareEmpty(lowering, variable);
      });
      translated = { header, statements: [...hoisted, ...statements] };
    }),
  );
  return translated;
}

/** Ends the loop before the iteration unless the condition holds. */
function endUnless(lowering: Lowering, node: Source): void {
  const operand = toBoolean(lowering, condition(lowering, node), node);
  const test: LoopExpression = { kind: "unary", type: "bool", operator: "!", operand };
  lowering.emit({ kind: "if", test, yes: [{ kind: "endLoop" }], no: [] });
}

function finish(
  lowering: Lowering,
  translated: Translated | undefined,
): Pick<LoweredLoop, "result" | "diagnostics"> {
  const { directive, branchDirectives, node } = lowering.loop;
  const diagnostics = [...oncePerLoopOf(lowering.diagnostics), ...checkNames(lowering)];
  for (const branch of branchDirectives) {
    if (!lowering.usedDirectives.has(branch))
      diagnostics.push(loopError.misplacedBranchDirective(branch.span));
  }
  if (!translated || diagnostics.length > 0) return { diagnostics };

  const { header, statements } = translated;
  const typed = (variable: Variable) => {
    const type = typeOfVariable(variable);
    return { name: variable.name, type: type === "bool" ? "i32" : type } as const;
  };
  const written = [...lowering.written].map(([name, variable]) => ({ name, variable }));
  const isDeclared = ({ name }: { name: string }) => directive.reductions.some((one) => one.name === name);
  const declared = written.filter(isDeclared).map(
    ({ name, variable }): Reduction => ({
      ...(typed(variable) as Pick<Reduction, "name" | "type">),
      operator: directive.reductions.find((one) => one.name === name)!.operator,
      ...(lowering.wrappingSums.has(variable.name) && { wraps: true }),
    }),
  );
  const found = findReductions(
    prune(statements),
    // The host sets a flag to false or true, and not to a number.
    written
      .filter((one) => !isDeclared(one) && one.variable.kind !== "boolean")
      .map(({ variable }) => typed(variable)),
    (name) => isSafe(lowering, written.find(({ variable }) => variable.name === name)!.variable),
  );
  const pruned = found.body;
  const foundReductions = found.reductions.map((reduction) =>
    withoutLimit(lowering, reduction, header, written),
  );
  const arrays = [...lowering.arrays.values()].map((array): LoopArray => {
    const { name, element, copied } = array;
    return { name, element, role: roleOf(array, header.stepSize), ...(copied && { isCopy: true }) };
  });
  const bounds = accessCounts(pruned, arrays);
  const isCarried = ({ variable }: { variable: Variable }) =>
    variable.kind === "boolean" || found.carried.some(({ name }) => name === variable.name);
  const carried = written.filter(isCarried);
  const reduced = written.filter((one) => !isCarried(one));
  const reductions = [...declared, ...foundReductions];
  // The host compares and sets any number.
  const isAny = new Set(
    reducedVariables({ reductions: reductions.filter(keepsValues) }).map(({ name }) => name),
  );
  const passed = [...lowering.passed].map(([variable, name]) => ({ name, variable }));
  guardOutside(
    lowering,
    arrays,
    [...written, ...passed].filter(({ variable }) => !isAny.has(variable.name)),
  );

  const loop: Loop = {
    name: lowering.loop.name,
    span: { start: node.start, end: node.end },
    index: { name: header.name, type: "i32" },
    arrays,
    inputs: [...lowering.inputs].map(({ name, type }) => ({ name, type })),
    carried: [...carried, ...passed].map(({ variable }) => typed(variable)),
    reductions,
    body: pruned,
    addressesAreFixed: addressesAreFixed(pruned, arrays),
    mostLoads: smaller(bounds.loads, directive.accesses),
    mostStores: smaller(bounds.stores, directive.accesses),
    schedule: { iterationsPerRound: directive.schedule },
  };
  const host: HostExpressions = {
    guards: lowering.guards.conditions,
    first: header.first,
    step: header.step,
    count: header.count,
    final: header.final,
    arrays: Object.fromEntries([...lowering.arrays.values()].map(({ name, code }) => [name, code])),
    rows: Object.fromEntries(
      [...lowering.arrays.values()].flatMap(({ name, rows }) => (rows ? [[name, rows]] : [])),
    ),
    lowest: Object.fromEntries(lowering.lowest),
    inputs: Object.fromEntries([...lowering.inputs].map(({ name, code }) => [name, code])),
    carried: Object.fromEntries(
      [...carried, ...passed].map(({ name, variable }) => [
        variable.name,
        variable.kind === "boolean" ? `(${name} ? 1 : 0)` : name,
      ]),
    ),
    reductions: Object.fromEntries(reduced.map(({ name, variable }) => [variable.name, name])),
    changed: Object.fromEntries(carried.map(({ name, variable }) => [name, passedOn(variable)])),
    exits: [...lowering.exits.values()].map(({ statement, arrays, locals }) => ({
      statement,
      arrays,
      locals: locals.map((local) =>
        "code" in local ? local : { name: local.name, ...passedOn(local.variable) },
      ),
    })),
    exit: lowering.exits.size > 0 ? exitVariable(lowering).name : null,
  };
  const scanned = new Set(scanLoop(loop)?.variables);
  const meanings = [...lowering.meanings];
  return {
    result: {
      loop,
      host,
      used: meanings.map(([binding]) => binding),
      changed: meanings.flatMap(([binding, { kind }]) =>
        kind === "carried" || kind === "reduction" ? [binding] : [],
      ),
    },
    diagnostics: warnings(
      lowering,
      loop,
      carried.filter(({ variable }) => !scanned.has(variable.name)).map(({ name }) => name),
    ),
  };
}

/**
 * Returns a wide sum with the largest change of it by an iteration. The host then does not limit
 * the number of iterations.
 */
function withoutLimit(
  { guards }: Lowering,
  reduction: Reduction,
  { iterations }: LoopHeader,
  written: readonly { readonly name: string; readonly variable: Variable }[],
): Reduction {
  const one = written.find(({ variable }) => variable.name === reduction.name);
  const change = reduction.isWide && one ? largestChange(one.variable, iterations) : undefined;
  if (!one || change === undefined) return reduction;
  guards.drop(one.name);
  return { ...reduction, largestChange: change };
}

/** Returns true if a reduction gives a value of an iteration, or leaves the variable as it was. */
const keepsValues = (reduction: Reduction) =>
  isChoice(reduction) || ((reduction.operator === "min" || reduction.operator === "max") && !reduction.wraps);

/** Makes the host check that a double holds all integers of a variable; false if it never does. */
const isSafe = ({ guards }: Lowering, variable: Variable) =>
  guards.requireWithin(assignedRange(variable), safe);

const passedOn = ({ name, kind }: Variable): PassedOn => ({ carried: name, isBoolean: kind === "boolean" });

/** Returns diagnostics with only the first of those that ask for the precision of the loop. */
const oncePerLoopOf = (diagnostics: readonly Diagnostic[]): readonly Diagnostic[] => {
  const first = diagnostics.find(({ code }) => nameOf(code) === "needs-doubles");
  return diagnostics.filter((one) => one === first || one.code !== first?.code);
};

/** Returns the smaller of the counted bound and the program's; null if there is neither. */
const smaller = (counted: number | null, told: number | null) =>
  counted === null || told === null ? (counted ?? told) : Math.min(counted, told);

/** Reports names in clauses that are no arrays or variables of the loop. */
function checkNames(lowering: Lowering): Diagnostic[] {
  const { directive } = lowering.loop;
  if (lowering.diagnostics.length > 0) return [];
  return [
    ...directive.speculated
      .filter(
        ({ name }) => ![...lowering.arrays.values()].some((one) => one.name === name || one.code === name),
      )
      .map(({ name, span }) => loopError.unknownName(name, "an array", span)),
    ...directive.reductions
      .filter(({ name }) => !lowering.written.has(name))
      .map(({ name, span }) => loopError.unknownName(name, "a variable", span)),
    ...(directive.options && !lookUp(lowering.loop.scope, directive.options.name)
      ? [loopError.unknownName(directive.options.name, "a variable in the scope", directive.options.span)]
      : []),
  ];
}

/** Requires that values from outside have the types of the translation. */
function guardOutside(
  lowering: Lowering,
  arrays: readonly LoopArray[],
  written: readonly { readonly name: string; readonly variable: Variable }[],
): void {
  const { guards } = lowering;
  // A length is never −0.
  const integers = [...lowering.hostIntegers].filter((code) => !code.endsWith(".length"));
  if (lowering.observesZeros) for (const code of integers) guards.require(`!Object.is(${code}, -0)`);
  for (const { name, element, isCopy } of arrays)
    if (!isCopy) guards.requireType(`${lowering.arrays.get(name)!.code} instanceof ${classOf(element)}`);
  for (const { name, variable } of written) {
    const type = typeOfVariable(variable);
    // A double holds every number, and the type of a boolean is checked where it is used.
    if (type === "f64" || type === "bool") continue;
    const converted = { i32: `${name} | 0`, u32: `${name} >>> 0`, f32: `Math.fround(${name})` };
    if (name !== "0") guards.require(`Object.is(${converted[type as "i32"]}, ${name})`);
  }
}

function warnings(lowering: Lowering, loop: Loop, carried: readonly string[]): Diagnostic[] {
  const { directive, scope } = lowering.loop;
  const named = new Set(directive.speculated.map(({ name }) => name));
  return [
    ...lowering.warnings.values(),
    ...combiningLoop(loop)
      .arrays.filter(({ name, role }) => role === "tracked" && !named.has(name) && !lowering.loop.isTried)
      .map(({ name }) => loopWarning.unnamedArray(name, directive.span)),
    ...ambiguousScalars(lowering).map((code) => loopWarning.ambiguousScalar(code, directive.span)),
    ...carried.map((name) => {
      const writes = lookUp(scope, name)?.assignments ?? [];
      const inside = writes.find(({ start, end }) => loop.span.start <= start && end <= loop.span.end);
      return loopWarning.carried(name, inside ? { start: inside.start, end: inside.end } : directive.span);
    }),
  ];
}
