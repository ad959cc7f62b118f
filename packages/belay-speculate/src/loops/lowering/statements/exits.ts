import type { Expression, Node, ReturnStatement, ThrowStatement } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { withoutTypes } from "../../source/declaredTypes.ts";
import {
  type Binding,
  everyNode,
  identifiersIn,
  isFunction,
  lookUp,
  type Scope,
} from "../../source/scopes.ts";
import { meaningOf, outsideVariable, read } from "../expressions/names.ts";
import type { ExitLocal, Lowering } from "../lowering.ts";
import { constant } from "../numbers/linear.ts";
import { hostConstant, isBooleanValue, type LoweredValue } from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import type { Variable } from "../variables.ts";
import { recordAssignment, setCarried } from "./setVariables.ts";

/**
 * Translates `return` or `throw` of the function around the loop. The iteration leaves the number
 * of the statement, and the values of its own variables in the statement, and ends the loop. The
 * host then executes the statement as it is written.
 */
export function exitLoop(lowering: Lowering, node: ReturnStatement | ThrowStatement): void {
  const { argument } = node;
  if (lowering.calls.length > 0) {
    const what = node.type === "ThrowStatement" ? "an exception" : "this return";
    refuse(loopError.unsupported(`${what} in a function that the loop calls`, node));
  }
  const pause = argument && pauseIn(lowering, argument);
  if (pause) {
    refuse(
      loopError.unsupported("waiting in a loop", pause, "leave the loop with `break`, and wait after it"),
    );
  }
  const { start, end } = node;
  const written = lowering.file.source.slice(start, end);
  const locals = argument ? localsOf(lowering, argument) : [];
  const arrays = argument ? arraysOf(lowering, argument) : [];
  lowering.exits.set(node, { statement: written.endsWith(";") ? written : `${written};`, locals, arrays });
  const number = [...lowering.exits.keys()].indexOf(node) + 1;
  pass(lowering, exitVariable(lowering), hostConstant(number), node);
  lowering.emit({ kind: "endLoop" });
}

/** Returns the variable with the number of the statement that left the loop, from 1 on. */
export const exitVariable = (lowering: Lowering): Variable =>
  ownVariable(lowering, "$exit", "number", lowering.loop.node);

/** Returns a variable that only the host's code after the loop reads. */
function ownVariable(lowering: Lowering, name: string, kind: "number" | "boolean", node: Node): Variable {
  const variable = outsideVariable(lowering, { name, declaration: node }, constant(0), kind);
  lowering.passed.set(variable, kind === "boolean" ? "false" : "0");
  return variable;
}

function pass(lowering: Lowering, variable: Variable, value: LoweredValue, node: Node): void {
  recordAssignment(lowering, variable, value, node);
  setCarried(lowering, variable, variable.name.replace(/^\$exit\$/, ""), value, node);
}

/** Returns the first `await` or `yield` in an expression, outside of functions in it. */
function pauseIn(lowering: Lowering, argument: Expression): Node | undefined {
  const nodes = [...everyNode(argument, lowering.scopes, lowering.scope)].map(([node]) => node);
  const functions = nodes.filter(isFunction);
  return nodes.find(
    ({ type, start, end }) =>
      (type === "AwaitExpression" || type === "YieldExpression") &&
      !functions.some((one) => one.start <= start && end <= one.end),
  );
}

/** Returns the loop's own variables in an expression, and leaves their values for the host. */
function localsOf(lowering: Lowering, argument: Expression): readonly ExitLocal[] {
  const locals = new Map<Binding, ExitLocal>();
  for (const [node, scope] of identifiersIn(argument, lowering.scopes, lowering.scope)) {
    const binding = lookUp(scope, node.name);
    if (!binding || binding.kind === "type" || locals.has(binding)) continue;
    if (binding === lookUp(lowering.loop.scope, node.name)) continue;
    const { start, end } = binding.scope.node;
    if (argument.start <= start && end <= argument.end) continue;
    locals.set(binding, localOf(lowering, binding, node));
  }
  return [...locals.values()];
}

function localOf(lowering: Lowering, binding: Binding, node: Node): ExitLocal {
  const { name } = binding;
  const meaning = meaningOf(lowering, name, node);
  switch (meaning.kind) {
    case "array":
      return { name, code: meaning.array.code };
    case "carried":
      return { name, variable: meaning.variable };
    case "variable":
      if (!lowering.assigned.has(meaning.variable)) break;
      return { name, variable: passed(read(lowering, meaning.variable)) };
    case "value":
      if (meaning.value.kind === "host") return { name, code: meaning.value.code };
      return { name, variable: passed(meaning.value) };
  }
  return refuse(loopError.unsupported(`\`${name}\` in a statement that leaves the function`, node));

  function passed(value: LoweredValue): Variable {
    const kind = isBooleanValue(value) ? "boolean" : "number";
    const variable = ownVariable(lowering, `$exit$${name}`, kind, binding.declaration);
    pass(lowering, variable, value, node);
    return variable;
  }
}

/**
 * Returns the arrays of the loop if an expression accesses their elements, and null if it may use
 * any array.
 */
function arraysOf({ file, scopes, scope, arrays }: Lowering, argument: Expression): readonly string[] | null {
  const codes = [...arrays.values()].map(({ code }) => code);
  let accesses = false;
  for (const [node, inner] of everyNode(argument, scopes, scope)) {
    if (runsCode.has(node.type) && !isError(node, inner)) return null;
    if (node.type !== "MemberExpression") continue;
    accesses = true;
    const object = withoutTypes(node.object);
    const isKnown = codes.includes(file.source.slice(object.start, object.end));
    if (!isKnown && !isGlobal(object, inner)) return null;
  }
  return accesses ? codes : [];
}

/** Expressions that run code of any kind, which may use any array. */
const runsCode = new Set<Node["type"]>([
  "CallExpression",
  "NewExpression",
  "TaggedTemplateExpression",
  "SpreadElement",
  "ImportExpression",
]);

const isGlobal = (node: Node, scope: Scope) => node.type === "Identifier" && !lookUp(scope, node.name);

/** Returns true for `new Error(…)` and its kinds. */
const isError = (node: Node, scope: Scope): boolean =>
  node.type === "NewExpression" &&
  isGlobal(node.callee, scope) &&
  /^(\w+)?Error$/.test((node.callee as { name: string }).name);
