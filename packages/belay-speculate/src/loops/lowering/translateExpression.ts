import type { MemberExpression, Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import { lookUp } from "../source/scopes.ts";
import { call } from "./calls.ts";
import { condition, conditional, logical } from "./expressions/choices.ts";
import { arrayOrText, characterOf, element, lengthOf, loadOf, textNamed } from "./expressions/elements.ts";
import { inOrder } from "./expressions/evaluationOrder.ts";
import { coalesced } from "./expressions/missing.ts";
import { meaningOf, read } from "./expressions/names.ts";
import { binary, unary } from "./expressions/operators.ts";
import { cellNamed, lengthOfPart, partNamed } from "./expressions/parts.ts";
import { constantAt, propertyMeaning } from "./expressions/properties.ts";
import { scratchNamed } from "./expressions/scratchArrays.ts";
import type { Lowering } from "./lowering.ts";
import { hostConstant, type LoweredValue, literal } from "./numbers/values.ts";
import { refuse } from "./refusal.ts";
import { assign, effects, update } from "./statements/assignments.ts";

/**
 * Translates an expression. Parts with effects, or parts that must be evaluated first, are emitted
 * as statements before it.
 */
export function translateExpression(lowering: Lowering, node: Source): LoweredValue {
  return lowering.nested(node, () => translate(lowering, node));
}

function translate(lowering: Lowering, node: Source): LoweredValue {
  switch (node.type) {
    case "Literal":
      if (typeof node.value === "number" || typeof node.value === "boolean") return hostConstant(node.value);
      if (typeof node.value === "string" && node.value.length === 1)
        return { kind: "character", ir: literal("i32", node.value.charCodeAt(0)) };
      return refuse(loopError.unsupported(describe(node), node));
    case "Identifier":
      return named(lowering, node.name, node);
    case "TSNonNullExpression":
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSTypeAssertion":
      return lowering.expression(node.expression);
    case "UnaryExpression":
      if (node.operator === "-" || node.operator === "+" || node.operator === "~" || node.operator === "!") {
        const translate = node.operator === "!" ? condition : translateExpression;
        return unary(lowering, node.operator, translate(lowering, node.argument), node);
      }
      return refuse(loopError.unsupported(`\`${node.operator}\``, node));
    case "BinaryExpression": {
      if (node.left.type === "PrivateIdentifier")
        return refuse(loopError.unsupported("a private field", node));
      if (node.operator === "in" || node.operator === "instanceof")
        return refuse(loopError.unsupported(`\`${node.operator}\``, node));
      const [left, right] = inOrder(lowering, [node.left, node.right]);
      return binary(lowering, node.operator, left!, right!, node);
    }
    case "LogicalExpression":
      return node.operator === "??" ? coalesced(lowering, node) : logical(lowering, node);
    case "ConditionalExpression":
      return conditional(lowering, node);
    case "MemberExpression":
      return member(lowering, node);
    case "AssignmentExpression":
      return assign(lowering, node);
    case "UpdateExpression":
      return update(lowering, node);
    case "ChainExpression": {
      const cell = node.expression.type === "MemberExpression" && cellNamed(lowering, node.expression);
      return cell ? loadOf(lowering, cell) : refuse(loopError.unsupported(describe(node), node));
    }
    case "CallExpression":
      return call(lowering, node);
    case "SequenceExpression": {
      for (const one of node.expressions.slice(0, -1)) effects(lowering, one);
      return lowering.expression(node.expressions.at(-1)!);
    }
    default:
      return refuse(loopError.unsupported(describe(node), node));
  }
}

/** Returns the value of a name. */
function named(lowering: Lowering, name: string, node: Node): LoweredValue {
  const isGlobal = !lookUp(lowering.scope, name);
  if (isGlobal && name === "undefined") return refuse(loopError.unsupported("`undefined`", node));
  if (isGlobal && (name === "NaN" || name === "Infinity"))
    return hostConstant(Number[name === "NaN" ? "NaN" : "POSITIVE_INFINITY"]);
  const meaning = meaningOf(lowering, name, node);
  switch (meaning.kind) {
    case "value":
      return meaning.value;
    case "variable":
      if (!lowering.assigned.has(meaning.variable)) {
        return refuse(
          loopError.unsupported(
            `\`${name}\`, which may have no value yet,`,
            node,
            "give it a value where it is declared",
          ),
        );
      }
      return read(lowering, meaning.variable);
    case "carried":
      return read(lowering, meaning.variable, true);
    case "reduction":
      return refuse(loopError.notReduced(name, meaning.operator, node));
    case "array":
    case "scratch":
      return refuse(
        loopError.unsupported("an array used as a value", node, "access its elements, or its length"),
      );
    case "part":
    case "object":
      return refuse(loopError.unsupported("an object used as a value", node, "read its properties"));
  }
}

function member(lowering: Lowering, node: MemberExpression): LoweredValue {
  const isLength = !node.computed && node.property.type === "Identifier" && node.property.name === "length";
  const part = isLength ? partNamed(lowering, node.object) : undefined;
  const length = part && lengthOfPart(lowering, part, node);
  if (length) return length;
  if (!node.computed && node.property.type === "Identifier" && node.object.type === "Identifier") {
    const { name } = node.property;
    const isGlobal = !lookUp(lowering.scope, node.object.name);
    if (isGlobal && (node.object.name === "Math" || node.object.name === "Number")) {
      const value = node.object.name === "Math" ? Math[name as "PI"] : Number[name as "EPSILON"];
      if (typeof value === "number") return hostConstant(value);
    }
    if (isLength && !part) {
      const scratch = scratchNamed(lowering, node.object);
      if (scratch) return hostConstant(scratch.variables.length);
      return lengthOf(arrayOrText(lowering, node.object));
    }
  }
  const constant = constantAt(lowering, node);
  if (constant !== undefined) return hostConstant(constant);
  if (isLength) {
    const object = propertyMeaning(lowering, node.object);
    if (object?.kind === "array") return lengthOf(object.array);
  }
  const property = propertyMeaning(lowering, node);
  if (property?.kind === "value") return property.value;
  const text = node.computed ? textNamed(lowering, node.object) : undefined;
  if (text) return characterOf(lowering, text, node.property as Source, node);
  return loadOf(lowering, element(lowering, node));
}

const names: Readonly<Record<string, string>> = {
  ArrowFunctionExpression: "a function",
  FunctionExpression: "a function",
  ClassExpression: "a class",
  ObjectExpression: "an object",
  ArrayExpression: "an array that the loop makes",
  AwaitExpression: "`await`",
  YieldExpression: "`yield`",
  NewExpression: "an object that the loop makes",
  TemplateLiteral: "a string",
  TaggedTemplateExpression: "a string",
  ThisExpression: "`this`",
  Super: "`super`",
  ChainExpression: "an optional access",
  ImportExpression: "an import",
  MetaProperty: "`import.meta`",
};

/** Returns a description of an expression for diagnostics. */
function describe(node: Source): string {
  if (node.type === "Literal") {
    if (node.value === null) return "`null`";
    return { string: "a string", bigint: "a bigint", object: "a regular expression" }[
      typeof node.value as "string"
    ];
  }
  return names[node.type] ?? "this expression";
}
