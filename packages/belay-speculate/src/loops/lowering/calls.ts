import type {
  ArrowFunctionExpression,
  CallExpression,
  Function as FunctionNode,
  IdentifierName,
  Node,
  ObjectPattern,
  Expression as Source,
  Statement as SourceStatement,
} from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import { withoutTypes } from "../source/declaredTypes.ts";
import { propertyPath } from "../source/propertyPaths.ts";
import { type Binding, everyNode, isFunction, lookUp, type Scope } from "../source/scopes.ts";
import { withoutTailCalls } from "../source/tailCalls.ts";
import { characterOf, elementAt, textNamed } from "./expressions/elements.ts";
import { afterwards, held } from "./expressions/evaluationOrder.ts";
import { leaveLoop } from "./expressions/leaving.ts";
import { isMathFunction, mathCall } from "./expressions/mathFunctions.ts";
import { read } from "./expressions/names.ts";
import { isNumberTest, numberTest } from "./expressions/numberTests.ts";
import { partNamed, typeOfPart } from "./expressions/parts.ts";
import { methodCalled, namedPart, objectMeaning } from "./expressions/properties.ts";
import { elementsOf } from "./expressions/scratchArrays.ts";
import type { Lowering, Meaning, OuterObject } from "./lowering.ts";
import { between, hostBoolean, hostConstant, integer, type LoweredValue } from "./numbers/values.ts";
import { refuse } from "./refusal.ts";
import { arrayNamed, declareWith } from "./statements/declarations.ts";
import { alwaysReturns, returns } from "./statements/returns.ts";
import { declareEmpty } from "./statements/setVariables.ts";

/** Translates a call of a function of Math, or of a function of the file, which is inlined. */
export function call(lowering: Lowering, node: CallExpression): LoweredValue {
  const { callee } = node;
  const args = node.arguments.flatMap((argument): readonly Source[] => {
    if (argument.type !== "SpreadElement") return [argument];
    const elements = elementsOf(lowering, argument.argument);
    return elements ?? refuse(loopError.unsupported("a spread argument", argument, "name each argument"));
  });
  if (node.optional) return refuse(loopError.unsupported("an optional call", node));
  const part = namedPart(lowering, callee);
  if (part?.path !== undefined && part.names.length === 0)
    return inlined(lowering, part.binding, part.path, args, node);
  const method = callee.type === "MemberExpression" ? methodCalled(lowering, callee) : undefined;
  if (method) return inlined(lowering, method.binding, method.binding.name, args, node, method.self);
  if (callee.type === "MemberExpression" && !callee.computed && args.length === 1) {
    const { name } = callee.property as IdentifierName;
    const text = /^char(Code)?At$/.test(name) ? textNamed(lowering, callee.object) : undefined;
    if (text) {
      const character = characterOf(lowering, text, args[0]!, node);
      return name === "charAt" ? character : integer(character.ir, between(0, 0xffff));
    }
    if (name === "at" && (typeOfPart(lowering, callee.object) || arrayNamed(lowering, callee.object)))
      return elementAt(lowering, callee.object, args[0]!, node);
  }
  if (callee.type === "MemberExpression" && !callee.computed && callee.object.type === "Identifier") {
    const [object, name] = [callee.object.name, (callee.property as { name: string }).name];
    if (object === "Math" && !lookUp(lowering.scope, "Math")) {
      if (isMathFunction(name)) return mathCall(lowering, name, args, node);
      const reason = name === "random" ? "gives another value each time" : "has no counterpart on a GPU";
      return refuse(loopError.unknownCall(`Math.${name}`, reason, node));
    }
    if (object === "Number" && !lookUp(lowering.scope, "Number") && isNumberTest(name))
      return numberTest(lowering, name, args, node);
    const namespace = lookUp(lowering.scope, object);
    if (namespace?.kind === "import" && namespace.declaration.type === "ImportNamespaceSpecifier")
      return refuse(loopError.unknownCall(`${object}.${name}`, "is not exported", node));
    const makesLonger = (name === "push" || name === "unshift") && arrayNamed(lowering, callee.object);
    const [reason, help] = makesLonger
      ? ["makes the array longer", "make it long enough before the loop, and store to its elements"]
      : ["may do anything", helperHelp];
    return refuse(loopError.unknownCall(`${object}.${name}`, reason, node, help));
  }
  if (callee.type !== "Identifier") return refuse(loopError.unsupported("this call", node, helperHelp));
  const binding = lookUp(lowering.scope, callee.name);
  if (!binding) return refuse(loopError.unknownCall(callee.name, "is not a function of this file", node));
  return inlined(lowering, binding, callee.name, args, node);
}

const helperHelp =
  "a loop may call functions of Math, functions that the file declares or imports from files, and methods of its classes";

type Helper = FunctionNode | ArrowFunctionExpression;

/**
 * Inlines a function of the program. Its parameters become values or variables, and its body takes
 * the place of the call.
 */
function inlined(
  lowering: Lowering,
  binding: Binding,
  name: string,
  args: readonly Source[],
  node: Node,
  self?: OuterObject,
): LoweredValue {
  const helper = findHelper(lowering, binding, name, node);
  const depth = lowering.calls.filter(({ callee }) => callee === helper).length;
  if (depth > 0 && lowering.calls.at(-1)!.callee !== helper) refuse(loopError.mutuallyRecursive(name, node));
  if (depth > 0) {
    const isLarge = depth >= fewestNested && lowering.isDeep;
    if (isLarge || depth === deepestCall(lowering, helper, binding, name, node))
      return leaveAtCall(lowering, helper, node);
  }
  lowering.countInlined(node);

  const pairs = argumentsOf(lowering, helper, args);
  const given = pairs.map((): Meaning | undefined => undefined);
  for (const [at, { target, value }] of pairs.entries()) {
    if (!value) continue;
    given[at] =
      (target?.type === "Identifier"
        ? (objectMeaning(lowering, value) ?? partMeaning(lowering, value))
        : undefined) ??
      arrayNamed(lowering, value) ??
      afterwards(
        lowering,
        (): Meaning => ({ kind: "value", value: lowering.expression(value) }),
        () => {
          for (const [place, earlier] of given.slice(0, at).entries()) {
            if (earlier?.kind === "value")
              given[place] = { kind: "value", value: held(lowering, earlier.value) };
          }
        },
      );
  }
  lowering.imports.link(helper, binding.scope);
  withoutTailCalls(helper, binding, lowering.scopes);
  lowering.variables.inline(helper);
  lowering.calls.push({ callee: helper, at: node.start, self });
  const around = depth > 0 ? [...lowering.meanings] : [];
  try {
    return lowering.within(helper, () => {
      for (const [at, { target }] of pairs.entries())
        if (target) bindParameter(lowering, target, given[at], node);
      return bodyOf(lowering, helper, name, node);
    });
  } finally {
    lowering.calls.pop();
    // The names of the function have their meanings of the outer call again.
    for (const [name, meaning] of around) lowering.meanings.set(name, meaning);
  }
}

/** The largest number of copies of a function that calls itself, inside each other and in all. */
const mostNested = 16;
const mostCopies = 40;
/** The number of copies inside each other below which translation is of no use. */
const fewestNested = 4;

/** Returns how many copies of a function that calls itself are inside each other. */
function deepestCall(lowering: Lowering, helper: Helper, binding: Binding, name: string, node: Node): number {
  const isOwn = ([one, scope]: readonly [Node, Scope]) => {
    if (one.type !== "CallExpression") return false;
    const { callee } = one;
    if (callee.type === "Identifier") return lookUp(scope, callee.name) === binding;
    return callee.type === "MemberExpression" && propertyPath(callee)?.names.at(-1) === binding.name;
  };
  const body = helper.body!;
  const places = [...everyNode(body, lowering.scopes, lowering.scopes.get(helper))].filter(isOwn).length;
  let nested = 0;
  let copies = 0;
  while (nested < mostNested && copies + places ** nested <= mostCopies) copies += places ** nested++;
  return nested < fewestNested ? refuse(loopError.manyRecursiveCalls(name, places, node)) : nested;
}

/** Translates a call that is nested too deeply for copies of the function. */
function leaveAtCall(lowering: Lowering, { returnType }: Helper, node: Node): LoweredValue {
  leaveLoop(lowering, node);
  return returnType?.typeAnnotation.type === "TSBooleanKeyword" ? hostBoolean("false") : hostConstant(0);
}

function findHelper({ imports }: Lowering, binding: Binding, name: string, node: Node): Helper {
  if (binding.kind === "import") {
    const help = "move the function into this file";
    return refuse(loopError.unknownCall(name, imports.reasonFor(binding), node, help));
  }
  const helper = functionOf(binding);
  if (!helper || binding.assignments.length > 0) {
    return refuse(
      loopError.unknownCall(name, "may be any function", node, "declare it as a function of this file"),
    );
  }
  if (helper.async || helper.generator || !helper.body) {
    return refuse(loopError.unknownCall(name, "is no plain function", node));
  }
  return helper;
}

function functionOf({ declaration }: Binding): Helper | undefined {
  const node = declaration.type === "VariableDeclarator" ? declaration.init : declaration;
  return node && isFunction(node) ? (node as Helper) : undefined;
}

/** A name that a function gets a value for, and the value. */
interface Argument {
  /** The name, also with its default; undefined if the function does not use the value. */
  readonly target: Node | undefined;
  /** The value, if the call gives one. */
  readonly value: Source | undefined;
}

/** Returns the arguments of a call in the order in which it evaluates them. */
function argumentsOf(lowering: Lowering, { params }: Helper, args: readonly Source[]): readonly Argument[] {
  const given = params.flatMap((parameter, at) => {
    const pattern = parameter.type === "AssignmentPattern" ? parameter.left : parameter;
    const value = args[at];
    if (pattern.type === "ObjectPattern" && value) return propertiesOf(pattern, value);
    if (pattern.type !== "ArrayPattern" || !value) return [{ target: parameter, value }];
    const elements = elementsOf(lowering, value);
    if (!elements) return refuse(loopError.unsupported("a parameter that is no plain name", pattern));
    const count = Math.max(elements.length, pattern.elements.length);
    return Array.from({ length: count }, (_, place) => ({
      target: pattern.elements[place] ?? undefined,
      value: elements[place],
    }));
  });
  return [...given, ...args.slice(params.length).map((value) => ({ target: undefined, value }))];
}

/** Returns the values of `{ x, y = 0 }` in an object that the call makes, or in an outer one. */
function propertiesOf(pattern: ObjectPattern, given: Source): readonly Argument[] {
  const targets = pattern.properties.map((property) => {
    if (property.type !== "Property" || property.computed || property.key.type !== "Identifier")
      return refuse(loopError.unsupported("this parameter", property, "name each property"));
    return { key: property.key as IdentifierName, name: property.key.name, target: property.value };
  });
  const object = withoutTypes(given);
  if (object.type !== "ObjectExpression") {
    const { start, end } = given;
    return targets.map(({ key: property, target }) => ({
      target,
      value: { type: "MemberExpression", object, property, computed: false, optional: false, start, end },
    }));
  }
  const values = object.properties.map((property) => {
    const isPlain = property.type === "Property" && !property.computed && property.kind === "init";
    if (!isPlain || property.method || property.key.type !== "Identifier")
      return refuse(loopError.unsupported("this property", property, "write `name: value`"));
    const { name } = property.key;
    return { target: targets.find((one) => one.name === name)?.target, value: property.value, name };
  });
  const missing = targets.filter(({ name }) => !values.some((one) => one.name === name));
  return [...values, ...missing.map(({ target }) => ({ target, value: undefined }))];
}

function partMeaning(lowering: Lowering, node: Source): Meaning | undefined {
  const part = partNamed(lowering, node);
  return part && { kind: "part", part };
}

function bindParameter(lowering: Lowering, parameter: Node, given: Meaning | undefined, node: Node): void {
  const target = parameter.type === "AssignmentPattern" ? parameter.left : parameter;
  if (target.type !== "Identifier") {
    refuse(loopError.unsupported("a parameter that is no plain name", parameter));
  }
  const binding = lookUp(lowering.scope, target.name)!;
  let meaning = given;
  if (!meaning && parameter.type === "AssignmentPattern") {
    meaning = { kind: "value", value: lowering.expression(parameter.right) };
  }
  if (!meaning) refuse(loopError.unsupported("a call without all arguments", node));
  const isObject = meaning.kind === "object" || meaning.kind === "part";
  if (isObject && binding.assignments.length > 0)
    refuse(loopError.unsupported("an assigned parameter for an object", node));
  if (meaning.kind === "array" || meaning.kind === "scratch" || isObject)
    lowering.meanings.set(binding, meaning);
  else if (meaning.kind === "value") declareWith(lowering, binding, meaning.value, parameter);
}

function bodyOf(lowering: Lowering, helper: Helper, name: string, node: Node): LoweredValue {
  const body = helper.body!;
  if (body.type !== "BlockStatement") return lowering.expression(body);
  const statements = body.body as SourceStatement[];
  const last = statements.at(-1);
  const outer = lowering.returns;
  lowering.returns = undefined;
  try {
    // A single return at the end gives the value of the call.
    if (
      last?.type === "ReturnStatement" &&
      last.argument &&
      !statements.slice(0, -1).some((one) => returns(one))
    ) {
      const { argument } = last;
      return lowering.within(body, () => {
        lowering.statements(statements.slice(0, -1), { start: body.start, end: last.start });
        return held(lowering, lowering.expression(argument));
      });
    }
    const givesValue = statements.some((one) => returns(one, true));
    if (givesValue && !statements.some(alwaysReturns)) {
      return refuse(loopError.unknownCall(name, "does not return a value on each path", node));
    }
    return severalReturns(lowering, statements, name, node, givesValue, body);
  } finally {
    lowering.returns = outer;
  }
}

/**
 * Translates a function with returns at several places. Each assigns to a variable, and a return
 * that is not last leaves a loop that runs once.
 */
function severalReturns(
  lowering: Lowering,
  body: readonly SourceStatement[],
  name: string,
  node: Node,
  givesValue: boolean,
  block: Node,
): LoweredValue {
  const ownName = name.slice(name.lastIndexOf(".") + 1);
  const variable = givesValue ? lowering.declare(ownName, node) : undefined;
  const label = lowering.label(ownName);
  const leave = { kind: "break", label } as const;
  const returning = { variable, leave, jumped: false, isLast: true };
  lowering.returns = returning;
  const statements = lowering.collect(() => lowering.within(block, () => lowering.statements(body, block)));
  if (variable) {
    declareEmpty(lowering, variable);
  }
  if (returning.jumped) {
    statements.push({ kind: "break", label });
    lowering.emit({ kind: "loop", label, most: 1, body: statements, update: [] });
  } else {
    lowering.block.push(...statements);
  }
  return variable ? read(lowering, variable) : hostConstant(Number.NaN);
}
