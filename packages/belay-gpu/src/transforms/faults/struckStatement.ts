/**
 * The fault sites of statements without blocks: the assigned value, its loads, and the target of
 * the store.
 */
import { isMemoryOperation, isTextureStore } from "../../analysis/effects.ts";
import { isShared, spaceOf } from "../../analysis/places.ts";
import type { Assignment, BinaryOperator, Expression, Increment, Statement } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapIndices } from "../shared/mapIndices.ts";
import type { FunctionSites } from "./functionSites.ts";

type Statements = readonly [Statement, ...Statement[]];

/**
 * Returns the statements that replace a statement: those that must run first, and the struck
 * statement.
 */
export function struckStatement(sites: FunctionSites, s: Statement): Statements {
  const { uniform } = sites.context;
  switch (s.kind) {
    case "let":
    case "var": {
      if (!s.initializer || uniform.variables.has(s)) return [s];
      const { before, operation } = struckOperation(sites, s.initializer);
      return withLast(before, { ...s, initializer: operation ?? struckValue(sites, s.initializer) });
    }
    case "callStatement": {
      const { before, operation } = struckOperation(sites, s.call);
      const call = operation ?? sites.loads(s.call);
      return withLast(before, call.kind === "call" ? { ...s, call } : s);
    }
    case "assign":
      return struckAssignment(sites, s);
    case "increment":
      return [struckIncrement(sites, s)];
    case "return":
      return [{ ...s, value: s.value && sites.loads(s.value) }];
    default:
      return [s];
  }
}

function struckAssignment(sites: FunctionSites, s: Assignment): Statements {
  const { program, names, uniform } = sites.context;
  const { span, target } = s;
  if (uniform.uniformlyReached.has(s)) return [s];
  if (!target) return [{ ...s, value: sites.loads(s.value) }];
  if (s.operator === "=") {
    const value = struckValue(sites, s.value);
    if (!isShared(spaceOf(program, target))) {
      return [{ ...s, target: mapIndices(target, (index) => sites.loads(index)), value }];
    }
    const { before, place } = struckAddress(sites, target);
    if (value === s.value) return withLast(before, { ...s, target: place });
    // The stored value keeps a name, as access normal form requires.
    const name = names.fresh("value");
    const { statements, expression } = quote(span);
    const named = statements`let ${name} = ${value};`;
    return withLast([...before, ...named], { ...s, target: place, value: expression`${name}` });
  }
  // The target is a local variable, because the normal form has expanded all other compound
  // assignments.
  if (target.kind !== "identifier") return [{ ...s, value: sites.loads(s.value) }];
  const operator = s.operator.slice(0, -1) as BinaryOperator;
  const sum: Expression = {
    kind: "binary",
    span,
    operator,
    left: { ...target },
    right: sites.loads(s.value),
  };
  // The result diverges if the operand or the old value of the variable does.
  const isDivergent = sites.context.isDivergent(s.value) ? s.value : target;
  const value = sites.value("value", sum, program.valueTypeOf(target), isDivergent);
  return [{ ...s, operator: "=", value }];
}

function struckIncrement(sites: FunctionSites, s: Increment): Statement {
  const { program, uniform } = sites.context;
  const { span, target } = s;
  if (target.kind !== "identifier" || uniform.uniformlyReached.has(s)) return s;
  const operator = s.operator === "++" ? "+" : "-";
  const right: Expression = { kind: "literal", span, text: "1" };
  const sum: Expression = { kind: "binary", span, operator, left: { ...target }, right };
  const value = sites.value("value", sum, program.valueTypeOf(target), target);
  return { kind: "assign", span, operator: "=", target, value };
}

/**
 * Returns a value, struck itself and in its loads. A saved value was struck where it was computed,
 * and is returned as it is.
 */
function struckValue(sites: FunctionSites, value: Expression): Expression {
  const { program, names } = sites.context;
  const isSaved = value.kind === "identifier" && names.isGenerated(value.name);
  if (isSaved || program.stageOf(value) !== "runtime") return value;
  return sites.value("value", sites.loads(value), program.valueTypeOf(value), value);
}

/**
 * Returns an atomic operation with a struck address, or an operation on a texture; undefined for
 * other expressions. Its operands contain no loads.
 */
function struckOperation(
  sites: FunctionSites,
  value: Expression,
): { before: Statement[]; operation?: Expression } {
  const { program, uniform } = sites.context;
  if (isTextureStore(program, value)) return { before: [], operation: value };
  if (value.kind !== "call" || !isMemoryOperation(program, value)) return { before: [] };
  const [pointer, ...operands] = value.args;
  const isPlace = pointer?.kind === "unary" && pointer.operator === "&";
  if (!isPlace || uniform.uniformlyReached.has(value)) return { before: [], operation: value };
  const { before, place } = struckAddress(sites, pointer.operand);
  return { before, operation: { ...value, args: [{ ...pointer, operand: place }, ...operands] } };
}

/** Returns a place in shared memory with each of its indices struck. */
function struckAddress(sites: FunctionSites, place: Expression): { before: Statement[]; place: Expression } {
  const { program, names } = sites.context;
  const before: Statement[] = [];
  const struck = mapIndices(place, (index) => {
    if (program.stageOf(index) !== "runtime") return index;
    const name = names.fresh("index");
    const { statements, expression } = quote(index.span);
    const value = sites.value("address", index, program.valueTypeOf(index), index);
    before.push(...statements`let ${name} = ${value};`);
    return expression`${name}`;
  });
  return { before, place: struck };
}

const withLast = (before: readonly Statement[], last: Statement): Statements =>
  [...before, last] as unknown as [Statement, ...Statement[]];
