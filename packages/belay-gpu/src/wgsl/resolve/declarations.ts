/** Checks module-scope declarations. Each comes after the declarations that it uses. */

import { resolutionError } from "../../diagnostics/resolution.ts";
import type {
  Attribute,
  Declaration,
  Expression,
  FunctionDeclaration,
  StructDeclaration,
  StructMember,
} from "../ast.ts";
import { sameType } from "../conversion.ts";
import { isConstructible, isElement, isHandle, isInteger } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import type { StructMemberType, StructType, Type } from "../types.ts";
import { voidType } from "../types.ts";
import { mayReachEnd } from "./behaviors.ts";
import { type Context, errorType } from "./context.ts";
import { builtinValues } from "./predeclared.ts";
import { checkBody, checkConstAssert } from "./statements.ts";
import { similarName } from "./suggest.ts";
import { checkType } from "./typeExpressions.ts";
import { checkConst, checkGlobalVariable, checkOverride, requireStage } from "./variables.ts";

export function checkDeclaration(cx: Context, declaration: Declaration): void {
  switch (declaration.kind) {
    case "alias":
      checkType(cx, declaration.type);
      break;
    case "struct":
      checkStruct(cx, declaration);
      break;
    case "const":
      checkConst(cx, declaration);
      break;
    case "override":
      checkAttributes(cx, declaration.attributes);
      checkOverride(cx, declaration);
      break;
    case "globalVariable":
      checkAttributes(cx, declaration.attributes);
      checkGlobalVariable(cx, declaration);
      break;
    case "constAssert":
      checkConstAssert(cx, declaration);
      break;
    case "function":
      checkFunction(cx, declaration);
      break;
  }
}

function checkStruct(cx: Context, declaration: StructDeclaration): void {
  const members: StructMemberType[] = [];
  const names = new Set<string>();
  declaration.members.forEach((member, i) => {
    checkAttributes(cx, member.attributes);
    const type = checkType(cx, member.type);
    checkBuiltinType(cx, member.attributes, type);
    if (names.has(member.name)) cx.report(resolutionError.redeclared(member.name, member.nameSpan));
    names.add(member.name);
    const isLast = i === declaration.members.length - 1;
    const isRuntimeArray = type.kind === "array" && type.count === "runtime";
    if (type !== errorType && !isElement(type) && !(isLast && isRuntimeArray)) {
      cx.report(resolutionError.invalidType(describeType(type), "the type of a member", member.type.span));
    }
    members.push(memberType(cx, member, type));
  });
  const type: StructType = { kind: "struct", name: declaration.name, members, declaration };
  cx.structs.set(declaration, type);
}

function memberType(cx: Context, member: StructMember, type: Type): StructMemberType {
  const align = bytesOf(cx, member.attributes, "align");
  const size = bytesOf(cx, member.attributes, "size");
  return {
    name: member.name,
    type,
    ...(align === undefined ? {} : { align }),
    ...(size === undefined ? {} : { size }),
  };
}

function bytesOf(cx: Context, attributes: readonly Attribute[], name: string): number | undefined {
  const argument = attributes.find((attribute) => attribute.name === name)?.args[0];
  const value = argument && cx.valueOf(argument);
  return value && "value" in value ? Number(value.value) : undefined;
}

function checkFunction(cx: Context, fn: FunctionDeclaration): void {
  checkAttributes(cx, fn.attributes);
  for (const parameter of fn.parameters) {
    checkAttributes(cx, parameter.attributes);
    const type = checkType(cx, parameter.type);
    if (type !== errorType && !isConstructible(type) && type.kind !== "pointer" && !isHandle(type)) {
      cx.report(
        resolutionError.invalidType(describeType(type), "the type of a parameter", parameter.type.span),
      );
    }
    checkBuiltinType(cx, parameter.attributes, type);
    cx.declared.set(parameter, type);
  }
  checkAttributes(cx, fn.returnAttributes);
  const returnType = fn.returnType ? checkType(cx, fn.returnType) : voidType;
  if (fn.returnType && returnType !== errorType && !isConstructible(returnType)) {
    cx.report(resolutionError.invalidType(describeType(returnType), "returned", fn.returnType.span));
  }
  checkBuiltinType(cx, fn.returnAttributes, returnType);
  cx.returns.set(fn, returnType);
  checkBody(cx, fn.body, returnType);
  if (isConstructible(returnType) && mayReachEnd(fn.body.statements)) {
    cx.report(resolutionError.missingReturn(fn.name, fn.nameSpan));
  }
}

/** The attributes with integer arguments that have to be const-expressions. */
const numericAttributes = new Set(["align", "binding", "blend_src", "group", "id", "location", "size"]);
/** The attributes with integer arguments that an override may decide. */
const pipelineAttributes = new Set(["workgroup_size", "subgroup_size"]);

function checkAttributes(cx: Context, attributes: readonly Attribute[]): void {
  for (const attribute of attributes) {
    const { name, args } = attribute;
    if (name === "builtin") checkBuiltinValue(cx, attribute);
    if (!numericAttributes.has(name) && !pipelineAttributes.has(name)) continue;
    if (args.length === 0) cx.report(resolutionError.badAttribute(name, "an argument", attribute.span));
    for (const arg of args) {
      cx.check(arg);
      const type = cx.materialize(arg);
      if (type !== errorType && !isInteger(type)) {
        cx.report(
          resolutionError.wrongType("an argument of type `i32` or `u32`", describeType(type), arg.span),
        );
      }
      const stages = pipelineAttributes.has(name) ? (["const", "override"] as const) : (["const"] as const);
      requireStage(cx, arg, `the argument of \`@${name}\``, stages);
      checkAttributeValue(cx, name, arg);
    }
  }
}

/**
 * Checks the range of an attribute's argument: sizes and alignments begin at one, all others at
 * zero. Source: WGSL specification, "Attributes".
 */
function checkAttributeValue(cx: Context, name: string, arg: Expression): void {
  const value = cx.valueOf(arg);
  const least = pipelineAttributes.has(name) || name === "align" || name === "size" ? 1 : 0;
  if (!value || !("value" in value)) return;
  const number = Number(value.value);
  if (number < least) {
    cx.report(resolutionError.badAttribute(name, `an argument of at least ${least}`, arg.span));
  } else if (name === "align" && !Number.isInteger(Math.log2(number))) {
    cx.report(resolutionError.badAttribute(name, "a power of two", arg.span));
  }
}

function checkBuiltinValue(cx: Context, { args, span }: Attribute): void {
  const [value] = args;
  if (value?.kind !== "identifier") {
    cx.report(resolutionError.badAttribute("builtin", "the name of a built-in value", span));
  } else if (!builtinValues.has(value.name)) {
    cx.report(
      resolutionError.unknownBuiltinValue(
        value.name,
        similarName(value.name, builtinValues.keys()),
        value.span,
      ),
    );
  }
}

function checkBuiltinType(cx: Context, attributes: readonly Attribute[], type: Type): void {
  const value = attributes.find(({ name }) => name === "builtin")?.args[0];
  const expected = value?.kind === "identifier" && builtinValues.get(value.name);
  if (!value || !expected || type === errorType || sameType(type, expected)) return;
  cx.report(resolutionError.wrongType(`\`${describeType(expected)}\``, describeType(type), value.span));
}
